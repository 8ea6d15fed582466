"""Where a NOT may stand, and what it may compare."""

from __future__ import annotations

from ostinato.core import expressions as ex
from ostinato.errors import QueryError
from ostinato.patterns.plan.absences import expand_quiet, split_branches
from ostinato.patterns.plan.checks.filters import check_filters, check_predicates
from ostinato.patterns.plan.rewrite import flatten, own_tests
from ostinato.patterns.syntax import nodes as n
from ostinato.patterns.syntax.first_events import first_variables
from ostinato.patterns.syntax.nodes import Formula


def check_absences(query: n.Query) -> None:
    """Raise QueryError for the first NOT that cannot stand where it does."""
    branches = split_branches(flatten(expand_quiet(query.formula)))
    for core, tail in branches:
        _check_tail(query, tail, several=len(branches) > 1)
        _check_inner_absences(core)


def _check_tail(query: n.Query, tail: tuple[n.Absent, ...], *, several: bool) -> None:
    """NOTs at the end of a branch: of the only one, or of one of `several`."""
    for absent in tail:
        if absent.at_once and len(tail) > 1:
            fix = "leave one of them out, or use `;` before NOT"
            raise QueryError("NOT after `:` is the only NOT at the end", span=absent.span, fix=fix)
        timed = absent.at_once or absent.lasting is not None
        if not timed and (query.window is None or query.window.kind != "time"):
            raise QueryError(
                "NOT at the end needs a time limit",
                span=absent.span,
                fix="add a time from its last event on, such as NOT B FOR 10 minutes, or from its first, such as "
                "WITHIN 10 minutes",
            )
        if query.skip is not None:
            raise QueryError(
                "AFTER MATCH SKIP cannot go with NOT at the end: time completes the match, not an event",
                span=absent.span,
                fix="remove AFTER MATCH SKIP, or name an event that completes the match",
            )
        if query.consume != "NONE":
            words = f"CONSUME BY {query.consume}" + " (SKIP PAST LAST ROW)" * (query.consume == "PARTITION")
            raise QueryError(
                f"{words} cannot go with NOT at the end: time completes the match, not an event",
                span=absent.span,
                fix="remove it, or name an event that completes the match",
            )
        if query.limit is not None and query.strategy == "LAST":
            raise QueryError(
                "LAST with NOT at the end decides late which matches count, so LIMIT does not know which come first",
                span=absent.span,
                fix="leave out LIMIT or LAST",
            )
        if query.limit is not None and query.strategy in ("NXT", "MAX") and several:
            reason = f"{query.strategy} with NOT at the end of a branch of OR decides late which matches count"
            fix = f"leave out LIMIT or {query.strategy}, or let every match wait: (A OR B) ; NOT C FOR 5 minutes"
            raise QueryError(f"{reason}, so LIMIT does not know which come first", span=absent.span, fix=fix)


def _check_inner_absences(formula: Formula, *, filtered: bool = False) -> None:
    """Apart from NOTs at the very end, a NOT may stand only between two parts of a `;` sequence."""
    fix = "NOT stands between two parts of a sequence: T AS x ; NOT H AS y ; T AS z"
    if isinstance(formula, n.Absent | n.AbsentFormula):
        raise QueryError("NOT needs events around it: this formula has none", span=formula.span, fix=fix)
    if isinstance(formula, n.Quiet):
        _check_quiet(formula)
    if isinstance(formula, n.Sequence | n.Repeat) and formula.link == "->":
        _check_next(formula)
    if filtered:
        fix = "move the FILTER to the event it tests, so that NOT stands between two events"
    parts = (formula.body,) if isinstance(formula, n.Repeat) else n.children(formula)  # UNTIL is no NOT
    for index, part in enumerate(parts):
        if isinstance(part, n.AbsentFormula):
            _check_absent_formula(part)
        if (
            isinstance(formula, n.Sequence)
            and formula.link == ":"
            and (absent := _between_contiguous(part)) is not None
        ):
            raise QueryError(_NEXT_TO_COLON, span=absent.span, fix=_INSTEAD_OF_COLON)
        if not isinstance(part, n.Absent | n.AbsentFormula):
            _check_inner_absences(part, filtered=isinstance(formula, n.Filter))
            continue
        if not isinstance(formula, n.Sequence):
            instead = _INSTEAD_OF_AND if isinstance(formula, n.And) else fix
            raise QueryError(f"NOT cannot be {_PLACES[type(formula)]}", span=part.span, fix=instead)
        if formula.link == "->":
            last = index == len(formula.parts) - 1
            instead = "use `;` before NOT: A ; NOT B FOR 5 minutes" if last else "use `;` on both sides: A ; NOT B ; C"
            raise QueryError("NOT cannot stand next to `->`", span=part.span, fix=instead)
        before, after = formula.parts[:index], formula.parts[index:]
        if isinstance(part, n.AbsentFormula) and all(isinstance(each, n.Absent | n.AbsentFormula) for each in after):
            reason = "NOT of several events stands between two parts of a sequence; at the end it takes a single event"
            raise QueryError(reason, span=part.span, fix="name an event after it: A ; NOT (B ; C) ; D")
        if all(isinstance(other, n.Absent | n.AbsentFormula) for other in before):
            reason = "NOT cannot come first: it needs an event before it, from which on nothing may come"
            how_long = "say for how long before the first event it does not come: NOT H FOR 5 minutes ; T AS x"
            raise QueryError(reason, span=part.span, fix=fix if filtered else how_long)
        if all(isinstance(other, n.Absent | n.AbsentFormula) for other in after):
            reason = (
                "NOT can come last only in the outermost sequence, not in a loop, in an AND or before a further part"
            )
            raise QueryError(reason, span=part.span, fix=fix)
        for others, side in ((before, "before"), (after, "after")):
            if all(isinstance(other, n.Absent | n.AbsentFormula) or n.nullable(other) for other in others):
                reason = f"NOT needs an event {side} it, and all parts {side} this one may be left out"
                raise QueryError(reason, span=part.span, fix="name an event there that is not optional")


def _between_contiguous(part: Formula) -> n.Absent | n.AbsentFormula | None:
    """A NOT as a part of a `:` sequence, or at the end of one: that of `A : NOT B : C`, and of `(A : NOT B) : C`."""
    last = part.parts[-1] if isinstance(part, n.Sequence) else part
    inside = last is not part and isinstance(last, n.Absent) and last.at_once
    return last if isinstance(last, n.Absent | n.AbsentFormula) and (inside or last is part) else None


def _check_absent_formula(absent: n.AbsentFormula) -> None:
    """A query of its own, whose events are no others', and none of whose parts waits for time."""
    inside = list(n.everything(absent.body))
    known = {part.variable for part in inside if isinstance(part, n.Event)}
    known |= {part.event.variable for part in inside if isinstance(part, n.Absent)}
    for test in (test for part in inside for test in own_tests(part)):
        for node in ex.attributes(test):
            if node.variable not in known:
                reason = f"`{node.variable}` stands outside of this NOT, whose events are compared with no others"
                raise QueryError(reason, span=node.span, fix="give a NOT of a single event, which can be compared")
    if n.nullable(absent.body):
        reason = "this NOT can be met by no event at all, so that nothing would pass it"
        raise QueryError(reason, span=absent.span, fix="name an event there that is not optional")
    for part in inside:
        if isinstance(part, n.Absent) and part.lasting is not None:
            raise QueryError("FOR cannot stand inside a NOT", span=part.span, fix="leave FOR out")
    check_predicates(absent.body)
    check_filters(absent.body, absent.body, frozenset())
    check_absences(n.Query(absent.body))


def _check_quiet(formula: n.Quiet) -> None:
    """A NOT … FOR at the start looks back from the first event, and may be compared with it alone."""
    if n.nullable(formula.body):
        reason = "NOT needs an event after it, and all parts after this one may be left out"
        raise QueryError(reason, span=formula.absents[0].span, fix="name an event there that is not optional")
    firsts = first_variables(formula.body)
    for absent in formula.absents:
        for node in ex.attributes(absent.predicate) if absent.predicate is not None else ():
            if {node.variable} in (firsts, {absent.event.variable}):
                continue
            reason = (
                f"what does not come before the first event can be compared with that event, not with `{node.variable}`"
            )
            named = min(firsts)
            fix = (
                f"compare it with `{named}`"
                if len(firsts) == 1 and named[0] != "#"
                else "give the first event one name"
            )
            raise QueryError(reason, span=node.span, fix=fix)


def _check_next(formula: n.Sequence | n.Repeat) -> None:
    """What an event can begin with is known from the event alone."""
    parts = formula.parts[1:] if isinstance(formula, n.Sequence) else (formula.body,)
    for quiet in (each for part in parts for each in n.subformulas(part) if isinstance(each, n.Quiet)):
        reason = "NOT … FOR cannot begin what follows `->`"
        raise QueryError(reason, span=quiet.absents[0].span, fix="use `;` instead of `->`")


_NEXT_TO_COLON = "NOT cannot stand next to `:` here: nothing lies between an event and the very next one"
_INSTEAD_OF_COLON = (
    "for one event between the two that is no B: A : (ANY AS n FILTER n.type != 'B') : C; for any number of them, use "
    "`;` on both sides: A ; NOT B ; C; for what C itself must not be: A : (C AS c FILTER …)"
)
_INSTEAD_OF_AND = "for no C until B write A ; NOT C ; B; for no C in a time after A, A ; NOT C FOR 5 minutes"
_PLACES = {n.Or: "a branch of OR", n.Repeat: "what a loop repeats", n.Optional: "optional", n.And: "a part of AND"}

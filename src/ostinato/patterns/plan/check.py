"""Faults that show in the text of a query alone, without data: well-formed filters, NOT, SELECT, FROM, windows.

Checks that need the columns of the data are in types.py.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from ostinato.core import expressions as ex
from ostinato.core.expressions import Expr
from ostinato.errors import QueryError, did_you_mean
from ostinato.patterns.plan.absences import expand_quiet, split_branches
from ostinato.patterns.plan.check_aggregates import check_aggregate, check_look_back
from ostinato.patterns.plan.check_timeout import check_timeout
from ostinato.patterns.plan.loop_aggregates import place_aggregates
from ostinato.patterns.plan.passes import normalise
from ostinato.patterns.plan.rewrite import flatten, simplify, split_predicate
from ostinato.patterns.plan.types import check_types
from ostinato.patterns.syntax import nodes as n
from ostinato.patterns.syntax.earlier_rounds import earlier_names, first_round, name_earlier, name_whole
from ostinato.patterns.syntax.first_events import first_variables
from ostinato.patterns.syntax.nodes import Formula

_STRATEGIES = ("ALL", "STRICT", "NXT", "LAST", "MAX")


def check_query(query: n.Query) -> None:
    """Raise QueryError for the first structural fault."""
    try:
        _check_groups(query)
        _check_predicates(query.formula)
        named = name_whole(query.formula)
        _check_filters(named, named, frozenset())
        place_aggregates(named)
        _check_absences(query)
        _check_skip(query)
        check_timeout(query)
        _check_items(query)
        _check_relations(query)
        check_types(query, None)
    except QueryError as error:
        raise error.within(query.text) from None


def check_schema(query: n.Query, kinds: Mapping[str, str], types: Collection[str] | None = None) -> None:
    """Raise QueryError where names or types do not fit the data.

    `kinds` maps each column to number, string, boolean, timestamp, date, duration, binary, nested or null; `types` are
    the event types that can occur, where that is known.
    """
    try:
        if types is not None:
            _known_relations(query.formula, types, "among the event types of the data")
        check_types(query, kinds)
    except QueryError as error:
        raise error.within(query.text) from None


def find_warnings(query: n.Query) -> list[str]:
    """What is legal but probably not meant, one sentence each."""
    found = []
    formula = normalise(query)[-1][1].formula
    if isinstance(formula, n.Never):
        found.append(f"the formula can never match: {_why_never(query.formula)}")
    repeats = any(isinstance(part, n.Repeat) and part.most is None for part in n.subformulas(query.formula))
    if query.window is None and query.strategy == "ALL" and repeats:
        found.append("without WITHIN, state grows with the stream and matches can be exponentially many; add WITHIN")
    fewest = n.shortest_match(query.formula)
    if query.window is not None and query.window.kind == "events" and query.window.amount < fewest:
        found.append(f"a match has at least {fewest} events, so WITHIN {query.window.amount} EVENTS can never match")
    for relation in query.relations:
        if relation not in n.event_types(query.formula) and None not in n.event_types(query.formula):
            found.append(f"FROM names {relation}, but the formula does not use it")
    found += [_why_no_round(loop) for loop in n.subformulas(name_earlier(query.formula)) if _never_begins(loop)]
    for test in (test for part in n.subformulas(query.formula) for test in _tests(part)):
        for node in ex.walk(test):
            if isinstance(node, ex.Call) and node.op in ex.COMPARISONS and ex.Literal(None) in node.args:
                found.append(f"`{ex.to_text(node)}` is unknown for every event; use IS NULL or IS NOT NULL")
    return found


def _never_begins(formula: Formula) -> bool:
    """Whether it is a loop whose conditions need a round before the first."""
    if not isinstance(formula, n.Repeat) or not (earlier := earlier_names(formula)):
        return False
    return isinstance(_simplified(first_round(formula.body, earlier)), n.Never)


def _simplified(formula: Formula) -> Formula:
    return simplify(n.rebuild(formula, _simplified))


def _why_no_round(loop: Formula) -> str:
    tests = (test for part in n.subformulas(loop) for test in _tests(part))
    earlier = next(node for test in tests for node in ex.attributes(test) if isinstance(node, ex.Earlier))
    test = next(test for part in n.subformulas(loop) for test in _tests(part) if earlier in ex.attributes(test))
    name = earlier.variable.removeprefix(n.earlier_name(""))
    begins = f"count({name}) = 0" if earlier.op == "count" else f"{earlier.name} IS NULL"
    return (
        f"the loop never begins: {earlier.name} has no event in its first round, so that `{ex.to_text(test)}` does not "
        f"pass; write {begins} OR {ex.to_text(test, 'or')}"
    )


def _tests(formula: Formula) -> list[Expr]:
    """The unsplittable parts of this node's own predicate."""
    if not isinstance(formula, n.Filter | n.Absent) or formula.predicate is None:
        return []
    return [test for tests in split_predicate(formula.predicate) for test in tests]


# Filters ------------------------------------------------------------------------------------------------------------


def _check_groups(query: n.Query) -> None:
    """The name of a group stands in SELECT only: a condition is on single events."""
    names = {name for name, _ in query.groups}
    for part in n.subformulas(query.formula) if names else ():
        if not isinstance(part, n.Filter | n.Absent) or part.predicate is None:
            continue
        for node in ex.walk(part.predicate):
            if isinstance(node, ex.Attribute | ex.Variable) and (used := ex.variables(node) & names):
                reason = f"`{min(used)}` is a group of events, and FILTER tests single ones"
                raise QueryError(
                    reason, span=node.span, fix="name the event in the group, and test that: (T AS x ; H) AS g"
                )


def _check_predicates(formula: Formula) -> None:
    names = sorted(name for name in n.vdef(formula) if not name.startswith("#"))
    for part, loops in _with_loops(formula, ()):
        if not isinstance(part, n.Filter | n.Absent) or part.predicate is None:
            continue
        counted = []
        for node in ex.walk(part.predicate):
            if isinstance(node, ex.Call) and node.op in ex.AGGREGATES:
                check_look_back(node, loops, part, formula)
                if isinstance(part, n.Absent) and part.lasting is not None:
                    reason = "what NOT … FOR forbids cannot be compared with earlier rounds of the loop"
                    fix = "put the condition on an event of the round, or leave FOR out"
                    raise QueryError(reason, span=node.span, fix=fix)
                counted += [arg for arg in node.args if node.op == "count"]
            if isinstance(node, ex.Variable) and not any(node is arg for arg in counted):
                whole = node.name in n.vdef(formula)
                reason = f"`{node.name}` is a whole event, not a value" if whole else f"`{node.name}` has no variable"
                fix = f"{node.name}.attr" if whole else f"{names[0] if len(names) == 1 else 'x'}.{node.name}"
                raise QueryError(reason, span=node.span, fix=f"name an attribute of an event: {fix}")


def _with_loops(formula: Formula, loops: tuple[n.Repeat, ...]) -> Iterator[tuple[Formula, tuple[n.Repeat, ...]]]:
    """All parts of the formula, each with the loops that it is a round of, innermost first."""
    yield formula, loops
    for child in n.children(formula):
        inside = isinstance(formula, n.Repeat) and child is formula.body
        yield from _with_loops(child, (formula, *loops) if inside and isinstance(formula, n.Repeat) else loops)


def _check_filters(formula: Formula, whole: Formula, scope: frozenset[str]) -> None:
    """Well-formed (section 5.1): each variable of a filter is bound by its body or by a formula around it.

    A + gives the variables of its body new values, so an outer variable of the same name cannot be seen there.
    """
    scope = scope | n.bound(formula) | n.bound_loops(formula)
    if isinstance(formula, n.Filter):
        for node in ex.walk(formula.predicate):
            if isinstance(node, ex.Attribute) and node.variable not in scope:
                raise _unbound(node, formula, whole)
        if n.nullable(formula.body):
            reason = "this condition stands on a part that may be left out, and tests none of its events"
            raise QueryError(reason, span=formula.predicate.span, fix="put it after the brackets of that part")
    if isinstance(formula, n.Absent) and formula.predicate is not None:
        for node in ex.walk(formula.predicate):
            if isinstance(node, ex.Attribute) and node.variable not in scope | {formula.event.variable}:
                raise _unbound(node, formula, whole)
    inner = scope - n.vdef_plus(formula.body) if isinstance(formula, n.Repeat) else scope
    for child in n.children(formula):
        _check_filters(child, whole, inner)


def _unbound(node: ex.Attribute, formula: Formula, whole: Formula) -> QueryError:
    name = node.variable
    fix: str | None
    if isinstance(node, ex.Earlier):
        own = name.removeprefix(n.whole_name(""))
        reason = f"{node.name} is of a loop that may be missing here, or that ends in a round of another one"
        fix = f"put the condition where the loop of {own} has surely ended: in its branch, or in the same round"
        return QueryError(reason, span=node.span, fix=fix)
    events = [part for part in n.subformulas(whole) if isinstance(part, n.Event)]
    absent = [part.event for part in n.subformulas(whole) if isinstance(part, n.Absent)]
    if any(event.variable == name for event in absent):
        event = next(event for event in absent if event.variable == name)
        reason = f"`{name}` is the event that must not come, so nothing outside its NOT can test it"
        fix = f"put the condition inside brackets: (NOT {event.relation or 'ANY'} AS {name} FILTER …)"
    elif all(event.variable != name for event in events):
        reason = f"variable `{name}` is not bound anywhere"
        relation = next((event for event in events if event.relation == name), None)
        known = {event.variable for event in events if not event.variable.startswith("#")}
        fix = f"name the event: {name} AS x, and test x.{node.name}" if relation else did_you_mean(name, known)
    elif name not in n.vdef_plus(formula) and name in n.vdef(formula):
        reason = f"`{name}` is bound only inside a +, where it stands for many events"
        fix = f"put the condition inside the +: (T AS {name} FILTER {name}.{node.name} …)+"
    elif any(name in n.vdef_plus(part) for part in n.subformulas(formula) if isinstance(part, n.Optional)):
        reason = f"`{name}` may be left out, so that this condition may have nothing to test"
        fix = f"put the condition inside the optional part: (T AS {name} FILTER {name}.{node.name} …)?"
    elif name in n.vdef_plus(formula):
        reason = f"`{name}` is bound in only one branch of the OR"
        fix = f"put the condition inside that branch, or name an event {name} in every branch"
    else:
        reason = f"`{name}` is not bound where this condition stands: it is inside another + or another branch of an OR"
        fix = f"move the condition to where {name} is defined"
    return QueryError(reason, span=node.span, fix=fix)


def _check_skip(query: n.Query) -> None:
    target = query.skip.variable if query.skip is not None else None
    known = frozenset().union(*(query.names(variable) for variable in n.vdef(query.formula)))
    if query.skip is not None and target is not None and target not in known:
        fix = did_you_mean(target, known) or "name an event of the formula with AS, and skip to it"
        raise QueryError(f"no event is called `{target}`", span=query.skip.span, fix=fix)


# NOT ----------------------------------------------------------------------------------------------------------------


def _check_absences(query: n.Query) -> None:
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
                "NOT at the end needs a time: when has the event failed to come?",
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
        if not isinstance(part, n.Absent | n.AbsentFormula):
            _check_inner_absences(part, filtered=isinstance(formula, n.Filter))
            continue
        if not isinstance(formula, n.Sequence):
            raise QueryError(f"NOT cannot be {_PLACES[type(formula)]}", span=part.span, fix=fix)
        if formula.link == ":":
            reason = "NOT cannot stand next to `:`, since nothing lies between contiguous events"
            fix = "use `;` on both sides of NOT, or name the next event: A : (ANY AS n FILTER n.type != 'B') : C"
            raise QueryError(reason, span=part.span, fix=fix)
        if formula.link == "->":
            raise QueryError("NOT cannot stand next to `->`", span=part.span, fix="use `;` on both sides of NOT")
        before, after = formula.parts[:index], formula.parts[index:]
        if isinstance(part, n.AbsentFormula) and all(isinstance(each, n.Absent | n.AbsentFormula) for each in after):
            reason = "NOT of several events stands between two parts of a sequence; at the end it takes a single event"
            raise QueryError(reason, span=part.span, fix="give one NOT per event: A ; NOT B ; NOT C WITHIN 10 minutes")
        if all(isinstance(other, n.Absent | n.AbsentFormula) for other in before):
            reason = "NOT cannot come first: it needs an event before it, from which on nothing may come"
            how_long = "say for how long before the first event it does not come: NOT H FOR 5 minutes ; T AS x"
            raise QueryError(reason, span=part.span, fix=fix if filtered else how_long)
        if all(isinstance(other, n.Absent | n.AbsentFormula) for other in after):
            reason = "NOT can come last only in the outermost sequence, not in a +, in an AND or before a further part"
            raise QueryError(reason, span=part.span, fix=fix)
        for others, side in ((before, "before"), (after, "after")):
            if all(isinstance(other, n.Absent | n.AbsentFormula) or n.nullable(other) for other in others):
                reason = f"NOT needs an event {side} it, and all parts {side} this one may be left out"
                raise QueryError(reason, span=part.span, fix="name an event there that is not optional")


def _check_absent_formula(absent: n.AbsentFormula) -> None:
    """A query of its own, whose events are no others', and none of whose parts waits for time."""
    inside = list(n.everything(absent.body))
    known = {part.variable for part in inside if isinstance(part, n.Event)}
    known |= {part.event.variable for part in inside if isinstance(part, n.Absent)}
    for test in (test for part in inside for test in _tests(part)):
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
    _check_predicates(absent.body)
    _check_filters(absent.body, absent.body, frozenset())
    _check_absences(n.Query(absent.body))


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


_PLACES = {n.Or: "a branch of OR", n.Repeat: "what a + repeats", n.Optional: "optional", n.And: "a part of AND"}


# SELECT and FROM ----------------------------------------------------------------------------------------------------


def _check_items(query: n.Query) -> None:
    many, known = query.lists, n.vdef(query.formula) | query.lists
    absent = {part.event.variable for part in n.subformulas(query.formula) if isinstance(part, n.Absent)}
    for item in query.items or ():
        for node in ex.walk(item.expr):
            name = (
                node.name
                if isinstance(node, ex.Variable)
                else node.variable
                if isinstance(node, ex.Attribute)
                else None
            )
            if name is None or name in known:
                continue
            if name in absent:
                reason = f"`{name}` is the event that must not come, so there is nothing to select"
                raise QueryError(reason, span=node.span, fix=f"remove `{name}` from SELECT")
            fix = did_you_mean(name, [other for other in known if not other.startswith("#")])
            if name.upper() in _STRATEGIES:
                fix = f"write SELECT {name.upper()} * for the strategy"
            raise QueryError(f"unknown variable `{name}` in SELECT", span=node.span, fix=fix)
        _check_item(item, many, {name: "a group" for name, _ in query.groups})


def _check_item(item: n.Item, many: frozenset[str], why: Mapping[str, str]) -> None:
    """`many` are the names that stand for several events, `why` says so of those that are not inside a +."""
    if not ex.variables(item.expr):
        raise QueryError("this SELECT item mentions no event", span=item.span, fix="select a variable or an attribute")
    if isinstance(item.expr, ex.Variable) or ex.is_attribute(item.expr):
        return

    def visit(expr: Expr) -> None:
        if isinstance(expr, ex.Variable):
            fix = f"name an attribute: {expr.name}.attr, or count({expr.name})"
            raise QueryError(f"`{expr.name}` is a whole event, not a value", span=expr.span, fix=fix)
        if ex.is_attribute(expr) and (repeated := ex.variables(expr) & many):
            name = min(repeated)
            raise QueryError(
                f"`{ex.to_text(expr)}` is a list of values, since {name} is {why.get(name, 'inside a +')}",
                span=expr.span,
                fix=f"aggregate it, such as avg({ex.to_text(expr)}), or select it alone",
            )
        if isinstance(expr, ex.Call) and expr.op in ex.AGGREGATES:
            if expr.op == ex.PREV:
                reason, fix = "prev(…) stands in a FILTER inside a loop", "SELECT has first, last and other aggregates"
                raise QueryError(reason, span=expr.span, fix=fix)
            check_aggregate(expr)
        elif isinstance(expr, ex.Call):
            for arg in expr.args:
                visit(arg)

    visit(item.expr)


def _check_relations(query: n.Query) -> None:
    if query.relations:
        _known_relations(query.formula, query.relations, "in FROM")


def _known_relations(formula: Formula, known: Collection[str], where: str) -> None:
    for part in n.subformulas(formula):
        event = part.event if isinstance(part, n.Absent) else part
        if isinstance(event, n.Event) and event.relation is not None and event.relation not in known:
            raise QueryError(
                f"`{event.relation}` is not {where}", span=event.span, fix=did_you_mean(event.relation, known)
            )


# Warnings -----------------------------------------------------------------------------------------------------------


def _why_never(formula: Formula) -> str:
    for part in n.subformulas(flatten(formula)):
        if isinstance(part, n.Sequence):
            seen: set[str] = set()
            for child in part.parts:
                twice = sorted(seen & n.bound(child))
                if twice:
                    return f"`{twice[0]}` would have to be two events at once; give the later one another name"
                seen |= n.bound(child)
        if isinstance(part, n.Filter) and not split_predicate(part.predicate):
            return f"FILTER {ex.to_text(part.predicate)} is never true"
    return "every branch of its OR binds a variable twice or has a filter that is never true"

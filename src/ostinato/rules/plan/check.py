"""Faults that show in the text of event rules alone: names, times, variables, heads, and the CEL queries inside.

Everything is checked for each branch of `or` by itself. Recursion is checked in plan.strata.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import groupby

from ostinato.core.types import check_expression
from ostinato.core.user_functions import UserFunction
from ostinato.errors import QueryError, Span, did_you_mean
from ostinato.rules.plan.embedded_cel import check_pattern
from ostinato.rules.plan.normal_form import normalise
from ostinato.rules.syntax import nodes as n
from ostinato.rules.syntax.parse import parse
from ostinato.rules.syntax.variables import (
    Names,
    bound_variables,
    optional_variables,
    outer_variables,
    term_variables,
    used_variables,
    walk_query_terms,
)


def parse_and_check(text: str, functions: Mapping[str, UserFunction] | None = None) -> n.Ruleset:
    """The program that `text` states, checked. Raises QueryError with the place, the reason and a likely fix."""
    program = parse(text, functions)
    try:
        check_program(program)
    except QueryError as error:
        raise error.within(text) from None
    return program


def check_program(program: n.Ruleset) -> None:
    """Raise QueryError for the first fault, with its place in the text of the program."""
    for _, rules in groupby(normalise(program), lambda rule: rule.number):
        branches = [_Branch(rule) for rule in rules]
        named = frozenset(ident for branch in branches for ident in branch.idents)
        somewhere = {name for branch in branches for name in branch.positive}
        for branch in branches:
            branch.check_head()
            branch.check_idents()
            branch.check_interval(named)
            branch.check_timers(named)
            branch.check_whiles(named)
            branch.check_conditions(named)
            branch.check_joins()
            branch.check_absent_children()
            branch.check_bound(somewhere)
        patterns = {
            event: None for branch in branches for event in branch.rule.events if isinstance(event, n.CelPattern)
        }
        for pattern in patterns:
            check_pattern(pattern)


@dataclass(frozen=True)
class _Branch:
    rule: n.NormalRule

    @property
    def literals(self) -> tuple[n.Atom, ...]:
        return (*self.rule.events, *self.rule.timers, *self.rule.collects, *self.rule.negations)

    @cached_property
    def idents(self) -> frozenset[str]:
        """What timers, windows and temporal conditions may name."""
        return frozenset(literal.ident for literal in (*self.rule.events, *self.rule.timers))

    @cached_property
    def collected(self) -> frozenset[str]:
        return frozenset(collect.ident for collect in self.rule.collects if collect.ident is not None)

    @cached_property
    def positive(self) -> Names:
        """The variables that events and collections bind."""
        return _first(bound_variables(literal) for literal in (*self.rule.events, *self.rule.collects))

    @cached_property
    def negative(self) -> Names:
        return _first(map(bound_variables, self.rule.negations))

    @cached_property
    def absent(self) -> frozenset[str]:
        """The variables of what must not be there."""
        queries = (*self.rule.events, *self.rule.collects, *self.rule.negations)
        terms = (term for query in queries for term in walk_query_terms(query.term))
        return frozenset(name for term in terms if isinstance(term, n.Without) for name in term_variables(term.term))

    def check_head(self) -> None:
        head = self.rule.head
        if head.label == "match":
            fix = "choose another label"
            raise QueryError("`match` is what CEL queries give, and no rule may derive it", span=head.span, fix=fix)
        for child in head.children:
            made = child.term if isinstance(child, n.All) else child
            if isinstance(made, n.Make) and made.label.lower() in ("type", "begin", "end"):
                reason = f"`{made.label}` is a column of the answer already"
                raise QueryError(reason, span=made.span, fix="give the element another label")
        for term in _terms(head):
            if isinstance(term, n.Value | n.Aggregate | n.Combined):
                check_expression(term.expr, condition=False)
            if isinstance(term, n.All | n.Aggregate):
                self._check_counted(term)

    def _check_counted(self, term: n.All | n.Aggregate) -> None:
        """It goes over some variable, or counts events."""
        if used_variables(term) or self._counts_events(term):
            return
        over = "all" if isinstance(term, n.All) else term.over
        what = over if isinstance(term, n.All) else f"{term.name}({over} …)"
        fix = f"name one: {over} var X" if isinstance(term, n.All) else f"name one: {term.name}({over} var X)"
        raise QueryError(f"`{what}` goes over no variable", span=term.span, fix=fix)

    def _counts_events(self, term: n.All | n.Aggregate) -> bool:
        """Whether a term without variables has events to count."""
        over = "all" if isinstance(term, n.All) else term.over
        return bool(self.collected) if over == "all" else over == "each" and bool(self.rule.collects)

    def check_idents(self) -> None:
        rule = self.rule
        if not rule.events and all(isinstance(timer, n.RelativeTimer) for timer in rule.timers):
            raise QueryError(
                f"rule {rule.number} ({rule.head.label}) has no event to begin with",
                span=self.literals[0].span,
                fix="add one: event i: label {{ … }}",
            )
        seen: set[str] = set()
        for literal in (*rule.events, *rule.timers, *rule.collects):
            if literal.ident in seen:
                reason = f"two events are called `{literal.ident}`"
                raise QueryError(reason, span=literal.span, fix="give each event of a rule a name of its own")
            if literal.ident is not None:
                seen.add(literal.ident)

    def check_interval(self, named: frozenset[str]) -> None:
        if (interval := self.rule.interval) is not None:
            for moment in (interval.begin, interval.end):
                if moment is not None:
                    self._check_ident(moment.ident, moment.span, "a derived event can begin or end with", named)

    def check_timers(self, named: frozenset[str]) -> None:
        for timer in self.rule.timers:
            if isinstance(timer, n.RelativeTimer):
                self._check_ident(timer.anchor, timer.span, "a timer can be anchored on", named)
            elif isinstance(timer, n.AbsoluteTimer):
                _check_interval(timer)

    def check_whiles(self, named: frozenset[str]) -> None:
        for literal in (*self.rule.collects, *self.rule.negations):
            role = "`at` can name" if isinstance(literal, n.At) else "`while` can have as its time"
            self._check_ident(literal.window, literal.span, role, named)

    def check_conditions(self, named: frozenset[str]) -> None:
        for condition in self.rule.where:
            for part in _conditions(condition):
                if isinstance(part, n.Data | n.Combined):
                    check_expression(part.expr, condition=True)
                for aggregate in part.aggregates if isinstance(part, n.Combined) else ():
                    check_expression(aggregate.expr, condition=False)
                    self._check_counted(aggregate)
                if isinstance(part, n.Temporal):
                    for ident in part.events:
                        self._check_ident(ident, part.span, "a temporal condition can name", named)
                    if len(set(part.events)) < len(part.events):
                        reason = f"`{part.events[0]}` is compared with itself"
                        raise QueryError(reason, span=part.span, fix="name two events of the rule")

    def _check_ident(self, ident: str, span: Span, role: str, named: frozenset[str]) -> None:
        """`named` are the identifiers of all branches."""
        if ident in self.idents:
            return
        if ident in named:
            reason = f"event `{ident}` is not in every branch of `or` that this stands over"
            raise QueryError(reason, span=span, fix="name it in each branch, or write this into the branch that has it")
        if ident in self.collected:
            reason = f"`{ident}` is collected: there may be many of it, and it is not one event that {role}"
            raise QueryError(reason, span=span, fix=did_you_mean(ident, self.idents))
        reason = f"there is no event `{ident}` here that {role}"
        raise QueryError(reason, span=span, fix=did_you_mean(ident, self.idents))

    def check_joins(self) -> None:
        """A variable that may have no value joins nothing: nobody could say what it should equal."""
        for literal in self.literals:
            for name, span in optional_variables(literal).items():
                if any(name in bound_variables(other) for other in self.literals if other is not literal):
                    raise QueryError(
                        f"`var {name}` stands in an optional term, and another query of the rule binds it too",
                        span=span,
                        fix=f"give it another name here, and compare the two in where: var {name} = var {name}2",
                    )

    def check_absent_children(self) -> None:
        """`without` stands in double brackets, and its variables are those of its siblings, or its own."""
        for literal in (*self.rule.events, *self.rule.collects, *self.rule.negations):
            for term in walk_query_terms(literal.term):
                if isinstance(term, n.Element):
                    for child in term.children:
                        if isinstance(child, n.Without):
                            self._check_absent(child, term)

    def _check_absent(self, child: n.Without, element: n.Element) -> None:
        if element.total:
            reason = "in single brackets nothing but what is asked for may be there anyway"
            raise QueryError(reason, span=child.span, fix="leave `without` out, or write double brackets")
        beside = {name for sibling in element.children for name in term_variables(sibling)}
        for name in term_variables(child.term):
            if name in self.positive and name not in beside:
                raise QueryError(
                    f"`var {name}` in `without` is bound elsewhere in the rule, but not beside it",
                    span=child.span,
                    fix="bind it in a query beside `without`, or give it another name here for any value",
                )

    def check_bound(self, somewhere: set[str]) -> None:
        """Range restriction: what a head or a condition uses is bound by an event or a collection of this branch."""
        places: Sequence[tuple[str, n.ConstructTerm | n.Condition]] = [
            ("the head", self.rule.head),
            *(("where", condition) for condition in self.rule.where),
        ]
        for place, part in places:
            for name, span in used_variables(part).items():
                if (time := n.as_time(name)) is not None:
                    self._check_time(time[1], span, part)
                    continue
                if name in self.positive:
                    continue
                if name in somewhere:
                    reason = f"`var {name}` is not bound in every branch of `or`, and {place} uses it"
                    raise QueryError(reason, span=span, fix="bind it in each branch, or write a rule for each")
                if name in self.negative:
                    reason = f"`var {name}` is bound in a negation alone: what did not come has no value for {place}"
                    fix = f"bind it in an event query too, or leave it out: event i: label {{{{ var {name} }}}}"
                    if place == "where":
                        fix = "derive the events that may not come by a rule of their own, with this condition in it, "
                        fix += "and negate what that derives"
                    raise QueryError(reason, span=span, fix=fix)
                if name in self.absent:
                    reason = f"`var {name}` is bound in `without` alone: what is not there has no value for {place}"
                    raise QueryError(reason, span=span, fix=f"bind it beside `without`, or leave it out of {place}")
                fix = did_you_mean(name, self.positive) or f"bind it in an event query: label {{{{ var {name} }}}}"
                raise QueryError(f"`var {name}` is not bound by any event of the rule", span=span, fix=fix)

    def _check_time(self, ident: str, span: Span, part: n.ConstructTerm | n.Condition) -> None:
        """`begin(i)` is that of one event, or stands in an aggregate or `all` over what is collected."""
        if ident in self.idents:
            return
        if ident not in self.collected:
            fix = did_you_mean(ident, self.idents | self.collected)
            raise QueryError(f"there is no event `{ident}` here whose time could be a value", span=span, fix=fix)
        if any(n.as_time(name) == (side, ident) for name in outer_variables(part) for side in ("begin", "end")):
            reason = f"`{ident}` is collected: there may be many of it, each with a time of its own"
            raise QueryError(
                reason, span=span, fix=f"take one: max(all end({ident})), or all of them: all end({ident})"
            )


def _check_interval(timer: n.AbsoluteTimer) -> None:
    begin, end = timer.begin, timer.end
    try:
        if isinstance(begin, str) and isinstance(end, str):
            backward = datetime.fromisoformat(begin) > datetime.fromisoformat(end)
        elif isinstance(begin, str) or isinstance(end, str):
            fix = "give both as numbers of seconds, or both as texts"
            raise QueryError("one time is a number and the other a text", span=timer.span, fix=fix)
        else:
            backward = begin > end
    except TypeError:
        fix = "give both with a time zone, such as +00:00, or both without"
        raise QueryError("one time has a time zone and the other none", span=timer.span, fix=fix) from None
    if backward:
        raise QueryError("the timer ends before it begins", span=timer.span, fix="exchange the two times")


def _terms(term: n.ConstructTerm) -> Iterator[n.ConstructTerm]:
    """The term and all below it."""
    yield term
    below: tuple[n.ConstructTerm, ...] = ()
    if isinstance(term, n.Make):
        below = term.children
    elif isinstance(term, n.All | n.Combined):
        below = (term.term,) if isinstance(term, n.All) else term.aggregates
    for child in below:
        yield from _terms(child)


def _conditions(condition: n.Condition) -> Iterator[n.Condition]:
    """The condition and all below it."""
    yield condition
    if isinstance(condition, n.Formula):
        for part in condition.parts:
            yield from _conditions(part)


def _first(found: Iterator[Mapping[str, Span]]) -> Names:
    names: Names = {}
    for each in found:
        names = {**each, **names}
    return names

"""What a program of event rules means: the model theory and the fixpoint of the CERA paper (section 4.2).

An interpretation is (I, σ, τ): the events that happen, a substitution for variables, and an event trace, which says
which event each identifier stands for. For each trace τ of a rule, Σ_τ holds every σ under which its body is entailed;
the head makes events of Σ_τ. Everything is enumerated; nothing here is shared with the engines, which are tested
against it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import TypedDict, Unpack

from ostinato.core.expression_interpreter import evaluate_expression
from ostinato.core.expressions import Call, Literal
from ostinato.errors import DataError, LimitError
from ostinato.patterns.semantics.derivations import to_nanoseconds
from ostinato.rules.semantics.head_terms import (
    TracedSubstitution,
    construct_term,
    evaluate_group,
    evaluate_value,
    free_variables,
    groups_of,
)
from ostinato.rules.semantics.simulation import Substitution, merge_consistent, substitutions
from ostinato.rules.syntax import nodes as n
from ostinato.rules.syntax.variables import used_times
from ostinato.rules.terms.data import Child, DataTerm
from ostinato.rules.terms.event import IntervalEvent

__all__ = ["IntervalEvent", "derived_events", "fixpoint"]

Strata = Sequence[Sequence[n.NormalRule]]  # P_1, …, P_n
Trace = Mapping[str, IntervalEvent]  # τ
Patterns = Callable[[n.CelPattern, frozenset[IntervalEvent]], Iterable[IntervalEvent]]  # their matches over all events
Found = Sequence[tuple[IntervalEvent, Substitution]]  # events that a query term simulates into, with each substitution

SECOND = 1_000_000_000
BEFORE_ALL = -(2**62)
_TIMER = DataTerm("timer")


def _no_patterns(query: n.CelPattern, _: frozenset[IntervalEvent]) -> Iterable[IntervalEvent]:
    raise DataError("a rule with a cel pattern needs its matches", fix=f"say what `{query.query}` matches")


def as_number(seconds: Fraction) -> Child:
    """Whole seconds are whole numbers."""
    return int(seconds) if seconds.denominator == 1 else float(seconds)


def fixpoint(
    strata: Strata,
    events: Iterable[IntervalEvent],
    *,
    patterns: Patterns = _no_patterns,
    ticks_per_second: int = SECOND,
    max_rounds: int = 1_000,
    moment: Callable[[Fraction], Child] = as_number,
    rows: Iterable[DataTerm] = (),
) -> frozenset[IntervalEvent]:
    """M_{P,E} (Definition 0.10): stratum by stratum, each repeated until nothing new happens.

    `moment` is what the time of an event is as a value, from its seconds. `rows` are those of tables that hold before
    all events.
    """
    given = frozenset(IntervalEvent(BEFORE_ALL, BEFORE_ALL, row) for row in rows)
    happening = frozenset(events)
    ends = [event.end for event in happening]
    lasts = (min(ends), max(ends)) if ends else None
    for rules in strata:
        for _ in range(max_rounds):
            more = _Consequences(happening, given, patterns, ticks_per_second, moment, lasts).of(rules)
            if more <= happening:
                break
            happening |= more
        else:
            raise LimitError(
                "max_rounds",
                max_rounds,
                reason="a recursion goes on making new events",
                fix="let its rules make events only of values that are there already",
            )
    return happening


class _Options(TypedDict, total=False):
    patterns: Patterns
    ticks_per_second: int
    max_rounds: int
    moment: Callable[[Fraction], Child]
    rows: Iterable[DataTerm]


def derived_events(
    strata: Strata, events: Iterable[IntervalEvent], **options: Unpack[_Options]
) -> frozenset[IntervalEvent]:
    """The events of the fixpoint that did not come in; the options are those of `fixpoint`."""
    incoming = frozenset(events)
    return fixpoint(strata, incoming, **options) - incoming


@dataclass(frozen=True)
class _Consequences:
    """T_P (Definition 0.9) on an interpretation I."""

    happening: frozenset[IntervalEvent]
    given: frozenset[IntervalEvent]
    patterns: Patterns
    ticks_per_second: int
    moment: Callable[[Fraction], Child]
    lasts: tuple[int, int] | None  # the ends of the first and the last event that come in

    def of(self, rules: Iterable[n.NormalRule]) -> frozenset[IntervalEvent]:
        return frozenset(event for rule in rules for event in self._derive(rule))

    def _derive(self, rule: n.NormalRule) -> Iterator[IntervalEvent]:
        """h ← B (Figure 12): Σ_τ(h) for each τ, over the interval t that covers all events of τ."""
        collected = [self._meanwhile(each) for each in rule.collects]
        negated = [self._meanwhile(each) for each in rule.negations]
        for trace, sigmas in self._traces(rule):
            answers = [TracedSubstitution(sigma) for sigma in sigmas]
            for collect, found in zip(rule.collects, collected, strict=True):
                answers = list(_collect(answers, found(trace[collect.window])))
            answers = [self._with_times(each, trace, rule) for each in answers]
            for negation, found in zip(rule.negations, negated, strict=True):
                answers = [each for each in answers if _is_absent(each.sigma, found(trace[negation.window]))]
            plain = [condition for condition in rule.where if not _has_aggregates(condition)]
            answers = [each for each in answers if all(self._holds(c, each.sigma, trace) is True for c in plain)]
            begin, end = self._interval(rule, trace)
            yield from (IntervalEvent(begin, end, term) for term in self._terms(rule, answers, trace))

    def _interval(self, rule: n.NormalRule, trace: Trace) -> tuple[int, int]:
        """t covers all events of τ, but where the rule says how it begins or ends."""
        begin, end = min(e.begin for e in trace.values()), max(e.end for e in trace.values())
        if rule.interval is None:
            return begin, end
        said = [
            default
            if moment is None
            else trace[moment.ident].begin
            if moment.side == "begin"
            else trace[moment.ident].end
            for moment, default in ((rule.interval.begin, begin), (rule.interval.end, end))
        ]
        return said[0], said[1]

    def _terms(self, rule: n.NormalRule, answers: Sequence[TracedSubstitution], trace: Trace) -> Iterator[DataTerm]:
        """Σ_τ(h) of the groups that are as the conditions with aggregates say."""
        having = [condition for condition in rule.where if _has_aggregates(condition)]
        names = {*free_variables(rule.head)}.union(*map(free_variables, having))
        for group in groups_of(answers, sorted(names)):
            if all(self._group_holds(condition, group, rule, trace) is True for condition in having):
                yield construct_term(rule, group)

    def _group_holds(
        self, condition: n.Condition, group: Sequence[TracedSubstitution], rule: n.NormalRule, trace: Trace
    ) -> bool | None:
        if isinstance(condition, n.Combined):
            truth: bool | None = evaluate_group(condition, group, rule)
            return truth
        if isinstance(condition, n.Formula):
            return _connect(condition.op, [self._group_holds(part, group, rule, trace) for part in condition.parts])
        return self._holds(condition, group[0].sigma, trace)

    def _with_times(self, answer: TracedSubstitution, trace: Trace, rule: n.NormalRule) -> TracedSubstitution:
        """The times of events as values: `begin(i)` and `end(i)`."""
        events = {**trace}
        for collect, event in zip(rule.collects, answer.collected, strict=True):
            if collect.ident is not None:
                events[collect.ident] = event
        times = {}
        for side, ident in used_times(rule):
            tick = events[ident].begin if side == "begin" else events[ident].end
            times[n.time_variable(side, ident)] = self.moment(Fraction(tick, self.ticks_per_second))
        return TracedSubstitution({**answer.sigma, **times}, answer.collected)

    # Event queries and timers: Figures 12 and 13

    def _found(self, query: n.Element, bound: str | None, events: Iterable[IntervalEvent] | None = None) -> Found:
        """I, σ, τ ⊨ q^t: the events that q simulates into, among all that happen."""
        whole = query if bound is None else n.Bind(bound, query)
        among = self.happening if events is None else events
        return [(event, sigma) for event in among for sigma in substitutions(whole, event.term)]

    # What happens while an event lasts, and what a table holds when it ends

    def _meanwhile(self, query: n.While) -> Callable[[IntervalEvent], Found]:
        """From the window to what `while` or `at` finds."""
        if isinstance(query, n.At):
            return self._held(query)
        found = self._found(query.term, query.bound)
        return lambda window: [(event, sigma) for event, sigma in found if _inside(event, window)]

    def _held(self, query: n.At) -> Callable[[IntervalEvent], Found]:
        """at i: q. A row holds under its key from its end on, until another row with this key ends later."""
        assert query.key is not None, "the key is known once a program is normal"
        rows = self.happening | self.given
        keys = self._found(query.key, None, rows)
        found = [
            (event, union, key)
            for event, sigma in self._found(query.term, query.bound, rows)
            for other, key in keys
            if other == event and (union := merge_consistent([sigma, key])) is not None
        ]

        def held(window: IntervalEvent) -> Found:
            return [
                (event, union)
                for event, union, key in found
                if event.end <= window.end
                and not any(event.end < other.end <= window.end and _same(theirs, key) for other, theirs in keys)
            ]

        return held

    def _traces(self, rule: n.NormalRule) -> Iterator[tuple[Trace, list[Substitution]]]:
        """Every τ under which the events of the rule happen, with the substitutions under which they match."""
        traces: list[tuple[Trace, list[Substitution]]] = [({}, [{}])]
        for query in rule.events:
            groups: dict[IntervalEvent, list[Substitution]] = {}
            for event, sigma in self._matching(query):
                groups.setdefault(event, []).append(sigma)
            traces = [
                ({**trace, query.ident: event}, joined)
                for trace, sigmas in traces
                for event, own in groups.items()
                if (joined := _join(sigmas, own))
            ]
        for timer in rule.timers:
            traces = [
                ({**trace, timer.ident: IntervalEvent(begin, end, _TIMER)}, sigmas)
                for trace, sigmas in traces
                for begin, end in self._times(timer, trace)
                if begin <= end
            ]
        yield from traces

    def _matching(self, query: n.EventQuery | n.CelPattern) -> Found:
        if isinstance(query, n.CelPattern):
            return self._found(query.term, None, self.patterns(query, self.happening))
        return self._found(query.term, query.bound)

    def _times(self, timer: n.Timer, trace: Trace) -> list[tuple[int, int]]:
        if not isinstance(timer, n.PeriodicTimer):
            return [self._timer(timer, trace)]
        if self.lasts is None:
            return []
        length, (first, last) = self._ticks(timer.duration), self.lasts
        begins = range(first // length * length, last + 1, length)  # of the periods from the first end to the last
        if timer.kind == "tumbling":
            return [(begin, begin + length - 1) for begin in begins]
        return [(begin + length, begin + length) for begin in begins]

    def _timer(self, timer: n.RelativeTimer | n.AbsoluteTimer, trace: Trace) -> tuple[int, int]:
        """Figure 13, for every kind of timer."""
        if isinstance(timer, n.AbsoluteTimer):
            return self._moment(timer.begin), self._moment(timer.end)
        begin, end, d = trace[timer.anchor].begin, trace[timer.anchor].end, self._ticks(timer.duration)
        return {
            "from-end": (end, end + d),
            "from-start": (begin, begin + d),
            "from-end-backward": (end - d, end),
            "from-start-backward": (begin - d, begin),
            "extend": (begin, end + d),
            "shorten": (begin, end - d),
            "extend-begin": (begin - d, end),
            "shorten-begin": (begin + d, end),
            "shift-forward": (begin + d, end + d),
            "shift-backward": (begin - d, end - d),
        }[timer.kind]

    def _ticks(self, duration: n.Duration) -> int:
        return duration.nanoseconds * self.ticks_per_second // SECOND

    def _moment(self, moment: int | float | str) -> int:
        """Numbers count seconds; a text is a date and time."""
        since = to_nanoseconds(datetime.fromisoformat(moment) if isinstance(moment, str) else moment)
        return since * self.ticks_per_second // SECOND

    # Conditions: Figure 14

    def _holds(self, condition: n.Condition, sigma: Substitution, trace: Trace) -> bool | None:
        """W_{σ,τ}(C), in SQL's three-valued logic."""
        if isinstance(condition, n.Data):
            truth: bool | None = evaluate_value(condition.expr, sigma)
            return truth
        if isinstance(condition, n.Temporal):
            return self._satisfies(condition, [trace[name] for name in condition.events])
        assert isinstance(condition, n.Formula)
        return _connect(condition.op, [self._holds(part, sigma, trace) for part in condition.parts])

    def _satisfies(self, condition: n.Temporal, events: Sequence[IntervalEvent]) -> bool:
        begins, ends = [each.begin for each in events], [each.end for each in events]
        if condition.relation == "within":
            assert condition.duration is not None
            return max(ends) - min(begins) <= self._ticks(condition.duration)
        if condition.relation == "apart-by":
            assert condition.duration is not None
            return max(begins) - min(ends) >= self._ticks(condition.duration)
        if condition.relation in _CONVERSE:
            return _RELATIONS[_CONVERSE[condition.relation]](events[1], events[0])
        return _RELATIONS[condition.relation](events[0], events[1])


def _connect(op: str, parts: Iterable[bool | None]) -> bool | None:
    """and, or, not in SQL's three-valued logic."""
    both: bool | None = evaluate_expression(Call(op, tuple(map(Literal, parts))), {})
    return both


def _has_aggregates(condition: n.Condition) -> bool:
    return isinstance(condition, n.Combined) or (
        isinstance(condition, n.Formula) and any(map(_has_aggregates, condition.parts))
    )


def _join(left: Iterable[Substitution], right: Sequence[Substitution]) -> list[Substitution]:
    unions = (merge_consistent([one, other]) for one in left for other in right)
    return [union for union in unions if union is not None]


def _inside(event: IntervalEvent, window: IntervalEvent) -> bool:
    """t'' ⊑ t'."""
    return window.begin <= event.begin and event.end <= window.end


def _same(one: Substitution, other: Substitution) -> bool:
    """Whether two substitutions of the same variables are equal: numbers by value."""
    return merge_consistent([one, other]) is not None


def _collect(answers: Iterable[TracedSubstitution], found: Found) -> Iterator[TracedSubstitution]:
    """while j: collect q (Figure 12)."""
    for answer in answers:
        for event, own in found:
            union = merge_consistent([answer.sigma, own])
            if union is not None:
                yield TracedSubstitution(union, (*answer.collected, event))


def _is_absent(sigma: Substitution, found: Found) -> bool:
    """while j: not q (Figure 12): variables of q that σ does not bind may have any value."""
    return not any(merge_consistent([sigma, own]) is not None for _, own in found)


_RELATIONS: dict[str, Callable[[IntervalEvent, IntervalEvent], bool]] = {
    "before": lambda i, j: i.end < j.begin,
    "during": lambda i, j: j.begin < i.begin and i.end < j.end,
    "overlaps": lambda i, j: i.begin < j.begin < i.end < j.end,
    "meets": lambda i, j: i.end == j.begin,
    "starts": lambda i, j: i.begin == j.begin and i.end < j.end,
    "finishes": lambda i, j: i.end == j.end and j.begin < i.begin,
    "equals": lambda i, j: (i.begin, i.end) == (j.begin, j.end),
}
_CONVERSE = {
    "after": "before",
    "contains": "during",
    "overlapped-by": "overlaps",
    "met-by": "meets",
    "started-by": "starts",
    "finished-by": "finishes",
}

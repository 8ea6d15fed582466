"""What a CEL query means, straight from its definition (CEL paper, sections 3 and 4), for small streams.

`derivations.py` has the formulas; this is the rest: partitions, windows, strategies, consumption and LIMIT. Nothing
here is shared with the automata: this is what they are tested against.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from math import inf
from typing import Any

from ostinato.core.expression_interpreter import Row
from ostinato.core.expressions import variables
from ostinato.errors import QueryError
from ostinato.patterns.semantics.beginnings import ANYTHING, beginnings, is_extended, may_hold
from ostinato.patterns.semantics.derivations import (
    Demand,
    Derivation,
    Positions,
    Stream,
    absences,
    derivations,
    quantify,
)
from ostinato.patterns.syntax import nodes as n
from ostinato.patterns.syntax.earlier_rounds import name_earlier
from ostinato.patterns.syntax.nodes import Formula
from ostinato.patterns.syntax.part_numbers import part_numbers


@dataclass(frozen=True)
class LabelledMatch:
    """One labelled complex event. `end` is its last position; `labels` leaves out variables without a name."""

    positions: Positions
    labels: Mapping[str, Positions]
    reached: int | None = None  # the part in which it stopped, where it is no match but the beginning of one
    moment: tuple[float, float] = field(default=(0, 0), compare=False)  # when it is certain: a Moment

    @property
    def end(self) -> int:
        return self.positions[-1]


@dataclass(frozen=True)
class Result:
    """Every labelling of every selected complex event, by completing event (after a trailing NOT: by deadline)."""

    matches: tuple[LabelledMatch, ...]

    def positions(self) -> list[Positions]:
        """SELECT *: each complex event once."""
        return list(dict.fromkeys(match.positions for match in self.matches))

    def labelled(self, variables: Iterable[str]) -> list[dict[str, Positions]]:
        """SELECT items over these variables: each distinct restriction once; an unbound variable has no positions."""
        names = list(variables)
        distinct = dict.fromkeys(tuple(match.labels.get(name, ()) for name in names) for match in self.matches)
        return [dict(zip(names, restriction, strict=True)) for restriction in distinct]


def evaluate(query: n.Query, rows: Sequence[Row], *, time: str | None = None, type: str = "type") -> Result:
    """All matches of a checked query over rows in stream order, the stream ended (flushed) after the last one."""
    candidates = [
        each
        for partition, stream in enumerate(_streams(query, rows, time, type))
        for each in _complex_events(query, partition, stream)
    ]
    answers = [answer for complex_event in _select(query, candidates) for answer in complex_event.answers()]
    if query.limit is not None:
        return Result(tuple(_first(query, query.limit, answers)))
    return Result(tuple(answer.match for answer in sorted(answers, key=lambda answer: answer.order)))


# Streams and partitions -----------------------------------------------------------------------------------------------


def _streams(query: n.Query, rows: Sequence[Row], time: str | None, type: str) -> list[Stream]:
    """One sub-stream per partition key, in order of first appearance; NULL is a key like any other, so is NaN."""
    keys: dict[tuple[Any, ...], list[int]] = {}
    for position, row in enumerate(rows):
        key = (row.get(attribute) for attribute in query.partition_by)
        keys.setdefault(tuple("NaN" if part != part else part for part in key), []).append(position)
    relations = _relations(query, rows, type)
    return [
        Stream(tuple(rows[i] for i in origin), tuple(relations[i] for i in origin), tuple(origin), time)
        for origin in keys.values()
    ]


def _relations(query: n.Query, rows: Sequence[Row], type: str) -> list[str | None]:
    """The relation of each row; without a type column all are of the one in FROM, or the only one named."""
    if any(type in row for row in rows):
        return [row.get(type) for row in rows]
    named = set(query.relations) or {event.relation for event in _events(query.formula)} - {None}
    return [named.pop() if len(named) == 1 else None] * len(rows)


def _events(formula: Formula) -> Iterator[n.Event]:
    """Every `R AS x` in the formula, also under NOT."""
    if isinstance(formula, n.Event):
        yield formula
    elif isinstance(formula, n.Absent):
        yield formula.event
    for child in n.children(formula):
        yield from _events(child)


# Windows, selection strategies (section 4) and consumption ------------------------------------------------------------

Labels = frozenset[tuple[str, Positions]]
Labelling = tuple[Labels, int | None]  # and the part in which it stopped
# When something is certain: the time, and either the place of the event that decides, or infinity, where that time must
# have passed.
Moment = tuple[float, float]


@dataclass(frozen=True)
class _Answer:
    """A labelled complex event, and when it is certain."""

    moment: Moment
    partition: int
    match: LabelledMatch

    @property
    def order(self) -> tuple[Moment, int, Positions, list[tuple[str, Positions]]]:
        return self.moment, self.partition, self.match.positions, sorted(self.match.labels.items())


@dataclass(frozen=True)
class _ComplexEvent:
    """A complex event of one partition, in that partition's own positions, with every labelling of it."""

    partition: int
    stream: Stream
    positions: Positions
    labellings: Mapping[Labelling, Moment]

    @property
    def start(self) -> int:
        return self.stream.origin[self.positions[0]]

    @property
    def end(self) -> int:
        return self.stream.origin[self.positions[-1]]

    def answers(self) -> list[_Answer]:
        def in_stream(positions: Positions) -> Positions:
            return tuple(self.stream.origin[i] for i in positions)

        found = []
        for (labels, reached), moment in self.labellings.items():
            named = {name: in_stream(own) for name, own in labels}
            match = LabelledMatch(in_stream(self.positions), named, reached, moment)
            found.append(_Answer(moment, self.partition, match))
        return found


def _complex_events(query: n.Query, partition: int, stream: Stream) -> list[_ComplexEvent]:
    """[[φ]](S) restricted by WITHIN (and by the tie, once rewriting has made one of equality filters)."""
    found: dict[Positions, dict[Labelling, Moment]] = {}

    def add(each: Derivation, reached: int | None, moment: Moment) -> None:
        labels: dict[str, list[int]] = {}
        for position, variable in each.marks:
            for name in query.names(variable):
                labels.setdefault(name, []).append(position)
        named = frozenset((name, tuple(positions)) for name, positions in labels.items())
        moments = found.setdefault(_events_of(each), {})
        moments[named, reached] = min(moments.get((named, reached), moment), moment)

    whole = [each for each in derivations(name_earlier(query.formula), stream) if _fits(query, stream, each)]
    for each in whole:
        if _holds(query, stream, each):
            add(each, None, _moment(query, stream, each))
    if query.timeout is not None:
        number = part_numbers(query.formula)
        for each in _timed_out(query, stream, {_events_of(each) for each in whole}):
            add(each, number[each.marks[-1][1]], (_window_end(query, stream, each), inf))
    return [_ComplexEvent(partition, stream, positions, each) for positions, each in found.items()]


def _timed_out(query: n.Query, stream: Stream, whole: set[Positions]) -> Iterator[Derivation]:
    """The beginnings of matches that still waited when their window had passed: no event ended them, and they are not
    the beginning of something longer, nor a match already."""
    began = [
        (each, ends)
        for each, ends in beginnings(name_earlier(query.formula), stream)
        if _fits(query, stream, each) and may_hold(each, stream)
    ]
    others = whole | {_events_of(each) for each, _ in began}
    for each, ends in began:
        until = _window_end(query, stream, each)
        gap = [i for i in range(each.last + 1, len(stream.rows)) if stream.clock(i) <= until]
        ended = absences((ANYTHING,) if query.strategy == "STRICT" else ends, gap, stream)
        events = _events_of(each)
        if events not in whole and not is_extended(events, others) and each.requiring(ended, stream) is not None:
            yield each


def _events_of(derivation: Derivation) -> Positions:
    return tuple(position for position, _ in derivation.marks)


def _fits(query: n.Query, stream: Stream, derivation: Derivation) -> bool:
    """Whether it has events, which lie in one window, are tied, and (STRICT) leave out none between them."""
    if not derivation.marks:
        return _holds(query, stream, derivation)  # which says what is wrong
    gaps = derivation.last - derivation.first + 1 - len(derivation.marks)
    strict = query.timeout is None or query.strategy != "STRICT" or not gaps
    return strict and _within(query, stream, derivation) and _is_tied(query, stream, derivation)


def _within(query: n.Query, stream: Stream, derivation: Derivation) -> bool:
    first, last, window = derivation.first, derivation.last, query.window
    if window is None:
        return True
    if window.kind == "events":
        return last - first < window.amount
    if window.kind == "time":
        return stream.clock(last) - stream.clock(first) <= window.amount
    assert window.attribute is not None
    return bool(stream.rows[last][window.attribute] - stream.rows[first][window.attribute] <= window.amount)


def _is_tied(query: n.Query, stream: Stream, derivation: Derivation) -> bool:
    """Whether all events agree on the attribute; NULL agrees with nothing."""
    if query.tied_by is None:
        return True
    values = [stream.rows[position].get(query.tied_by) for position, _ in derivation.marks]
    return len(values) == 1 or all(value is not None and value == values[0] for value in values)


def _holds(query: n.Query, stream: Stream, derivation: Derivation) -> bool:
    """Whether some valuation meets all demands. A NOT at the end looks from the last event on to the deadline."""
    if derivation.before:
        raise QueryError("NOT needs an event before it", text=query.text, span=derivation.before[0].span)
    if not derivation.marks:
        return False  # nothing but optional parts, all left out
    demands: list[Demand] = []
    for absent in derivation.after:
        assert isinstance(absent, n.Absent), "NOT of a formula stands between two parts"
        if absent.at_once:
            demands += absences((absent,), range(len(stream.rows))[derivation.last + 1 : derivation.last + 2], stream)
            continue
        deadline = _deadline(query, stream, absent, derivation.first, derivation.last)
        gap = [i for i in range(derivation.last + 1, len(stream.rows)) if stream.clock(i) <= deadline]
        demands += absences((absent,), gap, stream)
    whole = derivation.requiring(demands, stream)
    if whole is None:
        return False
    everything = frozenset().union(*(demand.mentions for demand in whole.demands))
    return any(True for _ in quantify(whole, everything, stream))


def _moment(query: n.Query, stream: Stream, derivation: Derivation) -> Moment:
    """When a derivation is certain: with its last event, or after a NOT at the end with the next one or in time."""

    def event(place: int) -> Moment:
        if place == len(stream.origin):
            return inf, inf
        return stream.clock(place) if _waits_for_time(query) else 0, stream.origin[place]

    moments = [event(derivation.last)]
    for absent in derivation.after:
        assert isinstance(absent, n.Absent)
        if absent.at_once:
            moments.append(event(derivation.last + 1))
        else:
            moments.append((_deadline(query, stream, absent, derivation.first, derivation.last), inf))
    return max(moments)


def _waits_for_time(query: n.Query) -> bool:
    absents = [part for part in n.subformulas(query.formula) if isinstance(part, n.Absent)]
    measured = query.window is not None and query.window.kind == "time"
    return query.timeout is not None or any(measured or absent.lasting is not None for absent in absents)


def _deadline(query: n.Query, stream: Stream, absent: n.Absent, first: int, last: int) -> int:
    """Until when the absence at the end lasts: FOR counts from the last event on, WITHIN from the first."""
    if absent.lasting is not None:
        return stream.clock(last) + absent.lasting
    if query.window is None or query.window.kind != "time":
        raise QueryError(
            "NOT at the end needs WITHIN a time", text=query.text, fix="add WITHIN, such as WITHIN 10 minutes"
        )
    return stream.clock(first) + round(query.window.amount)


def _window_end(query: n.Query, stream: Stream, derivation: Derivation) -> int:
    assert query.window is not None, "WITH TIMEOUT ROWS has one"
    return stream.clock(derivation.first) + round(query.window.amount)


def _select(query: n.Query, candidates: Iterable[_ComplexEvent]) -> Iterator[_ComplexEvent]:
    """The strategy chooses among complex events with the same last position. CONSUME: what an event completed is used
    up, so that later complex events (of its partition, or all) begin after that event. AFTER MATCH SKIP TO: those that
    are chosen are taken one by one, by their events in order, and each says where later ones may begin."""
    bars: dict[int, int] = {}
    consumed: dict[int, int] = {}
    for end, ending in groupby(sorted(candidates, key=lambda each: each.end), key=lambda each: each.end):
        group = [each for each in ending if each.start > consumed.get(_scope(query, each), -1)]
        group = [each for each in group if each.start >= bars.get(each.partition, 0)]
        chosen = [each for each in group if _is_chosen(query.strategy, each, group)]
        if query.skip is None:
            yield from chosen
        else:
            for each in sorted(chosen, key=lambda each: each.positions):
                if each.start >= bars.get(each.partition, 0):
                    yield each
                    bars[each.partition] = max(bars.get(each.partition, 0), _skipped_to(query.skip, each))
        if query.consume != "NONE" and chosen:
            consumed[_scope(query, chosen[0])] = end


def _skipped_to(skip: n.Skip, each: _ComplexEvent) -> int:
    """Where later complex events may begin: at that event (the last of several labellings), but after the first one."""
    named = [dict(labels).get(skip.variable or "", ()) for labels, _ in each.labellings]
    places = [each.stream.origin[positions[0 if skip.to == "FIRST" else -1]] for positions in named if positions]
    return max([each.start + 1, *places])


def _first(query: n.Query, limit: int, answers: Iterable[_Answer]) -> Iterator[LabelledMatch]:
    """LIMIT: the first answers of each partition. What is reported at once is in the order of the events it shows: the
    one comes first that has the first event in which they differ, as with NXT; of the same events, the one whose
    variables come first by name where they differ first."""
    shown = frozenset().union(*(variables(item.expr) for item in query.items or ()))

    def row(match: LabelledMatch) -> tuple[tuple[float, ...], list[list[str]]]:
        names: dict[int, list[str]] = {position: [] for position in match.positions if query.items is None}
        for name in sorted(shown):
            for position in match.labels.get(name, ()):
                names.setdefault(position, []).append(name)
        return (*sorted(names), inf), [names[position] for position in sorted(names)]

    shown_in_order = [(each.moment, row(each.match), each.partition, each.match) for each in answers]
    seen: list[tuple[tuple[float, ...], list[list[str]]]] = []
    given: dict[int, int] = {}
    for _, events, partition, match in sorted(shown_in_order, key=lambda answer: answer[:3]):
        if events not in seen and given.get(partition, 0) < limit:
            given[partition] = given.get(partition, 0) + 1
            yield match
        seen.append(events)


def _scope(query: n.Query, complex_event: _ComplexEvent) -> int:
    """What is consumed together: a partition, or (0) everything."""
    return complex_event.partition if query.consume == "PARTITION" else 0


def _is_chosen(strategy: n.Strategy, chosen: _ComplexEvent, group: Iterable[_ComplexEvent]) -> bool:
    c = frozenset(chosen.positions)
    others = [frozenset(other.positions) for other in group]
    if strategy == "STRICT":
        return max(c) - min(c) + 1 == len(c)
    if strategy == "NXT":
        return all(other == c or min(other ^ c) in c for other in others)  # other ≤next c
    if strategy == "LAST":
        return all(other == c or max(other ^ c) in c for other in others)  # other ≤last c
    if strategy == "MAX":
        return not any(c < other for other in others)
    return True

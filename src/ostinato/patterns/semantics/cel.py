"""What a CEL query means, straight from its definition (CEL paper, sections 3 and 4), for small streams.

[[φ]](S, ν) is computed bottom-up. A *derivation* of a formula is one way to match it: the marked positions with the
variable of each, the valuation ν of the variables bound so far, and the demands: conditions that wait for a variable
bound elsewhere. Nothing here is shared with the automata: this is what they are tested against.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import cached_property
from itertools import groupby, product
from typing import Any

from ostinato.core.expression_interpreter import Row, passes, to_instant
from ostinato.core.expressions import TRUE, Expr, variables
from ostinato.errors import DataError, QueryError
from ostinato.patterns.syntax import nodes
from ostinato.patterns.syntax import nodes as n
from ostinato.patterns.syntax.nodes import Formula

Positions = tuple[int, ...]  # a complex event: ascending positions


@dataclass(frozen=True)
class LabelledMatch:
    """One labelled complex event. `end` is its last position; `labels` leaves out variables without a name."""

    positions: Positions
    labels: Mapping[str, Positions]

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
    selected = sorted(_select(query, candidates), key=_emission(query))
    return Result(tuple(match for complex_event in selected for match in complex_event.matches()))


# Streams and partitions -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Stream:
    """The sub-stream of one partition. Positions inside it are its own; `origin` gives those of the whole stream."""

    rows: tuple[Row, ...]
    relations: tuple[str | None, ...]
    origin: Positions
    time: str | None

    def is_a(self, position: int, event: n.Event) -> bool:
        return event.relation is None or event.relation == self.relations[position]

    def passes(self, predicate: Expr, valuation: Mapping[str, int]) -> bool:
        return passes(predicate, {variable: self.rows[position] for variable, position in valuation.items()})

    def clock(self, position: int) -> int:
        """The event's time in nanoseconds."""
        if self.time is None:
            raise DataError("WITHIN a time needs a time column", fix="name it, or use WITHIN n EVENTS")
        return to_nanoseconds(self.rows[position][self.time])


def to_nanoseconds(moment: date | float) -> int:
    """A point in time as a whole number; plain numbers count in seconds."""
    if isinstance(moment, date):
        elapsed = to_instant(moment) - to_instant(datetime(1970, 1, 1))
        return ((elapsed.days * 86_400 + elapsed.seconds) * 1_000_000 + elapsed.microseconds) * 1_000
    return round(moment * 1_000_000_000)


def _streams(query: n.Query, rows: Sequence[Row], time: str | None, type: str) -> list[_Stream]:
    """One sub-stream per partition key, in order of first appearance; NULL is a key like any other, so is NaN."""
    keys: dict[tuple[Any, ...], list[int]] = {}
    for position, row in enumerate(rows):
        key = (row.get(attribute) for attribute in query.partition_by)
        keys.setdefault(tuple("NaN" if part != part else part for part in key), []).append(position)
    relations = _relations(query, rows, type)
    return [
        _Stream(tuple(rows[i] for i in origin), tuple(relations[i] for i in origin), tuple(origin), time)
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
    for child in nodes.children(formula):
        yield from _events(child)


# [[φ]](S, ν) ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Demand:
    """A condition on variables not all bound yet: the predicate holds; with `absent`, it holds for no event `among`."""

    predicate: Expr
    absent: str | None = None
    among: Positions = ()
    known: frozenset[tuple[str, int]] = frozenset()  # what variables of a finished iteration stood for

    @cached_property
    def mentions(self) -> frozenset[str]:
        return variables(self.predicate) - {self.absent, *dict(self.known)}

    def knowing(self, values: Mapping[str, int]) -> _Demand:
        own = {(variable, position) for variable, position in values.items() if variable in self.mentions}
        return replace(self, known=self.known | own) if own else self

    def met(self, stream: _Stream, valuation: Mapping[str, int]) -> bool:
        valuation = {**valuation, **dict(self.known)}
        if self.absent is None:
            return stream.passes(self.predicate, valuation)
        return not any(stream.passes(self.predicate, {**valuation, self.absent: i}) for i in self.among)


@dataclass(frozen=True)
class _Derivation:
    """One way to match a formula. `before` and `after` are NOTs at its edges, whose gap only the outside knows."""

    marks: tuple[tuple[int, str], ...] = ()
    valuation: frozenset[tuple[str, int]] = frozenset()
    demands: frozenset[_Demand] = frozenset()
    before: tuple[n.Absent, ...] = ()
    after: tuple[n.Absent, ...] = ()

    @property
    def first(self) -> int:
        return self.marks[0][0]

    @property
    def last(self) -> int:
        return self.marks[-1][0]

    def requiring(self, demands: Iterable[_Demand], stream: _Stream) -> _Derivation | None:
        """The derivation with more demands: None where one that can be tested fails, the rest keep waiting."""
        valuation, waiting = dict(self.valuation), []
        for demand in self.demands.union(demands):
            if not demand.mentions <= valuation.keys():
                waiting.append(demand)
            elif not demand.met(stream, valuation):
                return None
        return replace(self, demands=frozenset(waiting))


def _derivations(formula: Formula, stream: _Stream) -> set[_Derivation]:
    """Every derivation of the formula over the stream."""
    if isinstance(formula, n.Event):
        # {ν(x)}, where type(S[ν(x)]) = R
        return {
            _Derivation(marks=((i, _label(formula.variable)),), valuation=frozenset({(formula.variable, i)}))
            for i in range(len(stream.rows))
            if stream.is_a(i, formula)
        }
    if isinstance(formula, n.Filter):
        demand = _Demand(formula.predicate)
        required = (each.requiring({demand}, stream) for each in _derivations(formula.body, stream))
        return {each for each in required if each is not None}
    if isinstance(formula, n.Or):
        return set().union(*(_derivations(part, stream) for part in formula.parts))
    if isinstance(formula, nodes.Sequence):
        first, *others = (_derivations(part, stream) for part in formula.parts)
        for other in others:
            first = _concatenate(first, other, formula.contiguous, stream)
        return first
    if isinstance(formula, n.Repeat):
        return _repeat(formula, stream)
    if isinstance(formula, n.Absent):
        return {_Derivation(after=(formula,))}  # no event of its own; _concatenate gives it its gap
    assert isinstance(formula, n.Never)
    return set()


def _label(variable: str) -> str:
    """Variables without a name are all alike in the output."""
    return "" if variable.startswith("#") else variable


def _concatenate(
    lefts: set[_Derivation], rights: set[_Derivation], contiguous: bool, stream: _Stream
) -> set[_Derivation]:
    """C₁ · C₂ under one valuation, where max(C₁) < min(C₂); `:` allows no position between them."""
    joined = (_join(left, right, contiguous, stream) for left in lefts for right in rights)
    return {each for each in joined if each is not None}


def _join(left: _Derivation, right: _Derivation, contiguous: bool, stream: _Stream) -> _Derivation | None:
    if not right.marks:
        return replace(left, after=left.after + right.after)
    if not left.marks:
        return replace(right, before=left.after + right.before)
    if right.first <= left.last or (contiguous and right.first != left.last + 1):
        return None
    valuation = dict(left.valuation)
    if any(valuation.setdefault(variable, position) != position for variable, position in right.valuation):
        return None
    both = _Derivation(
        marks=left.marks + right.marks,
        valuation=left.valuation | right.valuation,
        demands=left.demands | right.demands,
        before=left.before,
        after=right.after,
    )
    return both.requiring(_absences(left.after + right.before, range(left.last + 1, right.first), stream), stream)


def _absences(absents: Iterable[n.Absent], gap: Iterable[int], stream: _Stream) -> list[_Demand]:
    """Each NOT asks that no event of the gap is of its relation and passes its filter."""
    return [
        _Demand(absent.predicate or TRUE, absent.event.variable, tuple(i for i in gap if stream.is_a(i, absent.event)))
        for absent in absents
    ]


def _repeat(formula: n.Repeat, stream: _Stream) -> set[_Derivation]:
    """ρ+: one ρ, or ρ ; ρ+, where each iteration has its own valuation ν′ of U = vdef₊(ρ)."""
    own = n.vdef_plus(formula.body)
    iterations = {renewed for each in _derivations(formula.body, stream) for renewed in _quantify(each, own, stream)}
    found = longest = iterations
    while longest:
        longest = _concatenate(longest, iterations, formula.contiguous, stream) - found
        found = found | longest
    return found


def _quantify(derivation: _Derivation, own: frozenset[str], stream: _Stream) -> Iterator[_Derivation]:
    """Close the scope of `own`: demands keep the values of these variables, any position where nothing bound one."""
    outside = replace(derivation, valuation=frozenset(pair for pair in derivation.valuation if pair[0] not in own))
    bound = dict(derivation.valuation - outside.valuation)
    free = sorted({name for demand in derivation.demands for name in demand.mentions & own} - bound.keys())
    for positions in product(range(len(stream.rows)), repeat=len(free)):
        values = {**bound, **dict(zip(free, positions, strict=True))}
        demands = [demand.knowing(values) for demand in derivation.demands]
        closed = replace(outside, demands=frozenset()).requiring(demands, stream)
        if closed is not None:
            yield closed


# Windows, selection strategies (section 4) and consumption ------------------------------------------------------------

Labels = frozenset[tuple[str, Positions]]


@dataclass(frozen=True)
class _ComplexEvent:
    """A complex event of one partition, in that partition's own positions, with every labelling of it."""

    partition: int
    stream: _Stream
    positions: Positions
    labellings: frozenset[Labels]

    @property
    def start(self) -> int:
        return self.stream.origin[self.positions[0]]

    @property
    def end(self) -> int:
        return self.stream.origin[self.positions[-1]]

    def matches(self) -> list[LabelledMatch]:
        def in_stream(positions: Positions) -> Positions:
            return tuple(self.stream.origin[i] for i in positions)

        labellings = sorted(sorted(labels) for labels in self.labellings)
        return [
            LabelledMatch(in_stream(self.positions), {name: in_stream(own) for name, own in labels})
            for labels in labellings
        ]


def _complex_events(query: n.Query, partition: int, stream: _Stream) -> list[_ComplexEvent]:
    """[[φ]](S) restricted by WITHIN (and by the tie, once rewriting has made one of equality filters)."""
    found: dict[Positions, set[Labels]] = {}
    for each in _derivations(query.formula, stream):
        if _holds(query, stream, each) and _within(query, stream, each) and _is_tied(query, stream, each):
            labels: dict[str, list[int]] = {}
            for position, variable in each.marks:
                labels.setdefault(variable, []).append(position)
            named = frozenset((name, tuple(positions)) for name, positions in labels.items() if name)
            found.setdefault(tuple(position for position, _ in each.marks), set()).add(named)
    return [_ComplexEvent(partition, stream, positions, frozenset(each)) for positions, each in found.items()]


def _within(query: n.Query, stream: _Stream, derivation: _Derivation) -> bool:
    first, last, window = derivation.first, derivation.last, query.window
    if window is None:
        return True
    if window.kind == "events":
        return last - first < window.amount
    if window.kind == "time":
        return stream.clock(last) - stream.clock(first) <= window.amount
    assert window.attribute is not None
    return bool(stream.rows[last][window.attribute] - stream.rows[first][window.attribute] <= window.amount)


def _is_tied(query: n.Query, stream: _Stream, derivation: _Derivation) -> bool:
    """Whether all events agree on the attribute; NULL agrees with nothing."""
    if query.tied_by is None:
        return True
    values = [stream.rows[position].get(query.tied_by) for position, _ in derivation.marks]
    return len(values) == 1 or all(value is not None and value == values[0] for value in values)


def _holds(query: n.Query, stream: _Stream, derivation: _Derivation) -> bool:
    """Whether some valuation meets all demands. A NOT at the end looks from the last event on to the deadline."""
    if derivation.before or not derivation.marks:
        raise QueryError(
            "NOT needs an event before it", text=query.text, span=(derivation.before + derivation.after)[0].span
        )
    demands: list[_Demand] = []
    if derivation.after:
        deadline = _deadline(query, stream, derivation.first)
        gap = [i for i in range(derivation.last + 1, len(stream.rows)) if stream.clock(i) <= deadline]
        demands = _absences(derivation.after, gap, stream)
    whole = derivation.requiring(demands, stream)
    if whole is None:
        return False
    everything = frozenset().union(*(demand.mentions for demand in whole.demands))
    return any(True for _ in _quantify(whole, everything, stream))


def _deadline(query: n.Query, stream: _Stream, first: int) -> float:
    """When the absence at the end is certain."""
    if query.window is None or query.window.kind != "time":
        raise QueryError(
            "NOT at the end needs WITHIN a time", text=query.text, fix="add WITHIN, such as WITHIN 10 minutes"
        )
    return stream.clock(first) + query.window.amount


def _select(query: n.Query, candidates: Iterable[_ComplexEvent]) -> Iterator[_ComplexEvent]:
    """The strategy chooses among complex events with the same last position. CONSUME: what an event completed is used
    up, so that later complex events (of its partition, or all) begin after that event."""
    consumed: dict[int, int] = {}
    for end, ending in groupby(sorted(candidates, key=lambda each: each.end), key=lambda each: each.end):
        group = [each for each in ending if each.start > consumed.get(_scope(query, each), -1)]
        chosen = [each for each in group if _is_chosen(query.strategy, each, group)]
        yield from chosen
        if query.consume != "NONE" and chosen:
            consumed[_scope(query, chosen[0])] = end


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


def _emission(query: n.Query) -> Callable[[_ComplexEvent], tuple[float, int, Positions]]:
    """When a complex event is reported: with its last event, or after a trailing NOT at its deadline."""

    def key(each: _ComplexEvent) -> tuple[float, int, Positions]:
        when = _deadline(query, each.stream, each.positions[0]) if waits else each.end
        return when, each.partition, each.positions

    waits = _ends_with_not(query.formula)
    return key


def _ends_with_not(formula: Formula) -> bool:
    if isinstance(formula, n.Absent):
        return True
    parts = nodes.children(formula)
    return any(map(_ends_with_not, parts[-1:] if isinstance(formula, nodes.Sequence) else parts))

"""NOT at the end of a pattern, few events at a time: an event looks up the matches that it cancels.

The matches that wait are Python objects then: in a heap by the time at which they are certain, and by what an event
must have in common with them. For many events at a time they are arrays again (absence.py), with the same meaning.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from itertools import pairwise, repeat
from operator import attrgetter, ge, gt, le, lt, ne
from typing import Any

import numpy as np
import pyarrow as pa

from ostinato.core.arrays import Int32, Int64
from ostinato.core.clock import MAX_TICK
from ostinato.core.expressions import CURRENT, MIRROR, Attribute, Call, Expr, conjuncts
from ostinato.core.rows import plain_check
from ostinato.patterns.automata.from_formula import TrailingAbsence
from ostinato.patterns.compile import CompiledPattern
from ostinato.patterns.runtime.absence import NEVER, Wait, WaitingMatches
from ostinato.patterns.runtime.bound_query import BoundQuery
from ostinato.patterns.runtime.history import PLACE, TIME, History
from ostinato.patterns.runtime.matches import Matches

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "<": lt,
    "<=": le,
    ">": gt,
    ">=": ge,
    "!=": ne,
}
Value = Callable[[str], Any]  # of an attribute of the event at hand
_Bound = tuple[int, str]  # an attribute of a variable, by the symbol of that


@dataclass(slots=True)
class _Match:
    """A match that waits. For each NOT of the pattern, `groups` says in which group it is, and `values` what events are
    compared with."""

    number: int
    positions: list[int]
    symbols: list[int]
    key: int
    start: int
    end: int
    waits: bool = True
    values: list[tuple[Any, ...]] = field(default_factory=list)
    groups: list[tuple[Any, ...] | None] = field(default_factory=list)
    deadlines: list[int] = field(default_factory=list)  # the last times at which events cancel it


@dataclass(frozen=True)
class _Watch:
    """One NOT: which events cancel which matches. Those that an event may cancel have its key and equal values."""

    wait: Wait
    condition: int | None  # its number
    equal: tuple[tuple[str, _Bound], ...]
    compared: tuple[tuple[Callable[[Any, Any], bool], str, _Bound], ...]
    groups: dict[tuple[Any, ...], dict[int, _Match]] = field(default_factory=dict)

    @property
    def bounds(self) -> list[_Bound]:
        """What events are compared with."""
        return [bound for _, bound in self.equal] + [bound for _, _, bound in self.compared]

    def add(self, match: _Match, values: tuple[Any, ...]) -> int:
        """Let events cancel a match up to a time, which is returned; `values` are those of `bounds`."""
        wanted = common_values(match.key, values[: len(self.equal)] if self.compared else values)
        match.groups.append(wanted)
        deadline = min((match.end if self.wait.from_last else match.start) + self.wait.reach, MAX_TICK)
        match.deadlines.append(deadline)
        if wanted is not None:
            group = self.groups.get(wanted)
            if group is None:
                self.groups[wanted] = {match.number: match}
            else:
                group[match.number] = match
        return deadline

    def cancelled(self, key: int, now: int, value: Value, place: int) -> list[_Match]:
        """The matches that an event cancels; this NOT is at a place among those of the pattern."""
        wanted = common_values(key, tuple([value(name) for name, _ in self.equal]))
        group = self.groups.get(wanted) if wanted is not None else None
        if not group:
            return []
        found = [match for match in group.values() if now <= match.deadlines[place]]
        if not self.compared:
            return found
        own = [(compare, value(name)) for compare, name, _ in self.compared]
        return [match for match in found if _hold(own, match.values[place][len(self.equal) :])]

    def drop(self, match: _Match, wanted: tuple[Any, ...] | None) -> None:
        if wanted is not None:
            group = self.groups[wanted]
            del group[match.number]
            if not group:
                del self.groups[wanted]


def common_values(key: int, values: Sequence[Any]) -> tuple[Any, ...] | None:
    """What matches and events have in common; None where a value equals nothing, as NULL and NaN do."""
    for value in values:
        if value is None or value != value:
            return None
    return (key, *values)


def _hold(comparisons: Iterable[tuple[Callable[[Any, Any], bool], Any]], others: Iterable[Any]) -> bool:
    return all(
        left is not None and right is not None and compare(left, right)
        for (compare, left), right in zip(comparisons, others, strict=True)
    )


class IndexedAbsence:
    """The matches of one engine that wait, while it is `active`; else they are in `arrays`."""

    def __init__(
        self,
        arrays: WaitingMatches,
        watches: Sequence[_Watch],
        stream: BoundQuery,
        history: History,
        alike: Mapping[int, int] | None,
    ) -> None:
        """`alike` says what each symbol is shown as, if answers could be found more than once."""
        self.arrays, self.history, self._stream, self._alike = arrays, history, stream, alike
        self.active = False
        self._watches = watches
        self._heap: list[tuple[int, int, _Match]] = []
        self._count = 0  # of matches so far
        self._of_code: list[list[int]] = []  # the NOTs that an event of each code may be one of
        self._hits = np.zeros(0, np.bool_)  # the codes that have any

    @staticmethod
    def of(
        compiled: CompiledPattern, arrays: WaitingMatches | None, stream: BoundQuery, history: History
    ) -> IndexedAbsence | None:
        """For a query whose matches wait for time alone, and for conditions that compare plain values."""
        if arrays is None or compiled.branched or compiled.stops or arrays.strategy in ("NXT", "LAST", "MAX"):
            return None
        if stream.ties is not None or any(wait.at_once or wait.branch for wait in arrays.waits):
            return None
        symbols = compiled.watched_symbols()
        watches: list[_Watch] = []
        for absence, wait in zip(compiled.trailing, arrays.waits, strict=True):
            watch = _watch(absence, wait, compiled, symbols, stream.schema)
            if watch is None:
                return None
            watches.append(watch)
        if not compiled.repeats:
            return IndexedAbsence(arrays, watches, stream, history, None)
        if compiled.hides_variables:
            return None
        alike = compiled.alike if compiled.query.items is not None else [0] * len(compiled.labels)
        shown = defaultdict(lambda: -1, enumerate(alike, start=1))
        return IndexedAbsence(arrays, watches, stream, history, shown)

    def take_over(self) -> None:
        """Hold the matches that are in the arrays."""
        if self.active:
            return
        self.active = True
        arrays = self.arrays
        if not len(arrays.matches):
            return
        self._add_all(arrays.matches, arrays.ends.tolist(), arrays.starts.tolist())
        arrays.matches = Matches.none()
        for name in ("starts", "ends", "branches", "deciding", "groups", "places"):
            setattr(arrays, name, np.zeros(0, np.int64))

    def settle(self) -> None:
        """Put the matches back into the arrays."""
        if not self.active:
            return
        waiting = sorted((match for _, _, match in self._heap if match.waits), key=attrgetter("number"))
        self.active, self._heap = False, []
        if not waiting:
            return  # the arrays are empty
        for watch in self._watches:
            watch.groups.clear()
        arrays, count = self.arrays, len(waiting)
        arrays.matches = _as_matches(waiting, origin=-1)
        arrays.starts = np.array([match.start for match in waiting], np.int64)
        arrays.ends = np.array([match.end for match in waiting], np.int64)
        arrays.branches, arrays.deciding = np.zeros(count, np.int64), np.full(count, NEVER, np.int64)
        arrays.groups = np.arange(arrays.next_group, arrays.next_group + count)
        arrays.next_group += count
        arrays.places = self.history.numbers(arrays.matches.positions, PLACE)

    def add(self, matches: Matches, now: int) -> None:
        """Matches that an event completes, whose row is in the history."""
        self._add_all(matches, [now] * len(matches))

    def _add_all(self, matches: Matches, ends: list[int], starts: list[int] | None = None) -> None:
        for match in self._as_objects(matches, ends, starts):
            self._put(match)

    def _as_objects(self, matches: Matches, ends: list[int], starts: list[int] | None) -> Iterable[_Match]:
        positions, symbols = matches.positions.tolist(), matches.symbols.tolist()
        parts = list(pairwise(matches.offsets.tolist()))
        if starts is None:
            single = len(positions) == len(parts) or all(watch.wait.from_last for watch in self._watches)
            starts = ends if single else self.history.values([positions[first] for first, _ in parts], TIME)
        numbers = range(self._count + 1, self._count + 1 + len(parts))
        self._count += len(parts)
        found = [
            _Match(number, positions[first:end], symbols[first:end], key, began, ended)
            for number, (first, end), key, began, ended in zip(
                numbers, parts, matches.keys.tolist(), starts, ends, strict=True
            )
        ]
        for watch in self._watches:
            columns = [self._values(found, bound) for bound in watch.bounds]
            for match, values in zip(found, zip(*columns, strict=True) if columns else repeat(()), strict=False):
                match.values.append(values)
        return found

    def _values(self, found: Sequence[_Match], bound: _Bound) -> list[Any]:
        symbol, name = bound
        return self.history.values([match.positions[match.symbols.index(symbol)] for match in found], name)

    def _put(self, match: _Match) -> None:
        certain = -1
        for watch, values in zip(self._watches, match.values, strict=True):
            certain = max(certain, watch.add(match, values))
        heappush(self._heap, (certain, match.number, match))

    def cancel(self, code: int, key: int, now: int, value: Value) -> None:
        """Forget the matches that an event cancels."""
        if code >= len(self._of_code):
            self._learn_codes()
        for place in self._of_code[code]:
            for match in self._watches[place].cancelled(key, now, value, place):
                self._drop(match)

    def _drop(self, match: _Match) -> None:
        match.waits = False
        for watch, wanted in zip(self._watches, match.groups, strict=True):
            watch.drop(match, wanted)

    def _learn_codes(self) -> None:
        encoder = self._stream.encoder
        for code in range(len(self._of_code), encoder.size):
            truth = encoder.truth(code)
            own = enumerate(self._watches)
            self._of_code.append(
                [place for place, watch in own if watch.condition is not None and truth[watch.condition]]
            )
        self._hits = np.array([bool(own) for own in self._of_code])

    def see(self, rows: pa.Table, codes: Int32, keys: Int32, times: Int64, matches: Matches) -> None:
        """Let a batch, whose rows are in the history, cancel matches and bring new ones."""
        if self._stream.encoder.size > len(self._of_code):
            self._learn_codes()
        columns: dict[str, list[Any]] = {}

        def value(name: str) -> Any:
            if name not in columns:
                columns[name] = rows[name].to_pylist()
            return columns[name][row]

        ends = times[matches.origins].tolist()
        waiting = zip(matches.origins.tolist(), self._as_objects(matches, ends, None), strict=True)
        nothing = len(codes), None
        origin, match = next(waiting, nothing)
        for row in np.flatnonzero(self._hits[codes]).tolist():
            while match is not None and origin < row:  # one that this row completes is not cancelled by it
                self._put(match)
                origin, match = next(waiting, nothing)
            self.cancel(int(codes[row]), int(keys[row]) if len(keys) else 0, int(times[row]), value)
        while match is not None:
            self._put(match)
            origin, match = next(waiting, nothing)

    def until(self, now: int) -> Matches | None:
        """Matches that are certain now that time has reached `now`, in the order in which they became so."""
        heap, ready, given = self._heap, list[_Match](), set[tuple[int, ...]]()
        known: list[int] = []
        while heap and heap[0][0] < now:
            certain, _, match = heappop(heap)
            if not match.waits:
                continue
            self._drop(match)
            if self._alike is not None:  # what looks alike is certain at the same time
                looks = (*match.positions, *[self._alike[symbol] for symbol in match.symbols])
                if looks in given:
                    continue
                given.add(looks)
            ready.append(match)
            known.append(certain)
        return replace(_as_matches(ready, origin=0), known=np.array(known, np.int64)) if ready else None

    def next_deadline(self) -> int | None:
        """The time that must pass before some match is certain; None when nothing waits."""
        heap = self._heap
        while heap and not heap[0][2].waits:
            heappop(heap)
        return heap[0][0] if heap and heap[0][0] < NEVER else None


def _as_matches(waiting: Sequence[_Match], origin: int) -> Matches:
    count = len(waiting)
    offsets = np.zeros(count + 1, np.int64)
    np.cumsum([len(match.positions) for match in waiting], out=offsets[1:])
    return Matches(
        np.array([position for match in waiting for position in match.positions], np.int64),
        np.array([symbol for match in waiting for symbol in match.symbols], np.int64),
        offsets,
        np.array([match.key for match in waiting], np.int64),
        np.full(count, origin, np.int64),
    )


def _watch(
    absence: TrailingAbsence, wait: Wait, compiled: CompiledPattern, symbols: dict[str, int], schema: pa.Schema
) -> _Watch | None:
    """None where a test is more than comparisons of plain values of one type."""
    condition = None if absence.condition is None else compiled.conditions.index(absence.condition)
    comparisons = plain_comparisons(absence.test, schema)
    if comparisons is None:
        return None
    equal: list[tuple[str, _Bound]] = []
    compared: list[tuple[Callable[[Any, Any], bool], str, _Bound]] = []
    for op, name, other in comparisons:
        bound = symbols[other.variable], other.name
        if op == "=":
            equal.append((name, bound))
        else:
            compared.append((_COMPARE[op], name, bound))
    return _Watch(wait, condition, tuple(equal), tuple(compared))


def plain_comparisons(test: Expr | None, schema: pa.Schema) -> list[tuple[str, str, Attribute]] | None:
    """What a test compares: the operator, the attribute of the event on its left, and that of another on its right.
    None where it does anything else."""
    found: list[tuple[str, str, Attribute]] = []
    for part in conjuncts(test) if test is not None else ():
        comparison = _comparison(part, schema)
        if comparison is None:
            return None
        found.append(comparison)
    return found


def _comparison(part: Expr, schema: pa.Schema) -> tuple[str, str, Attribute] | None:
    if not isinstance(part, Call) or (part.op != "=" and part.op not in _COMPARE):
        return None
    op, (left, right) = part.op, part.args
    if isinstance(right, Attribute) and right.variable == CURRENT:
        op, left, right = MIRROR[op], right, left
    if not isinstance(left, Attribute) or not isinstance(right, Attribute):
        return None
    if left.variable != CURRENT or right.variable == CURRENT:
        return None
    kind, other = schema.field(left.name).type, schema.field(right.name).type
    return (op, left.name, right) if kind == other and _is_plain(kind) else None


def _is_plain(kind: pa.DataType) -> bool:
    return plain_check(kind) is not None and not pa.types.is_dictionary(kind) and not pa.types.is_null(kind)

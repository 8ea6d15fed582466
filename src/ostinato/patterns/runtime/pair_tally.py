"""Counts the matches of a pattern of two events that compares them by one inequality, or by how far apart they are, in
logarithmic time per event."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from typing import Literal as OneOf

import numpy as np

from ostinato.core.arrays import Bools, Int64
from ostinato.core.expressions import MIRROR, Attribute, Expr, Literal, to_text
from ostinato.patterns.automata.registers import Apply, EventTerm, Tree
from ostinato.patterns.automata.transducer import START_LOOP, Transducer, Transition
from ostinato.patterns.kernels import protocol
from ostinato.patterns.kernels.count_pairs import count_pairs, find_bands
from ostinato.patterns.runtime.batches import Events
from ostinato.patterns.runtime.bound_query import BoundQuery
from ostinato.patterns.runtime.matcher import extend
from ostinato.patterns.runtime.state import EngineState
from ostinato.patterns.runtime.tally import Tally
from ostinato.patterns.runtime.transition_tables import as_comparison

_WIDE = 256  # events; in a narrower window pairs are soon tried one by one
_FEW = 1 << 16  # new entries that are not worth sorting others again for
_SIDES: dict[str, OneOf["left", "right"]] = {"<": "left", "<=": "right", ">": "right", ">=": "left"}
_FAR = 1 << 62  # wider bands of whole numbers are left to tests
_WHOLE = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32")


@dataclass(frozen=True)
class _Pair:
    """The two transitions, and how the first event's term compares with the second's; or how the distance between them
    compares with a width."""

    first: Transition
    second: Transition
    op: str
    first_term: int
    second_term: int
    width: int | float | None = None


@dataclass(frozen=True)
class _Entries:
    """Events that may begin a pair, or end one, in stream order."""

    begins: Bools
    keys: Int64
    ticks: Int64
    lows: Int64
    values: Any

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def columns(self) -> list[Any]:
        return [self.begins, self.keys, self.ticks, self.lows, self.values]

    def at(self, places: Any) -> _Entries:
        return _Entries(*(column[places] for column in self.columns))

    @classmethod
    def concatenate(cls, pieces: Sequence[_Entries]) -> _Entries:
        return cls(*map(np.concatenate, zip(*(piece.columns for piece in pieces), strict=True)))


class PairTally(Tally):
    """Keeps the first events that are still within a window, by key.

    New events wait until they are as many as those, so that an event is sorted again only a few times.
    """

    def __init__(self, engine: EngineState, pair: _Pair) -> None:
        self.stream, self.limits, self.pair = engine.stream, engine.options.limits, pair
        self.count = 0
        self.seen: Int64 = np.zeros(0, np.int64)  # events per key
        self.lows: Int64 = np.zeros(0, np.int64)
        self.waiting: list[_Entries] = []
        self.fresh = 0  # how many of those that wait are new

    def read(self, events: Events) -> None:
        keys = events.keys.astype(np.int64) if len(events.keys) else np.zeros(len(events.codes), np.int64)
        ticks, lows = self._window(events, keys)
        terms, present = events.terms, events.present
        floating = self._floating
        pieces, places = [], []
        for transition, term in ((self.pair.second, self.pair.second_term), (self.pair.first, self.pair.first_term)):
            values = terms[term].view(np.float64) if floating else terms[term]
            fits = self._fits(transition)[events.codes] & present[term]
            fits = fits & ~np.isnan(values) if floating else fits
            at = np.flatnonzero(fits)
            begins = np.full(len(at), transition is self.pair.first)
            pieces.append(_Entries(begins, keys[at], ticks[at], lows[at], values[at]))
            places.append(at)
        # An event may end some pairs and begin others: in this order.
        both = _Entries.concatenate(pieces).at(np.argsort(np.concatenate(places), kind="stable"))
        self.waiting.append(both)
        self.fresh += len(both)
        if self.fresh >= max(_FEW, len(self.waiting[0])):
            self._settle()

    def total(self) -> int:
        self._settle()
        return self.count

    @property
    def _floating(self) -> bool:
        assert self.stream.terms is not None
        return self.stream.terms.kinds[self.pair.first_term] == "float"

    def _fits(self, transition: Transition) -> Bools:
        """Per code, whether its events satisfy the condition of a transition."""
        size, truth = self.stream.encoder.size, self.stream.encoder.truth
        if transition.condition is None:
            return np.ones(size, np.bool_)
        number = self.stream.compiled.conditions.index(transition.condition)
        return np.array([truth(code)[number] for code in range(size)], np.bool_)

    def _window(self, events: Events, keys: Int64) -> tuple[Int64, Int64]:
        """Where each event stands along the window, and how far back its own reaches."""
        if events.key_count > len(self.seen):
            more = max(events.key_count - len(self.seen), len(self.seen))
            self.seen, self.lows = extend(self.seen, more, 0), extend(self.lows, more, protocol.FOREVER)
        window = self.stream.window
        if window == protocol.NO_WINDOW:
            return np.zeros(len(keys), np.int64), np.full(len(keys), protocol.FOREVER)
        if window != protocol.EVENT_WINDOW:
            if window == protocol.TICK_WINDOW and len(events.lows):
                self.lows[:] = events.lows[-1]
            else:
                self.lows[keys] = events.lows  # the last assignment of a key wins
            return events.ticks, events.lows
        counts = np.bincount(keys, minlength=len(self.seen))
        ticks = np.empty(len(keys), np.int64)
        in_order = np.arange(len(keys)) + np.repeat(self.seen - np.cumsum(counts) + counts, counts)
        ticks[np.argsort(keys, kind="stable")] = in_order
        self.seen += counts
        self.lows = self.seen - self.stream.width + 1
        return ticks, ticks - self.stream.width + 1

    def _settle(self) -> None:
        """Count the pairs that end with waiting events, and keep what later ones may still pair with."""
        if not self.fresh:
            return
        entries = _Entries.concatenate(self.waiting)
        entries = entries.at(np.argsort(entries.keys, kind="stable")) if self.stream.keys is not None else entries
        ordered = np.sort(entries.values[entries.begins])
        ranks = np.searchsorted(ordered, entries.values)
        floors: Int64 = np.zeros(0, np.int64)
        if self.pair.width is not None:
            floors = np.zeros(len(entries), np.int64)
            floors[~entries.begins], ranks[~entries.begins] = self._bands(ordered, entries.values[~entries.begins])
        else:
            ends = np.searchsorted(ordered, entries.values, side=_SIDES[self.pair.op])
            if self.pair.op in (">", ">="):  # as if all were negative
                ranks, ends = len(ordered) - 1 - ranks, len(ordered) - ends
            ranks = np.where(entries.begins, ranks, ends)
        tree = np.zeros(len(ordered) + 1, np.int64)
        self.limits.check_memory(3 * sum(column.nbytes for column in entries.columns))
        begins = entries.begins.view(np.uint8)
        self.count += count_pairs(begins, entries.keys, entries.ticks, entries.lows, ranks, floors, tree)
        kept = entries.begins & (entries.ticks >= self.lows[entries.keys]) if len(entries) else entries.begins
        self.waiting, self.fresh = [entries.at(kept)], 0

    def _bands(self, ordered: Any, values: Any) -> tuple[Int64, Int64]:
        """Per value, where those begin and end that are close enough to it."""
        width, closed = self.pair.width, self.pair.op == "<="
        assert width is not None
        if self._floating:
            floors, ends = np.empty(len(values), np.int64), np.empty(len(values), np.int64)
            find_bands(ordered, values, float(width), closed, floors, ends)
            return floors, ends
        farthest = int(width) if closed else int(width) - 1
        least, most = np.iinfo(np.int64).min + farthest, np.iinfo(np.int64).max - farthest
        below, above = np.maximum(values, least) - farthest, np.minimum(values, most) + farthest
        return np.searchsorted(ordered, below), np.searchsorted(ordered, above, side="right")


def pair_tally(engine: EngineState) -> PairTally | None:
    """For a pattern of two events that one inequality, or one band, of numbers compares; None for any other."""
    compiled, stream = engine.compiled, engine.stream
    plain = compiled.strategy == "ALL" and compiled.query.consume == "NONE"
    few = stream.window == protocol.EVENT_WINDOW and stream.width < _WIDE
    registers = compiled.registers  # those of the stream may look bands up in ranges
    if not plain or few or registers is None or stream.registers is None or stream.terms is None:
        return None
    ways = _two_steps(registers.transducer)
    if ways is None or len(trees := registers.tests[ways[1]]) != 1:
        return None
    compared = _compared(trees[0], registers.terms)
    if compared is None:
        return None
    texts = [to_text(term) for term in stream.registers.terms]
    first, second = (texts.index(to_text(registers.terms[term])) for term in (compared.first, compared.second))
    kinds, width = {stream.terms.kinds[first], stream.terms.kinds[second]}, compared.width
    whole = kinds == {"whole"} and _are_whole(stream, (first, second))
    if kinds == {"float"} or (whole and (width is None or (isinstance(width, int) and width <= _FAR))):
        return PairTally(engine, _Pair(*ways, compared.op, first, second, width))
    return None


class _Compared(NamedTuple):
    """A term of the first event with one of the second; or their distance with a width."""

    op: str
    first: int
    second: int
    width: int | float | None = None


def _compared(tree: Tree, terms: Sequence[Expr]) -> _Compared | None:
    if (found := as_comparison(tree)) is not None:
        op, cell, term = found
        return _Compared(op, cell.term, term) if op in _SIDES else None
    match tree:
        case Apply("<" | "<=" as op, (Apply("abs", (Apply("-", (one, other)),)), EventTerm(None, number))):
            pass
        case Apply(">" | ">=" as op, (EventTerm(None, number), Apply("abs", (Apply("-", (one, other)),)))):
            op = MIRROR[op]
        case _:
            return None
    if not isinstance(one, EventTerm) or not isinstance(other, EventTerm) or one.op or other.op:
        return None
    if (one.register is None) == (other.register is None):
        return None
    first, second = (other, one) if one.register is None else (one, other)
    width = terms[number]
    if not isinstance(width, Literal) or isinstance(width.value, bool) or not isinstance(width.value, int | float):
        return None
    return _Compared(op, first.number, second.number, width.value) if 0 < width.value < math.inf else None


def _are_whole(stream: BoundQuery, terms: Sequence[int]) -> bool:
    """Whether they are columns of whole numbers that fit 64 bits with a sign, whatever comes."""
    assert stream.registers is not None
    for term in terms:
        expr = stream.registers.terms[term]
        if not isinstance(expr, Attribute) or str(stream.schema.field(expr.name).type) not in _WHOLE:
            return False
    return True


def _two_steps(transducer: Transducer) -> tuple[Transition, Transition] | None:
    """The two ways of a transducer that marks one event, waits, and marks another."""
    ways = [t for t in transducer.transitions if t != START_LOOP and not t.waits]
    if len(ways) != 2 or any(t.mark is None or t.unless or t.barred or t.folds for t in ways):
        return None
    first, second = sorted(ways, key=lambda t: t.source)
    waits = [t for t in transducer.transitions if t.waits and t.source == first.target]
    joined = first.source == 0 and first.target == second.source != second.target
    patient = any(not t.unless and not t.barred for t in waits)
    ends = first.target not in transducer.final and second.target in transducer.final
    return (first, second) if joined and patient and ends and first.test is None else None

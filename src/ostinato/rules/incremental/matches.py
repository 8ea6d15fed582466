"""Q^X[i: q]: the delta queries that match events of a stream with a query term.

A flat term reads columns: it is tests and loads. Any other is matched in Python, term by term (terms.match).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ostinato.core.arrays import Int64
from ostinato.rules.algebra.nodes import Match
from ostinato.rules.incremental.codes import (
    FLOAT,
    NOTHING,
    WHOLE,
    code_kind,
    constant_code,
    decode_value,
    encode_value,
)
from ostinato.rules.incremental.delta_query import ConstantTest, DeltaQuery, Host, Operand, PointPlan
from ostinato.rules.incremental.event_rows import PRESENT, EventRows, live_term_reader
from ostinato.rules.incremental.interned import Interned
from ostinato.rules.kernels import layout as k
from ostinato.rules.relational.kinds import TERM, Attributes, Kind
from ostinato.rules.relational.match_plan import MatchPlan, Path, compile_match
from ostinato.rules.runtime.ingest import event_digest
from ostinato.rules.terms.data import Child, DataTerm
from ostinato.rules.terms.match import Matcher

Columns = Callable[[Path, Any], Operand | None]  # the operand of an attribute as a type; None where there is none


def match_flat(delta: DeltaQuery, found: MatchPlan, read: Columns, begin: int, end: int) -> list[int]:
    """Write the tests of a flat match; gives the slots of the tuple: begin, end, variables."""
    flat, frame = found.flat, delta.frame
    assert flat is not None
    missing = frame.constant(None)

    def operand(path: Path) -> Operand:
        kind = found.type_at(path)
        nested = kind is not TERM and pa.types.is_nested(kind)
        return read(path, PRESENT if nested else kind) or Operand(pa.null(), missing)

    known = set()
    for path, const in flat.equal:
        known.add(path)
        one = operand(path)
        code = None if one.coded == NOTHING else constant_code(const.value, one.coded, frame.interned)
        if code is None:
            delta.add(k.TEST, missing)  # nothing can equal it
            continue
        column = delta.source_column(one.slot)
        if column is not None:
            delta.add_tests([ConstantTest(column, k.EQUAL, code, False)])
        else:
            delta.add(k.TEST, delta.compute(k.EQ_I, one.slot, frame.constant(code)))
    for path in dict.fromkeys(flat.present):
        if path not in known:
            delta.add(k.PRESENT, operand(path).slot)
    for path in flat.absent:
        delta.add(k.MISSING, operand(path).slot)
    for first, *rest in flat.variables.values():
        for path in rest:
            delta.add(k.TEST, equal(delta, operand(first), operand(path)))
    return [begin, end, *(operand(flat.variables[name][0]).slot for name in found.match.schema.data)]


def equal(delta: DeltaQuery, one: Operand, other: Operand) -> int:
    """The slot of `one = other`; a whole number and a float are equal where they are exactly."""
    if one.coded == FLOAT and other.coded == WHOLE:
        one, other = other, one
    if one.coded == WHOLE and other.coded == FLOAT:
        exact = delta.compute(k.EXACT_F_TO_I, other.slot)
        return delta.compute(k.EQ_I, one.slot, exact)
    return delta.compute(k.EQ_F if one.coded == FLOAT else k.EQ_I, one.slot, other.slot)


@dataclass(eq=False)
class TermMatches(Host):
    """Matches terms of rows: those of events that come in are there, those of derived events are made."""

    target: PointPlan
    found: MatchPlan
    interned: Interned
    read: Callable[[Int64], DataTerm] | None = None  # None: a tuple has begin, end, term and reference
    referenced: bool = False
    hidden: frozenset[str] = frozenset()  # children that do not count

    def __post_init__(self) -> None:
        match = self.found.match
        self.match: Matcher = compile_match(match)
        names = match.schema.data
        self.variables = [(name, code_kind(self.found.kinds[name])) for name in names]

    def __call__(self, rows: Int64) -> Int64:
        out: list[list[int]] = []
        interned = self.interned
        for row in rows:
            begin, end = int(row[0]), int(row[1])
            term = interned.values[row[2]] if self.read is None else self.read(row)
            if self.hidden:
                term = DataTerm(term.label, tuple(each for each in term.children if not self._is_hidden(each)))
            for each in self.match(term):
                values = [encode_value(each.get(name), coded, interned) for name, coded in self.variables]
                reference = []
                if self.referenced:
                    known = self.read is None
                    reference = [int(row[3]) if known else interned.number(event_digest(begin, end, term))]
                out.append([begin, end, *values, *reference])
        return np.array(out, np.int64).reshape(len(out), len(self.target.columns))

    def _is_hidden(self, child: Child) -> bool:
        return isinstance(child, DataTerm) and child.label in self.hidden


def derived_reader(
    label: str, attributes: Attributes, derived: Mapping[str, Kind], interned: Interned
) -> Callable[[Int64], DataTerm]:
    """From a row of a derived event (begin, end, its attributes) to its term."""
    kinds = list(derived.values())
    read = live_term_reader(label, attributes, derived, {name: name for name in derived})

    def term(row: Int64) -> DataTerm:
        values = (decode_value(int(code), kind, interned) for code, kind in zip(row[2:], kinds, strict=True))
        return read(dict(zip(derived, values, strict=True)))

    return term


def incoming_columns(events: EventRows, delta: DeltaQuery, hidden: Collection[str] = ()) -> Columns:
    """The attributes of an event that comes in, but for the hidden ones."""

    def read(path: Path, kind: Any) -> Operand | None:
        if path[0] not in events.incoming.types or path[0] in hidden:
            return None
        column = events.column(path, kind)
        return Operand(pa.int64() if kind is PRESENT else kind, load=lambda: delta.column(column))

    return read


def derived_columns(
    derived: Mapping[str, Kind], delta: DeltaQuery, cast: Callable[[Operand, Any], Operand | None]
) -> Columns:
    """The attributes of a derived event, which has no fields in them."""
    places = {name: 2 + place for place, name in enumerate(derived)}

    def read(path: Path, kind: Any) -> Operand | None:
        if path[0] not in places:
            return None
        own = Operand(derived[path[0]], load=lambda: delta.column(places[path[0]]))
        return own if kind is PRESENT else cast(own, kind)

    return read


def is_flat(found: MatchPlan) -> bool:
    """Whether kernels can match it: its events are not counted one by one."""
    return found.flat is not None and not found.named


def reads_fields(match: Match, found: MatchPlan) -> bool:
    """Whether it looks into attributes, which derived events keep whole."""
    return found.flat is not None and any(len(path) > 1 for path in found.flat.paths)

"""Which queries an event can change: an index over the types and predicates of all of them.

A query is found by the event's type alone where that may change it, and otherwise by a predicate that holds. What is
known of the event then makes its number for the query, as the query's own encoder would; the number's code says whether
the event changes the query.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from ostinato.core.arrays import Int32
from ostinato.core.arrow import is_text
from ostinato.core.columns.event_codes import PredicateEncoder
from ostinato.core.conditions import Condition
from ostinato.core.expressions import Expr, attributes
from ostinato.patterns.automata.tables import GrowingTable
from ostinato.patterns.compile import CompiledPattern
from ostinato.patterns.kernels.live_layout import ASLEEP, FLAG_BITS, ONLY_STARTS, STARTS, WakeTables
from ostinato.patterns.kernels.protocol import UNKNOWN
from ostinato.patterns.live.features import (
    Feature,
    NumberFeature,
    Predicates,
    TextFeature,
    TruthFeature,
    shared_attribute,
)

_ATTRIBUTE = "attribute"


@dataclass
class _Probe:
    """The predicates of one feature that are asked of events of one type."""

    feature: Any  # the key of its feature
    entries: list[tuple[int, int, Expr]] = field(default_factory=list)  # query, bits of its number, predicate
    predicates: Predicates | None = None
    owners: Int32 = field(default_factory=lambda: np.zeros((0, 2), np.int32))  # of the predicates, as in `entries`
    first: int = 0  # its first row of `ranges`


@dataclass
class _Type:
    base: list[tuple[int, int, int]] = field(default_factory=list)
    probes: dict[Any, _Probe] = field(default_factory=dict)


class WakeIndex:
    """Grows and shrinks with the queries. `tables` is what the kernel reads, and follows when `refresh` is called."""

    def __init__(self, schema: pa.Schema, *, typed: bool) -> None:
        self.schema, self.typed = schema, typed  # typed: whether there is a type column
        self.types: dict[str, int] = {}  # numbers from 1 on; 0 is any other type
        self.features: dict[Any, Feature] = {}
        self._constants: dict[str, set[Any]] = {}  # per attribute, those that it is compared with
        self._kinds: list[_Type] = [_Type()]
        self._probes: list[_Probe] = []
        self._queries: dict[int, tuple[CompiledPattern, PredicateEncoder]] = {}
        self._wild: set[int] = set()  # queries that events of any type may change
        self._stale = True
        self._ranges: Int32 = np.zeros((0, 2), np.int32)
        self._postings = GrowingTable(2)
        self._starts: dict[int, int] = {}
        self._codes: Int32 = np.zeros(0, np.int32)
        self._used = 0
        none = np.zeros((0, 2), np.int32)
        self.tables = WakeTables(
            base_ends=np.zeros(1, np.int32),
            base=np.zeros((0, 3), np.int32),
            probe_ends=np.zeros(1, np.int32),
            probes=none,
            ranges=none,
            postings=none,
            code_starts=np.zeros(0, np.int64),
            codes=self._codes,
        )

    def add(self, query: int, compiled: CompiledPattern, encoder: PredicateEncoder) -> None:
        self._queries[query] = compiled, encoder
        relations = encoder.relations if self.typed else set()
        for name in sorted(relations - self.types.keys()):
            self.types[name] = len(self._kinds)
            self._kinds.append(_Type())
            for other in self._wild:
                self._add_type(other, name)
        wild = encoder.asks_any or compiled.contiguous or not self.typed
        asked: Iterable[str | None] = (None, *self.types) if wild else relations
        for kind in asked:
            self._add_type(query, kind)
        if wild:
            self._wild.add(query)
        size = encoder.numbers
        self._starts[query] = self._used
        if self._used + size > len(self._codes):
            more = max(size, len(self._codes), 1024)
            self._codes = np.concatenate([self._codes, np.full(more, UNKNOWN, np.int32)])
        self._used += size
        self._stale = True

    def _add_type(self, query: int, name: str | None) -> None:
        """What a query asks of events of one type (None: of any that no query names)."""
        encoder = self._queries[query][1]
        kind = self._kinds[self.types[name] if name is not None else 0]
        number = encoder.number_of(name)
        if (code := self._code(query, number)) != ASLEEP:
            kind.base.append((query, number, code))
        for bit, expr in encoder.predicates_of(name):
            if not self._is_known(expr):
                continue
            key: Any = expr
            if (shared := shared_attribute(expr, self.schema)) is not None:
                key = (_ATTRIBUTE, shared[0])
                self._constants.setdefault(shared[0], set()).update(shared[1])
            probe = kind.probes.setdefault(key, _Probe(key))
            probe.entries.append((query, number | 1 << bit, expr))
            probe.predicates = None

    def _make_feature(self, key: Any) -> Feature:
        if not isinstance(key, tuple):
            known = self.features.get(key)
            return known if known is not None else TruthFeature(key, self.schema)
        name = key[1]
        constants, kind = self._constants[name], self.schema.field(name).type
        return TextFeature(name, constants) if is_text(kind) else NumberFeature(name, kind, constants)

    def _code(self, query: int, number: int) -> int:
        """The code of a number, with flags."""
        compiled, encoder = self._queries[query]
        moved, final, before, after = set[int](), False, False, False
        for holding in map(encoder.holding, self._possible(encoder, number)):
            states, alone = moved_states(compiled, holding)
            moved, final = moved | states, final or alone
            before |= any(absence.condition in holding for absence in compiled.preceding)
            after |= any(absence.condition in holding for absence in compiled.trailing)
        if not (moved or before or after):
            return ASLEEP
        flags = STARTS if 0 in moved or before else 0
        if moved == {0} and not (final or before or after):
            flags |= ONLY_STARTS
        return encoder.code_at(number) << FLAG_BITS | flags

    def _is_known(self, expr: Expr) -> bool:
        """Whether a predicate reads columns of the stream, and not what only the query's own engine knows."""
        return all(node.name in self.schema.names for node in attributes(expr))

    def _possible(self, encoder: PredicateEncoder, number: int) -> list[int]:
        """The numbers that an event with this one may have for the query's own engine."""
        found = [number]
        for bit, expr in enumerate(encoder.predicates):
            if not self._is_known(expr):
                found += [each | 1 << bit for each in found]
        return found

    def remove(self, query: int) -> None:
        del self._queries[query]
        self._wild.discard(query)
        for kind in self._kinds:
            kind.base = [entry for entry in kind.base if entry[0] != query]
            for key, probe in list(kind.probes.items()):
                kept = [entry for entry in probe.entries if entry[0] != query]
                if len(kept) < len(probe.entries):
                    probe.entries, probe.predicates = kept, None
                if not kept:
                    del kind.probes[key]
        self._stale = True

    def refresh(self, queries: int) -> None:
        """Let the kernel see what was added and removed; numbers of queries are below `queries`."""
        if not self._stale:
            return
        self._stale = False
        used = dict.fromkeys(key for kind in self._kinds for key in kind.probes)
        self.features = {key: self._make_feature(key) for key in used}
        places = {key: place for place, key in enumerate(used)}
        for kind in self._kinds:
            kind.base.sort(key=lambda entry: entry[2] & STARTS)  # like after like is easy for the processor
        base = [entry for kind in self._kinds for entry in kind.base]
        self._probes = [probe for kind in self._kinds for probe in kind.probes.values()]
        total = 0
        for probe in self._probes:
            probe.first, probe.predicates = total, None  # the classes of constants may be others now
            total += self.features[probe.feature].size
        self._ranges = np.full((total, 2), -1, np.int32)
        self._postings = GrowingTable(2)
        starts = np.zeros(queries, np.int64)
        starts[list(self._starts)] = list(self._starts.values())
        self.tables.update(
            base_ends=np.cumsum([len(kind.base) for kind in self._kinds], dtype=np.int32),
            base=np.array(base, np.int32).reshape(-1, 3),
            probe_ends=np.cumsum([len(kind.probes) for kind in self._kinds], dtype=np.int32),
            probes=np.array([(places[probe.feature], probe.first) for probe in self._probes], np.int32).reshape(-1, 2),
            ranges=self._ranges,
            postings=self._postings.array,
            code_starts=starts,
            codes=self._codes,
        )

    def find_postings(self, number: int, place: int, values: Callable[[Sequence[str]], Sequence[Any]]) -> None:
        """Look up the predicates of a probe that hold for a class; `values` are those of an event in it."""
        probe = self._probes[number]
        feature = self.features[probe.feature]
        if probe.predicates is None:
            probe.predicates = Predicates([expr for _, _, expr in probe.entries])
            probe.owners = np.array([entry[:2] for entry in probe.entries], np.int32).reshape(-1, 2)
        holds = feature.holds(probe.predicates, place, values(feature.names), self.schema)
        begin = len(self._postings)
        self._postings.add_all(probe.owners[holds])
        self._ranges[probe.first + place] = begin, len(self._postings)
        self.tables.postings = self._postings.array

    def find_code(self, query: int, number: int) -> None:
        """Look up the code of a query's number."""
        self._codes[self._starts[query] + number] = self._code(query, number)

    def read_names(self) -> Iterator[str]:
        """The attributes that features read."""
        for feature in self.features.values():
            yield from feature.names


def moved_states(compiled: CompiledPattern, holding: frozenset[Condition]) -> tuple[set[int], bool]:
    """The states in which partial matches do not just wait for the next event, when these conditions hold of one; and
    whether one event alone may be a match then."""
    waiting: set[int] = set()
    moving: set[int] = set()
    sources: set[int] = set()
    alone = False
    transducer = compiled.transducer
    for transition in transducer.transitions:
        sources.add(transition.source)
        if transition.condition is not None and transition.condition not in holding:
            continue
        if any(condition in holding for condition in transition.unless):
            continue
        if transition.stays:
            if not any(condition in holding for condition, _ in transition.barred):  # which may end some of them
                waiting.add(transition.source)
        else:
            moving.add(transition.source)
            alone |= transition.source == 0 and transition.target in transducer.final
    return moving | (sources - waiting), alone

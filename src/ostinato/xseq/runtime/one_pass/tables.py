"""The tables and arrays of the one pass, made from a program; entries of levels are added as documents need them."""

from __future__ import annotations

import threading
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostinato.documents.tokens import Names
from ostinato.xseq.kernels.one_pass import layout as lay
from ostinato.xseq.kernels.one_pass.layout import QueryTables
from ostinato.xseq.kernels.value_codes import NUMBER, UNBOUND
from ostinato.xseq.runtime.one_pass.bundles import NO_BUNDLES, Bundles, find_bundles
from ostinato.xseq.runtime.one_pass.early_tests import find_early_tests
from ostinato.xseq.syntax.nodes import Axis, Kind, Leaf
from ostinato.xseq.walk.automaton import Move
from ostinato.xseq.walk.determinise import OTHER_CLASS, ROLES, LazyDeterminiser, Level, TagTransition
from ostinato.xseq.walk.program import AnswerKind, Keep
from ostinato.xseq.walk.tables import WalkTables

_FOLLOWED = (*ROLES, Axis.SELF, Axis.ATTRIBUTE)


class StreamTables:
    """All that is fixed about a query, shared by every document: levels stay known from one document to the next."""

    def __init__(self, tables: WalkTables, *, longest: bool) -> None:
        self.tables, self.longest = tables, longest
        self.levels = LazyDeterminiser(tables)
        program, walk = tables.program, tables.program.walk
        attributes = {source.name for source in tables.sources if source.leaf is Leaf.ATTRIBUTE}
        self.attributes = sorted(attributes | ({program.key} if program.key else set()))
        self.classes = 2 + len(self.levels.names)
        self.by_number: list[Level] = []
        self.entries: list[tuple[int, int, int, tuple[int, ...], tuple[int, ...]]] = []
        self.entry_of = np.zeros(0, np.int32)
        self.groups: list[tuple[int, int]] = []  # mask, first of the chain
        self.chain: list[tuple[int, int, int]] = []
        self.first = self._number(self.levels.first)
        self.variables = sorted({move.binds for move in walk.moves if move.binds})
        self.to_attributes = {move.test.name for move in walk.moves if move.axis is Axis.ATTRIBUTE and move.test}
        self.first_names = [
            name.encode()
            for name in dict.fromkeys((*self.levels.names, *self.attributes, *sorted(self.to_attributes - {""})))
        ]
        self.idle: list[Any] = []  # evaluators that wait for another document
        self._lock = threading.Lock()
        self.tests = find_early_tests(tables)
        self.bundles: Bundles | None = None
        if not (self.answers_nodes or self.histories or self.ambiguous):
            begins = (move for move in self.levels.explicit if self._from_levels(move.source))
            found = find_bundles(tables, self.tests, begins)
            if found is not None:
                self.tests, self.bundles = found
        self._build_fixed()
        self._refresh()

    @property
    def width(self) -> int:
        """How many values a run carries."""
        return len(self.tests.slots)

    @property
    def wants_text(self) -> bool:
        walks = self.levels.walks
        return any(m.test and m.test.kind in (Kind.TEXT, Kind.NODE) for w in walks for m in w.moves)

    @property
    def wanted_attributes(self) -> set[bytes] | None:
        """The names of the attributes that matter; None for all."""
        if "" in self.to_attributes:
            return None
        return {name.encode() for name in (*self.attributes, *self.to_attributes)}

    @property
    def asks_for_names(self) -> bool:
        return any(source.leaf is Leaf.TAG for source in self.tables.sources)

    # --- what does not change

    def _build_fixed(self) -> None:
        tables, walk = self.tables, self.tables.program.walk
        out_range, out_move = [0], []
        for state in range(walk.states):
            for axis in _FOLLOWED:
                moves = [number for number, move in enumerate(walk.moves) if (move.source, move.axis) == (state, axis)]
                out_move += sorted(moves, key=lambda number: walk.moves[number].binds or "")
                out_range.append(len(out_move))
        waits = {axis: 1 << number for number, axis in enumerate(ROLES)}
        role_bits = np.zeros(walk.states, np.int32)
        for move in walk.moves:
            role_bits[move.source] |= waits.get(Axis(move.axis), 0)
        self.initial = np.array(
            [NUMBER if tables.program.slots[n].keep is Keep.COUNT else UNBOUND for n in self.tests.slots], np.uint8
        )
        own = {Leaf.TAG: -1, Leaf.NODE: -2}
        sources = [own[s.leaf] if s.leaf in own else self.attributes.index(s.name) for s in tables.sources]
        most = max((len(moves) for moves in walk.leaving), default=0) + 1
        to_self = any(move.axis is Axis.SELF for move in walk.moves)
        tests, bundles = self.tests, self.bundles or NO_BUNDLES
        self._fixed: dict[str, Any] = {
            "class_count": self.classes,
            "out_range": np.array(out_range, np.int32),
            "out_move": np.array(out_move, np.int32),
            "role_bits": role_bits,
            "target": np.array([move.target for move in walk.moves], np.int32),
            "binds": np.array([self.variables.index(m.binds) if m.binds else -1 for m in walk.moves], np.int32),
            "local_mask": tables.move_local.astype(np.int64),
            "move_ops": tests.move_ops,
            "ops": tests.ops.reshape(-1),
            "tests_before": tests.before,
            "tests_after": tests.after,
            "tests": tests.tests.reshape(-1),
            "needs": tests.needs,
            "accept": np.array([state in walk.accepting for state in range(walk.states)], np.uint8),
            "columns": tests.columns.reshape(-1),
            "source_attribute": np.array(sources, np.int32),
            "source_numeric": np.array([n in tables.numeric for n in range(len(tables.sources))], np.uint8),
            "shared_range": bundles.shared_range,
            "shared": bundles.shared,
            "written_to_all": bundles.written_to_all,
            "constant_count": len(tables.constants),
            "source_count": len(tables.sources),
            "width": self.width,
            "first_local": tables.local_tests[0],
            "first_end": tables.end_tests[0],
            "last_end": tables.end_tests[1],
            "key_attribute": self.attributes.index(tables.program.key) if tables.program.key else -1,
            "dedupe": self.ambiguous,
            "histories": self.histories,
            "answers_nodes": self.answers_nodes,
            "column_count": len(tables.program.columns),
            "branches": 1 if self.bundles else most * (walk.states if to_self else 1),
            "to_attributes": bool(self.to_attributes),
            "bundled": self.bundles is not None,
            "onwards": to_self or bool(self.to_attributes),
        }

    @cached_property
    def histories(self) -> bool:
        """Whether it must be known what each run has bound, node by node."""
        return self.tables.program.answer is not AnswerKind.NODES and (
            self.longest or not self.in_order or self._trailing
        )

    @property
    def in_order(self) -> bool:
        """Whether matches that end on one node come in order by themselves."""
        axes = {move.axis for move in self.tables.program.walk.moves if move.source in self._after_binding}
        waits = axes - {Axis.ATTRIBUTE}
        binding = all(move.binds for move in self.levels.explicit)
        single = {Axis.CHILD, Axis.FIRST_CHILD, Axis.IMMEDIATE_FOLLOWING_SIBLING}
        return binding and not self.ambiguous and len(waits) <= 1 and waits <= single

    @property
    def _trailing(self) -> bool:
        """Whether a match may be found again, with steps that bind nothing."""
        return self.ambiguous or any(
            move.binds is None and (move in self.levels.explicit or move.source in self._after_binding)
            for move in self.tables.program.walk.moves
        )

    @property
    def settled_late(self) -> bool:
        """Whether a match may be certain long after its last bound node, so that rows come out of order."""
        walk = self.tables.program.walk
        found_later = any(move.binds is None and move.target in walk.accepting for move in walk.moves)
        return found_later and not self.answers_nodes

    @property
    def answers_nodes(self) -> bool:
        return self.tables.program.answer is AnswerKind.NODES

    @property
    def _after_binding(self) -> frozenset[int]:
        return self._after({move.target for move in self.levels.explicit})

    def _after(self, states: set[int]) -> frozenset[int]:
        walk, seen, queue = self.tables.program.walk, set(states), list(states)
        while queue:
            for move in walk.leaving[queue.pop()]:
                if move.target not in seen:
                    seen.add(move.target)
                    queue.append(move.target)
        return frozenset(seen)

    @cached_property
    def ambiguous(self) -> bool:
        """Whether two runs with the same bindings can be in the same state at the same node."""
        walk, reached = self.tables.program.walk, self._after_binding
        down = (Axis.CHILD, Axis.FIRST_CHILD, Axis.DESCENDANT)
        if any(m.binds is None and (m in self.levels.explicit or m.source in reached) for m in walk.moves):
            return True
        for state in range(walk.states):
            moves = [move for move in walk.leaving[state] if move.axis is not Axis.ATTRIBUTE]
            for n, one in enumerate(moves):
                for two in moves[:n]:
                    related = one.axis is two.axis or (one.axis in down) == (two.axis in down)
                    if related and one.binds == two.binds and _overlap(one, two):
                        return True
        begins = [move for move in self.levels.explicit if self._from_levels(move.source)]
        for n, one in enumerate(begins):
            for two in begins[:n]:
                same = (one.target, one.binds, one.enters, one.local, one.test) == (
                    two.target, two.binds, two.enters, two.local, two.test,
                )  # fmt: skip
                if not same and one.binds == two.binds and _overlap(one, two):
                    return True
        return False

    def _from_levels(self, state: int) -> bool:
        """Whether a walk may be in a state without having begun a run."""
        walk, seen, queue = self.tables.program.walk, {0}, [0]
        while queue:
            for move in walk.leaving[queue.pop()]:
                if move not in self.levels.explicit and move.target not in seen:
                    seen.add(move.target)
                    queue.append(move.target)
        return state in seen

    # --- entries

    def _number(self, level: Level) -> int:
        number = self.levels.level(level)
        if number == len(self.by_number):
            self.by_number.append(level)
            more = np.full(self.classes, -1, np.int32)
            self.entry_of = np.concatenate([self.entry_of, more])
        return number

    def add(self, level: int, name: int, bits: int) -> None:
        """Make the entry for a node of class `name` on a level that passes the tests in `bits`."""
        with self._lock:
            self._add(level, name, bits)

    def _add(self, level: int, name: int, bits: int) -> None:
        self.entry_of = self.entry_of.copy()  # other documents may be read with the old one, and its entries, right now
        mask = self.levels.tests(self.by_number[level], name)
        entry = self.levels.entry(self.by_number[level], name, bits)
        if not mask:
            number = self._entry(entry)
            self.entry_of[level * self.classes + name] = number
        elif self.entry_of[level * self.classes + name] == -1:  # which tests hold is not known yet
            self.groups.append((mask, -1))
            self.entry_of[level * self.classes + name] = -1 - len(self.groups)
        else:
            group = -2 - int(self.entry_of[level * self.classes + name])
            number = self._entry(entry)
            self.chain.append((bits, number, self.groups[group][1]))
            self.groups[group] = self.groups[group][0], len(self.chain) - 1
        self._refresh()

    def _entry(self, entry: TagTransition) -> int:
        flags = (lay.ACCEPTS if entry.accepts else 0) | (lay.KEYED if entry.keyed else 0)
        inner, after = self._number(entry.inner), self._number(entry.after)
        self.entries.append((inner, after, flags, entry.spawns, entry.attributes))
        return len(self.entries) - 1

    def _refresh(self) -> None:
        self._known: QueryTables | None = None

        def flat(values: list[int], dtype: type = np.int32) -> NDArray[Any]:
            return np.array(values or [0], dtype)

        moves: list[int] = []
        spawns: list[int] = []
        attributes: list[int] = []
        for entry in self.entries:
            for wanted, ranges in ((entry[3], spawns), (entry[4], attributes)):
                ranges += [len(moves), len(moves) + len(wanted)]
                moves += wanted
        self._entries: dict[str, NDArray[Any]] = {
            "entry_of": self.entry_of,
            "level_inside": flat([entry[0] for entry in self.entries]),
            "level_after": flat([entry[1] for entry in self.entries]),
            "flags": flat([entry[2] for entry in self.entries]),
            "spawn_range": flat(spawns),
            "attribute_range": flat(attributes),
            "move_list": flat(moves),
            "group_mask": flat([mask for mask, _ in self.groups], np.int64),
            "group_head": flat([head for _, head in self.groups]),
            "chain_bits": flat([bits for bits, _, _ in self.chain], np.int64),
            "chain_entry": flat([entry for _, entry, _ in self.chain]),
            "chain_next": flat([after for _, _, after in self.chain]),
        }

    def query(self, names: Names, name_start: NDArray[Any], name_size: NDArray[Any]) -> QueryTables:
        """The tables for a document whose names have the numbers that `names` gives them."""
        usual = not self.asks_for_names and names.texts[: len(self.first_names)] == self.first_names
        if usual and self._known is not None:
            return self._known
        made = self._query(names, name_start, name_size)
        if usual:
            self._known = made
        return made

    def _query(self, names: Names, name_start: NDArray[Any], name_size: NDArray[Any]) -> QueryTables:
        walk = self.tables.program.walk
        elements = {names.id_of(name.encode()): self.levels.class_of(name) for name in self.levels.names}
        attributes = {names.id_of(name.encode()): number for number, name in enumerate(self.attributes)}
        wants = []
        for move in walk.moves:
            assert move.test is not None
            if move.axis is Axis.ATTRIBUTE:
                wants.append(names.id_of(move.test.name.encode()) if move.test.kind is Kind.NAME else -1)
            elif move.test.kind is Kind.NAME:
                wants.append(self.levels.class_of(move.test.name))
            else:
                wants.append({Kind.ANY: -1, Kind.NODE: -2, Kind.TEXT: 0}[move.test.kind])
        known = 1 + max([*elements, *attributes, -1])
        name_class, attribute_of = np.full(known, OTHER_CLASS, np.int32), np.full(known, -1, np.int32)
        for number, name in elements.items():
            name_class[number] = name
        for number, attribute in attributes.items():
            attribute_of[number] = attribute
        return QueryTables(
            **self._fixed,
            **self._entries,
            name_class=name_class,
            name_start=name_start,
            name_size=name_size,
            attribute_of=attribute_of,
            wants=np.array(wants, np.int32),
        )


def _overlap(one: Move, two: Move) -> bool:
    """Whether some node may pass the tests of both moves."""
    first, second = one.test, two.test
    assert first is not None and second is not None
    return not (first.kind is Kind.NAME and second.kind is Kind.NAME and first.name != second.name)

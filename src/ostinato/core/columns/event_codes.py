"""Evaluates unary predicates column-wise into one small integer per event: its minterm, i.e. which conditions hold.

A condition is a type test and a conjunction of predicates. Types are looked up, not compared: a dictionary column by
its index, a string column by one pass over its bytes. Each distinct predicate is evaluated once per slice, a predicate
over one dictionary column even once per distinct value. Type and predicate bits form one number per event, and a table
turns that number into the code.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from ostinato.core.arrays import Int64, UInt8
from ostinato.core.arrow import NO_MASK, Ids, dictionary_indices, dictionary_values, same_array
from ostinato.core.columns.class_codes import ClassCodes
from ostinato.core.columns.expressions import CastFailure, ColumnProgram
from ostinato.core.columns.intern import IntegerInterner
from ostinato.core.columns.name_matcher import NameMatcher, look_up
from ostinato.core.conditions import Condition
from ostinato.core.expressions import Call, Expr, Literal, attributes, walk
from ostinato.core.jit import array, kernel, view
from ostinato.core.jit.types import int32, int64, uint8, void

SLICE = 1 << 17  # rows at a time, so that they stay in the cache
_SMALL = 1 << 16  # up to here a number is looked up in an array, beyond it is hashed
_FEW_ROWS = 1 << 13  # up to here classes of values are looked up, beyond each predicate is evaluated
_GROUP = 30  # predicate bits hashed at once, beside the 32 bits of what came before


@kernel(void(view(int32), view(int32), array(int32)))
def _add_at(places: Ids, weights: Ids, out: Ids) -> None:
    """out[i] += weights[places[i]]"""
    for row in range(out.size):
        out[row] += weights[places[row]]


@kernel(void(view(uint8), view(uint8), int64, int32, array(int32)))
def _add_bits(bits: UInt8, valid: UInt8, start: int, weight: Any, out: Ids) -> None:
    """out[i] += weight where bit start + i is set and valid (an empty `valid`: all are)."""
    row = 0
    if start & 7 == 0:  # whole bytes, which is what Arrow's own functions give
        for byte in range(out.size >> 3):
            eight = (
                bits[(start >> 3) + byte] if valid.size == 0 else bits[(start >> 3) + byte] & valid[(start >> 3) + byte]
            )
            for bit in range(8):
                out[8 * byte + bit] += weight * ((eight >> bit) & 1)
        row = out.size & ~7
    while row < out.size:
        at = start + row
        eight = bits[at >> 3] if valid.size == 0 else bits[at >> 3] & valid[at >> 3]
        out[row] += weight * ((eight >> (at & 7)) & 1)
        row += 1


class PredicateEncoder:
    """Codes of events: code c stands for one set of conditions that hold together.

    Codes are dense and given in order of first appearance, so `minterms` of one encoder handed to another with the same
    conditions makes it number the same way. `relation` is the type of all events where there is no type column.
    """

    def __init__(
        self, conditions: tuple[Condition, ...], *, relation: str | None = None, minterms: Iterable[int] = ()
    ) -> None:
        self._conditions = conditions
        self._relations = {
            name: place
            for place, name in enumerate(dict.fromkeys(c.relation for c in conditions if c.relation is not None), 1)
        }
        self._names = NameMatcher(list(self._relations))
        self._only = self._relations.get(relation, 0) if relation is not None else 0
        predicates: dict[Expr, int] = {}
        self._tested: dict[int, set[int]] = {}  # per predicate, the relations (0: any) of the events it is meant for
        self._needs: list[tuple[int, int, int]] = []  # per condition: relation (0: any), bits to be set, to be clear
        for condition in conditions:
            masks = {True: 0, False: 0}
            needed = 0 if condition.relation is None else self._relations[condition.relation]
            for expr, holds in _conjuncts(condition.where):
                masks[holds] |= 1 << predicates.setdefault(expr, len(predicates))
                self._tested.setdefault(predicates[expr], set()).add(needed)
            self._needs.append((needed, masks[True], masks[False]))
        self._predicates = _Predicates(list(predicates))
        self._codes: dict[int, int] = {minterm: code for code, minterm in enumerate(minterms)}
        self._minterms = list(self._codes)
        width = self._predicates.count
        self._small = (len(self._relations) + 1) << width <= _SMALL
        self._table = np.full((len(self._relations) + 1) << width if self._small else 0, -1, np.int32)
        self._groups = [] if self._small else [IntegerInterner() for _ in range(0, width, _GROUP)]
        self._classes: tuple[pa.Schema, str | None, ClassCodes | None] | None = None  # for rows of this schema

    @property
    def size(self) -> int:
        """How many codes there are: 0 … size-1."""
        return len(self._minterms)

    @property
    def minterms(self) -> list[int]:
        """Per code, the conditions that hold as a bit set: bit i for condition i."""
        return list(self._minterms)

    @property
    def columns(self) -> list[str]:
        """The attributes that the predicates read."""
        return self._predicates.columns

    @property
    def relations(self) -> set[str]:
        """The event types of the conditions."""
        return set(self._relations)

    @property
    def predicates(self) -> list[Expr]:
        """What conditions ask of an event beside its type."""
        return self._predicates.exprs

    @property
    def numbers(self) -> int:
        """How many numbers there are: a type and the predicates that hold make one; 0 where they are too many."""
        return len(self._table) if self._small else 0

    def number_of(self, relation: str | None) -> int:
        """The number of an event of this type (None: of the only one, or of one that no condition names) of which no
        predicate holds."""
        return self._kind(relation) << self._predicates.count

    def _kind(self, relation: str | None) -> int:
        return self._only if relation is None else self._relations.get(relation, 0)

    @property
    def casts(self) -> bool:
        """Whether a predicate may fail on a value."""
        return any(self._predicates.casts)

    @property
    def asks_any(self) -> bool:
        """Whether some condition is for events of any type."""
        return any(not needed for needed, _, _ in self._needs)

    def predicates_of(self, relation: str | None) -> Iterator[tuple[int, Expr]]:
        """The predicates that are meant for events of this type, with their bits in its numbers."""
        kinds = {0, self._kind(relation)}
        yield from ((bit, self._predicates.exprs[bit]) for bit, tested in self._tested.items() if tested & kinds)

    def holding(self, number: int) -> frozenset[Condition]:
        """The conditions that hold of events with this number."""
        width = self._predicates.count
        minterm = self._minterm(number >> width, number & ((1 << width) - 1))
        return frozenset(each for place, each in enumerate(self._conditions) if minterm >> place & 1)

    def code_at(self, number: int) -> int:
        """The code of events with this number."""
        width = self._predicates.count
        return self._code(number >> width, number & ((1 << width) - 1))

    @property
    def relations_seen(self) -> set[str]:
        """The event types of the conditions that some event had."""
        if self._small:
            numbers = {int(number) >> self._predicates.count for number in np.flatnonzero(self._table >= 0)}
        else:
            numbers = {self._features(number)[0] for number in range(self._groups[-1].size)}
        return {name for name, place in self._relations.items() if place in numbers}

    def truth(self, code: int) -> tuple[bool, ...]:
        """Which conditions hold for an event with this code."""
        return tuple(bool(self._minterms[code] >> place & 1) for place in range(len(self._needs)))

    def encode(self, table: pa.Table, type_column: str | None, positions: Int64 | range | None = None) -> Ids:
        """One code per row; `positions` are what errors call the rows."""
        classes = self.classes_for(table.schema, type_column) if 0 < table.num_rows <= _FEW_ROWS else None
        numbers = classes.numbers(table) if classes is not None else None
        if classes is None or numbers is None:
            return self._evaluate(table, type_column, positions)
        codes = classes.look_up(numbers)
        if codes is None:
            codes = self._evaluate(table, type_column, positions)
            classes.learn(numbers, codes)
        return codes

    def classes_for(self, schema: pa.Schema, type_column: str | None) -> ClassCodes | None:
        """What is known of the codes of small batches; None where codes take more than to compare columns."""
        known = self._classes
        if known is None or known[1] != type_column or not schema.equals(known[0]):
            classes = ClassCodes.of(schema, self.predicates, type_column, self.relations)
            self._classes = known = schema, type_column, classes
        return known[2]

    def _evaluate(self, table: pa.Table, type_column: str | None, positions: Int64 | range | None) -> Ids:
        """The codes of rows by evaluating each predicate."""
        out = np.empty(table.num_rows, np.int32)
        wanted = [] if type_column is None or not self._relations else [type_column]
        wanted += [name for name in self.columns if name not in wanted]
        if not wanted:
            out.fill(self._code(self._only, self._predicates.constant()))
            return out
        numbers = np.empty(min(SLICE, table.num_rows), np.int32)
        done = 0
        for part in _slices(table.select(wanted)):
            rows = part.num_rows
            self._types(part, type_column, numbers[:rows])
            (self._encode_small if self._small else self._encode_wide)(part, numbers[:rows], out[done : done + rows])
            if self._predicates.failures:
                self._types(part, type_column, numbers[:rows])
                self._raise_failures(numbers[:rows], None if positions is None else positions[done : done + rows])
            done += rows
        return out

    def check_casts(self, table: pa.Table, type_column: str | None, positions: Int64 | range) -> None:
        """Raise DataError where a CAST fails, without giving codes."""
        done = 0
        for part in _slices(table):
            numbers = np.empty(part.num_rows, np.int32)
            self._types(part, type_column, numbers)
            self._predicates.check(part)
            self._raise_failures(numbers, positions[done : done + part.num_rows])
            done += part.num_rows

    def fresh(self) -> PredicateEncoder:
        """An encoder for the same conditions that has seen nothing."""
        only = next((name for name, place in self._relations.items() if place == self._only), None)
        return PredicateEncoder(self._conditions, relation=only)

    def numbers_of(self, minterms: Iterable[int]) -> Ids:
        """The codes of another encoder, with these minterms, as this one numbers them."""
        return np.array([self._numbered(minterm) for minterm in minterms], np.int32)

    def _raise_failures(self, types: Ids, positions: Int64 | range | None) -> None:
        """For a CAST that failed on an event that its condition is meant for."""
        failures, self._predicates.failures = self._predicates.failures, []
        for predicate, failure in failures:
            tested = self._tested[predicate]
            meant = failure.where & (np.isin(types, list(tested)) | (0 in tested))
            if meant.any():
                place = int(np.argmax(meant))
                raise failure.error(place, None if positions is None else int(positions[place]))

    def _types(self, part: pa.RecordBatch, type_column: str | None, out: Ids) -> None:
        if type_column is None:
            out.fill(self._only)
        elif not self._relations:
            out.fill(0)
        else:
            self._names.match(part.column(type_column), out)

    def _encode_small(self, part: pa.RecordBatch, numbers: Ids, out: Ids) -> None:
        """`numbers` holds types and becomes type << width | bits, which is looked up."""
        width = self._predicates.count
        if width:
            numbers <<= width
            self._predicates.add(part, range(width), numbers)
        if look_up(numbers, self._table, out) < 0:
            for number in np.flatnonzero(np.bincount(numbers, minlength=self._table.size)):
                self._table[number] = self._code(int(number) >> width, int(number) & ((1 << width) - 1))
            look_up(numbers, self._table, out)

    def _encode_wide(self, part: pa.RecordBatch, numbers: Ids, out: Ids) -> None:
        """Any number of predicates: `numbers` holds types, then an id for the type and each further group of bits."""
        width = self._predicates.count
        for group, interner in enumerate(self._groups):
            bits = np.zeros(len(numbers), np.int32)
            self._predicates.add(part, range(group * _GROUP, min(width, (group + 1) * _GROUP)), bits)
            numbers = interner.encode((numbers.astype(np.int64) << _GROUP) | bits)
        if self._groups[-1].size > self._table.size:
            fresh = [self._code(*self._features(number)) for number in range(self._table.size, self._groups[-1].size)]
            self._table = np.concatenate([self._table, np.array(fresh, np.int32)])
        look_up(numbers, self._table, out)

    def _features(self, number: int) -> tuple[int, int]:
        """The type and the predicate bits that a number of the last group stands for."""
        bits = 0
        for group in reversed(range(len(self._groups))):
            key = int(self._groups[group].hashed[number])
            bits |= (key & ((1 << _GROUP) - 1)) << (group * _GROUP)
            number = key >> _GROUP
        return number, bits

    def _code(self, relation: int, bits: int) -> int:
        return self._numbered(self._minterm(relation, bits))

    def _minterm(self, relation: int, bits: int) -> int:
        minterm = 0
        for place, (needed, on, off) in enumerate(self._needs):
            if needed in (0, relation) and bits & on == on and not bits & off:
                minterm |= 1 << place
        return minterm

    def code_of_no_condition(self) -> int:
        """The code of an event for which no condition holds."""
        return self._numbered(0)

    def _numbered(self, minterm: int) -> int:
        if minterm not in self._codes:
            self._codes[minterm] = len(self._minterms)
            self._minterms.append(minterm)
        return self._codes[minterm]


class _Predicates:
    """Distinct predicates over the current event, bit i for the i-th."""

    def __init__(self, exprs: list[Expr]) -> None:
        self.exprs = exprs
        self._reads = [list(dict.fromkeys(node.name for node in attributes(expr))) for expr in exprs]
        self._programs: dict[tuple[int, ...], ColumnProgram] = {}
        self.casts = [any(isinstance(node, Call) and node.op == "cast" for node in walk(expr)) for expr in exprs]
        self.failures: list[tuple[int, CastFailure]] = []  # of predicates, in the rows that were added last
        self._dictionaries: dict[tuple[str, tuple[int, ...]], tuple[pa.Array, list[UInt8]]] = {}

    @property
    def count(self) -> int:
        return len(self.exprs)

    @property
    def columns(self) -> list[str]:
        return list(dict.fromkeys(name for reads in self._reads for name in reads))

    def constant(self) -> int:
        """The bits of predicates that read nothing."""
        truths = self._program(tuple(range(self.count))).run(lambda attribute: pa.nulls(1))
        return sum(1 << place for place, truth in enumerate(truths) if truth.as_py() is True)

    def add(self, part: pa.RecordBatch, which: range, out: Ids) -> None:
        """Add 1 << (i - which.start) to every event for which predicate i is TRUE."""
        by_dictionary: dict[str, list[int]] = {}
        others: list[int] = []
        for place in which:
            reads = self._reads[place]
            if self.casts[place]:
                self._add_casting(part, place, 1 << (place - which.start), out)
                continue
            coded = len(reads) == 1 and pa.types.is_dictionary(part.schema.field(reads[0]).type)
            (by_dictionary.setdefault(reads[0], []) if coded else others).append(place)
        for name, places in by_dictionary.items():
            column = part.column(name)
            weights = np.zeros(len(column.dictionary) + 1, np.int32)
            for place, truth in zip(places, self._over_dictionary(name, tuple(places), column), strict=True):
                weights[truth != 0] += 1 << (place - which.start)
            _add_at(dictionary_indices(column), weights, out)
        if others:
            truths = self._program(tuple(others)).run(lambda attribute: part.column(attribute.name))
            for place, truth in zip(others, truths, strict=True):
                _add_truth(truth, 1 << (place - which.start), out)

    def check(self, part: pa.RecordBatch) -> None:
        """Note where a CAST fails."""
        for place, casts in enumerate(self.casts):
            if casts and set(self._reads[place]) <= set(part.schema.names):
                self._add_casting(part, place, 0, np.zeros(part.num_rows, np.int32))

    def _add_casting(self, part: pa.RecordBatch, place: int, weight: int, out: Ids) -> None:
        """On its own, so that it is known which predicate a CAST that fails belongs to."""
        failures: list[CastFailure] = []
        (truth,) = self._program((place,)).run(lambda attribute: part.column(attribute.name), failures)
        self.failures += [(place, failure) for failure in failures]
        _add_truth(truth, weight, out)

    def _over_dictionary(self, name: str, places: tuple[int, ...], column: pa.DictionaryArray) -> list[UInt8]:
        """For each predicate, 1 for each value of the dictionary (and NULL, after it) for which it is TRUE."""
        known = self._dictionaries.get((name, places))
        if known is None or not same_array(known[0], column.dictionary):
            values = dictionary_values(column)
            truths = [np.zeros(len(values), np.int32) for _ in places]
            for found, truth in zip(self._program(places).run(lambda attribute: values), truths, strict=True):
                _add_truth(found, 1, truth)
            known = column.dictionary, [truth.astype(np.uint8) for truth in truths]
            self._dictionaries[name, places] = known
        return known[1]

    def _program(self, places: tuple[int, ...]) -> ColumnProgram:
        if places not in self._programs:
            self._programs[places] = ColumnProgram([self.exprs[place] for place in places])
        return self._programs[places]


def _add_truth(truth: pa.Array | pa.Scalar, weight: int, out: Ids) -> None:
    if isinstance(truth, pa.Scalar):
        if truth.is_valid and truth.as_py():
            out += weight
    elif pa.types.is_boolean(truth.type) and len(truth):
        valid, bits = truth.buffers()
        mask = np.frombuffer(valid, np.uint8) if valid is not None and truth.null_count else NO_MASK
        _add_bits(np.frombuffer(bits, np.uint8), mask, truth.offset, weight, out)


def _conjuncts(where: Expr | None) -> Iterator[tuple[Expr, bool]]:
    """Predicates that must (True) or must not (False) be TRUE for the whole to be TRUE."""
    if where is None or where == Literal(True):
        return
    if isinstance(where, Call) and where.op == "and":
        for arg in where.args:
            yield from _conjuncts(arg)
    elif isinstance(where, Call) and where.op == "is_true":
        yield from _conjuncts(where.args[0])
    elif (
        isinstance(where, Call)
        and where.op == "not"
        and isinstance(where.args[0], Call)
        and where.args[0].op == "is_true"
    ):
        yield where.args[0].args[0], False
    else:
        yield where, True


def _slices(table: pa.Table) -> Iterator[pa.RecordBatch]:
    """The table in slices of at most SLICE rows, without copying unless its chunks are tiny."""
    most = max((column.num_chunks for column in table.columns), default=0)
    if most > 16 and table.num_rows // most < SLICE // 16:
        table = table.combine_chunks()
    yield from (part for part in table.to_batches(max_chunksize=SLICE) if part.num_rows)

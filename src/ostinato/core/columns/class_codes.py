"""Codes of a small batch by the classes of its values (value_classes.py), which takes a kernel call per column.

For thousands of rows Arrow's functions are faster; for a hundred, calling them costs more than all they do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from ostinato.core.arrays import Float64, Int64, UInt8
from ostinato.core.arrow import NO_MASK, Ids, is_text, plain_type, raw_dtype, raw_values, stored_runs, validity
from ostinato.core.columns import batch_layout as layout
from ostinato.core.columns.batch_layout import NameTables, storage_of
from ostinato.core.columns.name_matcher import NameMatcher, look_up
from ostinato.core.columns.value_classes import compared_constants
from ostinato.core.expressions import Expr
from ostinato.core.jit import array, kernel, view
from ostinato.core.jit.types import float64, int32, uint8, void

_MOST_BOUNDS = 16  # of one column: each is compared with every value
_MOST_CLASSES = 1 << 16  # combinations of the classes of all columns
_EXACT = 2**53  # whole numbers below are floats, and beyond are not near one


@kernel(void(view(float64), view(uint8), view(float64), int32, array(int32)))
def add_number_classes(values: Float64, valid: UInt8, bounds: Float64, weight: Any, out: Ids) -> None:
    """out[i] += weight * class: twice the bounds below a value, and one for a bound that equals it; then NaN, NULL."""
    for place in range(bounds.size):
        bound = bounds[place]
        for row in range(values.size):
            out[row] += weight * (np.int32(values[row] > bound) + np.int32(values[row] >= bound))
    nan = np.int32(2 * bounds.size + 1)
    for row in range(values.size):
        out[row] += weight * nan * np.int32(values[row] != values[row])
    for row in range(valid.size):
        if not valid[row]:  # whatever number stands there
            known = np.int32(0)
            for place in range(bounds.size):
                known += np.int32(values[row] > bounds[place]) + np.int32(values[row] >= bounds[place])
            known += nan * np.int32(values[row] != values[row])
            out[row] += weight * (nan + np.int32(1) - known)


class _Texts:
    """Each constant is a class, all other texts are one, and NULL is one."""

    def __init__(self, kind: pa.DataType, names: Iterable[str]) -> None:
        wide = {pa.string(): np.int32, pa.large_string(): np.int64}.get(kind)
        self._offsets = np.dtype(wide) if wide is not None else None  # of texts that are stored in a row
        known = sorted(names)
        self._names = NameMatcher(known)
        self.size = len(known) + 2

    @property
    def null(self) -> int:
        return self.size - 1

    def tables(self) -> NameTables:
        return self._names.tables()

    def add(self, column: pa.Array, weight: int, out: Ids) -> None:
        if weight == 1:  # the first column, which finds zeros
            self._classify(column, out)
        else:
            own = np.empty(len(out), np.int32)
            self._classify(column, own)
            out += weight * own

    def _classify(self, column: pa.Array, out: Ids) -> None:
        if self._offsets is not None and not column.null_count:
            self._names.match_runs(*stored_runs(column, self._offsets), NO_MASK, out)
            return
        self._names.match(column, out)
        if column.null_count:
            out[validity(column) == 0] = self.null


class _Numbers:
    """The classes of numbers between constants."""

    def __init__(self, kind: pa.DataType, constants: Iterable[Any]) -> None:
        self._dtype = raw_dtype(kind)
        self.bounds = np.array(sorted({float(constant) for constant in constants}), np.float64)
        self.size = 2 * len(self.bounds) + 3

    def add(self, column: pa.Array, weight: int, out: Ids) -> None:
        values = raw_values(column, self._dtype)
        floats = values if self._dtype == np.float64 else values.astype(np.float64)
        add_number_classes(floats, validity(column), self.bounds, weight, out)


class ClassCodes:
    """The code of each combination of classes that rows had so far, for columns of one schema."""

    def __init__(self, schema: pa.Schema, columns: Sequence[tuple[int, _Texts | _Numbers, int]], size: int) -> None:
        """Columns by their place, how their values are classified, and the weight of that; `size` numbers come out."""
        self._columns = columns
        self._fields = [schema.field(place) for place, _, _ in columns]
        self.codes: Ids = np.full(size, -1, np.int32)

    @classmethod
    def of(
        cls, schema: pa.Schema, predicates: Iterable[Expr], type_column: str | None, relations: set[str]
    ) -> ClassCodes | None:
        """None where predicates do more than to compare columns with a few constants."""
        constants = compared_constants(predicates)
        if type_column is not None and relations:
            named = constants.get(type_column, set())
            constants[type_column] = None if named is None else named | relations
        columns: list[tuple[int, _Texts | _Numbers, int]] = []
        size = 1
        for name, compared in sorted(constants.items(), key=lambda item: item[0] != type_column):
            field = schema.field(name)
            classes = None if compared is None else _classes_of(field.type, compared)
            if classes is None:
                return None
            columns.append((schema.get_field_index(name), classes, size))
            size *= classes.size
            if size > _MOST_CLASSES:
                return None
        return cls(schema, columns, size)

    @property
    def names(self) -> list[str]:
        """The columns that codes depend on."""
        return [field.name for field in self._fields]

    @property
    def is_plain(self) -> bool:
        """Whether `layout` says all: columns are stored as one kernel reads them."""
        return all(storage_of(field.type) != layout.ABSENT for field in self._fields)

    def layout(self, places: Mapping[str, int]) -> tuple[Int64, Float64, list[NameTables]]:
        """How columns at these places are classified: see batch_layout.py."""
        rows: list[tuple[int, ...]] = []
        bounds: list[Float64] = [np.zeros(0)]
        texts: list[NameTables] = []
        for field, (_, classes, weight) in zip(self._fields, self._columns, strict=True):
            about = places[field.name], storage_of(field.type), weight
            if isinstance(classes, _Texts):
                rows.append((*about, len(texts), 0, classes.null))
                texts.append(classes.tables())
            else:
                first = sum(map(len, bounds))
                rows.append((*about, first, first + len(classes.bounds), classes.size - 1))
                bounds.append(classes.bounds)
        return np.array(rows, np.int64).reshape(-1, 6), np.concatenate(bounds), texts

    def numbers(self, rows: pa.Table) -> Ids | None:
        """A number for the classes of each row; None where a column is in pieces."""
        out = np.zeros(rows.num_rows, np.int32)
        for place, classes, weight in self._columns:
            column = rows.column(place)
            if column.num_chunks != 1:
                return None
            chunk = column.chunk(0)
            if isinstance(chunk, pa.DictionaryArray) and chunk.dictionary.null_count:
                return None
            classes.add(chunk, weight, out)
        return out

    def look_up(self, numbers: Ids) -> Ids | None:
        """The codes of numbers; None if one is not known yet."""
        out = np.empty(len(numbers), np.int32)
        return out if look_up(numbers, self.codes, out) >= 0 else None

    def learn(self, numbers: Ids, codes: Ids) -> None:
        self.codes[numbers] = codes


def _classes_of(kind: pa.DataType, constants: set[Any]) -> _Texts | _Numbers | None:
    if is_text(plain_type(kind)):
        return _Texts(kind, constants) if all(isinstance(constant, str) for constant in constants) else None
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)) or len(constants) > _MOST_BOUNDS:
        return None
    if any(isinstance(constant, str) or not -_EXACT < constant < _EXACT for constant in constants):
        return None
    return _Numbers(kind, constants)

"""Partition keys as dense integers: the first key seen is 0, the next new one 1, and so on, across batches.

Values of every type become either one int64 or a run of bytes; each is interned in an open-addressing hash table.
Several attributes are interned one by one and their ids then in pairs, so a key of any width costs one look-up more
per attribute.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ostinato.core.arrow import (
    Ids,
    Ints,
    byte_runs,
    dictionary_indices,
    dictionary_values,
    is_bytes,
    is_text,
    plain_type,
    raw_dtype,
    raw_values,
    validity,
)
from ostinato.core.columns.batch_layout import BatchState
from ostinato.core.columns.intern import IntegerInterner, Interner
from ostinato.errors import DataError


class _Column:
    """The distinct values of one attribute."""

    def __init__(self, name: str, kind: pa.DataType) -> None:
        self.name, self.type = name, kind
        self.runs = is_text(kind) or is_bytes(kind)  # of any length
        self.as_bytes = self.runs or pa.types.is_decimal(kind) or pa.types.is_fixed_size_binary(kind)
        if pa.types.is_nested(kind):
            raise DataError(
                f"cannot partition by `{name}`: its values are nested ({kind})", fix="partition by a plain attribute"
            )
        if self.as_bytes:
            from ostinato.core.columns.intern_bytes import ByteStringInterner  # numbers need none of its kernels

            self.bytes = ByteStringInterner()
            self.interner: Interner = self.bytes
        else:
            self.ints = IntegerInterner()
            self.interner = self.ints
            # Numbers that are stored as they are interned.
            self.stored = raw_dtype(kind) if pa.types.is_int64(kind) or pa.types.is_timestamp(kind) else None

    def encode(self, column: pa.ChunkedArray) -> Ids:
        if column.num_chunks == 1 and len(column):
            return self._chunk(column.chunk(0))
        parts = [self._chunk(chunk) for chunk in column.chunks if len(chunk)]
        return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, np.int32), *parts])

    def _chunk(self, chunk: pa.Array) -> Ids:
        if isinstance(chunk, pa.DictionaryArray):
            return self._dictionary(chunk)
        if chunk.type != self.type:
            chunk = chunk.cast(self.type)
        valid = validity(chunk)
        if not self.as_bytes:
            ints = _to_ints(chunk) if self.stored is None else raw_values(chunk, self.stored)
            return self.ints.encode(ints, valid)
        if self.runs:
            return self.bytes.encode(*byte_runs(chunk), valid)
        width = self.type.byte_width
        offsets = np.arange(chunk.offset, chunk.offset + len(chunk) + 1, dtype=np.int64) * width
        return self.bytes.encode(offsets, np.frombuffer(chunk.buffers()[1], np.uint8), valid)

    def _dictionary(self, chunk: pa.DictionaryArray) -> Ids:
        """Encode the values that occur, each once."""
        places, values = dictionary_indices(chunk), dictionary_values(chunk)
        used = np.zeros(len(values), np.bool_)
        used[places] = True
        ids = np.zeros(len(values), np.int32)
        ids[used] = self._chunk(values.filter(pa.array(used)))
        return ids[places]

    def values(self, ids: Ids) -> pa.Array:
        """The value of each id."""
        valid = self.interner.valid(ids)
        if not self.as_bytes:
            return _from_ints(self.ints.hashed[ids], valid, self.type)
        ends, stored = self.bytes.ends[: self.bytes.size + 1], pa.py_buffer(self.bytes.store)
        if self.runs:
            kept = pa.Array.from_buffers(
                pa.large_string() if is_text(self.type) else pa.large_binary(),
                ends.size - 1,
                [None, pa.py_buffer(ends), stored],
            )
            found = kept.take(pa.array(ids, mask=None if valid is None else ~valid))
            return found if found.type == self.type else found.cast(self.type)
        # NULL takes no bytes, so a fixed-width value starts where its end says, not at id * width.
        starts = ends[ids]
        runs = self.bytes.store[np.where(starts < ends[-1], starts, 0)[:, None] + np.arange(self.type.byte_width)]
        bitmap = None if valid is None else pa.array(valid).buffers()[1]
        return pa.Array.from_buffers(self.type, ids.size, [bitmap, pa.py_buffer(np.ascontiguousarray(runs))])


class KeyTable:
    """Dense ids for partition keys of one or more attributes. NULL is a key; all NaN are one, as are 0.0 and -0.0."""

    def __init__(self) -> None:
        self._columns: list[_Column] = []
        self._pairs: list[IntegerInterner] = []
        self._ids: dict[tuple[Any, ...], int] = {}  # of keys that came one at a time

    @property
    def size(self) -> int:
        """How many distinct keys were seen: ids are 0 … size-1."""
        if self._pairs:
            return self._pairs[-1].size
        return self._columns[0].interner.size if self._columns else 0

    def encode(self, columns: Sequence[pa.ChunkedArray], names: Sequence[str] | None = None) -> Ids:
        """One id per row; `names` are only for error messages."""
        if not self._columns:
            names = names or [f"key {place}" for place in range(len(columns))]
            self._columns = [
                _Column(name, plain_type(column.type)) for name, column in zip(names, columns, strict=True)
            ]
            self._pairs = [IntegerInterner() for _ in columns[1:]]
        ids = self._columns[0].encode(columns[0])
        if not self._pairs:
            return ids
        for values, column, pairs in zip(self._columns[1:], columns[1:], self._pairs, strict=True):
            ids = pairs.encode((ids.astype(np.int64) << 32) | values.encode(column))
        return ids

    def fill(self, state: BatchState) -> bool:
        """Let a kernel number keys of one attribute; False where it cannot, and before there are any."""
        if len(self._columns) != 1:
            return False
        column = self._columns[0]
        interner = column.interner
        state.update(key_slots=interner.slots, key_hashes=interner.hashed, key_state=interner.state)
        if column.as_bytes:
            state.update(key_ends=column.bytes.ends, key_store=column.bytes.store, key_block=column.bytes.block)
        return True

    def id_of(self, key: tuple[Any, ...], fields: Sequence[pa.Field]) -> int:
        """The id of one key, given as Python values of these types."""
        found = self._ids.get(key)
        if found is None:
            columns = [
                pa.chunked_array([pa.array([value], field.type)]) for value, field in zip(key, fields, strict=True)
            ]
            found = self._ids[key] = int(self.encode(columns, [field.name for field in fields])[0])
        return found

    def values(self, ids: npt.NDArray[Any]) -> list[pa.Array]:
        """The attributes of the keys with these ids, one array per attribute."""
        left = np.asarray(ids, np.int32)
        found: list[pa.Array] = []
        for column, pairs in zip(reversed(self._columns[1:]), reversed(self._pairs), strict=True):
            pair = pairs.hashed[left]
            found.append(column.values((pair & 0xFFFFFFFF).astype(np.int32)))
            left = (pair >> 32).astype(np.int32)
        return [self._columns[0].values(left), *reversed(found)] if self._columns else []

    def to_table(self) -> pa.Table:
        """All keys in order of id."""
        return pa.table(self.values(np.arange(self.size)), names=[column.name for column in self._columns])

    def give_types(self, schema: pa.Schema) -> None:
        """Columns that held only NULL so far have these types from now on; the keys seen keep their ids."""
        fields = [
            schema.field(column.name).with_type(plain_type(schema.field(column.name).type)) for column in self._columns
        ]
        if any(
            pa.types.is_null(each.type) and field.type != each.type
            for each, field in zip(self._columns, fields, strict=True)
        ):
            later = KeyTable.from_table(self.to_table().cast(pa.schema(fields)))
            self._columns, self._pairs, self._ids = later._columns, later._pairs, {}

    @classmethod
    def from_table(cls, table: pa.Table) -> KeyTable:
        """A key table with the same ids, since ids are given in order of first appearance."""
        keys = cls()
        if table.num_columns:
            keys.encode(table.columns, table.column_names)
        return keys


def _to_ints(chunk: pa.Array) -> Ints:
    """An int64 for each value, equal exactly where the values are; what stands at a NULL does not matter."""
    kind = chunk.type
    if pa.types.is_null(kind):
        return np.zeros(len(chunk), np.int64)
    if pa.types.is_boolean(kind):
        return np.asarray(chunk.fill_null(False).to_numpy(zero_copy_only=False)).astype(np.int64)
    values = raw_values(chunk)
    if pa.types.is_floating(kind):
        plain = values.astype(np.float64) + 0.0  # -0.0 + 0.0 is 0.0
        plain[np.isnan(plain)] = np.nan
        return plain.view(np.int64)
    return values.view(np.int64) if values.dtype.itemsize == 8 else values.astype(np.int64)


def _from_ints(values: Ints, valid: npt.NDArray[np.bool_] | None, kind: pa.DataType) -> pa.Array:
    """The inverse of `_to_ints`."""
    if pa.types.is_null(kind):
        return pa.nulls(values.size)
    mask = None if valid is None else ~valid
    if pa.types.is_boolean(kind):
        return pa.array(values.astype(np.bool_), mask=mask)
    stored = values.view(np.float64) if pa.types.is_floating(kind) else values
    exact = stored.astype(raw_values(pa.array([], kind)).dtype)
    bitmap = None if valid is None else pa.array(valid).buffers()[1]
    return pa.Array.from_buffers(kind, values.size, [bitmap, pa.py_buffer(np.ascontiguousarray(exact))])

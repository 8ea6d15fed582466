"""Encodes the terms of correlated tests as integers, column by column (see kernels/register_tests.py)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ostinato.core.arrays import Bools, Int64
from ostinato.core.arrow import NO_MASK, byte_runs, is_bytes, is_text, raw_values, validity
from ostinato.core.columns.arithmetic import as_float
from ostinato.core.columns.expressions import ColumnProgram
from ostinato.core.columns.intern_bytes import ByteStringInterner
from ostinato.core.expressions import Attribute, Expr, to_text
from ostinato.errors import DataError
from ostinato.patterns.runtime.transition_tables import Kind

_EXACT = 2**53  # up to here a float64 holds every whole number


class TermEncoder:
    """Expressions over one event each, bound to the columns of a stream. Texts get ids, which all terms share.

    `compared` are sets of terms that are only compared with each other. Where one of them leaves 64-bit integers, all
    of its set are *widened*: they become texts that are ordered as the numbers are.
    """

    def __init__(self, exprs: Sequence[Expr], schema: pa.Schema, compared: Iterable[frozenset[int]] = ()) -> None:
        self._exprs, self._compared = exprs, tuple(compared)
        self._program = ColumnProgram(exprs)
        self.texts = ByteStringInterner()
        types = [value.type for value in self._values(schema.empty_table())]
        self.kinds: list[Kind] = [_kind(kind) for kind in types]
        self._integers = frozenset(at for at, kind in enumerate(types) if pa.types.is_integer(kind))
        self.wide: frozenset[int] = frozenset()
        units = [kind.unit for kind in types if hasattr(kind, "unit")]
        # One unit for all times, so that their ticks can be compared.
        self._unit = "ns" if "ns" in units else "us"

    def __len__(self) -> int:
        return len(self._exprs)

    def over(self, schema: pa.Schema) -> TermEncoder:
        """The same terms over columns of other types, with the same ids of texts."""
        terms = TermEncoder(self._exprs, schema, self._compared)
        terms.texts = self.texts
        terms.widen(self.wide)
        return terms

    def widen(self, terms: Iterable[int]) -> None:
        """Let these whole numbers be of any size from now on."""
        self.wide |= frozenset(terms)
        self.kinds = ["text" if at in self.wide else kind for at, kind in enumerate(self.kinds)]

    def encode_wide(self, numbers: pa.Array) -> Int64:
        """Whole numbers of any size as ids of texts in the same order; anything may stand at a NULL."""
        wide = numbers.fill_null(0).cast(pa.decimal256(76, 0))
        # Big-endian, and the sign bit turned round: then bytes are ordered as numbers.
        data = np.frombuffer(wide.buffers()[1], np.uint8).reshape(-1, 32)[wide.offset : wide.offset + len(wide), ::-1]
        data = np.ascontiguousarray(data)
        data[:, 0] ^= 0x80
        ends = np.arange(0, 32 * (len(wide) + 1), 32, dtype=np.int64)
        return self.texts.encode(ends, data.ravel(), NO_MASK).astype(np.int64)

    def encode(self, rows: pa.Table, order: Int64 | None) -> tuple[Int64, Bools]:
        """A row of values per term, and where there is one; in stream order."""
        values = np.zeros((len(self._exprs), len(rows)), np.int64)
        present = np.zeros((len(self._exprs), len(rows)), np.bool_)
        for at, (expr, kind, found) in enumerate(zip(self._exprs, self.kinds, self._values(rows), strict=True)):
            if isinstance(found, pa.Scalar):
                found = pa.repeat(found, 1)
            if pa.types.is_null(found.type):
                continue
            if at in self._integers and not pa.types.is_integer(found.type) and not self._has_room(at, found):
                return self.encode(rows, order)
            mask = validity(found)
            known = mask.view(np.bool_) if mask.size else np.ones(len(found), np.bool_)
            try:
                encoded = self.encode_wide(found) if at in self.wide else self._encode(found, kind, expr)
                whole = np.where(known, encoded, 0)
            except pa.ArrowInvalid as error:
                raise DataError(
                    f"`{to_text(expr)}` cannot be compared between events: {error}",
                    fix="cast the times that are compared to one unit",
                ) from None
            if order is not None and len(found) > 1:
                whole, known = whole[order], known[order]
            values[at], present[at] = whole, known
        return values, present

    def plain_attributes(self, schema: pa.Schema) -> list[tuple[str, bool]] | None:
        """Per term its attribute, and whether it is a float, if all are of 64 bits and come with events; else None."""
        found: list[tuple[str, bool]] = []
        for expr in self._exprs:
            if not isinstance(expr, Attribute) or self.wide or expr.name not in schema.names:
                return None
            kind = schema.field(expr.name).type
            if kind not in (pa.int64(), pa.float64()):
                return None
            found.append((expr.name, kind == pa.float64()))
        return found

    def _values(self, rows: pa.Table) -> list[Any]:
        def fetch(attribute: Any) -> pa.Array:
            column = rows[attribute.name]
            return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()

        return self._program.run(fetch)

    def _encode(self, found: pa.Array, kind: Kind, expr: Expr) -> Int64:
        """The values of a term; what stands at a NULL does not matter."""
        if kind == "text":
            if pa.types.is_fixed_size_binary(found.type):
                found = found.cast(pa.large_binary())
            return self.texts.encode(*byte_runs(found), NO_MASK).astype(np.int64)
        if kind == "float":
            return self._floats(found, expr).view(np.int64)
        if pa.types.is_boolean(found.type):
            return np.asarray(found.fill_null(False).to_numpy(zero_copy_only=False)).astype(np.int64)
        if pa.types.is_timestamp(found.type) or pa.types.is_date(found.type):
            found = found.cast(pa.timestamp(self._unit))
        elif pa.types.is_duration(found.type):
            found = found.cast(pa.duration(self._unit))
        elif pa.types.is_time(found.type):
            found = found.cast(pa.time64(self._unit))
        return raw_values(found).astype(np.int64)

    def _has_room(self, term: int, found: pa.Array) -> bool:
        """For values beyond 64-bit integers: whether there was; from now on there is."""
        group = next((group for group in self._compared if term in group), frozenset())
        if not group or not group <= self._integers or not pa.types.is_decimal(found.type):
            raise DataError(
                f"`{to_text(self._exprs[term])}` leaves 64-bit integers, and events are more than compared by it",
                fix="compare it with whole numbers and nothing else, or with smaller ones; float64 would not tell "
                "those above 2**53 apart",
            )
        if term in self.wide:
            return True
        self.widen(group)
        return False

    def _floats(self, found: pa.Array, expr: Expr) -> npt.NDArray[np.float64]:
        scale = found.type.scale if pa.types.is_decimal(found.type) else None
        numbers = np.asarray(as_float(found).fill_null(0.0).to_numpy(zero_copy_only=False))
        if scale is not None and len(numbers) and float(np.abs(numbers).max()) * 10.0**scale >= _EXACT:
            raise DataError(
                f"`{to_text(expr)}` has decimals of more than 15 digits, and is compared between events",
                fix="cast its columns to float64, or to decimals of fewer digits",
            )
        plain: npt.NDArray[np.float64] = numbers + 0.0  # -0.0 + 0.0 is 0.0
        plain[np.isnan(plain)] = np.nan
        return plain

    # -- texts

    def keep_texts(self, kept: Int64) -> None:
        """Forget all texts but these, and renumber those in this order."""
        ends, store = self.texts.ends, self.texts.store
        texts = [store[ends[one] : ends[one + 1]] for one in kept.tolist()]
        self.set_texts(np.cumsum([0, *map(len, texts)], dtype=np.int64), np.concatenate([store[:0], *texts]))

    def set_texts(self, ends: Int64, store: npt.NDArray[np.uint8]) -> None:
        """Restore ids, which are given in order of first appearance."""
        self.texts = ByteStringInterner()
        self.texts.encode(ends, store, NO_MASK)


def _kind(kind: pa.DataType) -> Kind:
    if is_text(kind) or is_bytes(kind) or pa.types.is_fixed_size_binary(kind):
        return "text"
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "float"
    return "ticks" if pa.types.is_temporal(kind) else "whole"

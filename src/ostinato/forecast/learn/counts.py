"""How often each symbol followed each context: additive counts, which are all that learning needs.

Counts of batches, partitions and tasks add up to those of the whole, and older ones can be given less weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ostinato.core.arrays import Float64, Int32, Int64, UInt64
from ostinato.core.arrow import read_only
from ostinato.core.options import bad_option
from ostinato.errors import DataError

_FORGOTTEN = 1e-6  # of an event: what has decayed below that is dropped, so that old grams do not pile up for ever
_GRAM, _WEIGHT = "gram", "weight"


@dataclass(frozen=True, eq=False)
class Counts:
    """A gram is a context, oldest symbol first, and the symbol after it; -1 where the key's history is shorter."""

    alphabet: int  # symbols are 0 … alphabet - 1
    order: int  # the longest context
    grams: Int32  # [n, order + 1]: distinct rows, sorted
    weights: Float64  # [n]

    @property
    def total(self) -> float:
        """How many events were counted."""
        return float(self.weights.sum())

    def merge(self, other: Counts) -> Counts:
        """The counts of both. Their orders must be the same."""
        if self.order != other.order:
            raise DataError(
                f"counts of order {self.order} and of order {other.order} do not add up",
                fix=f"count both at order {min(self.order, other.order)}, or lower the other one to it",
            )
        return sum_grams(
            np.concatenate([self.grams, other.grams]),
            np.concatenate([self.weights, other.weights]),
            max(self.alphabet, other.alphabet),
        )

    def decay(self, factor: float) -> Counts:
        """The same with each event counted `factor` times; grams with hardly any weight left are dropped."""
        if not 0 <= factor <= 1:
            raise bad_option("factor", factor, "a number from 0 to 1")
        weights = self.weights * factor
        kept = weights >= _FORGOTTEN
        return replace(self, grams=self.grams[kept], weights=weights[kept])

    def at_order(self, order: int) -> Counts:
        """The counts at a lower order: the oldest symbols of each context are forgotten."""
        if not 0 <= order <= self.order:
            raise bad_option("order", order, f"an order from 0 to {self.order}, that of the counts")
        return sum_grams(self.grams[:, self.order - order :], self.weights, self.alphabet)

    def to_table(self) -> pa.Table:
        """A row for each gram, to be saved, or added up by `gram` elsewhere."""
        width = self.order + 1
        offsets = np.arange(0, (len(self.grams) + 1) * width, width, dtype=np.int32)
        grams = pa.ListArray.from_arrays(offsets, np.ascontiguousarray(self.grams).reshape(-1))
        return pa.table({_GRAM: grams, _WEIGHT: self.weights})

    @staticmethod
    def from_table(table: pa.Table, *, order: int, alphabet: int) -> Counts:
        """Counts from the table of `to_table`; rows may be in any order, and those of one gram are added up."""
        missing = [name for name in (_GRAM, _WEIGHT) if name not in table.column_names]
        if missing:
            raise DataError(f"a table of counts has no column `{missing[0]}`", fix="give a table of Counts.to_table")
        try:
            lists = table[_GRAM].cast(pa.list_(pa.int32())).combine_chunks()
            weights = table[_WEIGHT].cast(pa.float64()).combine_chunks()
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise DataError(f"a table of counts has columns of other types: {error}") from None
        if lists.null_count or weights.null_count or lists.flatten().null_count:
            raise DataError("a table of counts has NULL in it")
        if not pc.all(pc.equal(pc.list_value_length(lists), order + 1)).as_py() and len(lists):
            raise DataError(
                f"a gram of these counts is not of order {order}", fix="give the order that the counts were made with"
            )
        grams = lists.flatten().to_numpy().reshape(-1, order + 1)
        _check_grams(grams, alphabet)
        values = weights.to_numpy()
        if not (np.isfinite(values) & (values >= 0)).all():
            raise DataError("a table of counts has a weight that is not a number of at least 0")
        return sum_grams(grams, values, alphabet)


def count_grams(symbols: Int32, keys: Int32 | None, order: int, alphabet: int, history: Int32 | None = None) -> Counts:
    """Count events in the order of time; the context of an event is the events of its key before it.

    `history[key]` has the last symbols of a key before these events, oldest first (-1: none). It is updated in place,
    so that the counts of consecutive batches add up to those of the whole.
    """
    from ostinato.forecast.kernels.count import pack_stream

    if order < 0:
        raise bad_option("order", order, "an order of at least 0")
    symbols = np.ascontiguousarray(symbols, np.int32)
    keys = np.zeros(len(symbols), np.int32) if keys is None else np.ascontiguousarray(keys, np.int32)
    if history is None:
        history = np.full((int(keys.max(initial=-1)) + 1, order), -1, np.int32)
    _check_events(symbols, keys, order, alphabet, history)
    bits, per_word = _layout(alphabet)
    words = np.empty((_words(order + 1, per_word), len(symbols)), np.uint64)
    pack_stream(read_only(symbols), read_only(keys), bits, per_word, history, words)
    words = np.sort(words) if len(words) == 1 else words[:, np.lexsort(words[::-1])]
    first = _firsts(words)
    weights = np.diff(first, append=len(symbols)).astype(np.float64)
    return Counts(alphabet, order, _unpack(words[:, first], order + 1, bits, per_word), weights)


def sum_grams(grams: Int32, weights: Float64, alphabet: int) -> Counts:
    """Counts from grams in any order, which may come more than once."""
    words = pack_columns(grams.T, alphabet)
    order = np.lexsort(words[::-1])
    first = _firsts(words[:, order])
    added = np.add.reduceat(weights[order], first) if len(first) else np.zeros(0)
    return Counts(alphabet, grams.shape[1] - 1, np.ascontiguousarray(grams[order[first]]), added)


def pack_columns(columns: Int32 | Sequence[Int32], alphabet: int) -> UInt64:
    """Columns of symbols as words [words, rows] that sort as the rows do, the first column first."""
    bits, per_word = _layout(alphabet)
    words = np.zeros((_words(len(columns), per_word), len(columns[0]) if len(columns) else 0), np.uint64)
    for number, column in enumerate(columns):
        word = words[number // per_word]
        word <<= np.uint64(bits)
        word |= (column + 1).astype(np.uint64)
    return words


def _unpack(words: UInt64, width: int, bits: int, per_word: int) -> Int32:
    grams = np.empty((words.shape[1], width), np.int32)
    mask = np.uint64((1 << bits) - 1)
    for number in range(width):
        last = min(width, (number // per_word + 1) * per_word) - 1  # the column in the lowest bits of the word
        field = (words[number // per_word] >> np.uint64(bits * (last - number))) & mask
        grams[:, number] = field.astype(np.int32) - 1
    return grams


def _layout(alphabet: int) -> tuple[int, int]:
    """The bits that a symbol takes, and how many symbols a word holds."""
    bits = max(1, alphabet.bit_length())
    return bits, 64 // bits


def _words(width: int, per_word: int) -> int:
    return max(1, -(-width // per_word))


def _firsts(words: UInt64) -> Int64:
    """Where a row of the sorted words differs from the one before it."""
    new = np.zeros(words.shape[1], np.bool_)
    new[:1] = True
    for word in words:
        new[1:] |= word[1:] != word[:-1]
    return np.flatnonzero(new)


def _check_events(symbols: Int32, keys: Int32, order: int, alphabet: int, history: Int32) -> None:
    """The kernel trusts all of this."""
    outside = (symbols < 0) | (symbols >= alphabet)
    if outside.any():
        row = int(outside.argmax())
        raise DataError(f"the symbol {symbols[row]} is not one of 0 … {alphabet - 1}", row=row)
    if len(keys) != len(symbols):
        raise DataError(f"there are {len(symbols):,} symbols but {len(keys):,} keys")
    if history.ndim != 2 or history.shape[1] != order or history.dtype != np.int32 or not history.flags.c_contiguous:
        raise DataError(f"the history is not an int32 table with {order} symbols for each key")
    if len(keys) and not 0 <= keys.min() <= keys.max() < len(history):
        raise DataError(f"the keys are not all among 0 … {len(history) - 1}, those with a history")
    if history.size and not -1 <= history.min() <= history.max() < alphabet:
        raise DataError(f"the history has a symbol that is not one of 0 … {alphabet - 1}")


def _check_grams(grams: Int32, alphabet: int) -> None:
    if not grams.size:
        return
    missing = grams < 0
    if grams.min() < -1 or grams.max() >= alphabet or missing[:, -1].any():
        raise DataError(f"a gram has a symbol that is not one of 0 … {alphabet - 1}")
    if (missing[:, 1:] & ~missing[:, :-1]).any():
        raise DataError("a gram lacks a symbol between others", fix="-1 may stand only before the oldest symbol")

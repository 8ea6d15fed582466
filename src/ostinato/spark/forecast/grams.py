"""What tasks have counted, as rows that can be added up: each task numbers its symbols by itself, so a gram is written
as what its symbols mean."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ostinato.core.arrays import Bools, Int32, Int64
from ostinato.forecast.learn.counts import summed
from ostinato.forecast.learn.gaps import Gaps
from ostinato.forecast.learn.statistics import Learnt
from ostinato.forecast.symbols.encoder import Symbols

# Whether the events are held out; a gram, or the symbols around gaps of a bin (-1: of a gram); and what is added up.
KEYS, SUMS = ("later", "gram", "bin"), ("weight", "seconds", "squares")
COUNTED = pa.schema(
    [("later", pa.bool_()), ("gram", pa.string()), ("bin", pa.int32()), *((name, pa.float64()) for name in SUMS)]
)
_GRAM = -1
_NONE, _BETWEEN = "-", " "
_SPREAD = 0x9E3779B97F4A7C15  # an odd number whose powers spread the symbols of a gram over 64 bits


def rows_of(learnt: Learnt, *, later: bool) -> pa.Table:
    """Everything that was learnt, as rows of COUNTED."""
    counts, gaps = learnt.counts, learnt.gaps.to_table()
    words = pa.array([_NONE, *_written(learnt.symbols)])
    width = counts.order + 1
    offsets = np.arange(0, (len(counts.grams) + 1) * width, width, dtype=np.int32)
    spelt = pa.ListArray.from_arrays(offsets, words.take(pa.array(counts.grams.ravel() + 1)))
    none = np.zeros(len(counts.grams))
    grams = [pc.binary_join(spelt, _BETWEEN), np.full(len(none), _GRAM, np.int32), counts.weights, none, none]
    sums = [gaps[name].combine_chunks() for name in SUMS]
    sides = [words.take(pc.add(gaps[name], 1)).combine_chunks() for name in ("last", "symbol")]
    among = [pc.binary_join_element_wise(*sides, _BETWEEN), gaps["bin"].combine_chunks(), *sums]
    tables = []
    for columns in (grams, among):
        flag = pa.array(np.full(len(columns[1]), later))
        tables.append(pa.table([flag, *columns], schema=COUNTED))
    return pa.concat_tables(tables)


def buckets_of(learnt: Learnt, count: int) -> Int64:
    """Which bucket each row of `rows_of` belongs to: the same gram to the same one, whichever task has counted it."""
    own = np.array([0, *(crc32(word.encode()) for word in _written(learnt.symbols))], np.uint64)
    factors = np.array([pow(_SPREAD, place, 1 << 64) for place in range(learnt.counts.order + 1)], np.uint64)
    grams = own[learnt.counts.grams + 1] @ factors
    gaps = own[learnt.gaps.last + 1] + own[learnt.gaps.symbol + 1] * np.uint64(_SPREAD)
    return (np.concatenate([grams, gaps]) % np.uint64(count)).astype(np.int64)


def added(tables: Iterable[pa.Table]) -> pa.Table:
    """Rows of COUNTED, each gram once."""
    sums = pa.concat_tables(tables).group_by(KEYS).aggregate([(name, "sum") for name in SUMS])
    return sums.rename_columns([*KEYS, *SUMS]).cast(COUNTED)


def learnt_of(table: pa.Table, none: Symbols, order: int) -> tuple[Learnt, Learnt]:
    """The earlier and the later part of what all tasks learned, in the same symbols: those that tasks found, beginning
    with `none`. Completions are not known yet."""
    table = table.combine_chunks()
    are_grams = pc.equal(table["bin"], _GRAM)
    spelt = pc.split_pattern(table["gram"], _BETWEEN).combine_chunks().flatten()
    words = sorted({*pc.unique(spelt).to_pylist()} - {_NONE}, key=_meaning)
    symbols = _numbered(none, words)
    numbers = pc.index_in(spelt, pa.array(words, pa.string())).fill_null(-1).to_numpy().astype(np.int32)
    lengths = np.where(are_grams.to_numpy(), order + 1, 2)
    first = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int64)
    later = table["later"].to_numpy()
    found = [
        _part(table, symbols, order, numbers, first, later == part, are_grams.to_numpy()) for part in (False, True)
    ]
    return found[0], found[1]


def _part(
    table: pa.Table,
    symbols: Symbols,
    order: int,
    numbers: Int32,
    first: Int64,
    wanted: Bools,
    are_grams: Bools,
) -> Learnt:
    grams, gaps = np.flatnonzero(wanted & are_grams), np.flatnonzero(wanted & ~are_grams)
    spelt = numbers[first[grams][:, None] + np.arange(order + 1)]
    counts = summed(spelt, table["weight"].to_numpy()[grams], len(symbols))
    sides = {"last": numbers[first[gaps]], "symbol": numbers[first[gaps] + 1]}
    places = pa.table(sides | {name: table[name].take(gaps) for name in ("bin", *SUMS)})
    return Learnt(symbols, counts, Gaps.from_table(places, len(symbols)), counts.total, 0.0)


def _written(symbols: Symbols) -> Iterator[str]:
    """A symbol as a word: its minterm, and its effect or, where events are compared, its outcome."""
    for minterm, effect in symbols.pairs:
        told = symbols.outcomes[effect] if symbols.pattern.correlated else (effect,)
        yield f"{minterm:x}:{','.join(map(str, told))}"


def _meaning(word: str) -> tuple[int, tuple[int, ...]]:
    minterm, _, told = word.partition(":")
    return int(minterm, 16), tuple(map(int, told.split(",")))


def _numbered(none: Symbols, words: list[str]) -> Symbols:
    """In an order that does not depend on which task saw what first."""
    meanings = [_meaning(word) for word in words]
    if not none.pattern.correlated:
        return none.with_more((minterm, told[0]) for minterm, told in meanings)
    outcomes = tuple(sorted({told for _, told in meanings}))
    number = {outcome: place for place, outcome in enumerate(outcomes)}
    return replace(none, outcomes=outcomes).with_more((minterm, number[told]) for minterm, told in meanings)

"""How long it takes until the next event of a key: turns events ahead into seconds ahead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from ostinato.core.arrays import Float64, Int32, Int64
from ostinato.core.arrow import read_only

_NO_KEYS: Int32 = np.empty(0, np.int32)
_PLACES, _SUMS = ("last", "symbol", "bin"), ("weight", "seconds", "squares")
_DENSE = 1 << 21  # cells up to which a table of bits is quicker than sorting
_ENOUGH = 50.0  # gaps that tell how long it takes from one symbol to another
_DIFFERENT, _CHANCE = 0.05, 2.0  # so far, and by so many times what chance does, two distributions must be apart
_MOST = 2000  # pairs of symbols that have a distribution of their own


@dataclass(frozen=True, eq=False)
class Gaps:
    """A histogram for each pair of symbols, of the seconds from an event to the next one of its key.

    Longer gaps have wider bins. Each bin knows the mean and spread of its gaps, so that gaps that are all the same stay
    exact. Only bins that were seen take room.
    """

    alphabet: int
    last: Int32  # [n], the symbol of the event before
    symbol: Int32  # [n], that of the event itself
    bin: Int32  # [n]
    sums: Float64  # [n, 3]: how many, their seconds, the squares of these

    @property
    def total(self) -> float:
        """The weight of all gaps; 0: the time is not known."""
        return float(self.sums[:, 0].sum())

    @property
    def mean(self) -> float:
        return float(self.sums[:, 1].sum()) / self.total if self.total else 0.0

    @cached_property
    def by_symbol(self) -> Float64:
        """[symbols, bins, 3]: the gaps before each symbol, whatever came before them."""
        return _to_dense(self.symbol, self.bin, self.sums, self.alphabet)

    @cached_property
    def kinds(self) -> GapKinds:
        return _kinds(self)

    def merge(self, other: Gaps) -> Gaps:
        places = [np.concatenate([getattr(self, name), getattr(other, name)]) for name in _PLACES]
        return _sum_cells(places, np.concatenate([self.sums, other.sums]), max(self.alphabet, other.alphabet))

    def decay(self, factor: float) -> Gaps:
        """The same with less weight, so that what is added later counts for more."""
        return replace(self, sums=self.sums * factor)

    def to_table(self) -> pa.Table:
        places = {name: getattr(self, name) for name in _PLACES}
        return pa.table(places | dict(zip(_SUMS, self.sums.T, strict=True)))

    @classmethod
    def from_table(cls, table: pa.Table, alphabet: int) -> Gaps:
        places = [table[name].to_numpy().astype(np.int32) for name in _PLACES]
        return _sum_cells(places, np.stack([table[name].to_numpy() for name in _SUMS], axis=1), alphabet)


@dataclass(frozen=True, eq=False)
class GapKinds:
    """Kinds of gaps: a pair of symbols has its own kind if its gaps are many and unlike those of other pairs with the
    same second symbol. All other gaps before a symbol are of one kind, with the number of the symbol."""

    of: Int32  # [symbols + 1, symbols]: by the last symbol (the last row: not known) and the next
    sums: Float64  # [kinds, bins, 3]

    @property
    def remembered(self) -> tuple[int, ...]:
        """Symbols after which some gap is of a kind of its own."""
        alphabet = self.of.shape[1]
        return tuple(np.flatnonzero((self.of[:-1] >= alphabet).any(axis=1)).tolist())


def count_gaps(
    symbols: Int32,
    keys: Int32 | None,
    seconds: Float64,
    alphabet: int,
    last: Float64 | None = None,
    before: Int32 | None = None,
) -> Gaps:
    """The gaps of events at `seconds`, in order of time; NaN: the time is not known.

    `last` has the time of the last event of each key before these (NaN: none) and `before` its symbol; both are
    updated, so that the gaps of batches add up to those of the whole.
    """
    from ostinato.forecast.kernels.gaps import BINS, NONE, find_gaps

    if last is None or before is None:
        distinct = 1 if keys is None else int(keys.max(initial=-1)) + 1
        last, before = np.full(distinct, np.nan), np.full(distinct, -1, np.int32)
    cells, gaps = np.empty(len(symbols), np.int64), np.empty(len(symbols))
    flat = read_only(_NO_KEYS if keys is None else keys)
    find_gaps(read_only(symbols), flat, read_only(seconds), alphabet, last, before, cells, gaps)
    some = cells != NONE
    cells, gaps = cells[some], gaps[some]
    numbers, place = number_distinct(cells, alphabet * alphabet * BINS, _DENSE)
    sums = np.stack([np.bincount(place, weight, len(numbers)) for weight in (None, gaps, gaps * gaps)], axis=1)
    return _from_cells(numbers, sums.astype(np.float64), alphabet)


def number_distinct(values: Int64, end: int, dense: int) -> tuple[Int64, Int32]:
    """The distinct values in order, and which of them each is. They lie in [0, end); up to `dense` a table of bits is
    used, which is quicker than sorting."""
    if end > dense:
        found, number = np.unique(values, return_inverse=True)
        return found, number.astype(np.int32)
    there = np.zeros(end, np.bool_)
    there[values] = True
    return np.flatnonzero(there), (np.cumsum(there, dtype=np.int32) - 1)[values]


def _from_cells(cells: Int64, sums: Float64, alphabet: int) -> Gaps:
    from ostinato.forecast.kernels.gaps import BINS

    pair, place = np.divmod(cells, BINS)
    last, symbol = np.divmod(pair, max(alphabet, 1))
    return Gaps(alphabet, last.astype(np.int32), symbol.astype(np.int32), place.astype(np.int32), sums)


def _sum_cells(places: Sequence[Int32], sums: Float64, alphabet: int) -> Gaps:
    """Each cell once, in order."""
    from ostinato.forecast.kernels.gaps import BINS

    last, symbol, place = places
    cells = (last.astype(np.int64) * alphabet + symbol) * BINS + place
    numbers, number = np.unique(cells, return_inverse=True)
    added = np.zeros((len(numbers), len(_SUMS)))
    np.add.at(added, number, sums)
    return _from_cells(numbers, added, alphabet)


def _to_dense(row: Int32, place: Int32, sums: Float64, rows: int) -> Float64:
    from ostinato.forecast.kernels.gaps import BINS

    found = np.zeros((rows, BINS, len(_SUMS)))
    np.add.at(found, (row, place), sums)
    return found


def _kinds(gaps: Gaps) -> GapKinds:
    alphabet = gaps.alphabet
    of = np.tile(np.arange(alphabet, dtype=np.int32), (alphabet + 1, 1))
    pairs = gaps.symbol.astype(np.int64) * alphabet + gaps.last
    kinds, number = gaps.symbol.copy(), alphabet
    for pair in _distinct_pairs(gaps, pairs):
        symbol, last = divmod(pair, alphabet)
        of[last, symbol] = number
        kinds[pairs == pair] = number
        number += 1
    sums = _to_dense(kinds, gaps.bin, gaps.sums, number)
    # If all pairs of a symbol have their own kind, or none was seen, unknown gaps are taken to be like all together.
    for whole in (gaps.by_symbol, gaps.by_symbol.sum(axis=0)[None]):
        none = sums[:alphabet, :, 0].sum(axis=1) == 0
        sums[:alphabet] = np.where(none[:, None, None], whole, sums[:alphabet])
    return GapKinds(of, sums)


def _distinct_pairs(gaps: Gaps, pairs: Int64) -> list[int]:
    """Pairs of symbols whose gaps are unlike those of the others with the same second symbol, the most unlike first."""
    from ostinato.forecast.kernels.gaps import BINS

    codes, place = np.unique(pairs, return_inverse=True)
    weights = np.bincount(place, gaps.sums[:, 0], len(codes))
    often = np.sort(np.argsort(-weights, kind="stable")[:_MOST])
    often = often[weights[often] >= _ENOUGH]
    found: list[int] = []
    for symbol in np.unique(codes[often] // max(gaps.alphabet, 1)).tolist():
        mine = often[codes[often] // gaps.alphabet == symbol]
        rows = np.isin(place, mine)
        counts = np.zeros((len(mine), BINS))
        np.add.at(counts, (np.searchsorted(mine, place[rows]), gaps.bin[rows]), gaps.sums[rows, 0])
        left, pool = list(range(len(mine))), gaps.by_symbol[symbol, :, 0].copy()
        while left:
            others = pool - counts[left]
            here, rest = counts[left].sum(axis=1), others.sum(axis=1)
            enough = rest >= _ENOUGH
            shares = np.cumsum(counts[left], axis=1) / here[:, None]
            distance = np.abs(shares - np.cumsum(others, axis=1) / np.maximum(rest, 1.0)[:, None]).max(axis=1)
            limit = np.maximum(_DIFFERENT, _CHANCE * np.sqrt(1 / here + 1 / np.maximum(rest, 1.0)))
            unlike = np.where(enough, distance / limit, 0.0)
            best = int(np.argmax(unlike))
            if unlike[best] <= 1:
                break
            chosen = left.pop(best)
            pool -= counts[chosen]
            found.append(int(codes[mine[chosen]]))
    return found

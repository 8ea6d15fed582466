"""How long it takes until the next event of a key, for each symbol: what turns events ahead into seconds ahead."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ostinato.kernels.arrays import read_only
from ostinato.kernels.protocol import Floats, Int32

_NO_KEYS: Int32 = np.empty(0, np.int32)
_COLUMNS = ("weight", "seconds", "squares")


@dataclass(frozen=True, eq=False)
class Gaps:
    """A histogram per symbol of the seconds between an event with the symbol and the one of its key before it.

    The bins grow with the gaps. Each knows the mean and spread of what it holds, so that gaps that are all the same
    stay exact.
    """

    sums: Floats  # [symbols, bins, 3]: how many, their seconds, the squares of these

    @property
    def total(self) -> float:
        """The weight of all gaps; 0: the time is not known."""
        return float(self.sums[:, :, 0].sum())

    @property
    def mean(self) -> float:
        return float(self.sums[:, :, 1].sum()) / self.total if self.total else 0.0

    def merge(self, other: Gaps) -> Gaps:
        if len(other.sums) > len(self.sums):
            return other.merge(self)
        sums = self.sums.copy()
        sums[: len(other.sums)] += other.sums
        return Gaps(sums)

    def decayed(self, factor: float) -> Gaps:
        """The same with less weight, so that what is added later counts for more."""
        return Gaps(self.sums * factor)

    def to_table(self) -> pa.Table:
        symbol, place = np.nonzero(self.sums[:, :, 0])
        sums = dict(zip(_COLUMNS, self.sums[symbol, place].T, strict=True))
        return pa.table({"symbol": symbol.astype(np.int32), "bin": place.astype(np.int32), **sums})

    @classmethod
    def from_table(cls, table: pa.Table, alphabet: int) -> Gaps:
        from ostinato.kernels.forecast_gaps import BINS

        sums = np.zeros((alphabet, BINS, len(_COLUMNS)))
        cells = np.stack([table[name].to_numpy() for name in _COLUMNS], axis=1)
        sums[table["symbol"].to_numpy(), table["bin"].to_numpy()] = cells
        return cls(sums)


def count_gaps(symbols: Int32, keys: Int32 | None, seconds: Floats, alphabet: int, last: Floats | None = None) -> Gaps:
    """The gaps of events at `seconds`, in order of time; NaN: the time is not known.

    `last` has the time of the last event of each key before these (NaN: none) and is brought up to date, so that the
    gaps of batches add up to those of the whole.
    """
    from ostinato.kernels import forecast_gaps as kernels

    if last is None:
        last = np.full(1 if keys is None else int(keys.max(initial=-1)) + 1, np.nan)
    sums = np.zeros((alphabet, kernels.BINS, len(_COLUMNS)))
    flat = read_only(_NO_KEYS if keys is None else keys)
    kernels.count_gaps(read_only(symbols), flat, read_only(seconds), last, sums)
    return Gaps(sums)

"""The answer of a funnel: a row per key, and counted up, a row per step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_BAR = 24  # letters of a bar for all keys
_HEADS = ("step", "keys", "of first", "of previous", "dropped", "median", "mean")
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


class FunnelResult:
    """`steps` says how many keys took each step, `keys` how far each key got; printed, it is a table with bars.

    `keys` is a Spark DataFrame where the events were in one; `steps` is counted when it is first asked for.
    """

    def __init__(self, names: Sequence[str], keys: Any, count: Callable[[], pa.Table]) -> None:
        self.names, self.keys, self._count = tuple(names), keys, count

    @cached_property
    def steps(self) -> pa.Table:
        return self._count()

    def __str__(self) -> str:
        rows = self.steps.to_pylist()
        lines = [_HEADS[: 7 if "mean_seconds" in self.steps.column_names else 5]]
        for row in rows:
            cells = [row["step"], f"{row['keys']:,}", _share(row["conversion"])]
            cells += [_share(row["from_previous"]), "" if row["dropped"] is None else f"{row['dropped']:,}"]
            cells += [_length(row[name]) for name in ("median_seconds", "mean_seconds") if name in row]
            lines.append(tuple(cells))
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        text = [
            "  ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])])  # names left, numbers right
            for line in lines
        ]
        bars = ["", *("█" * round(_BAR * (row["conversion"] or 0)) for row in rows)]
        return "\n".join(f"{line}  {bar}".rstrip() for line, bar in zip(text, bars, strict=True))

    def __repr__(self) -> str:
        return f"<FunnelResult of {len(self.names)} steps: {' → '.join(self.names)}>"


def count_steps(names: Sequence[str], keys: pa.Table) -> pa.Table:
    """A row per step, from a row per key."""
    reached = keys["reached"].to_numpy()
    counts = [int(np.count_nonzero(reached > step)) for step in range(len(names))]
    lengths: list[tuple[float | None, float | None]] | None = None
    if "seconds" in keys.column_names:
        flat = pc.list_flatten(keys["seconds"]).to_numpy()
        later = np.maximum(reached - 1, 0)
        starts = np.cumsum(later) - later
        of_step = [flat[starts[reached > step] + step - 1] for step in range(1, len(names))]
        lengths = [(None, None)]
        lengths += [(float(np.median(each)), float(each.mean())) if len(each) else (None, None) for each in of_step]
    return steps_table(names, counts, lengths)


def steps_table(
    names: Sequence[str], counts: Sequence[int], lengths: Sequence[tuple[float | None, float | None]] | None
) -> pa.Table:
    """`lengths` are the median and the mean time from the step before; None where the stream has no time."""
    before = [None, *counts[:-1]]
    columns = {
        "step": pa.array(names, pa.string()),
        "keys": pa.array(counts, pa.int64()),
        "conversion": pa.array([count / counts[0] if counts[0] else None for count in counts], pa.float64()),
        "from_previous": pa.array([n / m if m else None for n, m in zip(counts, before, strict=True)], pa.float64()),
        "dropped": pa.array([None if m is None else m - n for n, m in zip(counts, before, strict=True)], pa.int64()),
    }
    for place, name in enumerate(("median_seconds", "mean_seconds") if lengths is not None else ()):
        columns[name] = pa.array([length[place] for length in lengths or ()], pa.float64())
    return pa.table(columns)


def _share(share: float | None) -> str:
    return "" if share is None else f"{share:.1%}"


def _length(seconds: float | None) -> str:
    if seconds is None:
        return ""
    size, unit = next(((size, unit) for size, unit in _UNITS if seconds >= size), (1, "s"))
    return f"{seconds / size:.3g} {unit}"

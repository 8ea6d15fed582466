"""Forecasts as a narrow table for the terminal: an interval in one column, times in the unit that suits them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

_UNITS = (("d", 86_400.0), ("h", 3_600.0), ("min", 60.0), ("s", 1.0))
_INNER = (
    "beyond",
    "point",
    "earliest",
    "latest",
    "mass",
    "point_seconds",
    "earliest_seconds",
    "latest_seconds",
    "mass_seconds",
    "completes",
)


def narrow_forecasts(rows: pa.Table) -> pa.Table:
    """The same forecasts in fewer and shorter columns; those of the events stay in front."""
    columns: dict[str, Any] = {}
    for name in rows.column_names:
        if name == "probability" or name.startswith("within_"):
            columns[name] = pc.round(rows[name], 3)
        elif name not in _INNER:
            columns[name] = _to_the_second(rows[name])
    columns["point"] = rows["point"]
    columns["interval"] = _each(_range, rows["earliest"], rows["latest"])
    if "earliest_seconds" in rows.column_names:
        columns["in"] = _each(_duration, rows["earliest_seconds"], rows["latest_seconds"])
    columns["completes"] = _each(lambda done: "yes" if done else "", rows["completes"])
    return pa.table(columns)


def _each(format_cell: Any, *columns: pa.ChunkedArray) -> pa.Array:
    return pa.array(
        [format_cell(*cells) for cells in zip(*(column.to_pylist() for column in columns), strict=True)], pa.string()
    )


def _to_the_second(column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = column.type
    return column.cast(pa.timestamp("s", tz=kind.tz), safe=False) if pa.types.is_timestamp(kind) else column


def _range(earliest: int | None, latest: int | None) -> str:
    if earliest is None or latest is None:
        return "–"
    return f"{earliest}" if earliest == latest else f"{earliest}–{latest}"


def _duration(earliest: float | None, latest: float | None) -> str:
    """From when to when, in the largest unit of which the end has at least two."""
    if earliest is None or latest is None:
        return "–"
    unit, seconds = next(((unit, size) for unit, size in _UNITS if latest >= 2 * size), _UNITS[-1])
    begin, end = f"{earliest / seconds:.0f}", f"{latest / seconds:.0f}"
    return f"{end} {unit}" if begin == end else f"{begin}–{end} {unit}"

"""Matches as a table for the terminal."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pyarrow as pa
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

SHOWN = 20  # matches printed when they are not written anywhere
_SHOWN_IN_LIST = 6


def terminal_table(rows: pa.Table, *, limit: int = SHOWN) -> Table:
    """The first `limit` rows, with numbers to the right and long lists shortened."""
    drawn = Table(box=SIMPLE_HEAD, header_style="bold", pad_edge=False)
    for field in rows.schema:
        right = pa.types.is_integer(field.type) or pa.types.is_floating(field.type) or pa.types.is_decimal(field.type)
        drawn.add_column(Text(escape_control(field.name)), justify="right" if right else "left", overflow="fold")
    some = rows.slice(0, limit)
    coarse = pa.schema([pa.field(field.name, _without_nanoseconds(field.type)) for field in some.schema])
    columns = [column.to_pylist() for column in some.cast(coarse, safe=False).columns]
    for row in zip(*columns, strict=True):
        drawn.add_row(*(Text(escape_control(_plain(value))) for value in row))
    return drawn


def _without_nanoseconds(kind: pa.DataType) -> pa.DataType:
    """The type without nanoseconds, which Python's datetime and timedelta do not have."""
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        return pa.timestamp("us", tz=kind.tz)
    if pa.types.is_duration(kind) and kind.unit == "ns":
        return pa.duration("us")
    if pa.types.is_list(kind):
        return pa.list_(_without_nanoseconds(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(field.name, _without_nanoseconds(field.type)) for field in kind])
    return kind


def _plain(value: Any) -> str:
    """One value: short, without the noise of Python's own notation."""
    if value is None:
        return "null"
    if isinstance(value, float):
        return f"{value:.10g}"
    if isinstance(value, datetime):
        moment = value.isoformat(sep=" ", timespec="auto" if value.microsecond else "seconds")
        return moment.removesuffix("+00:00") + "Z" if moment.endswith("+00:00") else moment
    if isinstance(value, list):
        some = ", ".join(_plain(item) for item in value[:_SHOWN_IN_LIST])
        return some if len(value) <= _SHOWN_IN_LIST else f"{some}, … ({len(value):,} in all)"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_plain(item)}" for key, item in value.items()) + "}"
    return str(value)


def escape_control(text: str) -> str:
    """Escape what is not printable: data must not move the cursor or colour the terminal."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text)

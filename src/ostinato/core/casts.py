"""What CAST makes of one value: whole numbers drop their fraction, texts are read as queries write such values."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

from ostinato.errors import DataError

CAST_TYPES = ("int", "float", "text", "boolean", "timestamp", "date")
_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_MOMENT = re.compile(rf"{_DAY.pattern}(?:[ T]\S.*)?", re.ASCII)
_TRUTH = {"true": True, "false": False}


def cast_value(value: Any, kind: str) -> Any:
    """The value as one of CAST_TYPES; ValueError where it cannot be."""
    return (
        None if value is None else _CASTS[kind](value.strip() if isinstance(value, str) and kind != "text" else value)
    )


def cast_error(value: Any, kind: str, row: int | None = None) -> DataError:
    shown = repr(value) if isinstance(value, str) else str(value)
    fix = f"use TRY_CAST(… AS {kind}), which gives NULL there, or keep it apart with CASE WHEN"
    return DataError(f"{shown} cannot be cast to {kind}", row=row, fix=fix)


def _to_int(value: Any) -> int:
    if isinstance(value, str) and not _WHOLE.fullmatch(value):
        raise ValueError(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(value)
    whole = int(value)
    if not -(2**63) <= whole < 2**63:
        raise ValueError(value)
    return whole


def _to_float(value: Any) -> float:
    if isinstance(value, str) and (not _NUMBER.fullmatch(value) or math.isinf(float(value))):
        raise ValueError(value)
    return float(value)


def _to_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return _plain(value).isoformat(sep=" ")
    return format(value, "f") if isinstance(value, Decimal) else str(value)


def _to_boolean(value: Any) -> bool:
    if not isinstance(value, str):
        return bool(value != 0)
    if value.lower() not in _TRUTH:
        raise ValueError(value)
    return _TRUTH[value.lower()]


def _to_timestamp(value: Any) -> datetime:
    if isinstance(value, str):
        if not _MOMENT.fullmatch(value):
            raise ValueError(value)
        value = datetime.fromisoformat(value)
    return _plain(value) if isinstance(value, datetime) else datetime.combine(value, time())


def _to_date(value: Any) -> date:
    if isinstance(value, str):
        if not _DAY.fullmatch(value):
            raise ValueError(value)
        return date.fromisoformat(value)
    return _plain(value).date() if isinstance(value, datetime) else value


def _plain(moment: datetime) -> datetime:
    """In UTC, without a zone."""
    return moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)


_CASTS: dict[str, Callable[[Any], Any]] = {
    "int": _to_int,
    "float": _to_float,
    "text": _to_text,
    "boolean": _to_boolean,
    "timestamp": _to_timestamp,
    "date": _to_date,
}

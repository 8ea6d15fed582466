"""Checks of the options that users give to a run; each error says what is accepted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from datetime import timedelta
from numbers import Integral, Real
from typing import Any, Literal, get_args

from ostinato.errors import Limit, Message, Option, OstinatoError, QueryError

OnLate = Literal["count", "collect", "raise"]


def parse_delay(lateness: Any, option: str = "lateness") -> int:
    """Nanoseconds of `lateness`, or of the named option. Raises OstinatoError if it is no length of time."""
    from ostinato.core.units import LARGEST, parse_duration

    if isinstance(lateness, str):
        try:
            return parse_duration(lateness)
        except QueryError as error:  # of the option, not of a query
            raise OstinatoError(
                Message(Option(option, None), ": ", error.reason), fix=error.fix, option=option
            ) from None
    seconds = lateness / timedelta(seconds=1) if isinstance(lateness, timedelta) else lateness
    countable = isinstance(seconds, Real) and not isinstance(seconds, bool)
    if not countable or not seconds >= 0:
        accepted = "a text such as '30 seconds', a number of seconds, not below 0, or a timedelta"
        raise bad_option(option, lateness, accepted)
    if seconds > LARGEST // 1_000_000_000:
        raise bad_option(option, lateness, "a time below 292 years")
    return round(float(seconds) * 1_000_000_000)


def check_on_late(given: Any) -> OnLate:
    if given not in get_args(OnLate):
        raise bad_option("on_late", given, "one of " + ", ".join(map(repr, get_args(OnLate))))
    found: OnLate = given
    return found


def check_flag(option: str, given: Any) -> bool:
    if not isinstance(given, bool):
        raise bad_option(option, given, "True or False")
    return given


def check_column_name(option: str, column: Any) -> str | None:
    if column is not None and not isinstance(column, str):
        raise bad_option(option, column, "the name of a column")
    return column


def check_column_names(option: str, columns: Any) -> tuple[str, ...]:
    given = (columns,) if isinstance(columns, str) else tuple(columns) if isinstance(columns, Iterable) else None
    if given is None or not all(isinstance(column, str) for column in given):
        raise bad_option(option, columns, "a list of column names")
    return given


def check_limits(limits: Any) -> None:
    """Of a dataclass of limits: each is a whole number from 1 on; `seconds` is a length of time, or None."""
    for field in fields(limits):
        limit, value = Limit(field.name, type(limits).__name__), getattr(limits, field.name)
        if not isinstance(value, int) and isinstance(value, Integral):  # one of NumPy's
            object.__setattr__(limits, field.name, value := int(value))
        if field.name == "seconds":
            length = isinstance(value, int | float) and not isinstance(value, bool) and value > 0
            if value is not None and not length:
                raise bad_option(limit, value, "a number of seconds above 0")
        elif not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise bad_option(limit, value, "a whole number from 1 on")


def misplaced_option(option: str, place: str, why: str) -> OstinatoError:
    """An option that is given where it has no meaning: `place` is where it has."""
    fix = f"leave it out: {why}"
    return OstinatoError(Message(Option(option, None), f" applies only to {place}"), fix=fix, option=option)


def bad_option(option: str | Limit, value: Any, accepted: str) -> OstinatoError:
    named = option if isinstance(option, Limit) else Option(option, None)
    reason, fix = Message(named, f" cannot be {value!r}"), Message("give ", accepted)
    error = OstinatoError(reason, fix=fix, option=named.name)
    return error.replace(limit=named.name) if isinstance(named, Limit) else error

"""Units of time, as query texts write them: `30 seconds`, `5 min`."""

from __future__ import annotations

import re
from decimal import Decimal

from ostinato.errors import QueryError, Span, did_you_mean

LARGEST = 2**63 - 1  # nanoseconds: 292 years

# Spelling -> nanoseconds, shortest unit first; the long names also in the plural.
_SIZES = {
    "nanosecond ns": 1,
    "microsecond us": 1_000,
    "millisecond msec ms": 1_000_000,
    "second sec s": 1_000_000_000,
    "minute min": 60_000_000_000,
    "hour hr h": 3_600_000_000_000,
    "day d": 86_400_000_000_000,
    "week w": 604_800_000_000_000,
}
UNITS = {
    spelling: size
    for names, size in _SIZES.items()
    for name in names.split()
    for spelling in ((name, name + "s") if len(name) > 2 or name == "hr" else (name,))
}
VARYING = ("month", "months", "year", "years", "quarter", "quarters")


def parse_duration(text: str) -> int:
    """Nanoseconds of `30 seconds`, in the units of WITHIN."""
    parts = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([^\W\d]+)\s*", text)
    if parts is None:
        reason = f"`{text}` is not a duration"
        fix = "write a number and a unit, such as 30 seconds"
        raise QueryError(reason, text=text, span=Span(0, len(text)), fix=fix)
    try:
        return nanoseconds(parts[1], parts[2], Span(*parts.span(2)))
    except QueryError as error:
        raise error.within(text) from None


def duration_text(nanoseconds: int) -> str:
    """In the largest unit that gives a whole number; the first spelling of each unit is its full name."""
    if nanoseconds < 0:
        return f"-{duration_text(-nanoseconds)}"
    size = max(size for size in UNITS.values() if nanoseconds % size == 0) if nanoseconds else UNITS["second"]
    unit = next(unit for unit in UNITS if UNITS[unit] == size)
    amount = nanoseconds // size
    return f"{amount} {unit}{'' if amount == 1 else 's'}"


def nanoseconds(number: str, unit: str, span: Span) -> int:
    """Nanoseconds of a number of units; `span` is where the unit stands in the text."""
    size = UNITS.get(unit.lower())
    if size is None:
        known = [f"{names.split()[0]}s" for names in _SIZES]
        if unit.lower() == "events":
            raise QueryError(
                "this must be a time, not a number of events", span=span, fix="write a unit such as seconds"
            )
        if unit.lower() in VARYING:
            reason = f"a {unit.lower().removesuffix('s')} has no fixed length"
            raise QueryError(reason, span=span, fix="write a number of days or hours: 30 days")
        raise QueryError(f"unknown unit `{unit}`", span=span, fix=did_you_mean(unit.lower(), [*known, "events"]))
    if Decimal(number) > Decimal(LARGEST) / size:  # their product may be too large even for a Decimal
        raise QueryError(f"{number} {unit} is longer than 292 years", span=span, fix="give a shorter time")
    return round(Decimal(number) * size)

"""The types of DuckDB whose values programs can hold, each as a whole number or a float."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

_RANGES = {
    "TINYINT": (-(2**7), 2**7 - 1),
    "SMALLINT": (-(2**15), 2**15 - 1),
    "INTEGER": (-(2**31), 2**31 - 1),
    "BIGINT": (-(2**63), 2**63 - 1),
    "HUGEINT": (-(2**63), 2**63 - 1),
    "UTINYINT": (0, 2**8 - 1),
    "USMALLINT": (0, 2**16 - 1),
    "UINTEGER": (0, 2**32 - 1),
}
_MOMENTS = ("DATE", "TIME", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE")
_DECIMAL = re.compile(r"DECIMAL\((\d+),(\d+)\)")
LONGEST_DECIMAL = 18  # digits of those that fit 64 bits whatever they are


@dataclass(frozen=True)
class Kind:
    """How values of a type are held.

    `int`: whole numbers and decimals, which are whole numbers of 10⁻ˢ; `float` and `single`: as floats; `text`: as its
    place among all texts in order; `moment` and `interval`: as counts of their unit, intervals of microseconds.
    """

    type: str
    name: Literal["int", "float", "single", "bool", "text", "moment", "interval"]
    scale: int = 0
    low: int = -(2**63)
    high: int = 2**63 - 1

    @property
    def is_float(self) -> bool:
        return self.name in ("float", "single")


BOOLEAN = Kind("BOOLEAN", "bool")


def kind_of(type_name: str) -> Kind | None:
    """None for a type that programs cannot hold."""
    if type_name in _RANGES:
        return Kind(type_name, "int", 0, *_RANGES[type_name])
    if decimal := _DECIMAL.fullmatch(type_name):
        return Kind(type_name, "int", int(decimal[2]))
    if type_name in _MOMENTS:
        return Kind(type_name, "moment")
    named: dict[str, Literal["float", "single", "bool", "text", "interval"]] = {
        "DOUBLE": "float", "FLOAT": "single", "BOOLEAN": "bool", "VARCHAR": "text", "INTERVAL": "interval"
    }  # fmt: skip
    return Kind(type_name, named[type_name]) if type_name in named else None


def can_be_stored(kind: Kind) -> bool:
    """Whether all values of a column of that type fit."""
    decimal = _DECIMAL.fullmatch(kind.type)
    too_long = decimal is not None and int(decimal[1]) > LONGEST_DECIMAL
    return kind.type != "HUGEINT" and kind.name != "interval" and not too_long

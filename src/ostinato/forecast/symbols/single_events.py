"""Reads events one at a time, as Python values: a few look-ups per event, and no table is built."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf
from typing import Any, NamedTuple

import pyarrow as pa

from ostinato.core.clock import Clock
from ostinato.core.columns.row_codes import RowCodes
from ostinato.core.rows import plain_check, plain_ticks
from ostinato.forecast.symbols.reader import SymbolReader


class SingleSymbol(NamedTuple):
    """What a model sees of an event."""

    symbol: int
    unseen: int  # 1 if it was never observed
    key: int
    seconds: float  # its time; -inf where there is none


class SingleSymbols:
    """For one reader, whose state it shares. What is not plain (a value that its column does not take as it is, a time
    that goes back) has to be read as a batch."""

    def __init__(self, reader: SymbolReader, schema: pa.Schema) -> None:
        self.reader, self.names = reader, schema.names
        checks = [plain_check(field.type) for field in schema]
        self.checks = [check for check in checks if check is not None]
        self.codes = RowCodes(reader.encoder, schema, reader.binding.type)
        self.symbols: dict[int, tuple[int, int]] = {}  # per code its symbol, and 1 if that was never observed
        self.keyed = [schema.get_field_index(name) for name in reader.pattern.partition_by]
        self.key_fields = [schema.field(place) for place in self.keyed]
        self.time = -1 if reader.clock is None else schema.get_field_index(reader.clock.column)
        self.seconds = None if reader.clock is None else _seconds_of(reader.clock)

    @staticmethod
    def of(reader: SymbolReader) -> SingleSymbols | None:
        """None where a symbol depends on more than its event, or values cannot be taken as they are."""
        schema = reader.plain_schema
        if schema is None:
            return None
        found = SingleSymbols(reader, schema)
        plain = len(found.checks) == len(found.names) and (reader.clock is None or found.seconds is not None)
        return found if plain else None

    def read(self, event: Mapping[str, Any], since: float) -> SingleSymbol | None:
        """None, and nothing is changed, where it has to be read as a batch."""
        values = [event.get(name) for name in self.names]
        for check, value in zip(self.checks, values, strict=True):
            if not check(value):
                return None
        seconds = -inf
        if self.seconds is not None:
            value = values[self.time]
            if value is None or value != value:
                return None
            seconds = self.seconds(value)
            if seconds < since:
                return None
        code = self.codes.code(values, 0)
        found = self.symbols.get(code)
        if found is None:
            found = self.symbols[code] = self.reader.symbol_of(code)
        key = 0
        if self.keyed:
            key = self.reader.keys.id_of(tuple([values[place] for place in self.keyed]), self.key_fields)
        return SingleSymbol(*found, key, seconds)


def _seconds_of(clock: Clock) -> Callable[[Any], float] | None:
    """When an event happened, by a value that is plain; None where only the clock itself can tell."""
    tick_of = plain_ticks(clock)
    if tick_of is None:
        return None
    if clock.kind == "float":
        return lambda value: (value + 0.0) * 1e9 / 1e9
    assert clock.step is not None
    step = float(clock.step)
    return lambda value: tick_of(value) * step / 1e9

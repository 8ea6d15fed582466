"""Rows as symbols, keys and times, batch by batch, in stream order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ostinato.core.arrays import Bools, Float64, Int32, Int64
from ostinato.core.clock import Clock
from ostinato.core.columns.event_codes import PredicateEncoder
from ostinato.core.columns.keys import KeyTable
from ostinato.core.events import column_kinds, time_order, to_arrow
from ostinato.core.window_bounds import lower_bounds
from ostinato.errors import DataError
from ostinato.forecast.pattern import ForecastPattern
from ostinato.forecast.symbols.age_grid import GridWalk
from ostinato.forecast.symbols.encoder import Symbols
from ostinato.forecast.symbols.event_spacing import bind_rows, window_clock
from ostinato.forecast.symbols.exact_runs import Follower, ages
from ostinato.forecast.symbols.outcomes import AgeTable, OutcomeTable

_UNKNOWN = -1
_BY_LINES = "by lines: "  # before the names of arrays in what is saved


@dataclass(frozen=True)
class SymbolBatch:
    """Some events in stream order. `order` has their rows (None: as they came), `seconds` their time, if any."""

    symbols: Int32
    keys: Int32 | None
    key_count: int
    order: Int64 | None
    seconds: Float64 | None
    completes: Bools | None = None  # if it was found exactly, not by the automaton
    age_ids: Int32 | None = None  # if events are compared: after each, the number of its ages in `known_ages`
    known_ages: Sequence[tuple[int, ...]] = ()

    def part(self, begin: int, end: int) -> SymbolBatch:
        """Some of these events; they have no rows of their own."""
        some = slice(begin, end)
        keys = None if self.keys is None else self.keys[some]
        seconds = None if self.seconds is None else self.seconds[some]
        completes = None if self.completes is None else self.completes[some]
        age_ids = None if self.age_ids is None else self.age_ids[some]
        return SymbolBatch(self.symbols[some], keys, self.key_count, None, seconds, completes, age_ids, self.known_ages)

    def in_row_order(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """What is known of each event, in the order of the rows."""
        if self.order is None:
            return values
        placed = np.empty_like(values)
        placed[self.order] = values
        return placed


class SymbolReader:
    """Reads one stream. While it learns, new symbols are added; after that, unknown ones are read as the nearest."""

    def __init__(
        self,
        pattern: ForecastPattern,
        binding: Mapping[str, Any],
        symbols: Symbols | None = None,
        *,
        learning: bool = False,
    ) -> None:
        self.pattern = pattern
        self.learning = learning or symbols is None
        self.symbols = Symbols(pattern) if symbols is None else symbols
        self.unseen = 0  # events whose symbol was never observed
        self._options = binding
        self._schema: pa.Schema | None = None
        self.keys = KeyTable()
        self.follower: Follower | None = None
        self.by_lines: Follower | None = None  # if events are compared within a window along time or an attribute
        self.seen: Int64 = np.zeros(0, np.int64)  # per key, how many events it had
        self.walk: GridWalk | None = None  # in a window along time or an attribute

    def read(self, data: Any, *, since: float = -inf) -> SymbolBatch:
        """Read rows of any accepted form; they are sorted by time. Raises DataError, and changes nothing, if one is
        from before `since`, in seconds."""
        rows = self._conform(to_arrow(data))
        ticks = None if self.clock is None else self.clock.ticks(rows[self.clock.column])
        order = time_order(rows, self.binding, ticks)
        seconds = None if self.clock is None or ticks is None else self.clock.measure(ticks) / 1e9
        if seconds is not None and len(seconds) and seconds.min() < since:
            raise DataError(
                "these events begin before the last ones read",
                fix="push batches in the order of time, or all events at once",
            )
        codes = self.encoder.encode(rows, self.binding.type)
        keys: Int32 | None = None
        if self.pattern.partition_by:
            keys = self.keys.encode([rows[name] for name in self.pattern.partition_by], self.pattern.partition_by)
        if order is not None:
            codes = codes[order]
            keys = None if keys is None else keys[order]
            seconds = None if seconds is None else seconds[order]
        key_count = 1 if keys is None else self.keys.size
        effects, completes, age_ids = self._effects(rows, order, codes, keys, key_count)
        symbols = self._symbols(codes, effects)
        return SymbolBatch(symbols, keys, key_count, order, seconds, completes, age_ids, self.ages.known)

    @property
    def schema(self) -> pa.Schema | None:
        """The columns that are read, once there were events."""
        return self._schema

    @property
    def names(self) -> list[str]:
        """The columns that events must have."""
        return sorted(self.pattern.columns) if self._schema is None else self._schema.names

    @property
    def key_count(self) -> int:
        """How many keys there were."""
        return self.keys.size if self.pattern.partition_by else int(self._schema is not None)

    @property
    def plain_schema(self) -> pa.Schema | None:
        """The columns that are read, if an event's symbol depends on nothing but its own values; else None."""
        return None if self.follower is not None or self._effects_differ else self._schema

    def symbol_of(self, code: int) -> tuple[int, int]:
        """The symbol of a code where there is a plain schema, and 1 if it was never observed."""
        counted = self.unseen
        symbol = int(self._symbols(np.array([code], np.int32), 0)[0])
        unseen, self.unseen = self.unseen - counted, counted
        return symbol, unseen

    def save(self) -> tuple[dict[str, npt.NDArray[Any]], dict[str, pa.Table]]:
        """Where the stream stands, for `load` by a reader of the same pattern and symbols."""
        if self._schema is None:
            return {}, {}
        arrays: dict[str, npt.NDArray[Any]] = {"seen": self.seen}
        if self.walk is not None:
            arrays |= {"origin": self.walk.origin, "stood": self.walk.position}
        if self.follower is not None:
            arrays |= self.follower.save()
        if self.by_lines is not None:
            arrays |= {f"{_BY_LINES}{name}": array for name, array in self.by_lines.save().items()}
        return arrays, {"schema": self._schema.empty_table(), "keys": self.keys.to_table()}

    def load(self, arrays: Mapping[str, npt.NDArray[Any]], tables: Mapping[str, pa.Table]) -> None:
        if "schema" not in tables:
            return
        self._bind(tables["schema"])
        self.keys = KeyTable.from_table(tables["keys"])
        self.seen = arrays["seen"]
        if self.walk is not None:
            self.walk.origin, self.walk.position = arrays["origin"], arrays["stood"]
        if self.follower is not None:
            self.follower.load(arrays)
        if self.by_lines is not None:
            self.by_lines.load(
                {name.removeprefix(_BY_LINES): arrays[name] for name in arrays if name.startswith(_BY_LINES)}
            )

    def _conform(self, rows: pa.Table) -> pa.Table:
        if self._schema is None:
            self._bind(rows)
        assert self._schema is not None
        missing = [name for name in self._schema.names if name not in rows.schema.names]
        if missing and rows.num_columns:
            raise DataError(f"there is no column `{missing[0]}`, earlier events had it", fix="give rows of one schema")
        if not rows.num_columns:
            return self._schema.empty_table()
        if rows.schema.equals(self._schema):
            return rows
        try:
            return rows.select(self._schema.names).cast(self._schema)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise DataError(
                f"these events have other column types than the first ones: {error}",
                fix="give tables of one schema, or all events at once",
            ) from None

    def _bind(self, rows: pa.Table) -> None:
        rows, self.binding = bind_rows(rows, self.pattern, self._options)
        self.pattern.check_schema(column_kinds(rows.schema))
        self.clock = None if self.binding.time is None else Clock.of(rows.schema, self.binding.time)
        measure, grid = window_clock(rows.schema, self.pattern, self.binding), self.symbols.grid
        if measure is not None and grid is not None:
            self.walk = GridWalk(grid, measure, grid.steps if self.learning else self.symbols.effects)
        self.encoder = PredicateEncoder(
            self.pattern.conditions, relation=self.binding.relation, minterms=dict.fromkeys(self.symbols.minterms)
        )
        if self.pattern.correlated or measure is not None or not self.symbols.provides:
            self.follower = Follower(self.pattern, rows.schema, self.encoder)
        if self.pattern.correlated and self.walk is not None:
            self.by_lines = Follower(self.pattern, rows.schema, self.encoder)
        self.outcomes, self.ages = OutcomeTable(self.symbols.outcomes), AgeTable()
        self._table: Int32 = np.full((0, 1 if self.walk is None else self.walk.grid.end + 1), _UNKNOWN, np.int32)
        needed = {self.binding.time, self.binding.type, *self.binding.order_by, *self.pattern.columns}
        self._schema = pa.schema([field for field in rows.schema if field.name in needed] or list(rows.schema))
        self._fill()

    def _effects(
        self, rows: pa.Table, order: Int64 | None, codes: Int32, keys: Int32 | None, key_count: int
    ) -> tuple[Int64 | Int32 | int, Bools | None, Int32 | None]:
        """What each event does to the runs of its key; if found exactly, whether it completes a match; and if events
        are compared, the ages of runs after it."""
        if self.follower is None:
            return 0, None, None
        if not len(codes):  # as when only columns are checked, before there is a grid
            return 0, np.zeros(0, np.bool_), None
        window = self.pattern.compiled.query.window
        one_key = np.zeros(len(codes), np.int32) if keys is None else keys
        if window is None or not self.symbols.measured:
            ticks = self._numbers(one_key, key_count)
            lows = ticks - int(window.amount) + 1 if window is not None else np.zeros_like(ticks)
            before, after, completes = self.follower.follow(rows, order, codes, one_key, key_count, ticks, lows)
            if not self.pattern.correlated:
                return 0, completes, None
            explorer = self.symbols.explorer()
            aged = ages(after, ticks, explorer)
            assert explorer.bound is not None
            one_each = np.ones(len(ticks), np.int32)
            earlier = ages(before, ticks - 1, explorer)
            outcomes = self.outcomes.encode(earlier, aged, completes, one_each, explorer.bound)
            return outcomes, completes, self.ages.encode(aged)
        assert self.walk is not None, "the grid of a window is chosen before events are read"
        clock = self.walk.clock
        ticks = clock.ticks(rows[clock.column])
        ticks = ticks if order is None else ticks[order]
        lows = lower_bounds(clock, ticks, window.amount)
        _, _, completes = self.follower.follow(rows, order, codes, one_key, key_count, ticks, lows)
        steps, since, at = self.walk.advance(one_key, ticks, key_count)
        if self.by_lines is None:
            return steps, completes, None
        # Completions are found by time; what becomes of runs, by the grid lines that their ages are counted in.
        explorer, parts = self.symbols.explorer(), self.walk.grid.parts
        before, after, ends = self.by_lines.follow(rows, order, codes, one_key, key_count, at, at - parts)
        aged = ages(after, at, explorer)
        outcomes = self.outcomes.encode(ages(before, since, explorer), aged, ends, steps, parts)
        return outcomes, completes, self.ages.encode(aged)

    def _numbers(self, keys: Int32, key_count: int) -> Int64:
        """The number of each event among those of its key, from 1 on."""
        by_key = np.argsort(keys, kind="stable")
        sizes = np.bincount(keys, minlength=key_count)
        first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        seen = np.concatenate([self.seen, np.zeros(key_count - len(self.seen), np.int64)])
        numbers = np.empty(len(keys), np.int64)
        numbers[by_key] = np.arange(len(keys)) - np.repeat(first - seen, sizes) + 1
        self.seen = seen + sizes
        return numbers

    def _symbols(self, codes: Int32, effects: Int64 | Int32 | int) -> Int32:
        self._fill()
        found: Int32 = self._table[codes, effects]
        if not self.learning:
            self.unseen += int(np.count_nonzero((found < 0) | (found >= self.symbols.observed)))
        if not (found < 0).any():
            return found
        pairs = np.unique(codes.astype(np.int64) * self._table.shape[1] + effects)
        fresh = [divmod(int(pair), self._table.shape[1]) for pair in pairs]
        fresh = [(code, column) for code, column in fresh if self._table[code, column] < 0]
        minterms = self.encoder.minterms
        named = [(minterms[code], self._effect(column)) for code, column in fresh]
        if self.learning:
            self.symbols = replace(self.symbols.with_more(named), outcomes=tuple(self.outcomes.known))
            self._fill()
            return np.asarray(self._table[codes, effects])
        nearest = self._table.copy()
        for (code, column), pair in zip(fresh, named, strict=True):
            nearest[code, column] = self.symbols.nearest(*pair)
        return np.asarray(nearest[codes, effects])

    def _effect(self, column: int) -> int:
        """Without a window events make nothing older; in a window of events, by one."""
        if self._effects_differ:
            return column
        return 0 if self.symbols.bound is None else 1

    @property
    def _effects_differ(self) -> bool:
        """Whether events of one minterm may have different effects."""
        return self.pattern.correlated or self.walk is not None

    def _fill(self) -> None:
        """The table of codes and effects, as far as symbols are known."""
        shape = (self.encoder.size, max(self._table.shape[1], len(self.outcomes.known)))
        if self._table.shape != shape:
            table = np.full(shape, _UNKNOWN, np.int32)
            table[: self._table.shape[0], : self._table.shape[1]] = self._table
            self._table = table
        codes = {minterm: code for code, minterm in enumerate(self.encoder.minterms)}
        for symbol, (minterm, effect) in enumerate(self.symbols.pairs):
            if minterm in codes and effect >= 0:
                self._table[codes[minterm], effect if self._effects_differ else 0] = symbol

"""The live engine of a query with MATCH_RECOGNIZE: push batches of rows, get what its clause shows of matches that are
final."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from ostinato.core.arrays import Int64
from ostinato.core.clock import Clock
from ostinato.core.columns.keys import KeyTable
from ostinato.core.engine_errors import INCOMPLETE, stream_ended
from ostinato.core.events import StreamColumns, to_arrow
from ostinato.core.frames import TableLike
from ostinato.core.options import OnLate
from ostinato.core.reorder import ReleasedRows, ReorderBuffer
from ostinato.core.snapshot_format import SQL, Snapshot
from ostinato.core.stream_schema import align_rows, types_of_empty_columns, with_types
from ostinato.errors import DataError, Message, Option, OstinatoError, QueryError
from ostinato.sql.limits import SqlLimits
from ostinato.sql.live import saved_state
from ostinato.sql.live.bound_clause import INPUT, BoundClause, alias_of
from ostinato.sql.live.clause_engine import ClauseEngine
from ostinato.sql.live.search_step import NEVER
from ostinato.sql.plan import streamable
from ostinato.sql.runtime.connect import fetch
from ostinato.sql.runtime.errors import translate_errors
from ostinato.sql.runtime.input import sort_rows
from ostinato.sql.syntax import nodes as n
from ostinato.sql.syntax.parse import parse

BindClause = Callable[[str, n.MatchRecognize, str, pa.Schema], BoundClause]
_ENDED = stream_ended("query.engine()")


@dataclass(frozen=True)
class SqlOptions:
    """Of an engine. `lateness` is in nanoseconds, None: rows wait for `advance`; with `alone`, rows are those that the
    clause reads, and it alone is run, not the query around it."""

    lateness: int | None = 0
    on_late: OnLate = "count"
    limits: SqlLimits = field(default_factory=SqlLimits)
    alone: bool = False


@dataclass(frozen=True)
class SqlStatistics:
    """rows: rows pushed; late: those that came too late; waiting: rows that wait for earlier ones; kept: rows that
    unfinished matches or their measures may still read; keys: partitions; matches: those that were found."""

    rows: int
    matches: int
    late: int
    waiting: int
    kept: int
    keys: int


class SqlEngine:
    """State of one query over one stream. Build it with `query.engine()`."""

    def __init__(
        self, text: str, options: SqlOptions, schema: pa.Schema | None = None, bind: BindClause = BoundClause.of
    ) -> None:
        """`bind` is for those who build many engines for one query, and let them share what it gives."""
        self.text, self.options, self._bind_clause = text, options, bind
        self.query = parse(text)
        self.clause = streamable.check_streamable(self.query)
        self.rows = self.late = 0
        self.stopped = ""
        self._late_rows: list[pa.Table] = []
        self.schema: pa.Schema | None = None
        self.engine: ClauseEngine
        if schema is not None:
            self._bind(schema)

    # The life of an engine.

    def push(self, batch: TableLike | Mapping[str, Any]) -> pa.Table:
        """Read rows; returns what the query gives for matches that are final now.

        Parameters
        ----------
        batch
            A table (pyarrow, pandas, polars) or a list of dicts, with the columns of earlier batches; or one row as a
            dict, in which a column that is absent is NULL.
        """
        self._check_open()
        rows = self._conform(batch)
        if rows is None:
            return pa.table({})
        if self.options.on_late == "raise" and (late_rows := self.reorder.count_late(rows)):
            raise DataError(
                f"{late_rows} of {len(rows)} rows came later than rows that were already read; none was taken",
                fix=Message("sort the data by time, or allow ", Option("lateness"), " (rows then wait that long)"),
            )
        released, late = self.reorder.push(rows, range(self.rows, self.rows + len(rows)))
        self.rows += len(rows)
        if len(late):
            self.late += len(late)
            if self.options.on_late == "collect":
                self._late_rows.append(late.select(self.bound.schema.names))
        return self._answer(released)

    def advance(self, to: Any) -> pa.Table:
        """Say that time has reached `to`: no row before it will come. Returns what is final by that.

        Parameters
        ----------
        to
            A datetime or a number, as the first column of ORDER BY holds.
        """
        self._check_open()
        if self.schema is None:
            raise DataError("no rows were pushed yet, so the time column is unknown", fix="push rows first")
        if self.clock is None:
            raise DataError("the clause has no ORDER BY, so its time cannot advance", fix="add ORDER BY")
        return self._answer(self.reorder.advance(self.clock.tick(to, up=True)))

    def flush(self) -> pa.Table:
        """End the stream: read the rows that wait, and return the matches that waited for more."""
        self._check_open()
        if self.schema is None:
            self.stopped = _ENDED
            return pa.table({})
        found = self._run(lambda: pa.concat_tables([self._read(self.reorder.flush()), self.engine.flush()]))
        self.stopped = _ENDED
        return found

    def due(self) -> Any:
        """The next time at which `advance` has something to do; None when nothing waits for time to pass."""
        if self.schema is None or self.clock is None:
            return None
        tick = self.due_tick()
        return None if tick is None else self.clock.values(np.array([tick]))[0].as_py()

    def due_tick(self) -> int | None:
        """The same as a tick of the stream's clock."""
        return min((tick for tick in (self.reorder.next_tick(), self.engine.due()) if tick is not None), default=None)

    def late_events(self) -> pa.Table:
        """The rows that came too late, with on_late="collect"; each is given once."""
        if self.schema is None:
            return pa.table({})
        found, self._late_rows = self._late_rows, []
        return pa.concat_tables([self.schema.empty_table(), *found])

    def stats(self) -> SqlStatistics:
        """Numbers of the stream so far, and of what is kept of it."""
        if self.schema is None:
            return SqlStatistics(0, 0, 0, 0, 0, 0)
        partitions = self.engine.partitions
        return SqlStatistics(
            self.rows, self.engine.matches, self.late, len(self.reorder.rows), partitions.kept, partitions.count
        )

    @cached_property
    def answer_schema(self) -> pa.Schema:
        """The columns that it gives, once those of its input are known."""
        return self._around(self.engine.output).schema

    def snapshot(self) -> bytes:
        """The whole state, for `SqlEngine.restore`; a versioned, checked format without code."""
        meta: dict[str, Any] = {
            "kind": SQL,
            "text": self.text,
            "options": asdict(self.options),
            "stopped": self.stopped,
        }
        meta |= {"rows": self.rows, "late": self.late, "bound": self.schema is not None}
        if self.schema is None:
            return Snapshot(meta, {}, {}).to_bytes()
        more, arrays, tables = saved_state.save(self.engine)
        meta |= {"engine": more, "watermark": int(self.reorder.watermark)}
        arrays["positions"] = self.reorder.positions
        tables |= {"schema": self.schema.empty_table(), "waiting": self.reorder.rows}
        tables |= {"late": self.bound.schema.empty_table(), "keys": self.keys.to_table()}
        if self._late_rows:
            tables["late"] = pa.concat_tables(self._late_rows)
        return Snapshot(meta, arrays, tables).to_bytes()

    @staticmethod
    def restore(data: bytes) -> SqlEngine:
        """The engine as it was when the snapshot was taken.

        Parameters
        ----------
        data
            What `snapshot` returned, in this process or another.
        """
        stored = Snapshot.from_bytes(data)
        stored.check_kind(SQL)
        given = dict(stored.meta["options"])
        options = SqlOptions(**given | {"limits": SqlLimits(**given["limits"])})
        engine = SqlEngine(stored.meta["text"], options)
        engine.load(stored)
        return engine

    def load(self, stored: Snapshot) -> None:
        """Take over the state of an engine for the same query."""
        meta = stored.meta
        self.rows, self.late, self.stopped = meta["rows"], meta["late"], meta["stopped"]
        if not meta["bound"]:
            return
        self._bind(stored.tables["schema"].schema)
        saved_state.load(self.engine, meta["engine"], stored)
        self.reorder.load(stored.tables["waiting"], stored.arrays["positions"])
        self.reorder.watermark = meta["watermark"]
        self.keys = KeyTable.from_table(stored.tables["keys"])
        self._late_rows = [stored.tables["late"]]

    # Rows on their way to the clause.

    def _bind(self, schema: pa.Schema) -> None:
        match = self.clause.match
        text = INPUT if self.options.alone else streamable.input_text(self.query)
        alias = alias_of(streamable.input_text(self.query))
        self._table = "" if self.options.alone else streamable.table_name(self.query)
        self._reads_table = not self.options.alone and not streamable.reads_table_itself(self.query)
        self._input = f"SELECT * FROM {text}"
        read = self._read_input(schema.empty_table())
        self.bound = self._bind_clause(self.text, match, alias, read.schema)
        prepared = self.bound.prepare(read)
        self._order = [self.bound.keys[key] for key in match.order_by]
        self.clock = self._clock(prepared.schema)
        binding = StreamColumns(self._order[0] if self._order else None, None, tuple(self._order[1:]))
        self.reorder = ReorderBuffer(
            self.clock, binding, prepared.schema, self.options.lateness, ties_wait=len(self._order) > 1
        )
        self.keys = KeyTable()
        self.engine = ClauseEngine(self.bound, self.clock, self.options.limits)
        self._plain = self.options.alone or streamable.is_plain(self.query)
        self.schema = schema
        self._typed = not any(map(pa.types.is_null, schema.types))
        self._names = frozenset(schema.names)

    def _give_types(self, schema: pa.Schema) -> None:
        """Columns that held only NULL so far have these types from now on."""
        before, waiting, positions = self.engine, self.reorder.rows, self.reorder.positions
        watermark, keys, names = self.reorder.watermark, self.keys, self.bound.schema.names
        self._bind(schema)
        self.__dict__.pop("answer_schema", None)
        self.reorder.load(self.bound.prepare(waiting.select(names).cast(self.bound.schema)), positions)
        self.reorder.watermark = watermark
        self.keys = keys
        self.keys.give_types(self.reorder.rows.schema)
        self._late_rows = [rows.cast(self.bound.schema) for rows in self._late_rows]
        saved_state.adopt(self.engine, before)

    def _clock(self, schema: pa.Schema) -> Clock | None:
        if not self._order:
            return None
        try:
            return Clock.of(schema, self._order[0])
        except DataError:
            key = self.clause.match.order_by[0]
            reason = f"a stream is ordered by time, and this is {schema.field(self._order[0]).type}"
            fix = "order by a timestamp, a date or a number first"
            raise QueryError(reason, text=self.text, span=key.span, fix=fix) from None

    def _conform(self, batch: TableLike | Mapping[str, Any]) -> pa.Table | None:
        """Rows of the clause's input, with computed columns."""
        if isinstance(batch, Mapping) and (row := self._one_row(batch)) is not None:
            return self.bound.prepare(self._read_input(row))
        if isinstance(batch, Mapping):
            batch = [batch if self.schema is None else dict.fromkeys(self.schema.names) | dict(batch)]
        elif isinstance(batch, list) and batch and self.schema is not None and isinstance(batch[0], dict):
            batch = [dict.fromkeys(self.schema.names) | batch[0], *batch[1:]]
        rows = to_arrow(batch)
        if self.schema is None:
            if not rows.num_columns:
                return None  # an empty list of rows names no columns
            self._bind(rows.schema)
        assert self.schema is not None
        if not rows.num_columns:
            rows = self.schema.empty_table()
        if types := types_of_empty_columns(self.schema, rows.schema):
            self._give_types(with_types(self.schema, types))
        return self.bound.prepare(self._read_input(align_rows(rows, self.schema)))

    def _one_row(self, row: Mapping[str, Any]) -> pa.Table | None:
        """A row with the types of the stream; None where it has no such values, or columns have no types yet."""
        if self.schema is None or not self._typed or not row.keys() <= self._names:
            return None
        try:
            columns = [pa.array([row.get(field.name)], field.type) for field in self.schema]
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            return None
        return pa.Table.from_arrays(columns, schema=self.schema)

    def _read_input(self, rows: pa.Table) -> pa.Table:
        if not self._reads_table:
            return rows
        from ostinato.sql.runtime.connect import connect

        with connect({self._table: rows}) as connection, translate_errors(self.text, [self._table]):
            return fetch(connection, self._input)

    def _answer(self, released: ReleasedRows) -> pa.Table:
        return self._run(lambda: self._read(released))

    def _run(self, step: Callable[[], pa.Table]) -> pa.Table:
        """What the query around the clause makes of the rows that a step gives."""
        try:
            with translate_errors(self.text, []):
                found = step()
            return self._around(found)
        except BaseException:  # also an interrupt: rows are read, and matches gone
            self.stopped = INCOMPLETE
            raise

    def _read(self, released: ReleasedRows) -> pa.Table:
        rows, parts = released.rows, self._parts(released.rows)
        if len(rows):
            order = self._in_order(rows, parts, released.order)
            if order is not None:
                rows, parts = rows.take(pa.array(order)), parts[order]
        now = int(self.reorder.watermark) if self.clock is not None else np.iinfo(np.int64).min
        count = self.keys.size if self.clause.match.partition_by else min(self.rows, 1)
        return self.engine.push(rows, parts, count, min(now, NEVER - 1))

    def _parts(self, rows: pa.Table) -> Int64:
        keys = [self.bound.keys[key] for key in self.clause.match.partition_by]
        if not keys or not len(rows):
            return np.zeros(len(rows), np.int64)
        return self.keys.encode([rows[name] for name in keys], keys).astype(np.int64)

    def _in_order(self, rows: pa.Table, parts: Int64, order: Int64 | None) -> Int64 | None:
        """Partition by partition, each in order."""
        match = self.clause.match
        if len(match.order_by) > 1:
            return sort_rows(match, self.bound.connection, rows, self.bound.keys, parts.astype(np.int32))
        ordered = parts if order is None else parts[order]
        if bool((ordered[1:] >= ordered[:-1]).all()):
            return order
        grouped = np.argsort(ordered, kind="stable")
        return grouped if order is None else order[grouped]

    def _around(self, found: pa.Table) -> pa.Table:
        """What the query around the clause makes of its rows."""
        if self._plain:
            return found
        if not len(found) and "answer_schema" in self.__dict__:
            return self.answer_schema.empty_table()
        connection = self.bound.connection
        connection.register(streamable.MATCHES, found)
        try:
            with translate_errors(self.text, []):
                return fetch(connection, streamable.rest_text(self.query))
        finally:
            connection.unregister(streamable.MATCHES)

    def _check_open(self) -> None:
        if self.stopped:
            raise OstinatoError.parse(self.stopped)

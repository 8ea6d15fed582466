"""The way in for user data: to Arrow, bound to a time and a type column, in time order."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ostinato.core.clock import Clock
from ostinato.core.threads import cuts, run_pieces
from ostinato.core.tick_span import tick_span
from ostinato.core.types import StructKind
from ostinato.errors import ANY, DataError, Message, Option, did_you_mean

DEFAULT_TIME, DEFAULT_TYPE = "ts", "type"


TABLES = "a pyarrow Table, RecordBatch or RecordBatchReader, a pandas or polars DataFrame, or a list of dicts"
_UNFIT = "give numbers that fit 64 bits (or decimals), and text without lone surrogates"


def to_arrow(data: Any, *, pieces: int = 1, accepted: str = TABLES) -> pa.Table:
    """Events in any accepted form as an Arrow table, copied only where the form demands it, then in so many pieces side
    by side.

    Views become plain strings or bytes, and runs are written out: Arrow can neither sort nor take them yet. Indices of
    dictionaries become int32: later batches may bring other values, and all of them must be told apart.
    """
    table = _check_unique_names(_to_table(data, accepted))
    for place, field in enumerate(table.schema):
        if (plain := _plain_type(field.type)) != field.type:
            table = table.set_column(place, field.name, _plain_column(table[field.name], plain, pieces))
    return table.replace_schema_metadata(None) if table.schema.metadata else table


def _plain_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_string_view(kind):
        return pa.large_string()
    if pa.types.is_binary_view(kind):
        return pa.large_binary()
    if pa.types.is_run_end_encoded(kind):
        return kind.value_type
    if pa.types.is_dictionary(kind) and kind.index_type.bit_width < 32:
        return pa.dictionary(pa.int32(), kind.value_type, kind.ordered)
    return kind


def _plain_column(column: pa.ChunkedArray, kind: pa.DataType, pieces: int) -> pa.ChunkedArray:
    ends = cuts(len(column), pieces)
    runs = pa.types.is_run_end_encoded(column.type)

    def convert_piece(number: int) -> list[pa.Array]:
        chunks = column.slice(ends[number], ends[number + 1] - ends[number]).chunks
        return [pc.run_end_decode(chunk) if runs else chunk.cast(kind) for chunk in chunks]

    return pa.chunked_array([chunk for piece in run_pieces(convert_piece, pieces) for chunk in piece], kind)


def _to_table(data: Any, accepted: str) -> pa.Table:
    # By module name, so that pandas and polars are never imported for those who do not use them.
    library, name = type(data).__module__.partition(".")[0], type(data).__name__
    try:
        if isinstance(data, pa.Table):
            return data
        if isinstance(data, pa.RecordBatch):
            return pa.Table.from_batches([data])
        if isinstance(data, pa.RecordBatchReader):
            return data.read_all()
        if library == "pandas" and name == "DataFrame":
            _check_unique_names(data)
            named = any(level is not None for level in data.index.names)
            return pa.Table.from_pandas(data, preserve_index=named)
        if library == "polars" and name in ("DataFrame", "LazyFrame"):
            return (data.collect() if name == "LazyFrame" else data).to_arrow()
        if isinstance(data, list) and all(isinstance(row, dict) for row in data):
            columns = dict.fromkeys(key for row in data for key in row)
            if odd := [key for key in columns if not isinstance(key, str)]:
                raise DataError(f"a column is named {odd[0]!r}", fix="name columns with text")
            return pa.table({column: _named_column(column, [row.get(column) for row in data]) for column in columns})
        if library != "pyspark" and hasattr(data, "__arrow_c_stream__"):
            return pa.RecordBatchReader.from_stream(data).read_all()
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, TypeError) as error:
        raise DataError(f"cannot read the events: {error}", fix="give every column values of one type") from error
    except (OverflowError, UnicodeError) as error:
        raise DataError(f"cannot read the events: {error}", fix=_UNFIT) from error
    if library == "pyspark" and name == "DataFrame":
        if type(data).__module__.startswith("pyspark.pandas"):
            raise DataError("events are a pandas DataFrame on Spark", fix="give frame.to_spark()")
        raise DataError("events are a Spark DataFrame", fix="hand it to query.detect(frame), which runs on Spark")
    kind = name if library == "builtins" else f"{type(data).__module__}.{name}"
    raise DataError(f"events are {kind}", fix=f"give {accepted}")


def _named_column(name: str, values: list[Any]) -> pa.Array:
    try:
        return _column(values)
    except (OverflowError, UnicodeError) as error:
        raise DataError(f"cannot read the events: `{name}`: {error}", fix=_UNFIT) from error


def _column(values: list[Any]) -> pa.Array:
    """The values as Arrow takes them; where a date comes first, times after it stay times."""
    column = pa.array(values)
    if pa.types.is_date32(column.type) and any(isinstance(value, datetime) for value in values):
        return pa.array([_midnight(value) if type(value) is date else value for value in values])
    return column


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day)


def _check_unique_names(data: Any) -> Any:
    """`data` itself, once no two of its columns have the same name."""
    names = data.column_names if isinstance(data, pa.Table) else [str(name) for name in data.columns]
    if len(set(names)) < len(names):
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise DataError(f"two columns are named `{twice}`", fix="rename or drop one of them")
    return data


def with_columns(table: pa.Table, names: Iterable[str], *, time: str | None = None) -> pa.Table:
    """Events that do not say what their columns are, fit for a query that reads the columns `names`.

    No events at all, such as an empty list, have all columns that anyone asks for. A time column without one value has
    no type, and is as good as one of timestamps.
    """
    time = time or DEFAULT_TIME
    if not table.num_columns and not table.num_rows:
        table = pa.schema([(name, pa.null()) for name in sorted({time, *names})]).empty_table()
    if time in table.column_names and pa.types.is_null(table.schema.field(time).type):
        place = table.column_names.index(time)
        table = table.set_column(place, time, table[time].cast(pa.timestamp("us")))
    return table


@dataclass(frozen=True)
class StreamColumns:
    """Which columns say when an event happened and what it is; None where the stream has no such column.

    `relation` is the type of every event of a stream without a type column.
    """

    time: str | None
    type: str | None
    order_by: tuple[str, ...] = ()
    relation: str | None = None

    @classmethod
    def resolve(
        cls,
        schema: pa.Schema,
        *,
        time: str | None = None,
        type: str | None = None,
        order_by: Sequence[str] = (),
        needs_time: bool = False,
        relations: Iterable[str] = (),
    ) -> StreamColumns:
        """Columns by name; None stands for the default name (`ts`, `type`), which need not be there.

        `relations` are the event types that the query names.
        """
        for what, column in (("time", time), ("type", type), *(("order_by", name) for name in order_by)):
            if column is not None and column not in schema.names:
                raise DataError(
                    Message(Option(what, None), f" is `{column}`, but there is no such column"),
                    fix=did_you_mean(column, schema.names),
                    option=what,
                )
        time = time or (DEFAULT_TIME if DEFAULT_TIME in schema.names else None)
        type = type or (DEFAULT_TYPE if DEFAULT_TYPE in schema.names else None)
        if time is not None:
            Clock.of(schema, time)
        elif needs_time:
            others = {name: kind for name, kind in column_kinds(schema).items() if name != type}
            likely = [name for kind in ("timestamp", "date", "number") for name in others if others[name] == kind]
            fix = Message("name the time column: ", Option("time", likely[0] if likely else ANY))
            raise DataError(f"the query needs a time column, and there is no `{DEFAULT_TIME}`", fix=fix)
        if type is not None and column_kinds(schema)[type] in ("nested", "binary"):
            raise DataError(
                f"`{type}` cannot be the event type: its values are {schema.field(type).type}",
                fix=Message("name another column with ", Option("type")),
            )
        named = sorted(set(relations))
        if type is not None:
            _check_types(schema, type, named)
        if type is None and len(named) > 1:
            hint = did_you_mean(DEFAULT_TYPE, schema.names)
            raise DataError(
                f"the query uses the event types {', '.join(named)}, but there is no column `{DEFAULT_TYPE}`",
                fix=Message("name the column that tells them apart with ", Option("type"), f"; {hint}" if hint else ""),
            )
        return cls(time, type, tuple(order_by), named[0] if type is None and named else None)


def _check_types(schema: pa.Schema, column: str, named: Sequence[str]) -> None:
    """Types that are numbers are found by their text, so one that is no number can never come."""
    kind = schema.field(column).type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    shape = _NUMBERS if pa.types.is_floating(kind) else _WHOLE_NUMBERS if pa.types.is_integer(kind) else None
    if shape is None or not (strange := [name for name in named if not shape.fullmatch(name)]):
        return
    raise DataError(
        f"no event is of type {strange[0]}: the types are the numbers of `{column}`, which is {kind}",
        fix=Message("write a number as a name in backticks (`3` AS x), or name another column with ", Option("type")),
        option="type",
    )


_WHOLE_NUMBERS = re.compile(r"-?\d+")
_NUMBERS = re.compile(r"-?(\d+(\.\d+)?(e[+-]?\d+)?|inf)|nan")
_KINDS = (
    ("boolean", pa.types.is_boolean),
    ("number", lambda kind: pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)),
    (
        "string",
        lambda kind: pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind),
    ),
    ("timestamp", pa.types.is_timestamp),
    ("date", pa.types.is_date),
    (
        "duration",
        lambda kind: pa.types.is_duration(kind) or pa.types.is_time(kind),
    ),  # a time of day counts from midnight
    ("null", pa.types.is_null),
    ("nested", pa.types.is_nested),
)


def column_kinds(schema: pa.Schema) -> dict[str, str]:
    """What each column holds, as far as queries tell them apart: "number", "string", "boolean", "timestamp", "date",
    "duration", "binary", "nested" (structs with the kinds of their fields) or "null"."""
    return {field.name: _kind(field.type) for field in schema}


def _kind(kind: pa.DataType) -> str:
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return _kind(kind.value_type)
    if pa.types.is_struct(kind):
        return StructKind({field.name: _kind(field.type) for field in kind})
    return next((name for name, test in _KINDS if test(kind)), "binary")


def time_order(
    table: pa.Table, binding: StreamColumns, ticks: npt.NDArray[np.int64] | None = None, *, pieces: int = 1
) -> npt.NDArray[np.int64] | None:
    """Indices that put the rows in time order, ties by `order_by` (NULL last) and then as they came; None if they are.

    `ticks` are those of the time column, where they are known already. Whether the rows are in order is seen in so many
    pieces side by side.
    """
    if ticks is None and binding.time is not None:
        ticks = Clock.of(table.schema, binding.time).ticks(table[binding.time])
    if ticks is None:
        if not binding.order_by:
            return None
        ticks = np.zeros(table.num_rows, np.int64)  # only order_by decides
    order = None if _ascends(ticks, pieces) else np.argsort(ticks, kind="stable")
    if not binding.order_by or len(ticks) < 2:
        return order
    # Only ties can still be out of order, and they sort among themselves: mostly they are few.
    ordered = ticks if order is None else ticks[order]
    follows = np.concatenate([[False], ordered[1:] == ordered[:-1]])
    places = np.flatnonzero(follows | np.append(follows[1:], False))
    if not len(places):
        return order
    tied = places if order is None else order[places]
    best = _sort_indices(table.select(list(binding.order_by)).take(pa.array(tied)), binding.order_by, ticks[tied])
    if order is None and (best[1:] > best[:-1]).all():
        return None
    order = np.arange(len(ticks)) if order is None else order
    order[places] = tied[best]
    return order


def _ascends(ticks: npt.NDArray[np.int64], pieces: int) -> bool:
    if pieces == 1:
        return tick_span(ticks)[2]
    ends = cuts(len(ticks), pieces)

    def piece_ascends(number: int) -> bool:
        own = ticks[ends[number] : ends[number + 1] + 1]  # and the first of the next piece
        return tick_span(own)[2]

    return all(run_pieces(piece_ascends, pieces))


def _sort_indices(table: pa.Table, order_by: tuple[str, ...], ticks: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    columns: dict[str, Any] = {"0": pa.array(ticks)}
    for place, name in enumerate(order_by, 1):
        column = table[name]
        columns[str(place)] = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
    try:
        found = pc.sort_indices(pa.table(columns), sort_keys=[(name, "ascending") for name in columns])
    except (pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        raise DataError(f"cannot order by {', '.join(order_by)}: {error}", fix="order by plain columns") from error
    return np.asarray(found.to_numpy(), np.int64)

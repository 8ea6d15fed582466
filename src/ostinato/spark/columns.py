"""Columns of a DataFrame as Arrow has them, and the order of rows that Spark gives in none."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from inspect import signature
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ostinato.core.events import DEFAULT_TIME, column_kinds
from ostinato.errors import DataError, Message, Option, did_you_mean

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.types import StructType


def time_column(time: str | None, table: StructType) -> str:
    """The column of the time, which must be there."""
    time = time or DEFAULT_TIME
    if time not in table.names:
        raise DataError(
            f"the rows of a Spark DataFrame have no order, and there is no time column `{time}`",
            fix=did_you_mean(time, table.names) or Message("name the column to order them by: ", Option("time")),
        )
    return time


def arrow_schema(table: StructType, wanted: set[str] | None = None) -> pa.Schema:
    """The wanted columns (None: all) as Arrow has them."""
    from pyspark.errors import PySparkException
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.sql.types import StructType

    # Before Spark 4.2 times have this zone anyway.
    zone: dict[str, Any] = {"timezone": "UTC"} if "timezone" in signature(to_arrow_schema).parameters else {}
    fields: list[pa.Field] = []
    for field in table.fields:
        if wanted is None or field.name in wanted:
            try:
                fields += to_arrow_schema(StructType([field]), **zone)
            except PySparkException:
                raise DataError(
                    f"`{field.name}` is of type {field.dataType.simpleString()}, which cannot be handed to Python",
                    fix="cast it, or leave it out with frame.drop(…)",
                ) from None
    return pa.schema(fields)


def spark_type(schema: pa.Schema) -> StructType:
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(schema)


def tie_breakers(
    reads: Iterable[Collection[str]], schema: pa.Schema, order_by: Sequence[str], time: str
) -> tuple[str, ...]:
    """The columns that order events of equal time, which Spark gives in any order: together, all columns fix one order.

    Those that a query reads come first, so that it does not matter to the answer which others are at hand; where there
    are several queries, so that what comes later does not matter to the first.
    """
    of_kind = column_kinds(schema)
    for name in order_by:
        if of_kind.get(name) in ("nested", "binary"):
            raise DataError(f"cannot order by `{name}`: it is {schema.field(name).type}", fix="order by plain columns")
    plain = [name for name, kind in of_kind.items() if kind not in ("nested", "binary", "null")]
    found = dict.fromkeys((*order_by, *(name for read in reads for name in plain if name in read), *plain))
    return tuple(name for name in found if name != time)


def placeholder_schema(names: Sequence[str], known: pa.Schema) -> pa.Schema:
    """A schema of all columns of a table, those that are not known as bytes."""
    return pa.schema([known.field(name) if name in known.names else pa.field(name, pa.binary()) for name in names])


def hash_type(kind: pa.DataType) -> pa.DataType:
    """The type in which values of a key are hashed: Spark gives equal numbers of other types other hashes."""
    if pa.types.is_signed_integer(kind):
        return pa.int64()
    return pa.float64() if pa.types.is_floating(kind) else kind


def hashed_column(name: str, schema: pa.Schema) -> Column:
    kind = schema.field(name).type
    wider = hash_type(kind)
    return column(name) if wider == kind else column(name).cast("long" if wider == pa.int64() else "double")


def column(name: str) -> Column:
    """The column of that very name, whatever characters it has."""
    from pyspark.sql import functions

    return functions.col(quote_name(name))


def quote_name(name: str) -> str:
    inner = name.replace("`", "``")
    return f"`{inner}`"

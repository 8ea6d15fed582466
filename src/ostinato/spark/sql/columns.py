"""What a clause gives, as columns that Spark can hold."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from ostinato.errors import QueryError
from ostinato.spark.columns import spark_type


@dataclass(frozen=True)
class AnswerColumns:
    """The columns of a clause as DuckDB gives them are cast to these."""

    schema: pa.Schema

    @staticmethod
    def of(given: pa.Schema, text: str) -> AnswerColumns:
        fields = []
        for field in given:
            kind = _spark_kind(field.type)
            try:
                spark_type(pa.schema([pa.field(field.name, kind)]))
            except Exception:
                reason = f"`{field.name}` is {field.type}, which is no type of Spark"
                raise QueryError(reason, text=text, fix=f"cast it: CAST(… AS VARCHAR) AS {field.name}") from None
            fields.append(pa.field(field.name, kind))
        return AnswerColumns(pa.schema(fields))

    def fit(self, table: pa.Table) -> pa.Table:
        """Names may be given twice, so columns go by their places."""
        cast = [column.cast(field.type) for column, field in zip(table.columns, self.schema, strict=True)]
        return pa.Table.from_arrays(cast, schema=self.schema)


def _spark_kind(kind: pa.DataType) -> pa.DataType:
    wider = {pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64(), pa.uint64(): pa.decimal128(20)}
    if kind in wider:
        return wider[kind]
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", "UTC" if kind.tz is not None else None)
    if pa.types.is_null(kind):
        return pa.int32()
    return kind

"""Columns of a DataFrame as Arrow has them, whichever version of Spark says so."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.pandas import types
from pyspark.sql.types import LongType, StructField, StructType, TimestampType

from ostinato.spark.columns import arrow_schema

TABLE = StructType([StructField("ts", TimestampType()), StructField("v", LongType())])
WANT = pa.schema([("ts", pa.timestamp("us", "UTC")), ("v", pa.int64())])


def test_times_are_in_utc() -> None:
    assert arrow_schema(TABLE) == WANT


def test_times_were_always_in_utc_before_spark_had_an_option_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    now = types.to_arrow_schema

    def then(schema: Any, error_on_duplicated_field_names_in_struct: bool = False) -> Any:
        return now(schema, timezone="UTC")

    monkeypatch.setattr(types, "to_arrow_schema", then)
    assert arrow_schema(TABLE) == WANT

"""The data that users hand in, as types: tables in this process, and frames of Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeVar


class ArrowTable(Protocol):
    """A table that speaks Arrow's C stream interface: pyarrow, pandas (2.2 and newer), polars, DuckDB and others."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


TableLike = ArrowTable | Sequence[Mapping[str, Any]]  # or rows as dicts


class SparkFrame(Protocol):
    """A DataFrame of pyspark.sql, classic or Connect, named without importing it."""

    @property
    def isStreaming(self) -> bool: ...
    @property
    def sparkSession(self) -> Any: ...


Frame = TypeVar("Frame", bound=SparkFrame)

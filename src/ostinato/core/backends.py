"""Engines for data outside this process. The type of the data decides which one, and it is loaded on first use.

Languages know no engine: they ask here for the one that can run over a frame. An engine is a module with the functions
of `Backend`. This is the one place that names a module of a higher layer, as text; to add an engine, add a line to
`_BACKENDS`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Protocol, cast

_BACKENDS = {"pyspark.sql.": "ostinato.spark.backend"}  # where a DataFrame's class comes from -> its engine


class Backend(Protocol):
    """What an engine for frames does, one function per language and verb; frames in, frames out."""

    def detect(self, queries: Any, frame: Any, /, **options: Any) -> Any: ...
    def explain(self, query: Any, frame: Any, /, **options: Any) -> str: ...
    def funnel(self, funnel: Any, frame: Any, /, **options: Any) -> Any: ...
    def detect_rules(self, program: Any, frame: Any, /, **options: Any) -> Any: ...
    def explain_rules(self, program: Any, frame: Any, /, **options: Any) -> str: ...
    def detect_xseq(self, query: Any, frame: Any, /, **options: Any) -> Any: ...
    def explain_xseq(self, query: Any, frame: Any, /, **options: Any) -> str: ...
    def detect_sql(self, query: Any, data: Any, /, **options: Any) -> Any: ...
    def fit(self, forecaster: Any, history: Any, /) -> Any: ...
    def forecast(self, model: Any, events: Any, /, **options: Any) -> Any: ...
    def evaluate(self, model: Any, holdout: Any, /, **options: Any) -> Any: ...


def is_spark_frame(data: object) -> bool:
    """Decided by name, so that Spark is not imported for those who do not use it."""
    kind = type(data)
    return kind.__name__ == "DataFrame" and kind.__module__.startswith("pyspark.sql.")


def is_spark_session(data: object) -> bool:
    """The same for a session, whose tables and views have names."""
    kind = type(data)
    return kind.__name__ == "SparkSession" and kind.__module__.startswith("pyspark.sql.")


def spark_backend() -> Backend:
    """The engine for Spark's frames."""
    return cast(Backend, import_module(_BACKENDS["pyspark.sql."]))

"""Engines for data that does not live in this process, found by what the data is and loaded when it is given.

A language knows no engine: it asks here who can run it over a frame, and hands the work on. An engine is a module with
the functions of `Backend`. This is the one place that names a module above it, as text; whoever adds an engine adds a
line to `_BACKENDS`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Protocol, cast

_BACKENDS = {"pyspark.sql.": "ostinato.spark.backend"}  # where a DataFrame's class comes from -> its engine


class Backend(Protocol):
    """What an engine for frames does, one function per language and verb; frames in, frames out."""

    def detect(self, queries: Any, frame: Any, /, **options: Any) -> Any: ...
    def explain(self, query: Any, frame: Any, /, **options: Any) -> str: ...
    def detect_rules(self, program: Any, frame: Any, /, **options: Any) -> Any: ...
    def explain_rules(self, program: Any, frame: Any, /, **options: Any) -> str: ...
    def detect_xseq(self, query: Any, frame: Any, /, **options: Any) -> Any: ...
    def explain_xseq(self, query: Any, frame: Any, /, **options: Any) -> str: ...
    def fit(self, forecaster: Any, history: Any, /) -> Any: ...
    def forecast(self, model: Any, events: Any, /, **options: Any) -> Any: ...
    def evaluate(self, model: Any, holdout: Any, /, **options: Any) -> Any: ...


def is_spark_frame(data: object) -> bool:
    """Without importing Spark: whoever has such a frame has done so."""
    kind = type(data)
    return kind.__name__ == "DataFrame" and kind.__module__.startswith("pyspark.sql.")


def spark_backend() -> Backend:
    """The engine for Spark's frames."""
    return cast(Backend, import_module(_BACKENDS["pyspark.sql."]))

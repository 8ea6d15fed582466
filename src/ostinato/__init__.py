"""Ostinato recognises complex events: patterns over streams of events, run over Arrow tables or on Apache Spark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ostinato.errors import DataError, LimitError, OstinatoError, QueryError
from ostinato.runtime.limits import Limits

if TYPE_CHECKING:
    from ostinato.query import CelQuery
    from ostinato.runtime.engine import Engine

__version__ = "0.1.0"
__all__ = ["DataError", "Engine", "LimitError", "Limits", "OstinatoError", "QueryError", "cel", "detect_many"]


def cel(text: str) -> CelQuery:
    """Compile a CEL query; raises QueryError when it is wrong."""
    if not isinstance(text, str):
        raise QueryError(f"a query is text, not {type(text).__name__}")
    if not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text):
        raise QueryError("the query has bytes in it that are not text", fix="write it in UTF-8")
    from ostinato.query import CelQuery

    return CelQuery(text)


def detect_many(queries: Mapping[str, CelQuery], data: Any, /, **options: Any) -> Any:
    """The matches of several queries over the same data, in one table (or Spark DataFrame, in one pass).

    The column `query` says which one a match belongs to; columns that its query does not have are NULL. `options` are
    those of `CelQuery.detect`.
    """
    from ostinato.many import detect_many

    return detect_many(queries, data, **options)


def __getattr__(name: str) -> object:
    """`ostinato.Engine`, for `Engine.restore`; loaded when first asked for, since it brings the kernels along."""
    if name != "Engine":
        raise AttributeError(f"module 'ostinato' has no attribute {name!r}")
    from ostinato.runtime.engine import Engine

    return Engine

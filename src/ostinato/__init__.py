"""Ostinato recognises complex events: patterns over streams of events, run over Arrow tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ostinato.errors import DataError, LimitError, OstinatoError, QueryError
from ostinato.runtime.limits import Limits

if TYPE_CHECKING:
    from ostinato.query import CelQuery
    from ostinato.runtime.engine import Engine

__version__ = "0.1.0"
__all__ = ["DataError", "Engine", "LimitError", "Limits", "OstinatoError", "QueryError", "cel"]


def cel(text: str) -> CelQuery:
    """Compile a CEL query; raises QueryError when it is wrong."""
    if not isinstance(text, str):
        raise QueryError(f"a query is text, not {type(text).__name__}")
    from ostinato.query import CelQuery

    return CelQuery(text)


def __getattr__(name: str) -> object:
    """`ostinato.Engine`, for `Engine.restore`; loaded when first asked for, since it brings the kernels along."""
    if name != "Engine":
        raise AttributeError(f"module 'ostinato' has no attribute {name!r}")
    from ostinato.runtime.engine import Engine

    return Engine

"""Ostinato recognises complex events: patterns over streams of events, run over Arrow tables or on Apache Spark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ostinato.errors import DataError, LimitError, OstinatoError, QueryError
from ostinato.runtime.limits import Limits

if TYPE_CHECKING:
    from ostinato.automata.sra.automaton import Automaton
    from ostinato.query import CelQuery, PatternQuery, SremQuery
    from ostinato.ruleset import RuleProgram
    from ostinato.runtime.engine import Engine
    from ostinato.runtime.rules.engine import RuleEngine

__version__ = "0.1.0"
__all__ = [
    "Automaton",
    "DataError",
    "Engine",
    "LimitError",
    "Limits",
    "OstinatoError",
    "QueryError",
    "RuleEngine",
    "cel",
    "detect_many",
    "rules",
    "srem",
]


def cel(text: str) -> CelQuery:
    """Compile a CEL query; raises QueryError when it is wrong."""
    from ostinato.query import CelQuery

    return CelQuery(text)


def srem(text: str) -> SremQuery:
    """Compile a symbolic regular expression with memory; raises QueryError when it is wrong.

    Its matches are the segments of the stream, each without a gap, that are in its language.
    """
    from ostinato.query import SremQuery

    return SremQuery(text)


def rules(text: str) -> RuleProgram:
    """Check a program of event rules (DETECT … ON … END); raises QueryError when it is wrong."""
    from ostinato.ruleset import RuleProgram

    return RuleProgram(text)


def detect_many(queries: Mapping[str, PatternQuery], data: Any, /, **options: Any) -> Any:
    """The matches of several queries over the same data, in one table (or Spark DataFrame, in one pass).

    The column `query` says which one a match belongs to; columns that its query does not have are NULL. `options` are
    those of `ostinato.cel(…).detect`.
    """
    from ostinato.many import detect_many

    return detect_many(queries, data, **options)


def __getattr__(name: str) -> object:
    """`ostinato.Engine` and `ostinato.RuleEngine`, for `restore`, and `ostinato.Automaton`; loaded when asked for."""
    if name == "Engine":
        from ostinato.runtime.engine import Engine

        return Engine
    if name == "RuleEngine":
        from ostinato.runtime.rules.engine import RuleEngine

        return RuleEngine
    if name == "Automaton":
        from ostinato.automata.sra.automaton import Automaton

        return Automaton
    raise AttributeError(f"module 'ostinato' has no attribute {name!r}")

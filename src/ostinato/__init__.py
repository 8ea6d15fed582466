"""Ostinato recognises and forecasts complex events, over Arrow tables, files, documents and Apache Spark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

# Before the functions of the same names: importing a package later would put it in the function's place.
from ostinato import rules as _rules  # noqa: F401
from ostinato import xseq as _xseq  # noqa: F401
from ostinato.errors import DataError, LimitError, OstinatoError, QueryError
from ostinato.patterns.limits import Limits

if TYPE_CHECKING:
    from ostinato.forecast.forecaster import Forecaster
    from ostinato.forecast.model import ForecastModel
    from ostinato.forecast.settings import ForecastLimits
    from ostinato.patterns.query import CelQuery, PatternQuery, SremQuery
    from ostinato.patterns.runtime.engine import Engine
    from ostinato.patterns.sra.automaton import Automaton
    from ostinato.rules.incremental.engine import RuleEngine
    from ostinato.rules.limits import RuleLimits
    from ostinato.rules.program import RuleProgram
    from ostinato.xseq.limits import XSeqLimits
    from ostinato.xseq.query import XSeqQuery

__version__ = "0.1.0"
__all__ = [
    "Automaton",
    "DataError",
    "Engine",
    "ForecastLimits",
    "ForecastModel",
    "Forecaster",
    "LimitError",
    "Limits",
    "OstinatoError",
    "QueryError",
    "RuleEngine",
    "RuleLimits",
    "XSeqLimits",
    "cel",
    "detect_many",
    "rules",
    "srem",
    "xseq",
]


def cel(text: str) -> CelQuery:
    """Compile a CEL query; raises QueryError when it is wrong."""
    from ostinato.patterns.query import CelQuery

    return CelQuery(text)


def srem(text: str) -> SremQuery:
    """Compile a symbolic regular expression with memory; raises QueryError when it is wrong.

    Its matches are the segments of the stream, each without a gap, that are in its language.
    """
    from ostinato.patterns.query import SremQuery

    return SremQuery(text)


def rules(text: str) -> RuleProgram:
    """Check a program of event rules (DETECT … ON … END); raises QueryError when it is wrong."""
    from ostinato.rules.program import RuleProgram

    return RuleProgram(text)


def xseq(text: str, *, matches: Literal["all", "longest"] = "all", schema: Any = None) -> XSeqQuery:
    """Compile an XSeq query over XML or JSON documents; raises QueryError when it is wrong.

    `matches="longest"` leaves out matches that another one continues. `schema` is the path of a DTD, an XML Schema or a
    sample document that says what can occur.
    """
    from ostinato.xseq.query import XSeqQuery

    return XSeqQuery(text, matches=matches, schema=schema)


def detect_many(queries: Mapping[str, PatternQuery], data: Any, /, **options: Any) -> Any:
    """The matches of several queries over the same data, in one table (or Spark DataFrame, in one pass).

    The column `query` says which one a match belongs to; columns that its query does not have are NULL. `options` are
    those of `ostinato.cel(…).detect`.
    """
    from ostinato.patterns.many import detect_many

    return detect_many(queries, data, **options)


def __getattr__(name: str) -> object:
    """Classes that are loaded when they are asked for: engines (for `restore`), limits, automata."""
    if name == "Engine":
        from ostinato.patterns.runtime.engine import Engine

        return Engine
    if name == "RuleEngine":
        from ostinato.rules.incremental.engine import RuleEngine

        return RuleEngine
    if name == "RuleLimits":
        from ostinato.rules.limits import RuleLimits

        return RuleLimits
    if name == "XSeqLimits":
        from ostinato.xseq.limits import XSeqLimits

        return XSeqLimits
    if name == "Forecaster":
        from ostinato.forecast.forecaster import Forecaster

        return Forecaster
    if name == "ForecastModel":
        from ostinato.forecast.model import ForecastModel

        return ForecastModel
    if name == "ForecastLimits":
        from ostinato.forecast.settings import ForecastLimits

        return ForecastLimits
    if name == "Automaton":
        from ostinato.patterns.sra.automaton import Automaton

        return Automaton
    raise AttributeError(f"module 'ostinato' has no attribute {name!r}")

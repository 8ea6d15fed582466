"""Ostinato recognises and forecasts complex events, over Arrow tables, files, documents and Apache Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

# Before the functions of the same names: importing a package later would put it in the function's place.
from ostinato import rules as _rules  # noqa: F401
from ostinato import sql as _sql  # noqa: F401
from ostinato import xseq as _xseq  # noqa: F401
from ostinato.errors import DataError, LimitError, OstinatoError, QueryError
from ostinato.patterns.limits import Limits

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping
    from datetime import timedelta

    import pyarrow as pa

    from ostinato.core.frames import Frame, TableLike
    from ostinato.core.user_functions import FunctionLike, UserFunction
    from ostinato.documents.schema.model import Schema
    from ostinato.forecast.forecaster import Forecaster
    from ostinato.forecast.model import ForecastModel
    from ostinato.forecast.settings import ForecastLimits
    from ostinato.patterns.funnel.funnel import Funnel
    from ostinato.patterns.live.engine import LiveEngine
    from ostinato.patterns.live.matches import LiveMatches
    from ostinato.patterns.options import FrameOptions, TableOptions
    from ostinato.patterns.query import CelQuery, PatternQuery, SremQuery
    from ostinato.patterns.runtime.engine import Engine
    from ostinato.patterns.sra.automaton import Automaton
    from ostinato.rules.incremental.engine import RuleEngine
    from ostinato.rules.limits import RuleLimits
    from ostinato.rules.program import RuleProgram
    from ostinato.sql.limits import SqlLimits
    from ostinato.sql.live.engine import SqlEngine
    from ostinato.sql.query import SqlQuery
    from ostinato.xseq.limits import XSeqLimits
    from ostinato.xseq.query import XSeqQuery

__version__ = "0.1.0"
__all__ = [
    "Automaton",
    "CelQuery",
    "DataError",
    "Engine",
    "ForecastLimits",
    "ForecastModel",
    "Forecaster",
    "Funnel",
    "LimitError",
    "Limits",
    "LiveEngine",
    "LiveMatches",
    "OstinatoError",
    "QueryError",
    "RuleEngine",
    "RuleLimits",
    "RuleProgram",
    "SqlEngine",
    "SqlLimits",
    "SqlQuery",
    "SremQuery",
    "UserFunction",
    "XSeqLimits",
    "XSeqQuery",
    "cel",
    "detect_many",
    "engine",
    "funnel",
    "rules",
    "sql",
    "srem",
    "xseq",
]


# Classes that are loaded when they are asked for: loading them all would take most of a second.
_LAZY = {
    "Automaton": "ostinato.patterns.sra.automaton",
    "CelQuery": "ostinato.patterns.query",
    "Engine": "ostinato.patterns.runtime.engine",
    "ForecastLimits": "ostinato.forecast.settings",
    "ForecastModel": "ostinato.forecast.model",
    "Forecaster": "ostinato.forecast.forecaster",
    "Funnel": "ostinato.patterns.funnel.funnel",
    "LiveEngine": "ostinato.patterns.live.engine",
    "LiveMatches": "ostinato.patterns.live.matches",
    "RuleEngine": "ostinato.rules.incremental.engine",
    "RuleLimits": "ostinato.rules.limits",
    "RuleProgram": "ostinato.rules.program",
    "SqlEngine": "ostinato.sql.live.engine",
    "SqlLimits": "ostinato.sql.limits",
    "SqlQuery": "ostinato.sql.query",
    "SremQuery": "ostinato.patterns.query",
    "UserFunction": "ostinato.core.user_functions",
    "XSeqLimits": "ostinato.xseq.limits",
    "XSeqQuery": "ostinato.xseq.query",
}


def cel(text: str) -> CelQuery:
    """Compile a CEL query.

    Parameters
    ----------
    text
        A formula with its clauses, or `SELECT … WHERE …`; see docs/cel.md.

    Raises
    ------
    QueryError
        With the place, the reason and a likely fix, when the query is wrong.
    """
    from ostinato.patterns.query import CelQuery

    return CelQuery(text)


def srem(text: str) -> SremQuery:
    """Compile a symbolic regular expression with memory. It matches unbroken stretches of the stream.

    Parameters
    ----------
    text
        The expression with its clauses; see docs/srem.md.

    Raises
    ------
    QueryError
        With the place, the reason and a likely fix, when the expression is wrong.
    """
    from ostinato.patterns.query import SremQuery

    return SremQuery(text)


def funnel(
    steps: Sequence[str], *, within: str | float | timedelta | None = None, by: str | Sequence[str] | None = None
) -> Funnel:
    """How far each key gets along some steps: `funnel([…], within="1 hour", by="user").detect(events)`.

    Parameters
    ----------
    steps
        Types of events in order, or events with conditions, such as `"pay AS p FILTER p.amount > 10"`.
    within
        How long a key may take from the first step to the last it takes: "1 hour", a number of seconds, a timedelta.
    by
        The column, or columns, of the key; without one, all events are of one key.
    """
    from ostinato.patterns.funnel.funnel import Funnel

    return Funnel.of(steps, within, by)


def rules(text: str, *, functions: Mapping[str, FunctionLike] | None = None) -> RuleProgram:
    """Compile a program of event rules, `DETECT … ON … END`.

    Parameters
    ----------
    text
        The rules; see docs/rules.md.
    functions
        Functions of your own that rules may call, by name: with annotations of int, float, str or bool, or as
        `ostinato.UserFunction`.

    Raises
    ------
    QueryError
        With the place, the reason and a likely fix, when a rule is wrong.
    """
    from ostinato.rules.program import RuleProgram

    return RuleProgram(text, functions)


def sql(text: str) -> SqlQuery:
    """Compile a SQL query with MATCH_RECOGNIZE.

    Parameters
    ----------
    text
        The query, in DuckDB's SQL around the clauses; see docs/sql.md.

    Raises
    ------
    QueryError
        With the place, the reason and a likely fix, when the query is wrong.
    """
    from ostinato.sql.query import SqlQuery

    return SqlQuery(text)


def xseq(
    text: str, *, matches: Literal["all", "longest"] = "all", schema: str | os.PathLike[str] | Schema | None = None
) -> XSeqQuery:
    """Compile an XSeq query over XML or JSON documents.

    Parameters
    ----------
    text
        The query; see docs/xseq.md.
    matches
        "longest" leaves out matches that another one continues.
    schema
        What can occur in the documents: the path of a DTD, an XML Schema or a sample document.

    Raises
    ------
    QueryError
        With the place, the reason and a likely fix, when the query is wrong.
    """
    from ostinato.xseq.query import XSeqQuery

    return XSeqQuery(text, matches=matches, schema=schema)


@overload
def detect_many(queries: Mapping[str, PatternQuery], data: Frame, /, **options: Unpack[FrameOptions]) -> Frame: ...
@overload
def detect_many(
    queries: Mapping[str, PatternQuery], data: TableLike, /, **options: Unpack[TableOptions]
) -> pa.Table: ...
def detect_many(queries: Mapping[str, PatternQuery], data: Any, /, **options: Any) -> Any:
    """The matches of several queries over the same data, in one table (or Spark DataFrame, in one pass).

    Parameters
    ----------
    queries
        Queries by name, of `cel` and `srem`.
    data
        As for `detect` of a single query.
    options
        Those of `detect`.

    Returns
    -------
    pyarrow.Table, or a Spark DataFrame for a Spark DataFrame
        The column `query` names the query of each match; columns that its query does not have are NULL.
    """
    from ostinato.patterns.detect_many import detect_many

    return detect_many(queries, data, **options)


def engine(
    queries: PatternQuery | Mapping[str, PatternQuery],
    *,
    time: str | None = None,
    type: str | None = None,
    order_by: Sequence[str] = (),
    lateness: str | float | timedelta = 0,
    on_late: Literal["count", "collect", "raise"] = "count",
    events: bool = False,
    identity: bool = False,
    limits: Limits | None = None,
    schema: pa.Schema | None = None,
) -> LiveEngine:
    """One engine for many queries over one stream, which may be added and removed while it runs.

    Parameters
    ----------
    queries
        Queries by name, of `cel` and `srem`; a single one is named "query".
    time, type, order_by, lateness, on_late, events, identity
        As for the engine of a single query.
    limits
        For each query by itself: one that reaches a limit is stopped, and the others go on.
    schema
        The columns of the stream. If left out, the first events set them.

    Returns
    -------
    LiveEngine
        `push` takes one event as a dict or a tuple, or a batch; matches name their query.
    """
    from ostinato.patterns.live.open import open_engine

    return open_engine(
        queries, time=time, type=type, order_by=order_by, lateness=lateness, on_late=on_late, events=events,
        identity=identity, limits=limits, schema=schema,
    )  # fmt: skip


def __getattr__(name: str) -> object:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'ostinato' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])

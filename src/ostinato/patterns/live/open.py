"""Opens an engine for many queries, with its options checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import pyarrow as pa

from ostinato.core.options import OnLate, bad_option
from ostinato.patterns.limits import Limits
from ostinato.patterns.live.engine import LiveEngine
from ostinato.patterns.query import PatternQuery
from ostinato.patterns.runtime.state import EngineOptions


def open_engine(
    queries: PatternQuery | Mapping[str, PatternQuery],
    *,
    time: str | None,
    type: str | None,
    order_by: Sequence[str],
    lateness: str | float | timedelta,
    on_late: OnLate,
    events: bool,
    identity: bool,
    limits: Limits | None,
    schema: pa.Schema | None,
) -> LiveEngine:
    named: Any = {"query": queries} if isinstance(queries, PatternQuery) else queries
    if not isinstance(named, Mapping):
        raise bad_option("queries", queries, "a query, or a dict of queries by name")
    if schema is not None and not isinstance(schema, pa.Schema):
        raise bad_option("schema", schema, "a pyarrow.Schema")
    options = EngineOptions.checked(
        time=time, type=type, order_by=order_by, lateness=lateness, on_late=on_late, events=events, identity=identity,
        limits=limits,
    )  # fmt: skip
    engine = LiveEngine(options)
    for name, query in named.items():
        engine.add(name, query)
    if schema is not None:
        engine.push(schema.empty_table())
    return engine

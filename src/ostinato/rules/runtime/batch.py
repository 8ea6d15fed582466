"""Rules over a table that holds the whole stream: the plan of the program is evaluated once, in DuckDB."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from ostinato.core.user_functions import UserFunction
from ostinato.rules.limits import RuleLimits
from ostinato.rules.relational.dialects import write_sql
from ostinato.rules.relational.evaluate import evaluate_program
from ostinato.rules.relational.sql_names import INCOMING, given_table
from ostinato.rules.runtime.bound_program import BoundProgram
from ostinato.rules.runtime.duckdb_store import DuckDBStore, connect
from ostinato.rules.runtime.given_rows import read_rows
from ostinato.rules.runtime.rate_limits import RateLimiter


def detect_table(
    bound: BoundProgram,
    rows: pa.Table,
    *,
    threads: int | None = None,
    ordered: bool = True,
    limits: RuleLimits | None = None,
    functions: Mapping[str, UserFunction] | None = None,
    tables: Mapping[str, pa.Table] | None = None,
) -> pa.Table:
    """All derived events of a table that holds the whole stream. `threads`: of DuckDB; None: one for each core.
    `functions`: those of the user that rules call. `tables`: rows that hold from before all events, by their label."""
    generator = bound.sql.generator
    events = bound.columns.read(rows)
    most = limits or RuleLimits()
    connection = connect(threads, alone=bool(functions))
    store = DuckDBStore(
        connection,
        generator.names,
        lambda stream, own: bound.source_events(stream, events if own is None else own, most),
    )
    store.provide(INCOMING, events)
    for label, given in (tables or {}).items():
        store.provide(given_table(label), read_rows(given))
    store.provide_functions(functions or {})
    try:
        answer = evaluate_program(bound.sql, store, most, natively=True)
        derived = bound.answer(store.arrow(write_sql(answer, "duckdb")), ordered=ordered)
    finally:
        if functions:  # its database ends with it
            connection.close()
    shown = bound.sql.plan.outputs.limits
    return RateLimiter(shown, bound.columns.times).let_through(derived) if shown else derived

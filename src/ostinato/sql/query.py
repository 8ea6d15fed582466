"""What `ostinato.sql(text)` returns: a checked query with MATCH_RECOGNIZE, and its verbs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, overload

from ostinato.core.options import OnLate, bad_option, check_on_late, parse_delay
from ostinato.errors import OstinatoError, QueryError
from ostinato.sql.automaton.nodes import check_size
from ostinato.sql.limits import SqlLimits
from ostinato.sql.plan.check import check
from ostinato.sql.syntax.parse import parse

if TYPE_CHECKING:
    from datetime import timedelta

    import pyarrow as pa

    from ostinato.core.frames import Frame, TableLike
    from ostinato.sql.live.engine import SqlEngine
    from ostinato.sql.runtime.plans import Plans


class SqlQuery:
    """A query, checked; it can be run over any number of tables."""

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise QueryError(f"a query is text, not {type(text).__name__}")
        self.text = text
        self.query = parse(text)
        self._plans: Plans | None = None  # for the tables that came last
        check(self.query)
        for clause in self.query.clauses:
            try:
                check_size(clause.match.pattern)
            except QueryError as error:
                raise error.within(text) from None

    @overload
    def detect(self, data: TableLike | Mapping[str, TableLike], /, *, limits: SqlLimits | None = None) -> pa.Table: ...
    @overload
    def detect(
        self,
        data: Frame | Mapping[str, Frame],
        /,
        *,
        limits: SqlLimits | None = None,
        lateness: str | float | timedelta | None = None,
        on_late: OnLate | None = None,
        buckets: int | None = None,
        metrics: str | None = None,
    ) -> Frame: ...
    def detect(self, data: Any, /, *, limits: SqlLimits | None = None, **on_spark: Any) -> Any:
        """The rows of the query.

        Parameters
        ----------
        data
            Tables by the names that the query gives them: `{"ticks": …, "names": …}`. Each is a pyarrow, pandas or
            polars table, or a list of dicts; or a DataFrame of Spark. One table alone is the one that the query reads;
            a session of Spark has tables and views by name.
        limits
            Bounds on rows, steps, memory and time.
        lateness, on_late, buckets, metrics
            Over a streaming DataFrame: see docs/sql.md.

        Returns
        -------
        pyarrow.Table, or a DataFrame over DataFrames and sessions
        """
        from ostinato.core.backends import is_spark_frame, is_spark_session, spark_backend
        from ostinato.core.events import to_arrow
        from ostinato.sql.plan.tables import only_table
        from ostinato.sql.runtime.answer import answer
        from ostinato.sql.runtime.clause import evaluate
        from ostinato.sql.runtime.plans import Plans

        if limits is not None and not isinstance(limits, SqlLimits):
            raise bad_option("limits", limits, "an ostinato.SqlLimits")
        tables = data if isinstance(data, Mapping) else {}
        if is_spark_session(data) or is_spark_frame(data) or any(map(is_spark_frame, tables.values())):
            return spark_backend().detect_sql(self, data, limits=limits, **on_spark)
        if on_spark:
            name = next(iter(on_spark))
            fix = "leave it out; over rows that come live, use query.engine(…)"
            raise OstinatoError(f"{name} is for streaming DataFrames", fix=fix, option=name)
        tables = tables if isinstance(data, Mapping) else {only_table(self.query): data}
        given = {name: to_arrow(table) for name, table in tables.items()}
        plans = self._plans = (self._plans or Plans({})).of(given)
        return answer(self.query, given, partial(evaluate, limits=limits, plans=plans), plans)

    def engine(
        self,
        *,
        lateness: str | float | timedelta = 0,
        on_late: OnLate = "count",
        limits: SqlLimits | None = None,
        schema: pa.Schema | None = None,
    ) -> SqlEngine:
        """An engine to push rows into: `push(batch)` returns what the query gives for matches that are final.

        Parameters
        ----------
        lateness
            How long a row may come after later ones, by the first key of ORDER BY: "30 seconds", a number of seconds
            or a timedelta.
        on_late
            What to do with rows later than that: "count" them, "collect" them in `late_events`, or "raise".
        limits
            Bounds on rows, steps, memory and time.
        schema
            The columns of the table. If left out, the first rows set them.
        """
        from ostinato.sql.live.engine import SqlEngine, SqlOptions

        if limits is not None and not isinstance(limits, SqlLimits):
            raise bad_option("limits", limits, "an ostinato.SqlLimits")
        options = SqlOptions(parse_delay(lateness), check_on_late(on_late), limits or SqlLimits())
        return SqlEngine(self.text, options, schema)

    def explain(self) -> str:
        """How the query is understood: each clause, and what is left to DuckDB."""
        from ostinato.sql.explain import explain

        return explain(self.query)

    @property
    def tables(self) -> list[str]:
        """The names of the tables that the query reads."""
        from ostinato.sql.plan.tables import table_names

        return table_names(self.query)

    @property
    def warnings(self) -> list[str]:
        """What is legal but probably not meant."""
        return [
            f"clause {number} has no ORDER BY: it takes the rows as they come"
            for number, clause in enumerate(self.query.clauses, start=1)
            if not clause.match.order_by
        ]

    def __repr__(self) -> str:
        return f"ostinato.sql({self.text!r})"

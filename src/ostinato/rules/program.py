"""What `ostinato.rules(text)` returns: a checked program of event rules and its verbs."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from datetime import timedelta
from math import inf
from typing import TYPE_CHECKING, Any, Unpack, overload

from ostinato.core.backends import is_spark_frame, spark_backend
from ostinato.core.options import bad_option, check_column_name, check_on_late, misplaced_option, parse_delay
from ostinato.core.user_functions import FunctionLike, read_functions
from ostinato.errors import QueryError
from ostinato.rules.algebra.query_plan import RulePlan, plan_program
from ostinato.rules.plan.check import parse_and_check
from ostinato.rules.syntax.nodes import BUILT_IN

if TYPE_CHECKING:
    import pyarrow as pa

    from ostinato.core.frames import Frame, SparkFrame, TableLike
    from ostinato.core.options import OnLate
    from ostinato.rules.incremental.engine import RuleEngine
    from ostinato.rules.limits import RuleLimits
    from ostinato.rules.options import FrameOptions, TableOptions


class RuleProgram:
    """Rules that derive events from events; they can be run any number of times."""

    def __init__(self, text: str, functions: Mapping[str, FunctionLike] | None = None) -> None:
        if not isinstance(text, str):
            raise QueryError(f"a program of rules is text, not {type(text).__name__}")
        self.text = text
        known = read_functions(functions, BUILT_IN)
        self.program = parse_and_check(text, known)
        self.functions = known
        try:
            self._plan: RulePlan = plan_program(self.program)
        except QueryError as error:
            raise error.within(text) from None

    @property
    def incoming(self) -> list[str]:
        """The labels of events that no rule derives: they must come from outside."""
        return sorted(self._plan.strata.incoming)

    @property
    def derived(self) -> list[str]:
        """The labels of events that rules derive and answers show."""
        return sorted(self._plan.strata.derived - self._plan.outputs.private)

    @property
    def private(self) -> list[str]:
        """The labels of events that rules derive for other rules alone (PRIVATE)."""
        return sorted(self._plan.outputs.private)

    @property
    def tables(self) -> dict[str, tuple[str, ...]]:
        """The tables that rules look into, each with its key."""
        return dict(self._plan.tables)

    @property
    def warnings(self) -> list[str]:
        """What is legal but probably not meant."""
        from ostinato.rules.explain import unbounded_pattern_warnings
        from ostinato.rules.plan.outputs import unread_private_labels

        return [
            f"rule {each.rule.number} ({each.rule.head.label}) can never hold: its times contradict each other"
            for each in self._plan.translated
            if each.bounds.contradictory
        ] + [
            *unread_private_labels(self._plan.outputs, self._plan.strata.read),
            *unbounded_pattern_warnings(self._plan),
        ]

    @overload
    def detect(
        self, data: Frame, /, *, longest: str | float | timedelta | None = None, **options: Unpack[FrameOptions]
    ) -> Frame: ...
    @overload
    def detect(self, data: TableLike, /, **options: Unpack[TableOptions]) -> pa.Table: ...
    def detect(
        self,
        data: Any,
        /,
        *,
        begin: str | None = None,
        end: str | None = None,
        time: str | None = None,
        type: str | None = None,
        document: str | None = None,
        limits: RuleLimits | None = None,
        tables: Mapping[str, Any] | None = None,
        lateness: str | float | timedelta | None = None,
        on_late: OnLate | None = None,
        buckets: int | None = None,
        longest: str | float | timedelta | None = None,
        metrics: str | None = None,
    ) -> Any:
        """All derived events, in order of their end (on Spark, in no order).

        Parameters
        ----------
        data
            A table (pyarrow, pandas, polars, a list of dicts), or a Spark DataFrame, batch or streaming.
        begin, end
            The columns of when events begin and end (default: `begin` and `end`).
        time
            The column of the time of events that happen at once (default: `ts`).
        type
            The column of event labels (default: `type`).
        document
            A column whose JSON or XML texts are the events themselves.
        limits
            Bounds on recursion and periodic timers, for tables.
        tables
            Rows of tables (TABLE … KEY …) that hold from before all events, by their labels: whatever `data` may be.
        lateness, on_late, buckets, longest, metrics
            For Spark streams only: see `ostinato.spark.detect_rules`.

        Returns
        -------
        pyarrow.Table, or a Spark DataFrame for a Spark DataFrame
        """
        options = _options(begin=begin, end=end, time=time, type=type, document=document)
        on_stream = {
            "lateness": lateness, "on_late": on_late, "buckets": buckets, "longest": longest, "metrics": metrics
        }  # fmt: skip
        _check_limits(limits)
        if is_spark_frame(data):
            if limits is not None:
                raise misplaced_option("limits", "tables", "Spark uses those of RuleLimits()")
            return spark_backend().detect_rules(self, data, **options, tables=tables, **on_stream)
        for option, value in on_stream.items():
            if value is not None:
                raise misplaced_option(option, "streams on Spark", "a table is read whole")
        from ostinato.core.events import to_arrow
        from ostinato.rules.runtime.batch import detect_table
        from ostinato.rules.runtime.bound_program import bind_program
        from ostinato.rules.runtime.given_rows import given_tables
        from ostinato.rules.runtime.required_columns import empty_events
        from ostinato.rules.runtime.unknown_labels import (
            missing_label_warnings,
            read_labels,
            unknown_label_warnings,
        )

        rows, given = to_arrow(data), given_tables(tables, self._plan.tables)
        if not rows.num_columns:  # an empty list of events names no columns
            rows = empty_events(self._plan, options, given)
        schemas = {label: table.schema for label, table in given.items()}
        bound = bind_program(self.program, self.text, rows.schema, options, near=True, plan=self._plan, tables=schemas)
        if len(rows):
            read = [label for label in self.incoming if label not in given]
            told = unknown_label_warnings(read, read_labels(rows, bound.columns))
            if bound.columns.document is None and bound.columns.type is not None:
                told += missing_label_warnings(rows[bound.columns.type])
            for text in told:
                warnings.warn(text, stacklevel=2)
        return detect_table(bound, rows, limits=limits, functions=self.functions, tables=given)

    def engine(
        self,
        *,
        begin: str | None = None,
        end: str | None = None,
        time: str | None = None,
        type: str | None = None,
        document: str | None = None,
        lateness: str | float | timedelta = 0,
        on_late: OnLate = "count",
        longest: str | float | timedelta | None = None,
        schema: pa.Schema | None = None,
        limits: RuleLimits | None = None,
        tables: Mapping[str, Any] | None = None,
    ) -> RuleEngine:
        """An engine to push batches into; timers go off as time advances.

        Parameters
        ----------
        begin, end, time, type, document
            As for `detect`.
        lateness
            How long an event may come after events that end later: "30 seconds", a number of seconds or a timedelta.
        on_late
            What to do with events later than that: "count" them, "collect" them in `late_events`, or "raise".
        longest
            How long an event lasts at most. The engine may then forget what only a longer event would need; a longer
            event counts as late.
        schema
            The columns, as a pyarrow.Schema; without it the first batch says what they are.
        limits
            Bounds on recursion and periodic timers.
        tables
            Rows of tables (TABLE … KEY …) that hold from before all events, by their labels: whatever `push` takes.
        """
        from ostinato.rules.incremental.engine import RuleEngine
        from ostinato.rules.incremental.options import RuleOptions
        from ostinato.rules.runtime.given_rows import given_tables

        columns = _options(begin=begin, end=end, time=time, type=type, document=document)
        most = inf if longest is None else parse_delay(longest, "longest")
        known = _check_limits(limits)
        options = RuleOptions(columns, parse_delay(lateness), check_on_late(on_late), most, known.rounds, known.periods)
        given = given_tables(tables, self._plan.tables)
        return RuleEngine(
            self.program, self.text, options, schema, plan=self._plan, functions=self.functions, tables=given
        )

    def explain(
        self,
        frame: SparkFrame | None = None,
        /,
        *,
        longest: str | float | timedelta | None = None,
        **options: Unpack[FrameOptions],
    ) -> str:
        """The strata, every rule in CERA, the query plan, what each step adds to it, and what is kept how long.

        Parameters
        ----------
        frame
            A Spark DataFrame, to see also what Spark does around it.
        longest
            How long an event lasts at most, as for `engine`: it decides what is kept how long.
        options
            Those that `detect` would get for the DataFrame.
        """
        from ostinato.rules.explain import explain_program

        text = explain_program(
            self._plan if longest is None else plan_program(self.program, parse_delay(longest, "longest"))
        )
        if frame is None:
            return text
        return f"{text}\n\n{spark_backend().explain_rules(self, frame, **options)}"

    def __repr__(self) -> str:
        return f"ostinato.rules({self.text!r})"


def _check_limits(limits: Any) -> RuleLimits:
    from ostinato.rules.limits import RuleLimits

    if limits is not None and not isinstance(limits, RuleLimits):
        raise bad_option("limits", limits, "an ostinato.RuleLimits")
    return limits or RuleLimits()


def _options(**columns: Any) -> dict[str, Any]:
    return {option: check_column_name(option, column) for option, column in columns.items()}

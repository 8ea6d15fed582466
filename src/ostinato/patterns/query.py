"""What `ostinato.cel(text)` and `ostinato.srem(text)` return: a compiled query and its verbs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Unpack, overload

from ostinato.core.backends import is_spark_frame, spark_backend
from ostinato.core.options import misplaced_option
from ostinato.errors import Message, Option, QueryError
from ostinato.patterns.compile import CompiledPattern, compile_text
from ostinato.patterns.syntax.nodes import Language, Segment

if TYPE_CHECKING:
    import pyarrow as pa

    from ostinato.core.frames import Frame, SparkFrame, TableLike
    from ostinato.core.options import OnLate
    from ostinato.patterns.diagram import Diagram
    from ostinato.patterns.limits import Limits
    from ostinato.patterns.options import FrameOptions, TableOptions
    from ostinato.patterns.runtime.engine import Engine
    from ostinato.patterns.sra.automaton import Automaton


class PatternQuery:
    """A pattern, checked and compiled; it can be run any number of times."""

    language: ClassVar[Language]

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise QueryError(f"a query is text, not {type(text).__name__}")
        if not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text):
            raise QueryError("the query contains bytes that are not text", fix="write it in UTF-8")
        self.text = text
        self._compiled: CompiledPattern = compile_text(text, self.language)

    @property
    def warnings(self) -> list[str]:
        """What is legal but probably not meant."""
        from ostinato.core.expressions import to_text
        from ostinato.patterns.automata.registers import find_contradiction
        from ostinato.patterns.plan.warnings import find_warnings

        test = find_contradiction(self._compiled.transducer)
        never = [] if test is None else [f"the formula can never match: no events pass {to_text(test)}"]
        return never + find_warnings(self._compiled.query)

    @overload
    def detect(self, data: Frame, /, **options: Unpack[FrameOptions]) -> Frame: ...
    @overload
    def detect(self, data: TableLike, /, **options: Unpack[TableOptions]) -> pa.Table: ...
    def detect(
        self,
        data: Any,
        /,
        *,
        time: str | None = None,
        type: str | None = None,
        order_by: Sequence[str] = (),
        events: bool | None = None,
        identity: bool = False,
        since: Any = None,
        until: Any = None,
        limits: Limits | None = None,
        threads: int | None = None,
        lateness: str | float | timedelta | None = None,
        on_late: OnLate | None = None,
        buckets: int | None = None,
        parallel: int | None = None,
        metrics: str | None = None,
    ) -> Any:
        """All matches, in order of completion.

        Parameters
        ----------
        data
            A table (pyarrow, pandas, polars, a list of dicts), or a Spark DataFrame, batch or streaming. Rows are taken
            in time order; rows of equal time stay in the order given.
        time, type
            The columns of event time and event type (default: `ts` and `type` where they exist).
        order_by
            Columns that put rows of equal time in order.
        events
            Add the matched rows themselves in a column `events`. On Spark, where rows have no positions, this is the
            default.
        identity
            Add a column `match_id`, which is the same wherever and however often the match is found, and where the
            answer does not have them `start` and `end`, the times of the first and the last event that it shows; and
            `known`, when it is certain, where that may be later than its end.
        since, until
            Only the matches that are known after one moment, and up to another: times as the time column holds them, or
            texts of them. No more is read than can matter to these.
        limits
            Bounds on matches, states, memory and time.
        threads
            For tables: on how many cores to work at most (default: all). The answer does not depend on it.
        lateness, on_late, buckets, parallel, metrics
            For Spark DataFrames only: see `ostinato.spark.detect`.

        Returns
        -------
        pyarrow.Table, or a Spark DataFrame for a Spark DataFrame
            For `SELECT *` the columns of PARTITION BY, `start`, `end` and `positions`: row numbers of `data`.
        """
        options: dict[str, Any] = {
            "time": time, "type": type, "order_by": order_by, "identity": identity, "limits": limits
        }  # fmt: skip
        on_spark = {
            "lateness": lateness, "on_late": on_late, "buckets": buckets, "parallel": parallel, "metrics": metrics
        }  # fmt: skip
        if is_spark_frame(data):
            if threads is not None:
                raise misplaced_option("threads", "tables", "Spark decides about its own cores")
            options |= {"since": since, "until": until}
            return spark_backend().detect(self, data, events=events is not False, **options, **on_spark)
        for option, value in on_spark.items():
            if value is not None:
                raise misplaced_option(option, "Spark DataFrames", "a table is read whole")
        from ostinato.core.threads import check_threads
        from ostinato.patterns.runtime.identity import names_added
        from ostinato.patterns.runtime.parallel import detect_period, detect_table

        if since is not None or until is not None:
            engine = self.engine(events=bool(events), **options | {"identity": True})
            found = detect_period(engine, data, since, until)
            return found if identity else found.drop_columns(names_added(self._compiled))
        return detect_table(lambda: self.engine(events=bool(events), **options), data, check_threads(threads))

    def count(
        self,
        data: TableLike | SparkFrame,
        /,
        *,
        time: str | None = None,
        type: str | None = None,
        order_by: Sequence[str] = (),
        limits: Limits | None = None,
        threads: int | None = None,
    ) -> int:
        """How many rows `detect` would return, without building them (on Spark, by counting them).

        Parameters are those of `detect`.
        """
        options: dict[str, Any] = {"time": time, "type": type, "order_by": order_by, "limits": limits}
        if is_spark_frame(data):
            if threads is not None:
                raise misplaced_option("threads", "tables", "Spark decides about its own cores")
            return int(spark_backend().detect(self, data, events=False, **options).count())
        from ostinato.core.threads import check_threads
        from ostinato.patterns.runtime.parallel import count_rows

        return count_rows(lambda: self.engine(**options), data, check_threads(threads))

    def engine(
        self,
        *,
        time: str | None = None,
        type: str | None = None,
        order_by: Sequence[str] = (),
        lateness: str | float | timedelta = 0,
        on_late: OnLate = "count",
        events: bool = False,
        identity: bool = False,
        limits: Limits | None = None,
    ) -> Engine:
        """An engine to push batches into: `push(batch)` returns the matches that the batch completes.

        Parameters
        ----------
        time, type, order_by, limits
            As for `detect`.
        lateness
            How long an event may come after later ones: "30 seconds", a number of seconds or a timedelta.
        on_late
            What to do with events later than that: "count" them, "collect" them in `late_events`, or "raise".
        events
            Add the matched rows themselves in a column `events`.
        identity
            As for `detect`.
        """
        from ostinato.patterns.runtime.engine import Engine
        from ostinato.patterns.runtime.state import EngineOptions

        query = self._compiled.query
        if events and query.items is None and "events" in query.partition_by:
            raise QueryError(
                Message(
                    "with ",
                    Option("events", True),
                    " the answer has a column `events` of its own, beside the one of PARTITION BY events",
                ),
                fix=Message("rename the column in the data, or leave out ", Option("events", True)),
            )
        options = EngineOptions.checked(
            time=time, type=type, order_by=order_by, lateness=lateness, on_late=on_late, events=events,
            identity=identity, limits=limits,
        )  # fmt: skip
        return Engine(self._compiled, options)

    def columns(self) -> set[str] | None:
        """The columns the query reads besides time and type; None when it gives whole rows."""
        from ostinato.patterns.plan.required_columns import required_columns

        return required_columns(self._compiled.query)

    def explain(self, frame: SparkFrame | None = None, /, **options: Unpack[FrameOptions]) -> str:
        """Every stage as text: the formula after each pass, the automaton, and how it will be evaluated.

        Parameters
        ----------
        frame
            A Spark DataFrame, to see also what Spark does around it.
        options
            Those that `detect` would get for the DataFrame.
        """
        from ostinato.patterns.explain import explain_pattern

        text = explain_pattern(self._compiled)
        if frame is None:
            return text
        return f"{text}\n\n{spark_backend().explain(self, frame, **options)}"

    def diagram(self) -> Diagram:
        """The automaton as a picture; shows itself in a notebook."""
        from ostinato.patterns.diagram import Diagram

        return Diagram(self._compiled.transducer)

    def __repr__(self) -> str:
        return f"ostinato.{self.language}({self.text!r})"


class CelQuery(PatternQuery):
    """What `ostinato.cel` returns."""

    language = "cel"


class SremQuery(PatternQuery):
    """What `ostinato.srem` returns. Matches are segments: `positions` holds the first and the last position."""

    language = "srem"

    @property
    def warnings(self) -> list[str]:
        from ostinato.patterns.sra.witness import reason_empty

        reason = reason_empty(self._constructed, nonempty=True)
        return [] if reason is None else [reason]

    @cached_property
    def automaton(self) -> Automaton:
        """The symbolic register automaton of the expression; WITHIN n EVENTS is its window."""
        from ostinato.patterns.sra.epsilon import eliminate_epsilon
        from ostinato.patterns.sra.trim import trim

        return trim(eliminate_epsilon(self._constructed))

    @property
    def _constructed(self) -> Automaton:
        from ostinato.patterns.sra.from_srem import build_sra

        query = self._compiled.query
        assert isinstance(query.formula, Segment)
        window = query.window
        width = int(window.amount) if window is not None and window.kind == "events" else None
        return build_sra(query.formula.expression, width)

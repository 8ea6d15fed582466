"""What `ostinato.cel(text)` returns: a compiled query and its verbs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from ostinato.compile import Compiled, compile_cel
from ostinato.errors import OstinatoError

if TYPE_CHECKING:
    import pyarrow as pa

    from ostinato.runtime.engine import Engine, OnLate
    from ostinato.runtime.limits import Limits
    from ostinato.viz.diagram import Diagram


class CelQuery:
    """A CEL query, checked and compiled; it can be run any number of times."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._compiled: Compiled = compile_cel(text)

    @property
    def warnings(self) -> list[str]:
        """What is legal but probably not meant."""
        from ostinato.plan.check import warnings

        return warnings(self._compiled.query)

    def detect(
        self,
        data: Any,
        /,
        *,
        time: str | None = None,
        type: str | None = None,
        order_by: Sequence[str] = (),
        events: bool = False,
        limits: Limits | None = None,
    ) -> pa.Table:
        """All matches in a table (pyarrow, pandas, polars, a list of dicts), in order of completion.

        `time` and `type` name the columns for event time and event type (default: `ts` and `type` where they exist).
        Rows are taken in time order, stable for ties; `order_by` adds tie-breakers. Positions are row numbers of the
        data as given. `events=True` adds the matched rows themselves.
        """
        return self.engine(time=time, type=type, order_by=order_by, events=events, limits=limits).whole(data)

    def count(
        self,
        data: Any,
        /,
        *,
        time: str | None = None,
        type: str | None = None,
        order_by: Sequence[str] = (),
        limits: Limits | None = None,
    ) -> int:
        """How many rows `detect` would return, without building them."""
        from ostinato.runtime.count import count_whole

        return count_whole(self.engine(time=time, type=type, order_by=order_by, limits=limits), data)

    def engine(
        self,
        *,
        time: str | None = None,
        type: str | None = None,
        order_by: Sequence[str] = (),
        lateness: str | float | timedelta = 0,
        on_late: OnLate = "count",
        events: bool = False,
        limits: Limits | None = None,
    ) -> Engine:
        """An engine to push batches into.

        `lateness` ("30 seconds", a number of seconds or a timedelta) is how long an event may come after later ones;
        events later than that are counted (`on_late="count"`), kept beside ("collect") or refused ("raise").
        """
        from ostinato.kernels import match
        from ostinato.kernels.jit import announce_if_cold
        from ostinato.lang.cel import parse_duration

        announce_if_cold(match.run)  # before the imports below, which compile
        from ostinato.runtime.engine import Engine, Options
        from ostinato.runtime.limits import Limits

        if isinstance(lateness, timedelta):
            lateness = lateness / timedelta(seconds=1)
        delay = parse_duration(lateness) if isinstance(lateness, str) else round(lateness * 1_000_000_000)
        if delay < 0:
            raise OstinatoError(f"lateness is {lateness}, but events cannot be late by less than nothing")
        ties = (order_by,) if isinstance(order_by, str) else tuple(order_by)
        binding = {"time": time, "type": type, "order_by": ties}
        return Engine(self._compiled, Options(binding, delay, on_late, events, limits or Limits()))

    def columns(self) -> set[str] | None:
        """The columns the query reads besides time and type; None when it gives whole rows."""
        from ostinato.plan.columns import columns_read

        return columns_read(self._compiled.query)

    def explain(self) -> str:
        """Every stage as text: the formula after each pass, the automaton, and how it will be evaluated."""
        from ostinato.explain import explain

        return explain(self._compiled)

    def diagram(self) -> Diagram:
        """The automaton as a picture; shows itself in a notebook."""
        from ostinato.viz.diagram import Diagram

        return Diagram.of(self._compiled.transducer)

    def __repr__(self) -> str:
        return f"ostinato.cel({self.text!r})"

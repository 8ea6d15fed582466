"""What `ostinato.funnel(steps)` returns: how far each key got along the steps, in one pass over its events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ostinato.core.arrays import Int64
from ostinato.core.backends import is_spark_frame, spark_backend
from ostinato.core.clock import Clock
from ostinato.core.options import check_column_name, check_column_names, parse_delay
from ostinato.core.window_clause import Window
from ostinato.errors import Message, Option, QueryError, did_you_mean
from ostinato.patterns.compile import CompiledPattern, compile_query
from ostinato.patterns.funnel.result import FunnelResult, count_steps
from ostinato.patterns.funnel.steps import Step, parse_steps
from ostinato.patterns.plan.check import check_schema
from ostinato.patterns.syntax import nodes as n

if TYPE_CHECKING:
    import pyarrow as pa

    from ostinato.core.events import StreamColumns
    from ostinato.patterns.runtime.batches import Events
    from ostinato.patterns.runtime.bound_query import BoundQuery

_SECOND = 1_000_000_000
_COLUMNS = ("reached", "step", "times", "seconds", "positions")


@dataclass(frozen=True)
class Funnel:
    """Steps that keys take one after the other; it can be run any number of times."""

    steps: tuple[Step, ...]
    within: int | None  # nanoseconds, from the first step to the last
    by: tuple[str, ...]

    @classmethod
    def of(cls, steps: Any, within: str | float | timedelta | None, by: str | Sequence[str] | None) -> Funnel:
        """The funnel of steps and options as users write them; QueryError says what is wrong with one."""
        given = None if within is None else parse_delay(within, "within")
        funnel = cls(parse_steps(steps), given, check_column_names("by", () if by is None else by))
        for name in funnel.by:
            if name in _COLUMNS:
                reason = f"the answer of a funnel has a column `{name}` of its own, so it cannot be `by` {name}"
                raise QueryError(reason, fix="rename the column in the data", option="by")
        _ = funnel.compiled  # raises now for what is wrong with a condition
        return funnel

    @cached_property
    def compiled(self) -> CompiledPattern:
        """A query that marks each event as the steps that it can be."""
        formula = n.Or(tuple(step.formula_with_variable(number) for number, step in enumerate(self.steps)))
        window = None if self.within is None else Window("time", self.within)
        return compile_query(n.Query(formula, partition_by=self.by, window=window), ties=False)

    def columns(self) -> set[str]:
        """The columns that are read, besides time and type."""
        from ostinato.patterns.plan.required_columns import required_attributes

        return required_attributes(self.compiled.query)

    def detect(
        self, data: Any, /, *, time: str | None = None, type: str | None = None, order_by: Sequence[str] = ()
    ) -> FunnelResult:
        """How far each key got.

        Parameters
        ----------
        data
            A table (pyarrow, pandas, polars, a list of dicts), or a Spark DataFrame that does not stream.
        time, type
            The columns of event time and event type (default: `ts` and `type` where they exist).
        order_by
            Columns that put rows of equal time in order.
        """
        names = tuple(step.text for step in self.steps)
        if is_spark_frame(data):
            found: FunnelResult = spark_backend().funnel(self, data, time=time, type=type, order_by=order_by)
            return found
        keys = self.follow(data, time=time, type=type, order_by=order_by)
        return FunnelResult(names, keys, lambda: count_steps(names, keys))

    def follow(
        self, data: Any, *, time: str | None = None, type: str | None = None, order_by: Sequence[str] = ()
    ) -> pa.Table:
        """A row per key: how many steps it took, the name of the last, and when and where each was.

        Parameters are those of `detect`, except Spark DataFrames.
        """
        import pyarrow as pa

        from ostinato.core.events import column_kinds, to_arrow
        from ostinato.patterns.kernels.funnel import follow_steps
        from ostinato.patterns.runtime.engine import Engine
        from ostinato.patterns.runtime.state import EngineOptions

        binding = {
            "time": check_column_name("time", time),
            "type": check_column_name("type", type),
            "order_by": check_column_names("order_by", order_by),
        }
        table = to_arrow(data)
        if table.num_columns:  # else it is empty
            self._check_columns(column_kinds(table.schema))
        engine = Engine(self.compiled, EngineOptions(binding))
        released = engine.order_batch(table)
        stream, rows = engine.stream, released.rows
        events = stream.events(rows, released.positions, released.order)
        places, masks, ends = _by_key(events, self._masks(stream), keyed=bool(self.by))
        ticks, lows = (given[places] if len(given) else given for given in (events.ticks, events.lows))
        size = len(self.steps)
        found = np.full((len(ends), size), -1, np.int64)
        follow_steps(masks, ticks, lows, ends, np.zeros((size, size), np.int64), found)
        taken = found >= 0
        counts = np.count_nonzero(taken, axis=1)
        positions = _positions(events)[places[found[taken]]]
        offsets = pa.array(np.concatenate([[0], np.cumsum(counts)]).astype(np.int32))
        names = pa.array([None, *(step.text for step in self.steps)], pa.string())
        columns = dict(zip(self.by, stream.key_values(np.arange(len(ends))), strict=True))
        columns |= {"reached": pa.array(counts), "step": names.take(pa.array(counts))}
        columns |= _times(rows, stream.binding, positions, offsets)
        columns["positions"] = pa.ListArray.from_arrays(offsets, pa.array(positions))
        return pa.table(columns)

    def _check_columns(self, kinds: Mapping[str, str]) -> None:
        """In the words of a funnel: the steps have no text in common that a place could be shown in."""
        for name in self.by:
            if name not in kinds:
                reason = Message(Option("by", None), f": there is no column `{name}`")
                raise QueryError(reason, fix=did_you_mean(name, kinds), option="by")
            if kinds[name] == "nested":
                reason = Message(Option("by", None), f": a key is a plain value, and `{name}` is nested data")
                raise QueryError(reason, fix="take another column, or one made from a field of it", option="by")
        for step in self.steps:
            check_schema(n.Query(step.formula, text=step.text), kinds)

    def _masks(self, stream: BoundQuery) -> Int64:
        """Per code: which steps its events can be, a bit each."""
        masks = np.zeros(stream.encoder.size, np.int64)
        conditions = self.compiled.conditions
        for code in range(len(masks)):
            truth = stream.encoder.truth(code)
            for transition in self.compiled.transducer.transitions:
                condition = transition.condition
                if transition.mark is not None and (condition is None or truth[conditions.index(condition)]):
                    masks[code] |= 1 << int(transition.mark[1:])
        return masks


def _by_key(events: Events, masks: Int64, *, keyed: bool) -> tuple[Int64, Int64, Int64]:
    """The places of the events that can be a step, sorted by key; their masks; and where the events of each key end."""
    of_event = masks[events.codes] if len(masks) else np.zeros(len(events.codes), np.int64)
    places = np.flatnonzero(of_event)
    ends = np.array([len(places)])
    if keyed:
        keys = events.keys[places]
        places = places[np.argsort(keys, kind="stable")]
        ends = np.cumsum(np.bincount(keys, minlength=events.key_count))
    return places, of_event[places], ends.astype(np.int64)


def _positions(events: Events) -> Int64:
    return events.positions if len(events.positions) else events.first_position + np.arange(len(events.codes))


def _times(rows: pa.Table, binding: StreamColumns, positions: Int64, offsets: pa.Array) -> dict[str, pa.Array]:
    """When each step was, and how many seconds after the one before; nothing where the stream has no time."""
    import pyarrow as pa

    if binding.time is None:
        return {}
    times = rows[binding.time].take(pa.array(positions)).combine_chunks()
    clock = Clock.of(rows.schema, binding.time)
    ticks = clock.ticks(times)
    later = np.ones(len(ticks), bool)
    later[offsets.to_numpy()[:-1][np.diff(offsets.to_numpy()) > 0]] = False  # all but the first step of each key
    at = np.flatnonzero(later)
    seconds = clock.distance(ticks[at - 1], ticks[at]) / _SECOND
    between = np.concatenate([[0], np.cumsum(np.maximum(np.diff(offsets.to_numpy()) - 1, 0))]).astype(np.int32)
    return {
        "times": pa.ListArray.from_arrays(offsets, times),
        "seconds": pa.ListArray.from_arrays(pa.array(between), pa.array(seconds, pa.float64())),
    }

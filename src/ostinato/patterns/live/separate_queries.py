"""Queries that cannot run together: each has an engine of its own, behind what all share."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from ostinato.core.reorder import ReleasedRows
from ostinato.errors import LimitError
from ostinato.patterns.live.matches import Answers, QueryMatches
from ostinato.patterns.live.statistics import QueryStatistics
from ostinato.patterns.runtime.engine import Engine
from ostinato.patterns.runtime.single_events import SingleEvents

Stop = Callable[[str, LimitError], None]


class SeparateQueries:
    """Engines by name. One that reaches a limit is given to `stop`, and the others go on."""

    def __init__(self, stop: Stop) -> None:
        self.engines: dict[str, Engine] = {}
        self._single: dict[str, SingleEvents | None] = {}
        self._seconds: dict[str, float] = {}
        self._stop = stop

    def add(self, name: str, engine: Engine) -> None:
        self.engines[name], self._single[name], self._seconds[name] = engine, SingleEvents.of(engine), 0.0

    def remove(self, name: str) -> None:
        del self.engines[name], self._single[name], self._seconds[name]

    def migrate_schema(self, schema: pa.Schema) -> None:
        """Go on with types for columns that held only NULL so far."""
        for name, engine in self.engines.items():
            engine.migrate_types(schema)
            self._single[name] = SingleEvents.of(engine)

    def read(self, released: ReleasedRows) -> list[Answers]:
        """Read rows whose turn has come."""
        return self._each(lambda engine: engine.read_released(released))

    def read_one(self, values: Mapping[str, Any], position: int, schema: pa.Schema) -> list[Answers]:
        """Read one event, by the values of all columns."""

        def read(engine: Engine, single: SingleEvents | None) -> pa.Table:
            event = single.see(values, position) if single is not None else None
            if single is not None and event is not None:
                return engine.answer_single(single.read(event))
            columns = {field.name: pa.array([values.get(field.name)], field.type) for field in schema}
            return engine.read_released(ReleasedRows(pa.table(columns, schema=schema), np.array([position]), None))

        return [
            part for name in list(self.engines) for part in self._one(name, partial(read, single=self._single[name]))
        ]

    def advance(self, to: Any) -> list[Answers]:
        """Time has reached `to`."""
        return self._each(lambda engine: engine.advance(to))

    def flush(self) -> list[Answers]:
        """The stream has ended."""
        return self._each(lambda engine: engine.flush())

    def due(self) -> list[Any]:
        """When `advance` has something to do for some query."""
        times = (engine.due() for engine in self.engines.values())
        return [time for time in times if time is not None]

    def statistics(self, name: str) -> QueryStatistics:
        engine = self.engines[name]
        return QueryStatistics(engine.read, engine.matches, engine.stats().bytes, self._seconds[name])

    def _each(self, call: Callable[[Engine], pa.Table]) -> list[Answers]:
        return [part for name in list(self.engines) for part in self._one(name, call)]

    def _one(self, name: str, call: Callable[[Engine], pa.Table]) -> Sequence[Answers]:
        begun = time.perf_counter()
        try:
            table = call(self.engines[name])
        except LimitError as error:
            self._stop(name, error)
            return ()
        self._seconds[name] += time.perf_counter() - begun
        if not len(table):
            return ()
        return (Answers(len(table), lambda: [QueryMatches(name, len(table), lambda: table)]),)

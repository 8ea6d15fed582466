"""How the events of a DataFrame follow each other along what a window is measured in: each task measures its keys."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass
from functools import reduce

import pyarrow as pa

from ostinato.forecast.pattern import Pattern
from ostinato.forecast.settings import Settings
from ostinato.forecast.symbols.age_grid import Pace
from ostinato.forecast.symbols.pace import Pacer
from ostinato.spark.columns import spark_type
from ostinato.spark.forecast.columns import Rows
from ostinato.spark.frames import map_in_arrow

_PACE = pa.schema([("gaps", pa.int64()), ("total", pa.float64()), ("pulses", pa.int64()), ("pulse", pa.float64())])


@dataclass(frozen=True)
class PaceTask:
    pattern: Pattern
    settings: Settings

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        pacer = Pacer(self.pattern, self.settings.binding)
        for batch in batches:
            pacer.add(pa.Table.from_batches([batch]))
        yield pa.RecordBatch.from_arrays([[value] for value in astuple(pacer.pace)], schema=_PACE)


def paced(rows: Rows) -> Pace:
    """Of all keys; the order of events does not matter."""
    found = map_in_arrow(rows.by_key(), PaceTask(rows.pattern, rows.settings), spark_type(_PACE)).toArrow()
    return reduce(Pace.merge, (Pace(**row) for row in found.to_pylist()), Pace())

"""What tasks of forecasting share: the model that is shipped to them, and their rows in the order of time."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import pyarrow as pa

from ostinato.forecast.model import ForecastModel
from ostinato.forecast.settings import Settings
from ostinato.forecast.storage import from_files, to_files
from ostinato.forecast.symbols.reader import SymbolBatch
from ostinato.spark.forecast.columns import sort_columns
from ostinato.spark.sorting import Sorter

_CACHED = 4  # models in a process: tasks of several jobs may take turns


@dataclass(frozen=True)
class ShippedModel:
    """A model as the files it is saved as; each process rebuilds it once. `digest` tells models apart."""

    digest: str
    files: dict[str, bytes] = field(compare=False, repr=False)

    @classmethod
    def of(cls, model: ForecastModel, settings: Settings) -> ShippedModel:
        """The model as it is now, reading rows by these settings."""
        parts = (model.statistics, model.order, model.interval_checks, model.alarm, model.choice)
        files = to_files(ForecastModel(settings, *parts))
        joined = hashlib.blake2b(digest_size=16)
        for content in files.values():
            joined.update(content)
        return cls(joined.hexdigest(), files)

    @property
    def model(self) -> ForecastModel:
        return _rebuild(self)


@lru_cache(maxsize=_CACHED)
def _rebuild(shipped: ShippedModel) -> ForecastModel:
    return from_files(shipped.files, source="this job")


def sorted_tables(batches: Iterable[pa.RecordBatch], settings: Settings, budget: int) -> Iterator[pa.Table]:
    """The rows of a task as tables each of which lies before the next in time."""
    sorter = Sorter(sort_columns(settings), budget)
    for batch in batches:
        sorter.add(batch)
    yield from sorter.tables()


def split_at(read: SymbolBatch, cuts: list[float]) -> Iterator[SymbolBatch]:
    """Events up to the first cut (in seconds), then up to the next, and so on to those after the last."""
    assert read.seconds is not None
    ends = np.searchsorted(read.seconds, cuts, side="right").tolist()
    for begin, end in zip([0, *ends], [*ends, len(read.symbols)], strict=True):
        yield read.part(begin, end)


def join_columns(rows: pa.Table, forecasts: pa.Table) -> pa.Table:
    """The columns of both tables."""
    return pa.table([*rows.columns, *forecasts.columns], names=[*rows.column_names, *forecasts.column_names])

"""A model in the place of a query, for jobs that run either."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ostinato.core.events import DEFAULT_TIME
from ostinato.forecast.model import ForecastModel

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class ForecastQuery:
    """A model in the place of a query: it finds forecasts in a frame.

    `alert`: only forecasts of at least this probability; `all_columns`: with all columns of the event, not only its
    time and key; `within`: with the probability of a completion within so many events.
    """

    model: ForecastModel
    alert: float | None = None
    all_columns: bool = False
    within: tuple[int, ...] = ()

    def detect(self, frame: DataFrame, /, **options: Any) -> DataFrame:
        from pyspark.sql import functions as f

        made: DataFrame = self.model.forecast(frame, within=self.within, **options)
        if frame.isStreaming:
            # Rows that came too late have no forecast.
            given = f.col("probability") >= (self.alert or 0.0)
            counts = {"matches": given, "late": f.isnull("probability"), "rows": f.lit(True)}
            made = made.observe("ostinato", *(f.count(f.when(each, 1)).alias(name) for name, each in counts.items()))
        if not self.all_columns:
            own = (self.model.settings.time or DEFAULT_TIME, *self.model.pattern.partition_by)
            other = [name for name in frame.columns if name not in own]
            made = made.drop(*(f.col(f"`{name}`") for name in other))
        return made if self.alert is None else made.where(f.col("probability") >= self.alert)

"""Runs of forecasting over files for the command line: learn from them, forecast along them, score a model on them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console

from ostinato.cli.jobs.events import (
    NEVER,
    check_kinds,
    check_order,
    columns_to_read,
    load,
    name_files,
    open_live,
    open_typed,
)
from ostinato.cli.report import Results, note, print_summary, read_with_progress
from ostinato.core.events import DEFAULT_TIME, DEFAULT_TYPE
from ostinato.core.text.counts import format_count
from ostinato.errors import DataError
from ostinato.files import EventReader, open_events
from ostinato.files.live import LiveEvents
from ostinato.files.reader import OnError
from ostinato.forecast.forecaster import Forecaster
from ostinato.forecast.model import ForecastModel
from ostinato.forecast.pattern import ForecastPattern
from ostinato.forecast.score.columns import COMPLETES
from ostinato.forecast.scorer import Scorer
from ostinato.forecast.settings import Settings
from ostinato.forecast.storage import check_model_folder
from ostinato.forecast.symbols.reader import SymbolReader
from ostinato.forecast.viz.table import narrow_forecasts

POSITION = "position"


class _Forecasts(Results):
    """Results that are shortened before they are printed."""

    def show(self) -> None:
        self.first = [narrow_forecasts(rows) for rows in self.first]
        super().show()


NOUN = "forecast"


@dataclass(frozen=True)
class EventInput:
    """Files of events and how to read them; `kinds` says what columns of text files hold where values do not tell."""

    files: Sequence[Path]
    kinds: Mapping[str, str] = field(default_factory=dict)
    on_error: OnError = "raise"

    def open(self, pattern: ForecastPattern, settings: Settings, *, all_columns: bool = False) -> EventReader:
        """With the columns that a model of the pattern reads, and no others unless `all_columns`."""
        schema = open_typed(self.files, self.kinds).schema
        check_kinds(self.kinds, schema.names)
        with name_files(self.files):  # against all columns, so that names that are near can be offered
            SymbolReader(pattern, settings.binding).read(schema.empty_table())
        columns = (settings.time or DEFAULT_TIME, settings.type or DEFAULT_TYPE, *settings.order_by, *pattern.columns)
        read = columns_to_read(schema, columns)
        return open_events(self.files, columns=None if all_columns else read, on_error=self.on_error, kinds=self.kinds)

    def report(self, reader: EventReader | LiveEvents, began: float, found: str) -> None:
        print_summary(
            reader,
            time.perf_counter() - began,
            events=reader.rows_read,
            found=[found],
            late=None,
            list_bad=self.on_error == "collect",
        )


def train(forecaster: Forecaster, events: EventInput, output: Path, *, overwrite: bool) -> None:
    """Learn from all events, which need not be in order, and keep the model in a folder."""
    check_model_folder(output, overwrite=overwrite)
    began = time.perf_counter()
    reader = events.open(forecaster.pattern, forecaster.settings)
    with name_files(events.files):
        history = load(reader)
        with Console(stderr=True).status("learning"):
            model = forecaster.fit(history)
            learned = summary(model)
    model.save(output, overwrite=overwrite)
    events.report(reader, began, format_count(int(model.statistics.completions), "completion"))
    print(learned)


def summary(model: ForecastModel) -> str:
    """What was learned, in a few lines."""
    statistics, tree, settings = model.statistics, model.predictor.tree, model.settings
    tried = "" if model.choice is None else f", the best of 0 to {model.choice.tried[-1].order}"
    intervals = str(model.calibration or f"threshold {settings.threshold:g}, not calibrated")
    return (
        f"completions: {statistics.completions:,.0f} in {format_count(statistics.events, 'event')} "
        f"({statistics.rate:.3%})\n"
        f"order: {model.order}{tried}; {format_count(len(tree.contexts), 'context')} over "
        f"{format_count(len(statistics.symbols), 'symbol')}, {format_count(model.predictor.product.states, 'state')}\n"
        f"intervals: {intervals}"
    )


@dataclass(frozen=True)
class ForecastJob:
    """A model and the events it is to forecast from.

    `alert`: only forecasts of at least this probability are given; `all_columns`: with all columns of their event, not
    only those that tell which it is; `within`: with the probability of a match within so many events.
    """

    model: ForecastModel
    events: EventInput
    alert: float | None = None
    all_columns: bool = False
    within: tuple[int, ...] = ()

    def run(self, output: Path | None, form: str | None = None, *, sort: bool) -> None:
        reader = self.events.open(self.model.pattern, self.model.settings, all_columns=self.all_columns)
        scorer = self.model.scorer(within=self.within)
        with _Forecasts(output, noun=NOUN, form=form) as results, name_files(self.events.files):
            nothing = reader.schema.empty_table()
            results.add(self._rows(nothing, scorer.push(nothing), 0))  # compiles and checks before time is taken
            began = time.perf_counter()
            batches = [load(reader)] if sort else read_with_progress(reader)
            completed = self._push(batches, scorer, results, in_order=not sort)
        self._report(reader, began, completed, scorer)
        results.show()

    def live(self, output: Path, form: str | None) -> None:
        """Read standard input as it comes, and write forecasts at once."""
        began, reader = time.perf_counter(), open_live(self.events.kinds, self.events.on_error, form)
        scorer = self.model.scorer(within=self.within)
        with _Forecasts(output, noun=NOUN, form=form) as results, name_files(self.events.files):
            completed = self._push(reader, scorer, results, in_order=True)
        self._report(reader, began, completed, scorer)

    def _push(self, batches: Iterable[pa.Table], scorer: Scorer, results: Results, *, in_order: bool) -> int:
        """Forecast piece by piece, each event no earlier than the one before; how many complete a match."""
        completed, first, last = 0, 0, NEVER
        for rows in batches:
            scorer.push(rows.slice(0, 0))  # binds it to the columns
            clock = scorer.reader.clock
            if in_order and clock is not None:
                ticks = clock.ticks(rows[clock.column], first_row=first)
                last = check_order(ticks, last, first, fix="--sort to sort all in memory")
            made = scorer.push(rows)
            completed += pc.sum(made[COMPLETES]).as_py() or 0
            results.add(self._rows(rows, made, first))
            first += len(rows)
        return completed

    def _report(self, reader: EventReader | LiveEvents, began: float, completed: int, scorer: Scorer) -> None:
        self.events.report(reader, began, format_count(completed, "completion"))
        if scorer.unseen:
            note(f"events of kinds that were never seen in training, read as the nearest: {scorer.unseen:,}")

    def _rows(self, rows: pa.Table, made: pa.Table, first: int) -> pa.Table:
        """Forecasts, each with what tells which event it is from."""
        pattern, settings = self.model.pattern, self.model.settings
        own = rows.column_names if self.all_columns else [settings.time or DEFAULT_TIME, *pattern.partition_by]
        kept = {name: rows[name] for name in own if name in rows.column_names}
        if clash := [name for name in kept if name in (POSITION, *made.column_names)]:
            raise DataError(f"the events have a column `{clash[0]}`, and so have forecasts", fix="rename it")
        places = pa.array(np.arange(first, first + len(rows)))
        forecasts = dict(zip(made.column_names, made.columns, strict=True))
        table = pa.table({POSITION: places, **kept, **forecasts})
        return table if self.alert is None else table.filter(pc.greater_equal(table["probability"], self.alert))


def update(model: ForecastModel, events: EventInput, output: Path, *, decay: float) -> None:
    """Learn from further events, which need not be in order, and keep the model in a folder."""
    began = time.perf_counter()
    reader = events.open(model.pattern, model.settings)
    before = model.statistics.completions * decay
    with name_files(events.files):
        more = load(reader)
        with Console(stderr=True).status("learning"):
            drift = model.update(more, decay=decay)
            learned = summary(model)
    model.save(output, overwrite=True)
    events.report(reader, began, format_count(model.statistics.completions - before, "completion"))
    print(learned if drift is None else f"{learned}\n{drift}")


def evaluate(
    model: ForecastModel, events: EventInput, *, within: int | None, decision: float, picture: Path | None
) -> None:
    began = time.perf_counter()
    reader = events.open(model.pattern, model.settings)
    with name_files(events.files):
        holdout = load(reader)
        with Console(stderr=True).status("scoring"):
            scores = model.evaluate(holdout, within=within, decision=decision)
    if picture is not None:
        scores.reliability.save(picture)
    events.report(reader, began, format_count(scores.completions, "completion"))
    print(scores)

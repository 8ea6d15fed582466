"""A model saved in a folder: model.json, and the counts in Parquet. Open formats, no code."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ostinato.errors import DataError, Message, Option, Verb
from ostinato.forecast.learn.counts import Counts
from ostinato.forecast.learn.drift import DriftAlarm
from ostinato.forecast.learn.gaps import Gaps
from ostinato.forecast.learn.order import OrderChoice, OrderLoss
from ostinato.forecast.learn.statistics import HistoryStatistics
from ostinato.forecast.learn.suffix_tree import Learning
from ostinato.forecast.model import ForecastModel
from ostinato.forecast.pattern import ForecastPattern
from ostinato.forecast.score.interval_checks import IntervalChecks
from ostinato.forecast.settings import ForecastLimits, Settings
from ostinato.forecast.symbols.age_grid import Grid
from ostinato.forecast.symbols.encoder import Symbols

SAVED = Message("give the folder that ", Verb("model.save(…)", "train"), " wrote")
VERSION = 2
FILES = _MODEL, _COUNTS, _GAPS = "model.json", "counts.parquet", "gaps.parquet"


def check_model_folder(path: Path, *, overwrite: bool) -> None:
    """Raises DataError if a model cannot be saved there."""
    if path.exists() and not overwrite:
        raise DataError(f"{path} exists already", fix=Message("give another folder, or ", Option("overwrite", True)))
    if path.exists() and not (path / _MODEL).is_file():
        raise DataError(f"{path} exists and is not a saved model, so it is not overwritten", fix="give another folder")


def save(model: ForecastModel, path: Path, *, overwrite: bool) -> None:
    """Write beside the folder, then move into place, so that there is never half a model."""
    check_model_folder(path, overwrite=overwrite)
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.new")
    shutil.rmtree(beside, ignore_errors=True)
    beside.mkdir()
    for name, content in to_files(model).items():
        (beside / name).write_bytes(content)
    if path.exists():
        shutil.rmtree(path)
    beside.rename(path)


def load(path: Path) -> ForecastModel:
    if not (path / _MODEL).is_file():
        raise DataError(f"there is no saved model in {path}", fix=SAVED)
    try:
        files = {name: (path / name).read_bytes() for name in FILES}
    except OSError as error:
        raise _damaged(str(path), error) from error
    return from_files(files, source=str(path))


def to_files(model: ForecastModel) -> dict[str, bytes]:
    """The files of a saved model, by name."""
    tables = {_COUNTS: model.statistics.counts.to_table(), _GAPS: model.statistics.gaps.to_table()}
    files = {_MODEL: json.dumps(to_json(model), indent=1).encode()}
    for name, table in tables.items():
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink)
        files[name] = sink.getvalue().to_pybytes()
    return files


def from_files(files: Mapping[str, bytes], *, source: str) -> ForecastModel:
    """The model of these files; `source` says in error messages where they come from."""
    try:
        state = json.loads(files[_MODEL])
        counts, gaps = (pq.read_table(pa.BufferReader(files[name])) for name in (_COUNTS, _GAPS))
        return from_json(state, counts, gaps)
    except (KeyError, TypeError, ValueError, pa.ArrowException) as error:
        raise _damaged(source, error) from error


def _damaged(source: str, error: Exception) -> DataError:
    return DataError(f"the model in {source} is damaged: {error}", fix="train it again")


def to_json(model: ForecastModel) -> dict[str, Any]:
    """Everything but the tables, as JSON."""
    pattern, statistics = model.pattern, model.statistics
    return {
        "format": "ostinato forecast model",
        "version": VERSION,
        "query": {"text": pattern.text, "language": pattern.language, "features": pattern.features},
        "settings": asdict(model.settings),
        "symbols": [[f"{minterm:x}", effect] for minterm, effect in statistics.symbols.pairs],
        "outcomes": statistics.symbols.outcomes,
        "grid": None if statistics.symbols.grid is None else asdict(statistics.symbols.grid),
        "order": model.order,
        "counts_order": statistics.counts.order,
        "events": statistics.events,
        "completions": statistics.completions,
        "intervals": None if model.interval_checks is None else model.interval_checks.to_dict(),
        "alarm": None if model.alarm is None else model.alarm.to_dict(),
        "choice": None if model.choice is None else asdict(model.choice),
    }


def from_json(state: Any, counts: pa.Table, gaps: pa.Table) -> ForecastModel:
    if not isinstance(state, dict) or state.get("format") != "ostinato forecast model":
        raise DataError("this is not a forecast model", fix=SAVED)
    if state["version"] != VERSION:
        raise DataError(
            f"the model has format version {state['version']}, this is version {VERSION}",
            fix="train it again, or use the release that saved it",
        )
    query = state["query"]
    pattern = ForecastPattern(query["text"], query["language"], tuple(query["features"]))
    pattern.check()
    outcomes = tuple(tuple(outcome) for outcome in state["outcomes"])
    grid = None if state["grid"] is None else Grid(**state["grid"])
    symbols = Symbols(pattern, outcomes=outcomes, grid=grid).with_more(
        (int(minterm, 16), int(effect)) for minterm, effect in state["symbols"]
    )
    statistics = HistoryStatistics(
        symbols,
        Counts.from_table(counts, order=state["counts_order"], alphabet=len(symbols)),
        Gaps.from_table(gaps, len(symbols)),
        state["events"],
        state["completions"],
    )
    choice = state["choice"]
    return ForecastModel(
        _settings(state["settings"]),
        statistics,
        int(state["order"]),
        None if state["intervals"] is None else IntervalChecks.from_dict(state["intervals"]),
        None if state["alarm"] is None else DriftAlarm.from_dict(state["alarm"]),
        None if choice is None else OrderChoice(choice["order"], tuple(OrderLoss(**each) for each in choice["tried"])),
    )


def _settings(state: dict[str, Any]) -> Settings:
    nested = {"learning": Learning(**state["learning"]), "limits": ForecastLimits(**state["limits"])}
    return Settings(**{**state, **nested, "order_by": tuple(state["order_by"])})

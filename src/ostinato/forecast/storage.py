"""A model in a folder: model.json for what it is, Parquet for what was counted. Open formats, no code."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ostinato.errors import Call, DataError, Message, Option
from ostinato.forecast.learn.counts import Counts
from ostinato.forecast.learn.drift import DriftAlarm
from ostinato.forecast.learn.gaps import Gaps
from ostinato.forecast.learn.order import OrderChoice, OrderLoss
from ostinato.forecast.learn.statistics import Learnt
from ostinato.forecast.learn.suffix_tree import Learning
from ostinato.forecast.model import ForecastModel
from ostinato.forecast.pattern import Pattern
from ostinato.forecast.score.interval_checks import Judgement
from ostinato.forecast.settings import ForecastLimits, Settings
from ostinato.forecast.symbols.age_grid import Grid
from ostinato.forecast.symbols.encoder import Symbols

SAVED = Message("give the folder that ", Call("model.save(…)", "train"), " wrote")
VERSION = 2
FILES = _MODEL, _COUNTS, _GAPS = "model.json", "counts.parquet", "gaps.parquet"


def check_place(path: Path, *, overwrite: bool) -> None:
    """Raises DataError where a model cannot be kept."""
    if path.exists() and not overwrite:
        raise DataError(f"{path} exists already", fix=Message("give another folder, or ", Option("overwrite", True)))
    if path.exists() and not (path / _MODEL).is_file():
        raise DataError(f"{path} is there and is no saved model, so it is not overwritten", fix="give another folder")


def save(model: ForecastModel, path: Path, *, overwrite: bool) -> None:
    """Written beside and moved into place, so that a folder is never half a model."""
    check_place(path, overwrite=overwrite)
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
    return of_files(files, source=str(path))


def to_files(model: ForecastModel) -> dict[str, bytes]:
    """What a saved model consists of, by the name of the file."""
    tables = {_COUNTS: model.learnt.counts.to_table(), _GAPS: model.learnt.gaps.to_table()}
    files = {_MODEL: json.dumps(described(model), indent=1).encode()}
    for name, table in tables.items():
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink)
        files[name] = sink.getvalue().to_pybytes()
    return files


def of_files(files: Mapping[str, bytes], *, source: str) -> ForecastModel:
    """The model that consists of these; `source` is where they come from, for error messages."""
    try:
        told = json.loads(files[_MODEL])
        counts, gaps = (pq.read_table(pa.BufferReader(files[name])) for name in (_COUNTS, _GAPS))
        return restored(told, counts, gaps)
    except (KeyError, TypeError, ValueError, pa.ArrowException) as error:
        raise _damaged(source, error) from error


def _damaged(source: str, error: Exception) -> DataError:
    return DataError(f"the model in {source} is damaged: {error}", fix="train it again")


def described(model: ForecastModel) -> dict[str, Any]:
    """All but the tables, as JSON."""
    pattern, learnt = model.pattern, model.learnt
    return {
        "format": "ostinato forecast model",
        "version": VERSION,
        "query": {"text": pattern.text, "language": pattern.language, "features": pattern.features},
        "settings": asdict(model.settings),
        "symbols": [[f"{minterm:x}", effect] for minterm, effect in learnt.symbols.pairs],
        "outcomes": learnt.symbols.outcomes,
        "grid": None if learnt.symbols.grid is None else asdict(learnt.symbols.grid),
        "order": model.order,
        "counts_order": learnt.counts.order,
        "events": learnt.events,
        "completions": learnt.completions,
        "intervals": None if model.judgement is None else model.judgement.to_dict(),
        "alarm": None if model.alarm is None else model.alarm.to_dict(),
        "choice": None if model.choice is None else asdict(model.choice),
    }


def restored(told: Any, counts: pa.Table, gaps: pa.Table) -> ForecastModel:
    if not isinstance(told, dict) or told.get("format") != "ostinato forecast model":
        raise DataError("this is no forecast model", fix=SAVED)
    if told["version"] != VERSION:
        raise DataError(
            f"the model has format version {told['version']}, this is version {VERSION}",
            fix="train it again, or use the release that saved it",
        )
    query = told["query"]
    pattern = Pattern(query["text"], query["language"], tuple(query["features"]))
    pattern.check()
    outcomes = tuple(tuple(outcome) for outcome in told["outcomes"])
    grid = None if told["grid"] is None else Grid(**told["grid"])
    symbols = Symbols(pattern, outcomes=outcomes, grid=grid).with_more(
        (int(minterm, 16), int(effect)) for minterm, effect in told["symbols"]
    )
    learnt = Learnt(
        symbols,
        Counts.from_table(counts, order=told["counts_order"], alphabet=len(symbols)),
        Gaps.from_table(gaps, len(symbols)),
        told["events"],
        told["completions"],
    )
    choice = told["choice"]
    return ForecastModel(
        _settings(told["settings"]),
        learnt,
        int(told["order"]),
        None if told["intervals"] is None else Judgement.from_dict(told["intervals"]),
        None if told["alarm"] is None else DriftAlarm.from_dict(told["alarm"]),
        None if choice is None else OrderChoice(choice["order"], tuple(OrderLoss(**each) for each in choice["tried"])),
    )


def _settings(told: dict[str, Any]) -> Settings:
    nested = {"learning": Learning(**told["learning"]), "limits": ForecastLimits(**told["limits"])}
    return Settings(**{**told, **nested, "order_by": tuple(told["order_by"])})

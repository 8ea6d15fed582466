"""Models saved in folders, and folders that are none."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

import ostinato as ost


def test_saved_and_loaded(model: ost.ForecastModel, cards: pa.Table, tmp_path: Path) -> None:
    model.save(tmp_path / "m")
    assert sorted(path.name for path in (tmp_path / "m").iterdir()) == ["counts.parquet", "gaps.parquet", "model.json"]
    again = ost.ForecastModel.load(tmp_path / "m")
    assert again.forecast(cards.slice(0, 3000)).equals(model.forecast(cards.slice(0, 3000)))
    assert again.explain() == model.explain()
    with pytest.raises(ost.DataError, match="exists already"):
        model.save(tmp_path / "m")
    model.save(tmp_path / "m", overwrite=True)
    (tmp_path / "other").mkdir()
    with pytest.raises(ost.DataError, match="is not a saved model"):
        model.save(tmp_path / "other", overwrite=True)


def test_damaged_models_are_refused(model: ost.ForecastModel, tmp_path: Path) -> None:
    with pytest.raises(ost.DataError, match="no saved model"):
        ost.ForecastModel.load(tmp_path)
    model.save(tmp_path / "m")
    told = json.loads((tmp_path / "m/model.json").read_text())
    (tmp_path / "m/model.json").write_text(json.dumps(told | {"version": 99}))
    with pytest.raises(ost.DataError, match="version 99"):
        ost.ForecastModel.load(tmp_path / "m")
    (tmp_path / "m/model.json").write_text("[]")
    with pytest.raises(ost.DataError, match="not a forecast model"):
        ost.ForecastModel.load(tmp_path / "m")
    (tmp_path / "m/model.json").write_text("{")
    with pytest.raises(ost.DataError, match="damaged"):
        ost.ForecastModel.load(tmp_path / "m")
    (tmp_path / "m/model.json").write_text(json.dumps(told))
    (tmp_path / "m/counts.parquet").write_bytes(b"nothing")
    with pytest.raises(ost.DataError, match="damaged"):
        ost.ForecastModel.load(tmp_path / "m")

"""`ostinato.Forecaster`: what is chosen, limited and refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import ostinato as ost
from support.forecast import CYCLE, cycle


def test_the_order_is_chosen_and_told(cards: pa.Table) -> None:
    model = ost.Forecaster(CYCLE, horizon=5).fit(cycle(noise=0.05))
    assert model.choice is not None and model.order == model.choice.order >= 1
    assert "<- chosen" in model.explain() and "log-loss on held-out events" in model.explain()


def test_the_language_of_a_text_is_told() -> None:
    made = ost.Forecaster("[type = 'a'] . [type = 'b']", language="srem", horizon=30)
    assert made.pattern.language == "srem"
    assert repr(made) == """<Forecaster of "[type = 'a'] . [type = 'b']", order='auto', horizon=30, threshold=0.5>"""
    with pytest.raises(ost.OstinatoError, match="give 'cel' or 'srem'"):
        ost.Forecaster("a ; b", language="sql")
    with pytest.raises(ost.OstinatoError, match="give 'cel', which the query is in"):
        ost.Forecaster(ost.cel("a ; b"), language="srem")


def test_limits_are_called_what_they_are() -> None:
    for limit in ("states", "memory"):
        model = ost.Forecaster(CYCLE, order=1, limits=ost.ForecastLimits(**{limit: 2}), holdout=0.0).fit(cycle())
        with pytest.raises(ost.LimitError, match=rf"\(limit {limit}=2\)\nfix: .* raise ForecastLimits\({limit}=…\)"):
            model.forecast(cycle())


def test_a_pattern_with_too_many_ages_says_which_part() -> None:
    query = "A AS a ; B AS b ; C AS c ; D AS d WITHIN 400 EVENTS"
    with pytest.raises(ost.LimitError, match=r"`a` \(.* ages\)"):
        ost.Forecaster(query, limits=ost.ForecastLimits(pattern_states=2000)).fit(cycle(noise=0.1))


def test_numbers_of_numpy_are_numbers(tmp_path: Path) -> None:
    options: dict[str, Any] = {"order": np.int64(1), "horizon": np.int32(5), "threshold": np.float32(0.5)}
    limits = ost.ForecastLimits(states=np.int64(1000))  # type: ignore[arg-type]
    model = ost.Forecaster(CYCLE, prior=np.float32(1), limits=limits, **options).fit(cycle())
    model.save(tmp_path / "m")
    assert ost.ForecastModel.load(tmp_path / "m").settings == model.settings
    assert model.evaluate(cycle(), within=np.int64(3)).within == 3  # type: ignore[arg-type]

"""Keys on several cores: limits hold for all of them together, and large keys are spread."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.errors import LimitError
from ostinato.patterns.limits import Limits
from ostinato.patterns.runtime import parallel
from ostinato.patterns.runtime.event_shards import groups_of


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "LEAST", 100)


def _stream(events: int, keys: int) -> pa.Table:
    rng = np.random.default_rng(3)
    return pa.table({"type": pa.array(rng.choice(list("AB"), events)), "k": pa.array(rng.integers(0, keys, events))})


@pytest.mark.parametrize("window", ["", "WITHIN 100 EVENTS"])
def test_more_matches_than_can_be_held(window: str) -> None:
    query = ost.cel(f"(A AS x)+ ; B AS y PARTITION BY k {window}")
    with pytest.raises(LimitError, match="matches"):
        query.detect(_stream(4_000, 2), threads=2)


@pytest.mark.parametrize("window", ["", "WITHIN 10 EVENTS"])
@pytest.mark.parametrize("limits", [Limits(matches=1_000), Limits(memory=1 << 20)])
def test_limits_hold_for_all_cores_together(window: str, limits: Limits) -> None:
    table = _stream(300_000, 10)
    with pytest.raises(LimitError, match=r"matches|memory"):
        ost.cel(f"SELECT LAST * WHERE A AS x ; B AS y PARTITION BY k {window}").detect(table, threads=2, limits=limits)


def test_large_keys_go_to_different_groups() -> None:
    sizes = np.array([1_000, 1, 900, 1, 800, 1, 700])
    group = groups_of(sizes, 2)
    assert group[[0, 4]].tolist() == [0, 0]
    assert group[[2, 6]].tolist() == [1, 1]

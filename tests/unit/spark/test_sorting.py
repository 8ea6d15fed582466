"""Rows in order of time, in files where they do not fit."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ostinato.core.events import StreamColumns
from ostinato.errors import DataError
from ostinato.spark import sorting
from ostinato.spark.sorting import Sorter

BINDING = StreamColumns("ts", None, ("n",))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where files go; in the end there are none."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    yield tmp_path
    assert not list(tmp_path.iterdir())


def batch(times: list[int], first: int = 0) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"ts": times, "n": list(range(first, first + len(times)))})


def rows(tables: list[pa.Table]) -> list[tuple[int, int]]:
    return sorted((row["ts"], row["n"]) for table in tables for row in table.to_pylist())


def test_nothing() -> None:
    sorter = Sorter(BINDING, 100)
    sorter.add(batch([]))
    assert list(sorter.tables()) == []


def test_what_fits_is_one_table_and_no_file(folder: Path) -> None:
    sorter = Sorter(BINDING, 1 << 20)
    sorter.add(batch([3, 1]))
    sorter.add(batch([2], 2))
    (table,) = sorter.tables()
    assert rows([table]) == [(1, 1), (2, 2), (3, 0)]
    assert not list(folder.iterdir())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(
    st.lists(st.lists(st.integers(0, 12), max_size=15), max_size=6),
    st.sampled_from([1, 100, 400]),
    st.sampled_from([1, 2, 5]),
)
def test_runs_are_merged(times: list[list[int]], budget: int, at_once: int) -> None:
    """Each table lies before the next, and rows of one time are never apart."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sorting, "_BATCH", at_once)
        sorter = Sorter(BINDING, budget)
        for place, part in enumerate(times):
            sorter.add(batch(part, 100 * place))
        tables = list(sorter.tables())
    assert rows(tables) == rows([pa.Table.from_batches([batch(t, 100 * n)]) for n, t in enumerate(times)])
    for earlier, later in pairwise(tables):
        assert max(earlier["ts"].to_pylist()) < min(later["ts"].to_pylist())


def test_little_is_held_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorting, "_BATCH", 100)
    times = np.random.default_rng(1).permutation(20_000)
    sorter = Sorter(BINDING, 16 * 1000)
    for start in range(0, len(times), 500):
        sorter.add(batch(times[start : start + 500].tolist(), start))
    sizes = [len(table) for table in sorter.tables()]
    assert sum(sizes) == len(times)
    assert max(sizes) < 5000


def test_files_go_when_the_reader_stops_early() -> None:
    sorter = Sorter(BINDING, 1)
    sorter.add(batch([2, 1]))
    sorter.add(batch([3], 2))
    tables = sorter.tables()
    next(tables)
    tables.close()  # type: ignore[attr-defined]


def test_files_go_when_nothing_is_read() -> None:
    sorter = Sorter(BINDING, 1)
    sorter.add(batch([2, 1]))
    sorter.close()


def test_a_row_without_a_time_is_an_error() -> None:
    sorter = Sorter(BINDING, 1)
    with pytest.raises(DataError, match="ts"):
        sorter.add(pa.RecordBatch.from_pydict({"ts": pa.array([1, None]), "n": [1, 2]}))
    sorter.close()

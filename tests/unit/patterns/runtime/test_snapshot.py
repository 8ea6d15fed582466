"""State that was saved once still loads, and goes on with the answers of an engine that never stopped."""

from __future__ import annotations

import struct

import pytest

import ostinato as ost
from golden.snapshots.write import FOLDER, QUERIES, halves, stopped
from ostinato.core.snapshot_format import VERSION, Snapshot
from ostinato.patterns.runtime.engine import Engine


def test_there_is_a_file_for_each_query() -> None:
    assert {path.stem for path in FOLDER.glob("*.snapshot")} == set(QUERIES)


@pytest.mark.parametrize("name", QUERIES)
def test_saved_state_goes_on_where_it_stopped(name: str) -> None:
    engine, never_stopped = Engine.restore((FOLDER / f"{name}.snapshot").read_bytes()), stopped(QUERIES[name])
    assert engine.late_events().equals(never_stopped.late_events())
    _, rest = halves()
    found = [engine.push(rest), engine.flush()]
    expected = [never_stopped.push(rest), never_stopped.flush()]
    assert [table.to_pylist() for table in found] == [table.to_pylist() for table in expected]
    assert sum(map(len, found)) > 0
    assert counts(engine) == counts(never_stopped)


def counts(engine: Engine) -> tuple[int, int, int]:
    """What saving does not change; it does take dead parts of the state away."""
    stats = engine.stats()
    return stats.events, stats.matches, stats.late


@pytest.mark.parametrize("version", [VERSION - 1, VERSION + 1])
def test_state_of_another_version_says_so(version: int) -> None:
    data = bytearray((FOLDER / "plain.snapshot").read_bytes())
    struct.pack_into("<H", data, 8, version)  # after the eight letters that all snapshots begin with
    with pytest.raises(ost.DataError, match=f"version {version}, this release reads version {VERSION}") as error:
        Engine.restore(bytes(data))
    assert "restore it with the release that wrote it" in str(error.value)


def test_a_column_whose_kind_is_known_later() -> None:
    query = ost.cel("SELECT MAX * WHERE B AS x ; (C AS y FILTER abs(y.v - x.v) < 2)+")
    engine = query.engine()
    for row in ({"ts": 0, "type": "A"}, {"ts": 1, "type": "B", "v": 1}):
        engine.push(row)
        engine = Engine.restore(engine.snapshot())
    assert engine.push({"ts": 2, "type": "C", "v": 2})["positions"].to_pylist() == [[1, 2]]


@pytest.mark.parametrize(
    "text", ["SELECT FIRST x, y WHERE (A AS x)+ ; B AS y", "A AS x ; B AS y FILTER x.v < y.v OR x.k = y.k"]
)
def test_a_snapshot_of_a_release_that_ran_the_query_otherwise(text: str) -> None:
    engine = ost.cel(text).engine()
    engine.push([{"type": "A", "v": 1, "k": 1}])
    data = engine.snapshot()
    assert ost.Engine.restore(data).push([{"type": "B", "v": 2, "k": 1}]).num_rows == 1
    saved = Snapshot.from_bytes(data)
    for plan in (None, ["ALL", 7]):
        meta = {name: value for name, value in saved.meta.items() if name != "plan"} | ({"plan": plan} if plan else {})
        with pytest.raises(ost.DataError, match="evaluates this query in another way"):
            ost.Engine.restore(Snapshot(meta, saved.arrays, saved.tables).to_bytes())

"""The benchmark beside Esper runs without Java, and says what is missing; its cases compile and find something."""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path

import pytest

from support import paths

SCRIPTS = paths.ROOT / "benchmarks"
sys.path.append(str(SCRIPTS))

import live_peers as benchmark  # noqa: E402
from live_cases import Case, cases  # noqa: E402


def test_without_java_only_ours_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    record = tmp_path / "live.json"
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(
        "sys.argv",
        ["live_peers.py", "--only", "equal id", "--events", "600", "--seconds", "0.01", "--record", str(record)],
    )
    runpy.run_path(str(SCRIPTS / "live_peers.py"), run_name="__main__")
    assert "Esper is left out: no java and no mvn on the PATH; install a JDK" in capsys.readouterr().out
    (case,) = json.loads(record.read_text(encoding="utf-8"))["cases"].values()
    assert case["esper"] is None and [each["size"] for each in case["ours"]] == [10_000, 100, 1]


@pytest.mark.parametrize("case", [case for case in cases() if "1,000" not in case.name], ids=lambda case: case.name)
def test_every_case_finds_something(case: Case) -> None:
    table = case.events(15_000)
    found = benchmark.one_round(case, benchmark.compiled(case, table.schema)(), table, 10_000, seconds=30)
    assert found.read == 15_000 and found.outputs > 0


def test_a_difference_is_told() -> None:
    ours = [benchmark.Ours(size=100, rate=1.0, read=600, outputs=3, total=0.0)]
    esper = benchmark.Esper(rate=1, first_rate=1, p50=1, p99=1, compile=1, deploy=1, outputs={600: (4, 0.0)})
    result = benchmark.Result(cases()[0], 0.0, ours, esper)
    assert "600 events in batches of 100: 3 outputs (total 0.0), Esper 4" in (result.difference() or "")
    esper.outputs[600] = (3, 0.0)
    assert result.difference() is None


def test_the_file_of_events_names_classes(tmp_path: Path) -> None:
    path = tmp_path / "events.csv"
    benchmark.write_events(next(case for case in cases() if case.name.startswith("rule")).events(2_000), path)
    header, first, *_ = path.read_text(encoding="utf-8").splitlines()
    assert header == "time,type,beginTime:long,endTime:long,area:string,sensor:string,value:double"
    assert first.split(",")[0] == first.split(",")[3]

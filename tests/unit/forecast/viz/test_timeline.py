from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pyarrow as pa
import pytest

from ostinato.errors import DataError, OstinatoError
from ostinato.forecast.viz.timeline import ForecastInterval, ForecastTimeline

SVG = "{http://www.w3.org/2000/svg}"


def forecasts(count: int, made: dict[int, tuple[int, int]], completes: set[int]) -> pa.Table:
    return pa.table(
        {
            "probability": pa.array([event / count for event in range(count)], pa.float32()),
            "earliest": pa.array([made[event][0] if event in made else None for event in range(count)], pa.int32()),
            "latest": pa.array([made[event][1] if event in made else None for event in range(count)], pa.int32()),
            "completes": pa.array([event in completes for event in range(count)]),
        }
    )


def test_intervals_are_judged_by_the_next_detection() -> None:
    made = {0: (2, 4), 1: (3, 5), 3: (1, 2), 4: (1, 2), 9: (1, 3)}
    timeline = ForecastTimeline.of(forecasts(12, made, {3}))
    assert timeline.intervals[0] == ForecastInterval(0, 2, 4, "held")
    assert [each.outcome for each in timeline.intervals] == ["held", "missed", "missed", "missed", "open"]
    assert timeline.detections == (3,)


def test_text_shows_bars_ahead_of_marks() -> None:
    text = ForecastTimeline.of(forecasts(16, {2: (3, 6), 9: (1, 2)}, {7})).text(60)
    probability, held, missed, detections, axis = text.splitlines()
    assert probability == "probability │▁▁▁▂▂▃▃▄▄▅▅▆▆▇▇█"
    assert held == "  intervals │  •  ━━┿━"
    assert missed == "            │       │ •──"
    assert detections == " detections │       ▲"
    assert axis == "      event  1             16"


def test_long_streams_are_drawn_together_and_many_intervals_thinned() -> None:
    made = dict.fromkeys(range(1000), (1, 9))
    timeline = ForecastTimeline.of(forecasts(1000, made, {500}))
    lines = timeline.text(80).splitlines()
    assert max(map(len, lines)) <= 80 and len(lines) <= 15
    drawn = ET.fromstring(timeline.svg())
    assert len(list(drawn.iter(f"{SVG}circle"))) <= 36


def test_svg_has_the_line_the_bars_and_the_marks() -> None:
    timeline = ForecastTimeline.of(forecasts(12, {0: (2, 4), 6: (3, 9)}, {3}), title="a < b", first=101)
    drawn = ET.fromstring(timeline.svg())
    (line,) = drawn.iter(f"{SVG}polyline")
    assert len(line.attrib["points"].split()) == 12
    tips = [tip.text for tip in drawn.iter(f"{SVG}title")]
    assert "detected at event 104" in tips
    assert "at event 101: between 103 and 105, held" in tips
    assert "at event 107: between 110 and 116, not known yet" in tips
    assert "a < b" in [text.text for text in drawn.iter(f"{SVG}text")]
    width = float(drawn.attrib["width"])
    assert all(float(bar.attrib["x"]) + float(bar.attrib["width"]) <= width for bar in drawn.iter(f"{SVG}rect")
               if "x" in bar.attrib)  # fmt: skip


@pytest.mark.parametrize("count", [0, 1, 2])
def test_hardly_any_events(count: int) -> None:
    timeline = ForecastTimeline.of(forecasts(count, {}, set()))
    ET.fromstring(timeline.svg())
    assert "probability" in timeline.text()


def test_a_missing_column_is_named() -> None:
    with pytest.raises(DataError, match="no column `probability`"):
        ForecastTimeline.of(pa.table({"probabilty": [0.5]}))


def test_saved(tmp_path: Path) -> None:
    timeline = ForecastTimeline.of(forecasts(5, {0: (1, 2)}, {1}))
    assert timeline.save(tmp_path / "a.svg").read_text() == timeline.svg() == timeline._repr_svg_()
    assert timeline.save(tmp_path / "a.txt").read_text() == timeline.text()
    with pytest.raises(OstinatoError, match=r"\.svg or \.txt"):
        timeline.save(tmp_path / "a.png")

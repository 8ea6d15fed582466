from __future__ import annotations

import xml.etree.ElementTree as ET
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from ostinato.errors import DataError, OstinatoError
from ostinato.viz.timeline import Timeline

SVG = "{http://www.w3.org/2000/svg}"
NOON = datetime(2026, 7, 6, 12, tzinfo=UTC)


def matches(rows: list[tuple[Any, ...]], kind: pa.DataType | None = None) -> pa.Table:
    """Rows of (farm, minutes to the start, minutes to the end) after noon."""
    kind = kind or pa.timestamp("us", tz="UTC")
    times = [[NOON + timedelta(minutes=row[end]) for row in rows] for end in (1, 2)]
    return pa.table(
        {
            "farm": pa.array([row[0] for row in rows], pa.string()),
            "start": pa.array(times[0], pa.timestamp("us", tz="UTC")).cast(kind),
            "end": pa.array(times[1], pa.timestamp("us", tz="UTC")).cast(kind),
        }
    )


def bars(text: str) -> dict[str, str]:
    return {line.split("│")[0].strip(): line.split("│")[1] for line in text.splitlines() if "│" in line}


def test_blocks_stand_where_matches_were_and_are_taller_for_more() -> None:
    table = matches([("a", 0, 0), ("a", 90, 90), ("a", 90, 90), ("b", 180, 180)])
    rows = bars(Timeline.of(table, by="farm").text(31))
    assert rows["a"] == "▄·········█·········"
    assert rows["b"] == "···················▄"


def test_a_long_match_covers_its_whole_time() -> None:
    rows = bars(Timeline.of(matches([("a", 0, 100), ("a", 0, 49)]), by="farm").text(21))
    assert rows["a"] == "█████▄▄▄▄▄"


def test_each_lane_says_how_many_and_lanes_without_matches_are_kept() -> None:
    text = Timeline.of(matches([("b", 0, 1), ("b", 2, 3)]), by="farm", names=["a"]).text(60)
    first, second = text.splitlines()[:2]
    assert first.startswith("a │·") and first.endswith(" 0")
    assert second.startswith("b │") and second.endswith(" 2")


def test_ticks_are_round_times_of_the_streams_own_clock() -> None:
    text = Timeline.of(matches([("a", 7, 180)]), by="farm").text(80)
    assert "13:00" in text and "14:00" in text and "12:07" not in text
    zoned = matches([("a", 7, 180)], pa.timestamp("us", tz="Asia/Kolkata"))
    assert "18:00" in Timeline.of(zoned, by="farm").text(80)


@pytest.mark.parametrize(
    ("minutes", "expected"),
    [(60 * 24 * 6, "Jul 08"), (60 * 24 * 400, "2026"), (1, "12:00:30")],
)
def test_tick_labels_suit_the_length(minutes: int, expected: str) -> None:
    assert expected in Timeline.of(matches([("a", 0, minutes)]), by="farm").text(90)


def test_numbers_and_dates_and_nanoseconds_are_times_too() -> None:
    numbers = pa.table({"start": [0.0, 40.0], "end": [10.0, 95.0]})
    assert "20" in Timeline.of(numbers).text(90).splitlines()[-1]
    days = pa.table({"start": pa.array([20000, 20010], pa.date32()), "end": pa.array([20001, 20011], pa.date32())})
    assert "Oct 0" in Timeline.of(days).text(90)
    fine = matches([("a", 0, 60)], pa.timestamp("ns", tz="UTC"))
    odd = fine.set_column(1, "start", pa.array([1_783_000_000_000_000_001], pa.timestamp("ns", tz="UTC")))
    assert Timeline.of(odd, by="farm").begin == pytest.approx(1_783_000_000)


def test_lanes_can_be_keyed_by_several_columns_or_none() -> None:
    table = matches([("a", 0, 1), ("b", 2, 3)]).append_column("sensor", pa.array([1, 2]))
    assert [lane.name for lane in Timeline.of(table, by=["farm", "sensor"]).lanes] == ["a / 1", "b / 2"]
    assert [(lane.name, len(lane.spans)) for lane in Timeline.of(table).lanes] == [("matches", 2)]


def test_no_matches_is_a_picture_of_nothing() -> None:
    nothing = Timeline.of(matches([]), by="farm", names=["a"], between=(NOON, NOON + timedelta(hours=1)))
    assert set(bars(nothing.text(60))["a"]) == {"·"}
    ET.fromstring(nothing.svg())
    ET.fromstring(Timeline.of(matches([]), by="farm").svg())


def test_svg_draws_one_bar_per_place_with_the_number_as_tooltip() -> None:
    rows = [("a", 0, 1)] * 500 + [("a", 300, 310), ("b", 600, 610)]
    root = ET.fromstring(Timeline.of(matches(rows), by="farm").svg())
    tips = [tip.text for rect in root.iter(f"{SVG}rect") for tip in rect.iter(f"{SVG}title")]
    assert tips == ["500 matches", "1 match", "1 match"]


def test_svg_draws_curves_behind_and_escapes_names(tmp_path: Path) -> None:
    curve = [(NOON, 20.0), (NOON + timedelta(hours=1), 41.5)]
    timeline = Timeline.of(matches([("<a>", 0, 1)]), by="farm", curves={"<a>": curve}, unit="°C", title="a & b")
    root = ET.fromstring(timeline.save(tmp_path / "t.svg").read_text(encoding="utf-8"))
    words = [node.text for node in root.iter(f"{SVG}text")]
    assert {"a & b", "<a>", "bars: matches · line: °C, 20 to 41.5"} <= set(words)
    assert sum(1 for _ in root.iter(f"{SVG}polyline")) == 1
    assert timeline._repr_svg_() == timeline.svg()


def test_other_formats_are_refused(tmp_path: Path) -> None:
    with pytest.raises(OstinatoError, match=r"cannot be saved as \.png\nfix: use a name that ends in \.svg"):
        Timeline.of(matches([]), by="farm").save(tmp_path / "t.png")


def test_a_missing_column_is_named_with_the_nearest_one() -> None:
    with pytest.raises(DataError, match="no column `fram`\nfix: did you mean `farm`"):
        Timeline.of(matches([]), by="fram")

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np

from ostinato.forecast.score.scores import Reliability
from ostinato.forecast.viz.reliability import ReliabilityDiagram

SVG = "{http://www.w3.org/2000/svg}"


def curve(*points: tuple[float, float, float]) -> Reliability:
    promised, kept, weight = np.array(points, float).reshape(-1, 3).T
    return Reliability(promised, kept, weight, by="quantile")


def test_one_line_per_model_with_a_point_per_bin() -> None:
    picture = ReliabilityDiagram.of({"a < b": curve((0.1, 0.2, 5), (0.5, 0.5, 5)), "rate": curve((0.3, 0.3, 10))})
    drawn = ET.fromstring(picture.svg())
    assert len(list(drawn.iter(f"{SVG}polyline"))) == 2
    assert len(list(drawn.iter(f"{SVG}circle"))) == 3
    shown = [text.text for text in drawn.iter(f"{SVG}text")]
    assert "a < b: off by 0.050" in shown and "rate: off by 0.000" in shown
    tips = [tip.text or "" for tip in drawn.iter(f"{SVG}title")]
    assert "a < b: said 0.100, happened 0.200, 5 events" in tips


def test_a_point_on_the_diagonal_is_as_far_right_as_up() -> None:
    drawn = ET.fromstring(ReliabilityDiagram.of({"m": curve((0.0, 0.0, 1), (1.0, 1.0, 1))}).svg())
    (line,) = drawn.iter(f"{SVG}polyline")
    (x1, y1), (x2, y2) = (map(float, pair.split(",")) for pair in line.attrib["points"].split())
    assert x2 - x1 == y1 - y2 > 0


def test_no_models_and_no_events() -> None:
    ET.fromstring(ReliabilityDiagram.of({}).svg())
    assert "m: no events" in ReliabilityDiagram.of({"m": curve()}).svg()


def test_saved(tmp_path: Path) -> None:
    picture = ReliabilityDiagram.of({"m": curve((0.2, 0.3, 4))}, title="t & u")
    assert picture.save(tmp_path / "a.svg").read_text() == picture.svg() == picture._repr_svg_()
    assert "t &amp; u" in picture.svg()

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

from ostinato.xseq.paper.diagram import VPADiagram
from ostinato.xseq.paper.from_query import construct
from ostinato.xseq.plan.check import parse_and_check


def diagram(query: str) -> VPADiagram:
    return VPADiagram(construct(parse_and_check(query)), title=query)


def texts(picture: str) -> list[str]:
    return [node.text or "" for node in ET.fromstring(picture).iter("{http://www.w3.org/2000/svg}text")]


def test_states_show_their_role_and_step() -> None:
    shown = texts(diagram("/daughter son").svg())
    assert {"E", "O", "A", "E1", "C", "E2", "/daughter", "son", "<daughter> +O /daughter"} <= set(shown)
    assert "skip" not in shown and "<*>…</*>" in shown


def test_long_labels_are_clipped_and_awkward_names_are_safe() -> None:
    shown = texts(diagram("//a[@p = 'x < y & \"z\" and quite a lot of more text']").svg())
    assert any(text.endswith("…") for text in shown)


def test_saved(tmp_path: Path) -> None:
    picture = diagram('//a[@p = "1"]')
    assert picture.save(tmp_path / "a.svg").read_text() == picture.svg() == picture._repr_svg_()
    dot = picture.save(tmp_path / "a.dot").read_text()
    assert 'start -> "E //a";' in dot and '"O //a" [shape=doublecircle];' in dot

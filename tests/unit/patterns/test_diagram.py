from __future__ import annotations

import xml.etree.ElementTree as ET
from itertools import combinations
from pathlib import Path

import pytest

from ostinato.core.conditions import Condition
from ostinato.core.expressions import Attribute, Call, Literal
from ostinato.errors import DataError, OstinatoError
from ostinato.patterns.automata.transducer import START_LOOP, Transducer, Transition
from ostinato.patterns.diagram import Diagram
from ostinato.viz.layout import Box, layered_layout

SVG = "{http://www.w3.org/2000/svg}"
HOT = Condition("T", Call(">", (Attribute("~", "value"), Literal(40))))
DRY = Condition("H", Call("<", (Attribute("~", "value"), Literal(25))))


def fires() -> Transducer:
    """T AS x ; H AS y with filters: start, waiting, done."""
    steps = (
        START_LOOP,
        Transition(0, 1, HOT, mark="x"),
        Transition(1, 1, unless=(Condition("R"),)),
        Transition(1, 2, DRY, mark="y"),
    )
    return Transducer(3, steps, frozenset({2}))


def chain(states: int) -> Transducer:
    """A long automaton with loops, edges that skip ahead and edges that go back."""
    steps = [START_LOOP, *(Transition(n, n + 1, Condition(f"R{n}"), mark="x") for n in range(states - 1))]
    steps += [Transition(n, n) for n in range(1, states)]
    steps += [Transition(n, n + 5, HOT, mark="y") for n in range(0, states - 5, 3)]
    steps += [Transition(n, n - 2, DRY, mark="z") for n in range(4, states, 4)]
    return Transducer(states, tuple(steps), frozenset({states - 1}))


def drawn(diagram: Diagram) -> ET.Element:
    return ET.fromstring(diagram.svg())


def texts(root: ET.Element) -> list[str]:
    return [node.text or "" for node in root.iter(f"{SVG}text")]


def test_every_state_condition_and_mark_is_written() -> None:
    written = texts(drawn(Diagram(fires())))
    assert {"0", "1", "2", "T[value > 40]", "• x", "H[value < 25]", "• y", "any ∘", "not R ∘"} <= set(written)


def test_final_states_have_two_rings_and_others_one() -> None:
    assert sum(1 for _ in drawn(Diagram(fires())).iter(f"{SVG}circle")) == 3 + 1


def test_there_is_one_arrow_per_pair_of_states_and_one_into_the_start() -> None:
    # start, 0→0, 0→1, 1→1, 1→2
    assert sum(1 for _ in drawn(Diagram(fires())).iter(f"{SVG}polygon")) == 5


def test_transitions_between_the_same_states_share_an_arrow_and_a_label() -> None:
    both = Transducer(2, (START_LOOP, Transition(0, 1, HOT, mark="x"), Transition(0, 1, DRY, mark="y")), frozenset({1}))
    root = drawn(Diagram(both))
    assert sum(1 for _ in root.iter(f"{SVG}polygon")) == 3
    assert {"T[value > 40]", "H[value < 25]"} <= set(texts(root))


def test_names_from_a_query_cannot_break_the_picture() -> None:
    nasty = Transition(0, 1, Condition('<script>&"\\'), mark="a<b")
    diagram = Diagram(Transducer(2, (START_LOOP, nasty), frozenset({1})), title="x < y & z")
    assert '<script>&"\\' in texts(drawn(diagram))
    assert '\\"\\\\' in diagram.dot()


def test_a_long_condition_is_cut_in_the_label_and_whole_in_the_tooltip() -> None:
    long = Call("in", (Attribute("~", "status"), *(Literal(f"status number {n}") for n in range(30))))
    root = drawn(Diagram(Transducer(2, (START_LOOP, Transition(0, 1, Condition("T", long), mark="x")), frozenset({1}))))
    assert all(len(text) <= 26 for text in texts(root))
    assert any(text.endswith("…") for text in texts(root))
    assert any("status number 29" in (tip.text or "") for tip in root.iter(f"{SVG}title"))


def test_nothing_lies_outside_the_picture_or_on_a_state() -> None:
    root = drawn(Diagram(chain(20)))
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    shift = 28 + 34, 28
    circles = {(float(c.attrib["cx"]), float(c.attrib["cy"])) for c in root.iter(f"{SVG}circle")}
    assert len(circles) == 20
    for x, y in circles:
        assert 20 <= x + shift[0] <= width - 20 and 20 <= y + shift[1] <= height - 20
    for (x1, y1), (x2, y2) in combinations(circles, 2):
        assert (x1 - x2) ** 2 + (y1 - y2) ** 2 > 40**2


def test_labels_of_a_crowded_automaton_do_not_overlap() -> None:
    root = drawn(Diagram(chain(20)))
    boxes = [
        tuple(float(r.attrib[k]) for k in ("x", "y", "width", "height"))
        for r in root.iter(f"{SVG}rect")
        if "x" in r.attrib
    ]
    assert len(boxes) > 40
    for (x1, y1, w1, h1), (x2, y2, w2, h2) in combinations(boxes, 2):
        assert x1 + w1 <= x2 or x2 + w2 <= x1 or y1 + h1 <= y2 or y2 + h2 <= y1


def test_it_shows_itself_in_a_notebook_and_saves_by_extension(tmp_path: Path) -> None:
    diagram = Diagram(fires())
    assert diagram._repr_svg_() == diagram.svg()
    assert diagram.save(tmp_path / "a.svg").read_text(encoding="utf-8") == diagram.svg()
    assert diagram.save(tmp_path / "a.dot").read_text(encoding="utf-8") == diagram.dot()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.dot", "a.svg"]


@pytest.mark.parametrize("name", ["a.png", "a.SVGZ", "a", "svg"])
def test_other_formats_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(OstinatoError, match=r"\.svg or \.dot or \.gv"):
        Diagram(fires()).save(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_the_ending_may_be_in_capitals(tmp_path: Path) -> None:
    assert Diagram(fires()).save(tmp_path / "A.SVG").read_text(encoding="utf-8").startswith("<svg")


def test_saving_into_a_missing_folder_says_so(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot write"):
        Diagram(fires()).save(tmp_path / "nowhere" / "a.svg")


def test_dot_has_every_transition() -> None:
    text = Diagram(fires()).dot()
    assert '0 -> 1 [label="T[value > 40] / • x"];' in text
    assert "2 [shape=doublecircle];" in text and "start -> 0;" in text


def test_layout_puts_nodes_left_to_right_and_routes_back_edges_backwards() -> None:
    box, label = Box(10, 5, 5), Box(20, 5, 5)
    placed = layered_layout([box] * 3, dict.fromkeys([(0, 1), (1, 2), (2, 1), (0, 2)], label), gap_x=5, gap_y=5)
    xs = [x for x, _ in placed.nodes]
    assert xs == sorted(xs) and len(set(xs)) == 3
    assert placed.routes[2, 1][0] == placed.nodes[2] and placed.routes[2, 1][-1] == placed.nodes[1]
    for edge, at in placed.labels.items():
        assert at in placed.routes[edge]


def test_layout_of_a_diamond_has_no_crossing() -> None:
    box, label = Box(10, 5, 5), Box(10, 5, 5)
    # 1 and 2 each lead to the far one of 3 and 4 when left in the order given.
    placed = layered_layout(
        [box] * 6, dict.fromkeys([(0, 1), (0, 2), (1, 4), (2, 3), (3, 5), (4, 5)], label), gap_x=5, gap_y=5
    )
    y = [y for _, y in placed.nodes]
    assert (y[1] < y[2]) == (y[4] < y[3])

"""Worked examples with their right answers, through the public API."""

from __future__ import annotations

import json
from typing import Any

import pytest

import ostinato as ost
from support import paths

VECTORS = json.loads((paths.VECTORS / "cel.json").read_text())


def runs() -> list[Any]:
    found = []
    for case in VECTORS["cases"]:
        stream = VECTORS["streams"][case["stream"]]
        for strategy, positions in case["positions"].items():
            text = f"SELECT {strategy} * WHERE {case['query']}"
            found.append(pytest.param(text, stream, positions, id=f"{case['name']}-{strategy}"))
        for width, positions in case["within_events"].items():
            text = f"{case['query']} WITHIN {width} EVENTS"
            found.append(pytest.param(text, stream, positions, id=f"{case['name']}-within-{width}"))
    return found


@pytest.mark.parametrize(("text", "stream", "positions"), runs())
def test_vector(text: str, stream: list[dict[str, Any]], positions: list[list[int]]) -> None:
    query = ost.cel(text)
    assert sorted(query.detect(stream)["positions"].to_pylist()) == sorted(positions)
    assert query.count(stream) == len(positions)


@pytest.mark.parametrize("case", VECTORS["errors"], ids=lambda case: case["query"])
def test_error(case: dict[str, str]) -> None:
    with pytest.raises(ost.QueryError, match="y"):
        ost.cel(case["query"])


def letters(text: str) -> list[dict[str, str]]:
    return [{"type": letter} for letter in text]


@pytest.mark.parametrize(
    ("text", "stream", "positions"),
    [
        ("((A AS x)+ ; B AS y)+ ; C AS z", "ABABC", [(0, 1, 4), (0, 1, 2, 3, 4), (0, 3, 4), (2, 3, 4), (0, 2, 3, 4)]),
        ("(A AS x)+ ; B AS y", "AB", [(0, 1)]),
        ("(A AS x)+ ; B AS y", "AAB", [(0, 2), (1, 2), (0, 1, 2)]),
        ("A AS x ; (B AS y)+ ; C AS z", "ABBC", [(0, 1, 3), (0, 2, 3), (0, 1, 2, 3)]),
        ("A AS x ; B AS y", "A" + "E" * 5000 + "B", [(0, 5001)]),
    ],
    ids=[
        "Q6 has five results",
        "one is enough for +",
        "three for two",
        "the event before the closer",
        "no hidden window",
    ],
)
def test_answers_others_get_wrong(text: str, stream: str, positions: list[tuple[int, ...]]) -> None:
    found = ost.cel(text).detect(letters(stream))["positions"].to_pylist()
    assert sorted(map(tuple, found)) == sorted(positions)


def test_the_strategies_really_differ() -> None:
    stream, pattern = letters("ABABC"), "((A AS x)+ ; B AS y)+ ; C AS z"
    answers = {
        strategy: sorted(
            map(tuple, ost.cel(f"SELECT {strategy} * WHERE {pattern}").detect(stream)["positions"].to_pylist())
        )
        for strategy in ("ALL", "NXT", "LAST", "MAX", "STRICT")
    }
    assert answers["NXT"] == answers["LAST"] == answers["MAX"] == [(0, 1, 2, 3, 4)]
    assert answers["STRICT"] == [(0, 1, 2, 3, 4), (2, 3, 4)]
    assert len(answers["ALL"]) == 5
    two = "A AS x ; B AS y"
    found = {
        strategy: sorted(
            map(tuple, ost.cel(f"SELECT {strategy} * WHERE {two}").detect(stream)["positions"].to_pylist())
        )
        for strategy in ("ALL", "NXT", "LAST", "MAX", "STRICT")
    }
    assert found == {
        "ALL": [(0, 1), (0, 3), (2, 3)],
        "NXT": [(0, 1), (0, 3)],
        "LAST": [(0, 1), (2, 3)],
        "MAX": [(0, 1), (0, 3), (2, 3)],
        "STRICT": [(0, 1), (2, 3)],
    }

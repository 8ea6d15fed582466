"""AFTER MATCH SKIP: which matches are left."""

from __future__ import annotations

import random

import pytest

import ostinato as ost
from ostinato.patterns.runtime import matcher


def found(query: str, letters: str) -> list[list[int]]:
    rows = [{"ts": at, "type": letter, "k": at % 2} for at, letter in enumerate(letters)]
    return sorted(ost.cel(query).detect(rows)["positions"].to_pylist())


@pytest.mark.parametrize(
    ("query", "letters", "positions"),
    [
        ("A ; B AFTER MATCH SKIP TO NEXT ROW", "AABB", [[0, 2], [1, 2]]),
        ("A ; B AFTER MATCH SKIP PAST LAST ROW", "AABBAB", [[0, 2], [1, 2], [4, 5]]),
        ("A ; B ; C AFTER MATCH SKIP TO NEXT ROW", "AABBC", [[0, 2, 4], [1, 2, 4]]),
        ("SELECT NXT * WHERE A ; B AFTER MATCH SKIP TO NEXT ROW", "AABBB", [[0, 2], [1, 3]]),
        ("SELECT MAX * WHERE A+ ; B AFTER MATCH SKIP TO NEXT ROW", "AABB", [[0, 1, 2], [1, 3]]),
        ("(A AS x)+ ; B AFTER MATCH SKIP TO LAST x", "AAABB", [[0, 1, 2, 3], [2, 3]]),
        ("(A AS x)+ ; B AFTER MATCH SKIP TO FIRST x", "AAB", [[0, 1, 2], [1, 2]]),
        ("A ; B AS y ; A AFTER MATCH SKIP TO LAST y", "ABABA", [[0, 1, 2], [2, 3, 4]]),
        ("(A ; B AS y OR C) AFTER MATCH SKIP TO LAST y", "CACB", [[0], [2]]),
        ("A ; B PARTITION BY k AFTER MATCH SKIP TO NEXT ROW", "AAAABBBB", [[0, 4], [1, 5], [2, 4], [3, 5]]),
        ("A AS x ; B AS y FILTER x.k = y.k AFTER MATCH SKIP TO NEXT ROW", "AABB", [[0, 2], [1, 3]]),
    ],
)
def test_what_is_left(query: str, letters: str, positions: list[list[int]]) -> None:
    assert found(query, letters) == positions


def test_what_is_skipped_is_not_looked_at_again() -> None:
    """Without skipping, the last B alone would complete two to the power of three hundred."""
    assert len(found("A+ ; B AFTER MATCH SKIP TO NEXT ROW", "AB" * 300)) == 300


def test_matches_of_one_event_may_come_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matcher, "_CHUNK_VALUES", 1)
    query = ost.cel("SELECT x WHERE A AS x OR A WITHIN 2 EVENTS AFTER MATCH SKIP TO NEXT ROW")
    assert query.detect([{"type": "A"}]).to_pylist() == [{"x": {"type": "A"}}, {"x": None}]


@pytest.mark.parametrize("strategy", ["ALL", "NXT", "LAST"])
@pytest.mark.parametrize("to", ["NEXT ROW", "FIRST y", "LAST y"])
@pytest.mark.parametrize("by", ["", "PARTITION BY k"])
def test_the_kernel_skips_as_it_is_done_outside_of_it(strategy: str, to: str, by: str) -> None:
    """Rows that are not in order are decided event by event; so is the C that completes 1,600 matches."""
    letters = "A" * 40 + "B" * 40 + "C" + "".join(random.Random(4).choices("ABC", k=120))
    rows = [{"ts": at, "type": letter, "k": at % 2} for at, letter in enumerate(letters)]
    query = ost.cel(f"SELECT {strategy} * WHERE A AS x ; B AS y ; C AS z {by} AFTER MATCH SKIP TO {to}")
    inside = query.detect(rows)["positions"].to_pylist()
    outside = query.detect(rows[::-1])["positions"].to_pylist()
    assert inside == [[len(rows) - 1 - place for place in positions] for positions in outside]
    engine = query.engine()
    pieces = [engine.push(rows[at : at + 50]) for at in range(0, len(rows), 50)]
    assert [each for piece in pieces for each in piece["positions"].to_pylist()] == inside

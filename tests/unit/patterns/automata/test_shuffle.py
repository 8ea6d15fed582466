"""AND with parts that may be left out: what comes after it, comes after its last event."""

from __future__ import annotations

import pytest

import ostinato as ost


@pytest.mark.parametrize(
    ("query", "letters", "positions"),
    [
        ("A : (B AND C?) : D", "ABD ABCD ACBD ABXD", [[0, 1, 2], [4, 5, 6, 7], [9, 10, 11, 12]]),
        ("A ; (B AND C?) ; NOT X ; D", "ABXD ABXCD", [[5, 6, 8, 9]]),
        ("(B AND C?) : D", "BXD BXCD", [[4, 6, 7]]),
        ("(B AND C? AND D?) : A", "BXCXDA BCXDXA BCA", [[0, 2, 4, 5], [0, 4, 5], [14, 15, 16]]),
        ("PERMUTE(B, C?) : D", "BD BXD BXCD CXBD", [[0, 1], [7, 9, 10], [12, 14, 15], [14, 15]]),
    ],
)
def test_parts_left_out(query: str, letters: str, positions: list[list[int]]) -> None:
    events = [{"type": letter} for letter in letters]
    assert sorted(ost.cel(f"{query} WITHIN 6 EVENTS").detect(events)["positions"].to_pylist()) == positions

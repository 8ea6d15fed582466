"""What MAX need not skip."""

from __future__ import annotations

import pytest

import ostinato as ost
from ostinato.patterns.automata.covering import covering_transitions
from ostinato.patterns.compile import compile_text


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        # The first y of a + as well as the others: the run that took one can take all that are left.
        ("A AS x ; (B AS y FILTER y.v > x.v)+ ; C AS z", ["y", "y"]),
        ("A AS x ; B AS y ; C AS z FILTER x.v < z.v", []),
        ("A AS x ; (B AS y ; C AS w)+ ; D AS z FILTER x.v < z.v", []),
        # y is compared later, so taking another one for it changes what may follow.
        ("(A AS x ; B AS y ; (B AS w)+ ; C AS z) FILTER y.v < z.v", ["w", "w"]),
    ],
)
def test_covering(text: str, marks: list[str]) -> None:
    found = covering_transitions(compile_text(text, "cel").transducer)
    assert sorted(str(t.mark) for t in found) == marks


def test_a_long_loop_has_one_match_per_beginning() -> None:
    rows = [{"type": "A", "v": 0}, *[{"type": "B", "v": 1}] * 5_000, {"type": "C", "v": 0}]
    query = ost.cel("SELECT MAX * WHERE A AS x ; (B AS y FILTER y.v > x.v)+ ; C AS z")
    assert query.detect(rows)["positions"].to_pylist() == [list(range(5_002))]

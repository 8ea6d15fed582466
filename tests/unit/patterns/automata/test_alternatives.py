"""An OR of equalities as look-ups."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from ostinato.patterns.automata.alternatives import split_alternatives
from ostinato.patterns.compile import compile_text
from support.correlated import agrees


@pytest.mark.parametrize(
    ("text", "copies"),
    [
        ("A AS x ; B AS y FILTER x.k = y.k OR x.v = y.v", 1),
        ("A AS x ; B AS y FILTER x.k IN (y.k, y.v, y.w)", 2),
        ("A AS x ; B AS y ; C AS z FILTER x.k = z.k OR (x.v = z.v AND y.v < z.v)", 1),
        ("A AS x ; B AS y FILTER x.k = y.k OR x.v < y.v", 0),
        ("A AS x ; B AS y FILTER (x.k = y.k OR x.v = y.v) AND x.w = y.u", 0),
        ("A AS x ; (B AS y FILTER x.k = y.k OR x.v = y.v)+ ; C AS z", 1),
    ],
)
def test_as_many_states_as_alternatives(text: str, copies: int) -> None:
    transducer = compile_text(text, "cel").transducer
    assert split_alternatives(transducer).states == transducer.states + copies
    assert split_alternatives(transducer).conditions() == transducer.conditions()


@pytest.mark.parametrize("strategy", ["ALL", "NXT", "LAST", "MAX"])
@pytest.mark.parametrize(
    "text",
    [
        "A AS x ; B AS y FILTER x.k = y.k OR x.v = y.v",
        "A AS x ; (B AS y FILTER x.k = y.k OR x.v = y.v)+ ; A AS z",
        "A AS x ; B AS y ; A AS z FILTER x.k = z.k OR (x.v = z.v AND y.v < z.v)",
        "A AS x ; B AS y ; A AS z FILTER (x.k = y.k OR x.v = y.v) AND (y.k = z.v OR y.v = z.k)",
    ],
)
def test_the_same_matches(text: str, strategy: str) -> None:
    chance = random.Random(len(text))
    for _ in range(15):
        rows = pa.table(
            {
                "type": [chance.choice("AB") for _ in range(10)],
                "k": [chance.choice((1, 2, None)) for _ in range(10)],
                "v": [chance.choice((1, 2, 3, None)) for _ in range(10)],
            }
        )
        agrees(f"SELECT {strategy} * WHERE {text} WITHIN 8 EVENTS", rows)

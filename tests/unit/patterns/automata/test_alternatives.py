"""An OR of equalities and inequalities as look-ups."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.patterns.automata.alternatives import split_alternatives
from ostinato.patterns.compile import compile_text
from support.correlated import agrees


@pytest.mark.parametrize(
    ("text", "copies"),
    [
        ("A AS x ; B AS y FILTER x.k = y.k OR x.v = y.v", 1),
        ("A AS x ; B AS y FILTER x.k IN (y.k, y.v, y.w)", 2),
        ("A AS x ; B AS y ; C AS z FILTER x.k = z.k OR (x.v = z.v AND y.v < z.v)", 1),
        ("A AS x ; B AS y FILTER x.k = y.k OR x.v < y.v", 1),
        ("A AS x ; B AS y FILTER x.v < y.v OR x.k = y.k OR x.w >= 2 * y.w", 2),
        ("A AS x ; B AS y FILTER x.k = y.k OR y.v - x.v < 3", 1),
        ("A AS x ; B AS y FILTER x.k = y.k OR abs(x.v - y.v) < 2", 3),
        ("A AS x ; B AS y FILTER x.k = y.k OR x.text < y.text", 0),
        ("A AS x ; B AS y FILTER x.k = y.k OR x.v + y.v < y.w", 0),
        ("A AS x ; B AS y FILTER (x.k = y.k OR x.v = y.v) AND x.w = y.u", 0),
        ("A AS x ; (B AS y FILTER x.k = y.k OR x.v = y.v)+ ; C AS z", 1),
        ("A AS x ; B AS y FILTER abs(x.v - y.v) < 2", 2),
        ("A AS x ; B AS y FILTER 0.5 >= abs(2 * x.v - y.w)", 2),
        ("A AS x ; B AS y FILTER abs(x.v - y.v) < y.w", 0),
        ("A AS x ; B AS y FILTER abs(length(x.text) - y.v) < 2", 0),
    ],
)
def test_as_many_states_as_alternatives(text: str, copies: int) -> None:
    transducer = compile_text(text, "cel").transducer
    split = split_alternatives(transducer, lambda attribute: attribute != "text")
    assert split.states == transducer.states + copies
    assert split.conditions() == transducer.conditions()


@pytest.mark.parametrize("strategy", ["ALL", "NXT", "LAST", "MAX"])
@pytest.mark.parametrize(
    "text",
    [
        "A AS x ; B AS y FILTER x.k = y.k OR x.v = y.v",
        "A AS x ; (B AS y FILTER x.k = y.k OR x.v = y.v)+ ; A AS z",
        "A AS x ; B AS y ; A AS z FILTER x.k = z.k OR (x.v = z.v AND y.v < z.v)",
        "A AS x ; B AS y ; A AS z FILTER (x.k = y.k OR x.v = y.v) AND (y.k = z.v OR y.v = z.k)",
        "A AS x ; B AS y FILTER x.k = y.k OR x.v < y.v",
        "A AS x ; B AS y FILTER x.f > y.f OR x.v <= y.k OR x.k = y.v",
        "A AS x ; B AS y FILTER x.k = y.k OR x.f - y.f < 0.5 OR 2 < y.v - x.v",
        "A AS x ; (B AS y FILTER x.k = y.k OR abs(x.f - y.f) < 1)+ ; A AS z",
        "A AS x ; B AS y FILTER abs(x.v - y.k) < 2",
        "A AS x ; B AS y FILTER abs(x.f - y.f) <= 0.5",
        "A AS x ; (B AS y FILTER abs(x.f - y.v) < 1)+ ; A AS z FILTER 3 > abs(x.v - z.v)",
    ],
)
def test_the_same_matches(text: str, strategy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ostinato.patterns.compile._MANY_EVENTS", 0)
    chance = random.Random(len(text))
    for _ in range(8):
        rows = pa.table(
            {
                "type": [chance.choice("AB") for _ in range(10)],
                "k": [chance.choice((1, 2, None)) for _ in range(10)],
                "v": [chance.choice((1, 2, 3, None)) for _ in range(10)],
                "f": [
                    chance.choice((0.0, -0.0, 0.5, -0.5, 1.25, 1e300, -1e17, 2.0**48, float("nan"))) for _ in range(10)
                ],
            }
        )
        agrees(f"SELECT {strategy} * WHERE {text} WITHIN 8 EVENTS", rows)


@pytest.mark.parametrize("width", [1e-9, 0.3, 1.0, 7, 1e12])
def test_a_band_is_exact_at_any_size(width: float) -> None:
    chance = random.Random(int(width))
    base = [chance.choice((0.0, 1.0, 1e6, 1e15, -1e15, 2.0**62)) * width for _ in range(400)]
    values = [value + chance.choice((-2, -1, -0.5, 0, 0.5, 1, 2)) * width for value in base]
    rows = pa.table({"type": ["AB"[chance.randrange(2)] for _ in values], "f": values})
    query = ost.cel(f"A AS x ; B AS y FILTER abs(x.f - y.f) < {width:.12f}")
    found = sorted(query.detect(rows)["positions"].to_pylist())
    kinds = rows["type"].to_pylist()
    pairs = [(a, b) for b in range(400) for a in range(b) if kinds[a] == "A" and kinds[b] == "B"]
    assert found == sorted([a, b] for a, b in pairs if abs(values[a] - values[b]) < width)

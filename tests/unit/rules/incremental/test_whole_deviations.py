"""Deviations of whole numbers: exact at the edges of 64 bits."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from unittest.mock import patch

import pytest

import ostinato
from ostinato.rules.incremental import state

PROGRAM = """DETECT s { spread { stddev(each var V) }, middle { median(each var V) } } ON and { event m: q {{ }},
    event i: timer:from-start-backward [event m, 9 sec], while i: collect event w: x {{ v { var V } }} } END"""


@pytest.mark.parametrize("few", [0, 16])
def test_deviations_of_whole_numbers(few: int) -> None:
    draw, kept = random.Random(few), [0]
    with patch.object(state, "FEW_ROWS", few):
        engine = ostinato.rules(PROGRAM).engine()
        for second in range(60):
            kept.append(draw.choice([-(2**63), 2**63 - 1, 0, draw.randint(-9, 9), draw.randint(-(2**63), 2**63 - 1)]))
            first = [{"type": "x", "ts": 0, "v": 0}] if not second else []
            engine.push([*first, {"type": "x", "ts": second, "v": kept[-1]}, {"type": "q", "ts": second}])
            (found,) = engine.advance(to=second).to_pylist()
            exact = [Fraction(value) for value in (kept if second < 10 else kept[-10:])]
            mean = sum(exact) / len(exact)
            assert found["spread"] == math.sqrt(sum((each - mean) ** 2 for each in exact) / (len(exact) - 1))
            ordered = sorted(map(float, exact))
            assert found["middle"] == ordered[(len(exact) - 1) // 2] / 2 + ordered[len(exact) // 2] / 2

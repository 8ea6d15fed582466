"""Aggregates of windows that slide: what is kept from one trace to the next gives what the whole window gives."""

from __future__ import annotations

import math
import random
import statistics
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest

import ostinato
from ostinato.rules.incremental import state
from ostinato.rules.incremental.engine import RuleEngine

SCHEMA = pa.schema(
    {"type": pa.string(), "begin": pa.int64(), "end": pa.int64(), "k": pa.string(), "v": pa.int64(), "w": pa.float64()}
)
ALL = """DETECT s { k { var K }, count { count(all var V) }, each { count(each var V) }, sum { sum(all var W) },
    bag { sum(each var W) }, mean { avg(all var W) }, low { min(all var W) }, high { max(all var V) },
    first { first(all var W) }, last { last(all var V) }, whole { sum(all var V) }, half { avg(each var V) },
    middle { median(each var V) }, level { median(all var W) }, spread { stddev(each var W) },
    kinds { stddev(distinct var V) } }
ON and { event m: q {{ k {{ var K }} }}, event i: timer:from-start-backward [event m, 40 sec],
    while i: collect event w: x {{ k {{ var K }}, v {{ var V }}, w {{ var W }} }} } END"""
SUM = """DETECT s { sum { sum(each var W) }, spread { stddev(each var W) }, middle { median(each var W) } }
ON and { event m: q {{ }},
    event i: timer:from-start-backward [event m, 1 day], while i: collect event w: x {{ w {{ var W }} }} } END"""
FLOATS = (0.1, 2.5, 1e16, -1e16, 1e300, -1e300, 5e-324, -3e-310, None)


def _stream(seed: int, events: int) -> list[dict[str, Any]]:
    """Durations differ, so that rows leave in another order than they come; now and then nothing comes for long."""
    draw, time, rows = random.Random(seed), 0, []
    for _ in range(events):
        time += draw.choice([0, 0, 1, 1, 2, 7]) if draw.random() < 0.98 else 60
        row = {"type": draw.choice("xxxxq"), "begin": time - draw.choice([0, 1, 5, 20, 45]), "end": time}
        row["k"] = draw.choice("ab")
        if row["type"] == "x":
            row |= {"v": draw.choice([None, 1, 2, 3, 4]), "w": draw.choice([draw.uniform(-1e3, 1e3), *FLOATS])}
        rows.append(row)
    return rows


def _derived(rows: list[dict[str, Any]], few: int, chunk: int, size: int, *, restore: bool = False) -> list[str]:
    with patch.object(state, "FEW_ROWS", few), patch.object(state, "CHUNK", chunk):
        engine = ostinato.rules(ALL).engine(schema=SCHEMA)
        found = []
        for first in range(0, len(rows), size):
            found.append(engine.push(pa.Table.from_pylist(rows[first : first + size], schema=SCHEMA)))
            if restore:
                engine = RuleEngine.restore(engine.snapshot())
        return sorted(map(str, pa.concat_tables([*found, engine.flush()]).to_pylist()))


@pytest.mark.parametrize("seed", range(6))
def test_windows_that_slide_give_what_whole_ones_give(seed: int) -> None:
    rows = _stream(seed, 300)
    whole = _derived(rows, 10**9, 256, 300)
    assert whole == _derived(rows, 0, 256, 300) == _derived(rows, 0, 1, 7) == _derived(rows, 4, 3, 50)
    assert whole == _derived(rows, 0, 256, 40, restore=True)


def _spread(values: list[float]) -> float | None:
    if len(values) < 2 or max(map(abs, values)) >= 1e150:
        return None
    exact = [Fraction(value) for value in values]
    mean = sum(exact) / len(exact)
    return math.sqrt(sum((each - mean) ** 2 for each in exact) / (len(exact) - 1))


def test_sums_and_deviations_of_floats_are_rounded_once_whatever_has_left() -> None:
    draw = random.Random(1)
    engine = ostinato.rules(SUM).engine(schema=SCHEMA)
    kept: list[tuple[int, float]] = []
    for second in range(0, 400_000, 1_000):
        exponent = draw.randint(-1070, 490) if second % 7_000 else 900
        value = draw.choice([draw.gauss(0, 1), draw.gauss(0, 1e18), math.ldexp(draw.random(), exponent)])
        kept.append((second, value))
        found = engine.push([{"type": kind, "begin": second, "end": second, "w": value} for kind in "xq"])
        found = found if len(found) else engine.advance(to=second)
        values = [value for at, value in kept if at >= second - 86_400]
        wanted = {"sum": math.fsum(values), "spread": _spread(values), "middle": statistics.median(values)}
        assert found.select(list(wanted)).to_pylist() == [wanted]


def test_infinite_values_come_and_go() -> None:
    engine = ostinato.rules(SUM).engine(schema=SCHEMA)
    found = []
    for second, value in enumerate([1.5, math.inf, -math.inf, *[2.0] * 30]):
        at = second * 10_000
        engine.push([{"type": kind, "begin": at, "end": at, "w": value} for kind in "xq"])
        found += engine.advance(to=at)["sum"].to_pylist()
    assert found[:3] == [1.5, math.inf, None]
    assert found[-1] == 18.0  # nine of them in a day


def test_what_enters_and_leaves_is_all_that_costs() -> None:
    """The windows that are kept hold each row once, and few keys that nothing comes for any more."""
    engine = ostinato.rules(ALL).engine(schema=SCHEMA)
    for key in range(200):
        start = 100 * key
        engine.push(
            [{"type": "x", "begin": at, "end": at, "k": f"k{key}", "v": 1, "w": 0.5} for at in range(start, start + 40)]
        )
        engine.push([{"type": "q", "begin": start + 40, "end": start + 40, "k": f"k{key}"}])
    (kept,) = engine._steps.live.state.windows
    assert len(kept.rows) <= 1_024
    assert engine.stats().derived == 199  # the last one waits

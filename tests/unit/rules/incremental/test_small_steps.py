"""Events that come one by one: what Python finds is what SQL finds in all of them at once."""

from __future__ import annotations

from math import nan
from typing import Any

import pyarrow as pa
import pytest

import ostinato
from ostinato.rules.incremental.small_steps import SMALL_STEP, SmallSteps
from ostinato.rules.runtime.bound_program import bind_program

SCHEMA = pa.schema(
    {
        "type": pa.string(),
        "ts": pa.int64(),
        "k": pa.string(),
        "n": pa.int64(),
        "v": pa.float64(),
        "w": pa.float64(),
        "on": pa.bool_(),
        "at": pa.date32(),
    }
)
VALUES: list[dict[str, Any]] = [
    {"k": "it's", "n": 1, "v": 0.5, "w": 0.5, "on": True},
    {"k": 'a "b" \\', "n": 2**60, "v": -0.0, "w": 0.0, "on": False},
    {"k": "", "n": -3, "v": nan, "w": nan},
    {"k": None, "n": 7, "v": 41.0, "w": None, "on": True},
    {"k": "ä", "n": None, "v": 40.0, "w": 41.0},
]
ROWS = [
    {"type": label, "ts": place, **VALUES[(place * 3 + place // 4) % len(VALUES)]}
    for place, label in enumerate("aabab" * 8)
]
QUERIES = {
    "values": "event i: a {{ k {{ var K }}, n {{ var N }} }}",
    "NaN is no value": "event i: a {{ v {{ var N }} }}",
    "constants": 'event i: a {{ k {{ "it\'s" }}, n {{ var N }} }}',
    "numbers": "event i: a {{ v {{ 41 }}, n {{ var N }} }}",
    "truth": "event i: a {{ on {{ true }}, n {{ var N }} }}",
    "twice the same": "event i: a {{ v {{ var N }}, w {{ var N }} }}",
    "maybe": "event i: a {{ n {{ var N }}, optional w {{ var W }} }}",
    "all of it": "event i: a { k { var K }, n { var N }, v { var V } }",
    "any": "event i: a {{ k {{ }}, n {{ var N }} }}",
    "pairs": "and { event i: a {{ n {{ var N }}, v {{ var V }} }}, event j: b {{ k {{ var K }}, v {{ var U }} }} } "
    'where { var V >= 0.5, 40.5 > var U, var K != "", {i, j} within 5 sec }',
    "timers": "and { event i: a {{ n {{ var N }}, v {{ var V }} }}, event t: timer:from-end [event i, 3 sec], "
    "event u: timer:shift-forward [event i, 1 sec], while t: not b {{ n {{ var N }} }} } where { var V < 41 }",
    "shortened": "and { event i: a {{ n {{ var N }} }}, event t: timer:from-end [event i, 3 sec], "
    "event u: timer:shorten [event t, 2 sec] }",
    "collected": "and { event i: a {{ k {{ var N }}, v {{ var V }} }}, event t: timer:from-end [event i, 4 sec], "
    "while t: collect b {{ n {{ var M }} }} } where { var V <= 0.5 }",
    "others": "event i: a {{ at {{ var D }}, n {{ var N }} }}",
    "arithmetic": "and { event i: a {{ n {{ var N }}, v {{ var V }} }} } where { var V * 2 > 1 }",
}


@pytest.mark.slow
@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES.keys())
@pytest.mark.parametrize("size", [1, SMALL_STEP, SMALL_STEP + 1])
def test_few_at_a_time(query: str, size: int) -> None:
    rules = ostinato.rules(f"DETECT found {{ n {{ var N }} }} ON {query} END")
    table = pa.Table.from_pylist(ROWS, SCHEMA)
    engine = rules.engine()
    answers = [engine.push(table.slice(first, size)) for first in range(0, len(table), size)]
    found = pa.concat_tables([*answers, engine.flush()])
    expected = rules.detect(table)
    assert sorted(map(repr, found.to_pylist())) == sorted(map(repr, expected.to_pylist()))


def test_a_timer_that_python_has_set() -> None:
    engine = ostinato.rules(f"DETECT found {{ n {{ var N }} }} ON {QUERIES['timers']} END").engine(schema=SCHEMA)
    row = {"type": "a", "ts": 10, "n": 1, "v": 0.0}
    assert len(engine.push([row])) == 0
    assert len(engine.advance(to=11)) == 0
    assert engine.due() == 13
    assert len(engine.push([{**row, "ts": 12, "n": 2}])) == 0
    assert len(engine.advance(to=12)) == 0
    assert engine.due() == 13
    assert engine.advance(to=13)["n"].to_pylist() == [1]
    assert engine.due() == 15
    assert engine.advance(to=15)["n"].to_pylist() == [2]


def test_what_is_left_to_sql() -> None:
    rules = ostinato.rules(f"DETECT found {{ n {{ var N }} }} ON {QUERIES['pairs']} END")
    bound = bind_program(rules.program, rules.text, SCHEMA, {})
    small = SmallSteps(bound.sql)
    events = bound.columns.read(pa.Table.from_pylist(ROWS[:1], SCHEMA))
    found = small.additions(events)
    assert {len(rows) for rows in found.values()} == {0, 1}
    rule = next(each.name for each in bound.sql.plan.query_plan.definitions if each.rule is not None)
    assert not small.adds_nothing(rule, found)  # either side of a join may have changed
    dates = ostinato.rules(f"DETECT found {{ n {{ var N }} }} ON {QUERIES['others']} END")
    assert SmallSteps(bind_program(dates.program, dates.text, SCHEMA, {}).sql).additions(events) == {}

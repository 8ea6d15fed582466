"""Events that are counted one by one: equal ones are one event, whatever else of them rules read."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import ostinato
from ostinato.rules.incremental.delta_query import Host
from ostinato.rules.incremental.engine import RuleEngine
from support.derived import comparable_events, events_in

BAG = """DETECT bag { n { count(each 1) }, sum { sum(each var V) } } ON and { event e: q {{ }},
    event t: timer:from-end-backward [event e, 20 sec], while t: collect a {{ v { var V } }} } END"""
NAMED = """DETECT bag { n { count(all 1) }, low { min(all var V) } } ON and { event e: q {{ }},
    event t: timer:from-end-backward [event e, 20 sec], while t: collect event w: a {{ v { var V } }} } END"""
ALIKE = [("x", None), ("x", None), ("y", None), ("x", [1]), ("x", [1]), ("x", [2]), ("x", [])]


def _rows(first: int = 1) -> list[dict[str, Any]]:
    """At each of three times: one event twice, others that differ in what no rule reads."""
    rows: list[dict[str, Any]] = [
        {"type": "a", "ts": at, "v": 2, "other": other, "list": items}
        for at in range(first, first + 3)
        for other, items in ALIKE
    ]
    return [*rows, {"type": "q", "ts": first + 5, "v": None, "other": None, "list": None}]


def _hosts(engine: RuleEngine) -> list[Host]:
    return [delta.host for delta in engine._steps.live.deltas if delta.host is not None]


@pytest.mark.parametrize("text", [BAG, NAMED])
@pytest.mark.parametrize("size", [1, 3, 100])
@pytest.mark.parametrize("lists", [False, True])
def test_equal_events_are_one(text: str, size: int, lists: bool) -> None:
    rows = [row if lists else {name: row[name] for name in ("type", "ts", "v", "other")} for row in _rows()]
    rules = ostinato.rules(text)
    engine = rules.engine(schema=pa.Table.from_pylist(rows).schema)
    found = []
    for first in range(0, len(rows), size):
        found.append(engine.push(rows[first : first + size]))
        engine = RuleEngine.restore(engine.snapshot())
    answer = pa.concat_tables([*found, engine.flush()])
    assert answer["n"].to_pylist() == [3 * (4 if lists else 2)]
    assert not _hosts(engine), "kernels match them"
    if not lists:
        assert comparable_events(events_in(answer)) == comparable_events(events_in(rules.detect(rows)))


def test_a_column_that_comes_later_tells_events_apart() -> None:
    engine = ostinato.rules(BAG).engine()
    engine.push([{"type": "a", "ts": 1, "v": 2}, {"type": "a", "ts": 1, "v": 2}])
    engine.push([{"type": "a", "ts": 1, "v": 2, "other": "x"}, {"type": "a", "ts": 2, "v": 2, "other": "x"}])
    engine.push([{"type": "q", "ts": 3}])
    assert engine.flush()["n"].to_pylist() == [3]


def test_events_of_a_label_that_rules_derive() -> None:
    """Such a one may equal one that comes in."""
    rules = ostinato.rules(f"DETECT a {{ v {{ var V }} }} ON event b: b {{{{ v {{ var V }} }}}} END {BAG}")
    rows = [{"type": kind, "ts": 1, "v": v} for kind, v in [("a", 2), ("b", 2), ("b", 3), ("a", 2), ("a", 4)]]
    rows.append({"type": "q", "ts": 3, "v": None})
    engine = rules.engine()
    engine.push(rows)
    assert engine.flush()["n"].drop_null().to_pylist() == [3] == rules.detect(rows)["n"].drop_null().to_pylist()


def test_kept_events_are_counted_on_under_other_rules() -> None:
    rules = ostinato.rules(BAG)
    engine = rules.engine()
    engine.push(_rows())
    engine.deploy("more", "DETECT a { v { var V } } ON event b: b {{ v { var V } }} END")  # now Python matches
    engine.push([{"type": "a", "ts": 8, "v": 2}, {"type": "b", "ts": 8, "v": 3}, {"type": "q", "ts": 9}])
    engine.undeploy("more")  # and kernels do again
    engine.push([{"type": "a", "ts": 10, "v": 2}, {"type": "q", "ts": 11}])
    answer = engine.flush()
    assert (engine.stats().derived, answer["n"].to_pylist()[-1]) == (4, 15)


def test_points_that_grow_in_the_middle_of_an_event_count_it_once() -> None:
    pair = "DETECT d { n { var N } } ON and { event a: a {{ n { var N } }}, event c: c {{ n { var N } }} } END"
    engine = ostinato.rules(f"{BAG} {pair}").engine()
    rows: list[dict[str, Any]] = [{"type": "a", "ts": 1, "v": place, "n": place} for place in range(100)]
    engine.push([*rows, {"type": "q", "ts": 3, "v": None, "n": None}])
    assert engine.flush()["n"].to_pylist() == [100]

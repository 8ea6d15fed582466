"""Patterns over labels that rules derive, step by step."""

from __future__ import annotations

from typing import Any

import pytest

import ostinato as ost
from ostinato import RuleEngine
from ostinato.errors import QueryError

HOT = """DETECT hot { k { var K }, v { var V } }
ON event t: temp {{ k {{ var K }}, v {{ var V }} }} where { var V > 40 } END
"""
TWICE = """DETECT twice { k { var K } }
ON event p: cel "SELECT x.k AS k WHERE hot AS x ; hot AS y WITHIN 10 seconds PARTITION BY k" {{ k {{ var K }} }} END
"""


def temp(ts: float, v: Any, k: str = "x", type: str = "temp") -> dict[str, Any]:
    return {"ts": ts, "type": type, "k": k, "v": v}


def rows(answer: Any) -> list[tuple[Any, ...]]:
    return [(row["type"], row["begin"], row["end"], row.get("k")) for row in answer.to_pylist()]


def test_a_match_comes_in_the_step_in_which_its_last_event_is_derived() -> None:
    engine = ost.rules(HOT + TWICE).engine()
    engine.push([temp(1, 41), temp(2, 30), temp(3, 50)])
    assert rows(engine.advance(to=3)) == [("twice", 1, 3, "x"), ("hot", 3, 3, "x")]
    assert engine.due() is None
    assert rows(engine.flush()) == []


def test_what_timers_derive_is_read_when_they_go_off() -> None:
    calm = """DETECT calm { k { var K } } ON and { event h: hot {{ k {{ var K }} }},
        event i: timer:from-end [event h, 2 sec], while i: not cold {{ k {{ var K }} }} } END
    DETECT over { k { var K } }
    ON event p: cel "SELECT y.k AS k WHERE hot AS x ; calm AS y" {{ k {{ var K }} }} END"""
    engine = ost.rules(HOT + calm).engine()
    engine.push([temp(1, 41), temp(1.5, 0, "y", "cold")])
    assert engine.due() == 1.5
    engine.advance(to=2)
    assert engine.due() == 3.0
    assert rows(engine.advance(to=4)) == [("calm", 1, 3, "x"), ("over", 1, 3, "x")]


def test_what_comes_in_is_read_before_what_rules_derive_at_the_same_time() -> None:
    both = """DETECT cause { k { var K } }
    ON event p: cel "SELECT x.k AS k WHERE temp AS x ; hot AS y" {{ k {{ var K }} }} END
    DETECT effect { k { var K } }
    ON event p: cel "SELECT x.k AS k WHERE hot AS x ; temp AS y" {{ k {{ var K }} }} END"""
    found = ost.rules(HOT + both).detect([temp(1, 41), temp(2, 30)])
    assert rows(found) == [("cause", 1, 1, "x"), ("hot", 1, 1, "x"), ("effect", 1, 2, "x")]


def test_only_labels_that_are_named_lie_between_events() -> None:
    """A pattern that names no derived label reads all that comes in."""
    next_to = HOT + TWICE.replace("hot AS x ; hot", "hot AS x : hot")
    assert len(ost.rules(next_to).detect([temp(1, 41), temp(2, 0), temp(3, 42)])) == 3
    incoming = next_to.replace("hot", "temp").replace("DETECT temp", "DETECT warm")
    assert rows(ost.rules(incoming).detect([temp(1, 41), temp(2, 0, type="z"), temp(3, 42)]))[0][0] == "warm"
    assert (
        "twice" not in ost.rules(incoming).detect([temp(1, 41), temp(2, 0, type="z"), temp(3, 42)])["type"].to_pylist()
    )


def test_a_label_may_come_in_and_be_derived() -> None:
    found = ost.rules(HOT + TWICE).detect([temp(1, 41), temp(2, 1, type="hot")])
    assert rows(found) == [("hot", 1, 1, "x"), ("twice", 1, 2, "x")]


@pytest.mark.parametrize("cut", range(1, 6))
def test_state_is_saved_between_the_events_of_a_match(cut: int) -> None:
    program = ost.rules(HOT + TWICE)
    events = [temp(n, 39 + n % 3, "xy"[n % 2]) for n in range(1, 12)]
    engine = program.engine()
    found = rows(engine.push(events[:cut]))
    restored = RuleEngine.restore(engine.snapshot())
    assert found + rows(restored.push(events[cut:])) + rows(restored.flush()) == rows(program.detect(events))


def test_deployed_rules_give_a_pattern_what_it_names() -> None:
    """It begins anew with them, and reads only what comes in again once they are gone."""
    engine = ost.rules(TWICE).engine()
    engine.push([temp(1, 1, type="hot"), temp(1.5, 0)])
    engine.deploy("makers", HOT)
    engine.push([temp(2, 41)])
    assert rows(engine.push([temp(3, 42), temp(4, 0)])) == [
        ("hot", 2, 2, "x"),
        ("twice", 2, 3, "x"),
        ("hot", 3, 3, "x"),
    ]
    engine.undeploy("makers")
    engine.push([temp(5, 50), temp(6, 1, type="hot")])
    assert rows(engine.push([temp(7, 1, type="hot")])) == []
    assert rows(engine.flush()) == [("twice", 6, 7, "x")]


def test_values_without_a_type_are_text() -> None:
    text = """DETECT order { id { var I } } ON event o: bought {{ id {{ var I }} }} END
    DETECT again { id { var I } }
    ON event p: cel "SELECT y.id AS id WHERE order AS x ; order AS y FILTER y[id = '7']" {{ id {{ var I }} }} END"""
    events = [{"ts": n, "type": "bought", "body": f'{{"id": {number}}}'} for n, number in enumerate((7, 8, 7))]
    program = ost.rules(text)
    found = program.detect(events, document="body")
    assert [(row["begin"], row["id"]) for row in found.to_pylist() if row["type"] == "again"] == [(0, "7"), (1, "7")]
    engine = program.engine(document="body")
    assert len(engine.push(events)) + len(engine.flush()) == len(found)


def test_types_that_do_not_go_together() -> None:
    clash = HOT.replace("v { var V }", "v { 'high' }")
    text = clash + 'DETECT x { } ON event p: cel "hot AS x ; temp AS y FILTER y[v > 1]" {{ }} END'
    with pytest.raises(QueryError, match=r"`v` would be a .* in some events and a .* in others") as caught:
        ost.rules(text).detect([temp(1, 41)])
    assert caught.value.span is not None


def test_a_type_that_is_known_only_later() -> None:
    text = (
        HOT
        + """DETECT pair { sum { var S } }
    ON event p: cel "SELECT x.v + y.v AS s WHERE hot AS x ; hot AS y" {{ s {{ var S }} }} END"""
    )
    engine = ost.rules(text).engine()
    engine.push([{"ts": 1, "type": "cold", "k": "x"}])
    engine.push([temp(2, 41)])
    engine.push([temp(3, 41.5)])
    assert [row["sum"] for row in engine.flush().to_pylist() if row["type"] == "pair"] == [82.5]


def test_numbers_of_a_live_engine() -> None:
    """What no rule reads is told, where no pattern reads all that comes in."""
    engine = ost.rules(HOT + TWICE).engine()
    engine.push([temp(1, 41), temp(2, 41, type="other")])
    assert (engine.stats().unread, engine.stats().waiting) == (1, 1)


@pytest.mark.parametrize("cut", range(1, 6))
def test_sql_over_what_rules_derive(cut: int) -> None:
    text = """DETECT fall { k { var K }, v { var V } } ON and {
        event p: sql "SELECT * FROM hot MATCH_RECOGNIZE (PARTITION BY k MEASURES LAST(v) AS v
                      PATTERN (A B+ C) DEFINE B AS v < PREV(v), C AS v >= PREV(v))" {{ k {{ var K }}, v {{ var V }} }},
        event i: timer:from-end [event p, 1 sec], while i: not temp {{ v {{ 99 }} }} } END"""
    program = ost.rules(HOT + text)
    values = [50, 47, 10, 45, 45, 49, 48, 60, 99]
    events = [temp(n, value) for n, value in enumerate(values)]
    engine = program.engine()
    found = rows(engine.push(events[:cut]))
    restored = RuleEngine.restore(engine.snapshot())
    found += rows(restored.push(events[cut:])) + rows(restored.flush())
    assert found == rows(program.detect(events))
    assert [row for row in found if row[0] == "fall"] == [("fall", 0, 5, "x")]

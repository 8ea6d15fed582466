"""Rules deployed into a live engine, replaced and taken away while others keep their state."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import ostinato
from ostinato.errors import DataError, OstinatoError, QueryError
from ostinato.rules.incremental.engine import RuleEngine
from ostinato.rules.incremental.stream_binding import StreamBinding

PAIR = """DETECT pair { k { var K } }
ON and { event i: a {{ k {{ var K }} }}, event j: b {{ k {{ var K }} }} } where { i before j, {i, j} within 10 sec }
END"""
SECOND = PAIR.replace("pair", "second")
ABOVE = "DETECT above { k { var K } } ON event p: pair {{ k {{ var K }} }} END"


def point(label: str, at: int, k: str = "x") -> dict[str, Any]:
    return {"type": label, "ts": at, "k": k}


def found(*answers: Any) -> list[tuple[Any, ...]]:
    return [(row["type"], row["begin"], row["end"]) for answer in answers for row in answer.to_pylist()]


def test_new_rules_start_now_and_the_others_keep_their_state() -> None:
    engine = ostinato.rules(PAIR).engine()
    engine.push([point("a", 1), point("a", 2)])
    engine.advance(to=2)
    engine.deploy("more", SECOND)
    assert engine.deployed == ["more"]
    given = found(engine.push([point("a", 3), point("b", 4)]), engine.flush())
    assert sorted(given) == [("pair", 1, 4), ("pair", 2, 4), ("pair", 3, 4), ("second", 3, 4)]


def test_events_that_wait_are_read_by_new_rules_too() -> None:
    engine = ostinato.rules(PAIR).engine()
    engine.push([point("a", 1)])  # time has not passed it
    engine.deploy("more", SECOND)
    assert sorted(found(engine.push([point("b", 4)]), engine.flush())) == [("pair", 1, 4), ("second", 1, 4)]


def test_new_rules_can_start_from_history() -> None:
    engine = ostinato.rules(PAIR).engine()
    past = [point("a", 1), point("b", 2), point("a", 3, "y")]
    engine.push(past)
    engine.advance(to=3)
    engine.deploy("more", SECOND, history=past)
    given = found(engine.push([point("b", 4), point("b", 5, "y")]), engine.flush())
    assert sorted(given) == [("pair", 1, 4), ("pair", 3, 5), ("second", 1, 4), ("second", 3, 5)]
    with pytest.raises(OstinatoError, match="flushed"):
        engine.deploy("again", SECOND)


@pytest.mark.parametrize("dicts", [True, False])
def test_a_history_need_not_have_what_other_rules_read(dicts: bool) -> None:
    def rows(*given: dict[str, Any]) -> Any:
        return list(given) if dicts else pa.Table.from_pylist(list(given))

    engine = ostinato.rules("DETECT other { v { var V } } ON event o: o {{ v {{ var V }} }} END").engine()
    engine.push(rows({"type": "o", "ts": 5, "v": 1, "k": None}))
    engine.deploy("pairs", PAIR, history=rows({"type": "a", "ts": 2, "k": "x"}, {"type": "b", "ts": 3, "k": "x"}))
    given = found(engine.push(rows({"type": "b", "ts": 6, "v": None, "k": "x"})), engine.flush())
    assert sorted(given) == [("other", 5, 5), ("pair", 2, 6)]


def test_a_history_of_the_future_is_refused_and_nothing_changes() -> None:
    engine = ostinato.rules(PAIR).engine()
    engine.push([point("a", 1), point("a", 2)])
    with pytest.raises(DataError, match="end after the engine"):
        engine.deploy("more", SECOND, history=[point("a", 9)])
    assert engine.deployed == []
    assert found(engine.push([point("b", 4)]), engine.flush()) == [("pair", 1, 4), ("pair", 2, 4)]


def test_deployed_rules_read_what_others_derive_and_can_be_replaced_and_taken_away() -> None:
    engine = ostinato.rules(PAIR).engine()
    engine.deploy("up", ABOVE)
    assert sorted(found(engine.push([point("a", 1), point("b", 2)]), engine.advance(to=2))) == [
        ("above", 1, 2),
        ("pair", 1, 2),
    ]
    engine.deploy("up", ABOVE.replace("above", "higher"))
    assert sorted(found(engine.push([point("b", 4)]), engine.advance(to=4))) == [("higher", 1, 4), ("pair", 1, 4)]
    engine.undeploy("up")
    assert found(engine.push([point("b", 6)]), engine.flush()) == [("pair", 1, 6)]
    with pytest.raises(OstinatoError, match=r"flushed"):
        engine.undeploy("up")


def test_a_cycle_is_refused_with_its_names_and_nothing_changes() -> None:
    quiet = """DETECT quiet { k { var K } } ON and { event i: a {{ k {{ var K }} }},
        event t: timer:from-end [event i, 1 sec], while t: not loud {{ k {{ var K }} }} } END"""
    engine = ostinato.rules(quiet).engine()
    engine.push([point("a", 1)])
    with pytest.raises(QueryError, match=r"loud <- quiet <- not loud|quiet <- not loud <- quiet"):
        engine.deploy("loud", "DETECT loud { k { var K } } ON event q: quiet {{ k {{ var K }} }} END")
    assert engine.deployed == []
    assert found(engine.flush()) == [("quiet", 1, 2)]


def test_snapshots_have_what_was_deployed() -> None:
    engine = ostinato.rules(PAIR).engine()
    engine.push([point("a", 1)])
    engine.deploy("more", SECOND)
    engine.push([point("a", 2)])
    engine = RuleEngine.restore(engine.snapshot())
    assert engine.deployed == ["more"]
    given = found(engine.push([point("b", 4)]), engine.flush())
    assert sorted(given) == [("pair", 1, 4), ("pair", 2, 4), ("second", 1, 4), ("second", 2, 4)]


def test_a_snapshot_goes_on_under_a_program_of_which_other_rules_changed() -> None:
    engine = ostinato.rules(f"{PAIR}\n{ABOVE}").engine()
    engine.push([point("a", 1), point("a", 2)])
    changed = f"{ABOVE.replace('above', 'higher')}\n{PAIR}"
    engine = RuleEngine.restore(engine.snapshot(), changed)
    given = found(engine.push([point("b", 4)]), engine.flush())
    assert sorted(given) == [("higher", 1, 4), ("higher", 2, 4), ("pair", 1, 4), ("pair", 2, 4)]


def test_a_timer_of_the_past_does_not_go_off() -> None:
    engine = ostinato.rules(PAIR).engine()
    engine.push([point("a", 50), point("a", 51)])
    engine.deploy(
        "calm",
        "DETECT calm { n { 1 } } ON and { event i: timer:absolute [0, 10], while i: not c {{ }} } END"
        " DETECT later { n { 1 } } ON and { event i: timer:absolute [52, 60], while i: not c {{ }} } END",
    )
    assert found(engine.push([point("a", 70)]), engine.flush()) == [("later", 52, 60)]


def test_what_is_not_deployed_cannot_be_taken_away() -> None:
    engine = ostinato.rules(PAIR).engine()
    engine.deploy("more", SECOND)
    with pytest.raises(DataError, match="no rules are deployed as `mor`"):
        engine.undeploy("mor")
    with pytest.raises(OstinatoError, match="name"):
        engine.deploy("", SECOND)


@pytest.mark.filterwarnings("ignore:no event has")
def test_only_what_is_deployed_is_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = ostinato.rules(PAIR).engine()
    engine.push([point("a", 1), point("a", 2)])
    monkeypatch.setattr(StreamBinding, "of", None)  # which binds a whole program
    engine.deploy("more", SECOND)
    engine.deploy("up", ABOVE)
    engine.deploy("of others", SECOND.replace("second", "third").replace("k ", "other ").replace("b {", "c {"))
    assert sorted(found(engine.push([point("a", 3), point("b", 4)]), engine.advance(to=4))) == [
        *[("above", 1, 4), ("above", 2, 4), ("above", 3, 4)],
        *[("pair", 1, 4), ("pair", 2, 4), ("pair", 3, 4), ("second", 2, 4), ("second", 3, 4)],
    ]
    engine.deploy("more", ABOVE.replace("above", "more"))
    engine.undeploy("up")
    given = found(engine.push([point("b", 6), {"type": "c", "ts": 7}]), engine.flush())
    assert sorted(given) == [(label, begin, 6) for label in ("more", "pair") for begin in (1, 2, 3)]


def test_tables_do_not_grow_with_rules_that_come_and_go() -> None:
    engine = ostinato.rules(PAIR).engine()
    engine.push([point("a", 1), point("a", 2)])
    for number in range(400):
        engine.deploy("more", SECOND.replace("second", f"second{number}"))
    assert len(engine._steps.live.linker.deltas) < 2_000
    assert sorted(found(engine.push([point("b", 4)]), engine.flush())) == [
        *[("pair", 1, 4), ("pair", 2, 4), ("second399", 2, 4)]
    ]


def test_a_timer_that_is_taken_away_does_not_go_off_and_others_do() -> None:
    quiet = """DETECT quiet { k { var K } } ON and { event i: a {{ k {{ var K }} }},
        event t: timer:from-end [event i, 5 sec], while t: not b {{ k {{ var K }} }} } END"""
    engine = ostinato.rules(quiet).engine()
    engine.push([point("a", 1), point("a", 2)])
    engine.deploy("more", quiet.replace("quiet", "calm"))
    engine.push([point("a", 3), point("a", 4)])
    engine.undeploy("more")
    assert found(engine.flush()) == [("quiet", begin, begin + 5) for begin in (1, 2, 3, 4)]


def test_terms_of_events_that_wait_are_read_for_new_rules() -> None:
    engine = ostinato.rules("DETECT seen { k { var K } } ON event i: a {{ k {{ var K }} }} END").engine()
    engine.push([point("a", 1)])
    engine.deploy("more", "DETECT whole { x { var X } } ON event i: a {{ desc k {{ var X }} }} END")
    assert sorted(found(engine.flush())) == [("seen", 1, 1), ("whole", 1, 1)]


def test_before_any_event_rules_are_checked_together() -> None:
    quiet = """DETECT quiet { k { var K } } ON and { event i: a {{ k {{ var K }} }},
        event t: timer:from-end [event i, 1 sec], while t: not loud {{ k {{ var K }} }} } END"""
    engine = ostinato.rules(quiet).engine()
    with pytest.raises(QueryError, match=r"loud <- quiet <- not loud|quiet <- not loud <- quiet"):
        engine.deploy("loud", "DETECT loud { k { var K } } ON event q: quiet {{ k {{ var K }} }} END")
    engine.deploy("more", SECOND)
    assert engine.deployed == ["more"]
    assert found(engine.push([point("a", 1), point("b", 2)]), engine.flush()) == [("quiet", 1, 2), ("second", 1, 2)]


@pytest.mark.parametrize("anew", [False, True])
def test_events_that_wait_have_the_values_that_only_new_rules_read(anew: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of an attribute, they may have been read as another type, or only whether there is one."""
    there = "DETECT there { n { 1 } } ON event i: a {{ k {{ }} }} END"
    seen = there.replace("there", "seen")
    seen += " DETECT both { k { var K } } ON event i: a {{ k {{ var K }} }} END"
    engine = ostinato.rules(seen).engine()
    engine.push([point("a", 1, "y")])
    if anew:
        monkeypatch.setattr(StreamBinding, "changed", lambda *_: None)
    engine.deploy("more", "DETECT more { k { var K } } ON event i: a {{ k {{ var K }} }} END")
    engine.deploy("there", there)
    answer = engine.flush()
    assert sorted((row["type"], row["k"]) for row in answer.to_pylist()) == [
        *[("both", "y"), ("more", "y"), ("seen", None), ("there", None)]
    ]
    engine = ostinato.rules(seen.split("DETECT both")[0]).engine()
    engine.push([point("a", 1, "y")])
    engine.deploy("there", "DETECT more { k { var K } } ON event i: a {{ k {{ var K }} }} END")
    assert sorted(found(engine.flush())) == [("more", 1, 1), ("seen", 1, 1)]
    engine = ostinato.rules(PAIR).engine()
    engine.push([point("a", 1, "y")])
    engine.deploy("there", there)
    assert found(engine.flush()) == [("there", 1, 1)]


def test_an_error_has_its_place_in_the_program_that_it_is_about() -> None:
    engine = ostinato.rules(PAIR).engine()
    engine.push([point("a", 1)])
    engine.deploy("more", SECOND)
    limited = "-- limited\nDETECT second { } at most 1 per 1 min ON event i: a {{ }} END"
    with pytest.raises(QueryError, match=r"different limits for `second`\n +2 \| DETECT second") as refused:
        engine.deploy("limited", limited)
    assert refused.value.text == limited
    with pytest.raises(QueryError, match=r"`second` is private.*\n +1 \| DETECT second") as refused:
        engine.deploy("private", "PRIVATE DETECT second { } ON event i: a {{ }} END")
    assert refused.value.text == SECOND

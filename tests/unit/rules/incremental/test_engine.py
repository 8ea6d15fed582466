"""The live engine of rules: time, lateness, forgetting, snapshots."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

import ostinato
from ostinato.errors import DataError, OstinatoError
from ostinato.rules.incremental import state
from ostinato.rules.incremental.engine import RuleEngine
from ostinato.rules.kernels import layout, steps
from support import paths

VECTOR = json.loads((paths.VECTORS / "rules.json").read_text())
COLUMNS = ("type", "begin", "end", "area", "sensor", "value")
ROWS = [{name: event.get(name) for name in COLUMNS} for event in VECTOR["events"]]

ABSENT = """
DETECT silent { k { var K } }
ON and { event i: a {{ k {{ var K }} }},
         event t: timer:from-end [ event i, 10 sec ],
         while t: not b {{ k {{ var K }} }} }
END
"""
PAIR = """
DETECT pair { k { var K } }
ON and { event i: a {{ k {{ var K }} }}, event j: b {{ k {{ var K }} }} } where { i before j, {i, j} within 10 sec }
END
"""
REPEATED = """
DETECT r { k { var K } } ON or { event i: a {{ k {{ var K }} }}, event i: r {{ k {{ var K }} }} } END
"""


def point(label: str, at: Any, k: str = "x") -> dict[str, Any]:
    return {"type": label, "ts": at, "k": k}


def intervals(table: pa.Table) -> list[tuple[Any, ...]]:
    return [(row["type"], row["begin"], row["end"]) for row in table.to_pylist()]


def test_the_paper_step_by_step() -> None:
    engine = ostinato.rules(VECTOR["program"]).engine()
    for row in ROWS:
        assert intervals(engine.push([row])) == []
    assert engine.due() == 80
    assert intervals(engine.advance(to=91)) == [("avg_temp", 10, 80), ("fire", 65, 80)]
    assert engine.due() == 92
    assert intervals(engine.advance(to=92)) == [("burnt_down", 70, 92)]
    assert engine.due() is None
    assert intervals(engine.flush()) == []
    with pytest.raises(OstinatoError, match="flushed"):
        engine.push(ROWS)


def test_an_answer_comes_with_the_first_later_event() -> None:
    engine = ostinato.rules(PAIR).engine()
    assert intervals(engine.push([point("a", 1), point("b", 3)])) == []
    assert intervals(engine.push([point("b", 3)])) == []  # ends together with what waits, and is not late
    assert intervals(engine.push([point("a", 4)])) == [("pair", 1, 3)]


def test_equal_ends_wait_for_each_other_before_an_absence_is_told() -> None:
    engine = ostinato.rules(ABSENT).engine()
    engine.push([point("a", 0)])
    assert intervals(engine.push([point("a", 10, "y")])) == []
    assert intervals(engine.push([point("b", 10)])) == []
    assert intervals(engine.push([point("a", 11, "z")])) == []
    assert intervals(engine.flush()) == [("silent", 10, 20), ("silent", 11, 21)]


def test_events_come_out_of_order_within_a_bound() -> None:
    engine = ostinato.rules(PAIR).engine(lateness="5 sec")
    assert intervals(engine.push([point("b", 3), point("a", 1)])) == []
    assert intervals(engine.push([point("a", 9)])) == [("pair", 1, 3)]
    assert intervals(engine.push([point("b", 2)])) == []
    assert engine.stats().late == 1
    assert intervals(engine.push([point("a", 4), point("b", 6)])) == []
    assert intervals(engine.flush()) == [("pair", 1, 6), ("pair", 4, 6)]


def test_late_events_are_counted_collected_or_refused() -> None:
    rows = [point("a", 1), point("b", 30)]
    late = [point("b", 3), point("b", 31)]
    collecting = ostinato.rules(PAIR).engine(on_late="collect")
    collecting.push(rows)
    collecting.push(late)
    assert collecting.late_events().to_pylist() == late[:1]
    refusing = ostinato.rules(PAIR).engine(on_late="raise")
    refusing.push(rows)
    with pytest.raises(DataError, match=r"row 2: 1 of 2 events"):
        refusing.push(late)
    assert refusing.stats().events == 2
    refusing.push(late[1:])
    assert refusing.stats().events == 3


def test_events_that_last_too_long_are_as_good_as_late() -> None:
    engine = ostinato.rules(VECTOR["program"]).engine(longest="5 sec", on_late="collect")
    engine.push(ROWS)
    assert [row["begin"] for row in engine.late_events().to_pylist()] == [70]
    assert intervals(engine.flush()) == []


def test_rows_that_end_before_they_begin_are_refused_with_their_row() -> None:
    engine = ostinato.rules(VECTOR["program"]).engine()
    engine.push(ROWS[:2])
    with pytest.raises(DataError, match="row 2: the event ends before it begins: `begin` is 70, `end` 60"):
        engine.push([ROWS[2] | {"end": 60}])
    assert engine.stats().events == 2


def test_memory_is_bounded_by_what_can_still_matter() -> None:
    engine = ostinato.rules(VECTOR["program"]).engine()
    table = pa.table(
        {
            "ts": list(range(20_000)),
            "type": ["smoke" if number % 50 == 0 else "temp" for number in range(20_000)],
            "area": [f"a{number % 7}" for number in range(20_000)],
            "sensor": [f"s{number % 7}" for number in range(20_000)],
            "value": [float(30 + number % 20) for number in range(20_000)],
        }
    )
    most = 0
    for start in range(0, 20_000, 500):
        engine.push(table.slice(start, 500))
        most = max(most, sum(engine.stats().kept.values()))
    assert most < 5 * 2_500
    engine.snapshot()  # forgets all that can be
    assert sum(engine.stats().kept.values()) < 100


def test_a_large_batch_is_taken_in_several_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [point("ab"[number % 2], number // 3, "xyz"[number % 3]) for number in range(300)]
    whole = intervals(ostinato.rules(PAIR).detect(rows))
    monkeypatch.setattr(state, "_ROWS", 7)
    engine = ostinato.rules(PAIR).engine()
    found = intervals(engine.push(list(reversed(rows)))) + intervals(engine.flush())
    assert sorted(found) == sorted(whole)


@pytest.mark.parametrize("cut", range(4))
def test_a_restored_engine_goes_on(cut: int) -> None:
    engine = ostinato.rules(VECTOR["program"]).engine()
    found = []
    for number, row in enumerate(ROWS):
        if number == cut:
            engine = RuleEngine.restore(engine.snapshot())
        found += intervals(engine.push([row]))
    if cut == 3:
        engine = RuleEngine.restore(engine.snapshot())
    found += intervals(engine.flush())
    assert found == [("avg_temp", 10, 80), ("fire", 65, 80), ("burnt_down", 70, 92)]


def test_a_snapshot_of_another_engine_is_refused() -> None:
    saved = ostinato.cel("A AS x").engine().snapshot()
    with pytest.raises(DataError, match="snapshot of an Engine"):
        RuleEngine.restore(saved)


def test_batches_keep_their_columns() -> None:
    engine = ostinato.rules(PAIR).engine()
    engine.push([point("a", 1)])
    with pytest.raises(DataError, match="no column `k`"):
        engine.push(pa.table({"type": ["a"], "ts": [2]}))
    with pytest.raises(DataError, match="no column `type`"):
        engine.push([{"ts": 2, "k": "x"}])
    assert intervals(engine.push([{"type": "a", "ts": 2}])) == []  # a dict without k has none
    with pytest.raises(DataError, match="`k` is a list in this batch, and was a string before"):
        engine.push([{"type": "a", "ts": 2, "k": [1]}])
    assert intervals(engine.push([{"k": "x", "more": 1, "ts": 4, "type": "b"}])) == []
    assert intervals(engine.flush()) == [("pair", 1, 4)]


def test_a_schema_says_what_columns_hold_before_they_hold_anything() -> None:
    rules = ostinato.rules("DETECT x { v { var V } } ON event i: s {{ optional v {{ var V }} }} END")
    schema = pa.schema([("type", pa.string()), ("ts", pa.int64()), ("v", pa.float64())])
    engine = rules.engine(schema=schema)
    engine.push([{"type": "s", "ts": 1, "v": None}])
    engine.push([{"type": "s", "ts": 2, "v": 2.5}])
    assert [row["v"] for row in engine.flush().to_pylist()] == [2.5]
    with pytest.raises(DataError, match="`v` is a list"):
        rules.engine(schema=schema).push([{"type": "s", "ts": 2, "v": [2.5]}])


def test_rows_that_no_rule_reads_are_counted() -> None:
    engine = ostinato.rules(PAIR).engine()
    engine.push([point("a", 1), point("smok", 1), point("b", 2)])
    assert engine.stats().unread == 1
    assert RuleEngine.restore(engine.snapshot()).stats().unread == 1


def test_timestamps_stay_timestamps() -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    engine = ostinato.rules(ABSENT).engine()
    engine.push([point("a", start)])
    assert intervals(engine.advance(to=start + timedelta(seconds=9.5))) == []
    assert engine.due() == start + timedelta(seconds=10)
    assert intervals(engine.advance(to=start + timedelta(seconds=10))) == [
        ("silent", start, start + timedelta(seconds=10))
    ]


def test_an_absolute_timer_goes_off_by_itself() -> None:
    engine = ostinato.rules(
        "DETECT calm { n { 1 } } ON and { event i: timer:absolute [0, 100], while i: not a {{ k {{ 'x' }} }} } END"
    ).engine()
    engine.push([point("a", 50, "y")])
    assert engine.due() == 50
    assert intervals(engine.advance(to=99)) == []
    assert engine.due() == 100
    assert intervals(engine.advance(to=100)) == [("calm", 0, 100)]


def test_nothing_is_known_before_the_first_batch() -> None:
    engine = ostinato.rules(PAIR).engine()
    assert engine.push([]).num_rows == 0
    assert engine.due() is None
    with pytest.raises(DataError, match="no events were pushed yet"):
        engine.advance(to=3)


def failing_once(monkeypatch: pytest.MonkeyPatch, fails_at: int = 1) -> None:
    """Let a step fail when it has done its work, before it ends."""
    calls = iter(range(1, 100))

    def fail(live: layout.ProgramState) -> int:
        status = steps.run(live)
        if status == layout.FINISHED and next(calls) == fails_at:
            raise DataError("a value of the events cannot be used")
        return status

    monkeypatch.setattr(state, "run", fail)


@pytest.mark.parametrize("program", [PAIR, ABSENT, REPEATED])
def test_a_step_that_fails_leaves_all_as_it_was(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [point("a", 1), point("b", 3), point("a", 5), point("a", 20)]
    wanted = intervals(ostinato.rules(program).detect(rows))
    engine = ostinato.rules(program).engine()
    found = intervals(engine.push(rows[:1]))
    failing_once(monkeypatch)
    with pytest.raises(DataError, match="cannot be used"):
        engine.push(rows[1:3])
    engine = RuleEngine.restore(engine.snapshot())
    found += intervals(engine.push(rows[3:])) + intervals(engine.flush())
    assert sorted(found) == sorted(wanted)


def test_what_was_derived_before_a_step_failed_is_given_by_the_next_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "_ROWS", 2)
    failing_once(monkeypatch, fails_at=2)
    engine = ostinato.rules(PAIR).engine()
    with pytest.raises(DataError, match="cannot be used"):
        engine.push([point("a", 1), point("b", 2), point("a", 3), point("b", 4), point("a", 5)])
    engine = RuleEngine.restore(engine.snapshot())
    assert intervals(engine.flush()) == [("pair", 1, 2), ("pair", 1, 4), ("pair", 3, 4)]


def test_a_round_of_a_recursion_that_fails_leaves_all_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = ostinato.rules(REPEATED).engine()
    engine.push([point("a", 1)])
    with monkeypatch.context() as patched:
        failing_once(patched)
        with pytest.raises(DataError, match="cannot be used"):
            engine.push([point("a", 2)])
    assert intervals(engine.flush()) == [("r", 1, 1), ("r", 2, 2)]


def test_an_engine_that_stopped_in_a_pattern_cannot_be_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = ostinato.rules('DETECT r { } ON event p: cel "SELECT * WHERE a AS x ; b AS y" {{ }} END').engine()
    engine.push([point("a", 1)])
    failing_once(monkeypatch)
    with pytest.raises(DataError, match="cannot be used"):
        engine.push([point("a", 2)])
    for call in (engine.flush, engine.snapshot):
        with pytest.raises(OstinatoError, match="stopped in the middle of a step"):
            call()


def test_timers_of_fixed_times_go_off_without_any_event() -> None:
    calm = "DETECT calm { } ON and { event i: timer:absolute [0, 60], while i: not a {{ k {{ 'x' }} }} } END"
    text = calm.replace("[0, 60]", "['2026-01-01T08:00', '2026-01-01T09:00']")
    eight, nine = (datetime(2026, 1, 1, hour, tzinfo=UTC) for hour in (8, 9))
    for program, times in ((calm, (0, 60)), (text, (eight, nine))):
        rules = ostinato.rules(program)
        names = pa.table({"ts": pa.nulls(0), "type": pa.nulls(0), "k": pa.nulls(0)})  # a file of names alone
        for derived in (rules.detect([]), rules.detect(names), rules.engine().flush()):
            assert intervals(derived) == [("calm", *times)]
    engine = ostinato.rules(calm).engine()
    engine.push(names)
    engine.push([point("a", 30)])
    assert intervals(engine.flush()) == []


def test_begin_and_end_have_a_zone_or_none_has() -> None:
    bare = datetime(2026, 1, 1)
    row = {"type": "a", "begin": bare.replace(tzinfo=UTC), "end": bare, "k": "x"}
    with pytest.raises(DataError, match="`begin` has a time zone, and `end` has none"):
        ostinato.rules(PAIR).detect([row])


def test_a_relative_timer_on_an_absolute_one() -> None:
    rules = ostinato.rules(
        "DETECT x { } ON and { event e: b {{ }}, event t: timer:absolute [6, 9], "
        "event u: timer:from-end [event t, 1 sec] } END"
    )
    rows = [point("b", 1), point("b", 12)]
    engine = rules.engine()
    found = intervals(engine.push(rows[:1])) + intervals(engine.push(rows[1:])) + intervals(engine.flush())
    assert found == intervals(rules.detect(rows)) == [("x", 1, 10), ("x", 6, 12)]


@pytest.mark.parametrize("first", [{"type": "a", "ts": 1}, {"type": "a", "ts": 1, "v": None}])
def test_events_of_a_derived_label_may_bring_more_later(first: dict[str, Any]) -> None:
    rules = ostinato.rules(
        "DETECT x { k { 1 } } ON event e: a {{ }} END DETECT y { k { var K } } ON event e: x {{ v {{ var K }} }} END"
    )
    rows = [first, {"type": "x", "ts": 2, "v": 3}]
    engine = rules.engine()
    found = [*engine.push(rows[:1]).to_pylist(), *engine.push(rows[1:]).to_pylist(), *engine.flush().to_pylist()]
    assert found == rules.detect(rows).to_pylist()


def test_labels_are_texts_and_events_without_one_are_told_of() -> None:
    rules = ostinato.rules("DETECT y { n { 1 } } ON event e: a {{ }} END")
    for call in (rules.detect, rules.engine().push):
        with pytest.warns(UserWarning, match="an event has no label"):
            call([{"type": None, "ts": 1}, {"type": "a", "ts": 2}])
        with pytest.raises(DataError, match="should say what kind of event"):
            (rules.detect if call == rules.detect else rules.engine().push)([{"type": 1, "ts": 1}])


def test_a_time_after_a_date_stays_a_time() -> None:
    rules = ostinato.rules("DETECT y { n { 1 } } ON event e: a {{ }} END")
    rows = [{"type": "a", "ts": date(2026, 1, 1)}, {"type": "a", "ts": datetime(2026, 1, 1, 5)}]
    assert [row["begin"].hour for row in rules.detect(rows).to_pylist()] == [0, 5]


def test_milliseconds_may_be_msec() -> None:
    text = "DETECT x { } ON and { event a: a {{ }}, event t: timer:from-end [event a, 250 msec] } END"
    assert ostinato.rules(text).detect([point("a", 1.0)])["end"].to_pylist() == [1.25]

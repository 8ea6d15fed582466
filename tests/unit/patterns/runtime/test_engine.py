"""The engine's life: batches, time, lateness, limits, and what it says when used wrongly."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.patterns.compile import compile_text
from ostinato.patterns.runtime.engine import Engine
from ostinato.patterns.runtime.state import EngineOptions


def rows(text: str, start: int = 0) -> list[dict[str, Any]]:
    """One event per letter, one second apart; a dot is a second without an event."""
    return [{"type": letter, "ts": start + at} for at, letter in enumerate(text) if letter != "."]


def positions(table: pa.Table) -> list[tuple[int, ...]]:
    return [tuple(found) for found in table["positions"].to_pylist()]


def test_matches_come_with_the_batch_that_completes_them() -> None:
    engine = ost.cel("A AS x ; B AS y").engine()
    assert positions(engine.push(rows("A"))) == []
    assert positions(engine.push(rows("B", 1))) == [(0, 1)]
    assert positions(engine.flush()) == []


def test_start_and_end_are_known_when_the_start_is_long_gone() -> None:
    engine = ost.cel("A AS x ; B AS y").engine(events=True)
    engine.push(rows("A"))
    for batch in range(50):
        engine.push(rows("E" * 200, 1 + 200 * batch))
    (match,) = engine.push(rows("B", 20_000)).to_pylist()
    assert (match["start"], match["end"]) == (0, 20_000)
    assert [event["type"] for event in match["events"]] == ["A", "B"]


def test_memory_is_bounded_by_the_window() -> None:
    engine = ost.cel("A AS x ; B AS y WITHIN 50 EVENTS").engine()
    sizes = []
    for batch in range(40):
        engine.push(rows("AE" * 1000, 2000 * batch))
        sizes.append(engine.stats().bytes)
    assert max(sizes[10:]) == max(sizes[:10])
    assert len(engine.history.kept_positions) <= 10_000


def test_a_stream_without_time_goes_on_for_long() -> None:
    """Found in use: answers that need no column at all still need to know which rows are kept."""
    engine = ost.cel("A AS x ; B AS y WITHIN 3000 EVENTS").engine()
    for _ in range(20):
        engine.push([{"type": "A"}] + [{"type": "E"}] * 999)
    assert len(engine.push([{"type": "B"}])) == 2


def test_the_order_of_strings_that_never_meet_is_not_told_apart() -> None:
    pattern = " ; ".join(f"{letter} AS {letter.lower()}" for letter in "ABCDEFGH")
    engine = ost.cel(f"SELECT LAST * WHERE {pattern}").engine()
    engine.push(rows("HGFEDCBAADCBHGFEBADCFEHGACEGBDFH" * 20))
    assert engine.stats().states <= 10  # one order more per pair of parts would make thousands


def test_absence_is_announced_when_time_has_passed() -> None:
    engine = ost.cel("A AS x ; NOT B AS n WITHIN 10 seconds").engine()
    assert positions(engine.push(rows("A"))) == []
    assert positions(engine.advance(to=10)) == []
    assert positions(engine.advance(to=11)) == [(0,)]
    assert positions(engine.push(rows("A.B", 20))) == []
    assert engine.stats().waiting == 0
    assert positions(engine.push(rows("A", 40))) == []
    assert positions(engine.flush()) == [(3,)]


def test_an_event_at_the_very_end_of_the_window_still_cancels() -> None:
    query = ost.cel("A AS x ; NOT B AS n WITHIN 10 seconds")
    assert positions(query.detect(rows("A.........B"))) == []
    assert positions(query.detect(rows("A..........B"))) == [(0,)]


def test_absence_under_a_strategy_compares_places_in_the_stream() -> None:
    """Found by a property test: with events out of order, positions do not say which event came first."""
    events = [{"type": "A", "ts": 0}, {"type": "A", "ts": 2}, {"type": "B", "ts": 3}, {"type": "A", "ts": 1}]
    text = "SELECT LAST * WHERE A AS x ; B AS y ; NOT C AS n WITHIN 8 seconds"
    engine = ost.cel(text).engine(lateness=100)
    engine.push(events)
    assert positions(engine.flush()) == [(1, 2)] == positions(ost.cel(text).detect(events))


def test_late_events_are_counted_collected_or_refused() -> None:
    query = ost.cel("A AS x ; B AS y")
    engine = query.engine(on_late="collect")
    engine.push(rows("A", 10))
    assert positions(engine.push(rows("B", 5))) == []
    assert engine.stats().late == 1 and engine.late_events().to_pylist() == rows("B", 5)
    strict = query.engine(on_late="raise")
    strict.push(rows("A", 10))
    with pytest.raises(ost.DataError, match="lateness"):
        strict.push(rows("B", 5))


def test_lateness_puts_events_in_order() -> None:
    engine = ost.cel("A AS x ; B AS y").engine(lateness="10 seconds")
    assert positions(engine.push(rows("B", 8))) == []
    assert positions(engine.push(rows("A", 5))) == []
    assert positions(engine.push(rows("E", 30))) == [(1, 0)]


def test_a_timestamp_column_is_time_too() -> None:
    noon = datetime(2026, 1, 1, 12)
    events = [{"type": letter, "at": noon + timedelta(minutes=at)} for at, letter in enumerate("AB")]
    found = ost.cel("A AS x ; B AS y WITHIN 1 minute").detect(events, time="at")
    assert found["end"].to_pylist() == [noon + timedelta(minutes=1)]
    assert len(ost.cel("A AS x ; B AS y WITHIN 59 seconds").detect(events, time="at")) == 0


def test_snapshot_and_restore_in_the_middle_of_a_match() -> None:
    engine = ost.cel("SELECT x, y.ts WHERE A AS x ; B AS y PARTITION BY k WITHIN 1 minute").engine()
    engine.push([{"type": "A", "ts": 0, "k": key} for key in "abc"])
    again = Engine.restore(engine.snapshot())
    assert replace(again.stats(), bytes=0) == replace(engine.stats(), bytes=0)  # room is not made alike
    late = [{"type": "B", "ts": 7, "k": "b"}]
    assert (
        again.push(late).to_pylist()
        == engine.push(late).to_pylist()
        == [{"x": {"type": "A", "ts": 0, "k": "b"}, "ts": 7}]
    )


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: None,
        lambda data: b"nonsense",
        lambda data: data[:-1],
        lambda data: data[:8] + b"\xff\xff" + data[10:],
    ],
)
def test_a_damaged_snapshot_is_refused(damage: Any) -> None:
    data = ost.cel("A AS x").engine().snapshot()
    with pytest.raises(ost.DataError, match="snapshot"):
        Engine.restore(damage(data))


def test_too_many_matches_are_refused_not_built() -> None:
    with pytest.raises(ost.LimitError, match="matches=1,000"):
        ost.cel("(A AS x)+ ; B AS y").detect(rows("A" * 30 + "B"), limits=ost.Limits(matches=1000))
    assert ost.cel("(A AS x)+ ; B AS y").count(rows("A" * 30 + "B")) == 2**30 - 1


def test_any_number_of_matches_can_be_taken_piece_by_piece() -> None:
    engine = ost.cel("(A AS x)+ ; B AS y").engine(limits=ost.Limits(matches=1000))
    tables = engine.push_each(rows("A" * 18 + "B"))
    first = next(tables)
    with pytest.raises(ost.OstinatoError, match="middle of a step"):
        engine.push(rows("A", 100))
    assert len(first) + sum(map(len, tables)) == 2**18 - 1
    assert positions(engine.push(rows("E", 100))) == []


def test_partial_matches_beyond_memory_are_refused() -> None:
    with pytest.raises(ost.LimitError, match="memory"):
        ost.cel("A AS x ; B AS y").detect(rows("A" * 100_000), limits=ost.Limits(memory=1_000_000))


def test_counts_are_exact_beyond_64_bits() -> None:
    assert ost.cel("(A AS x)+ ; B AS y").count(rows("A" * 300 + "B")) == 2**300 - 1
    assert ost.cel("(A AS x)+ ; B AS y WITHIN 150 EVENTS").count(rows("A" * 300 + "B")) == 2**149 - 1


def test_walking_matches_loses_none_when_the_stack_grows() -> None:
    """Found in review: what was counted before the stack had to grow was forgotten."""
    stream = [{"type": letter} for letter in "ABC" * 150 + "D"]
    assert ost.cel("SELECT MAX * WHERE A ; B ; C ; D").count(stream) == math.comb(152, 3)


def test_a_count_too_large_to_tell_is_a_limit() -> None:
    with pytest.raises(ost.LimitError, match="WITHIN"):
        ost.cel("(A AS x)+ ; B AS y").count(rows("A" * 2000 + "B"))


def test_types_that_never_came_are_known() -> None:
    engine = ost.cel("A AS x ; (Bee AS y FILTER y.ts > 3)").engine()
    assert engine.unseen_types() == ["A", "Bee"]
    engine.push(rows("AB"))
    assert engine.unseen_types() == ["Bee"]


def test_the_end_is_the_end() -> None:
    engine = ost.cel("A AS x").engine()
    engine.push(rows("A"))
    engine.flush()
    with pytest.raises(ost.OstinatoError, match="flushed"):
        engine.push(rows("A"))


def test_an_engine_that_failed_in_the_middle_gives_no_more_answers() -> None:
    engine = ost.cel("(A AS x)+ ; B AS y").engine(limits=ost.Limits(matches=10))
    saved = engine.snapshot()
    with pytest.raises(ost.LimitError):
        engine.push(rows("AAAAAAB"))
    with pytest.raises(ost.OstinatoError, match="snapshot"):
        engine.push(rows("A", 10))
    assert positions(Engine.restore(saved).push(rows("AB"))) == [(0, 1)]


def test_what_is_no_query_and_what_is_no_key_are_told() -> None:
    with pytest.raises(ost.QueryError, match="a query is text, not NoneType"):
        ost.cel(None)  # type: ignore[arg-type]
    table = pa.table({"type": ["A"], "k": pa.array([(1, 2, 3)], pa.month_day_nano_interval())})
    with pytest.raises(ost.OstinatoError, match="interval"):
        ost.cel("A AS x PARTITION BY k").detect(table)


def test_an_empty_list_is_an_empty_batch() -> None:
    engine = ost.cel("A AS x ; B AS y").engine()
    engine.push(rows("A"))
    assert positions(engine.push([])) == []
    assert positions(engine.push(rows("B", 1))) == [(0, 1)]


def test_one_tie_breaker_may_stand_alone() -> None:
    tied = [{"type": "B", "ts": 0, "n": 2}, {"type": "A", "ts": 0, "n": 1}]
    assert positions(ost.cel("A AS x ; B AS y").detect(tied, order_by="n")) == [(1, 0)]


def test_batches_must_agree_on_their_columns() -> None:
    engine = ost.cel("A AS x").engine()
    engine.push(rows("A"))
    with pytest.raises(ost.DataError, match="no column `ts`"):
        engine.push([{"type": "A"}])
    with pytest.raises(ost.DataError, match="`ts` is int64 in this stream"):
        engine.push([{"type": "A", "ts": "soon"}])


def test_a_column_may_learn_its_type_late() -> None:
    engine = ost.cel("SELECT x, y.v WHERE A AS x ; B AS y").engine(lateness=1)
    engine.push([{"type": "A", "ts": 0, "v": None}])
    engine.push([{"type": "B", "ts": 1, "v": None}])
    found = engine.push([{"type": "B", "ts": 9, "v": 7}, {"type": "B", "ts": 20, "v": 8}])
    found = pa.concat_tables([found, engine.flush()])
    assert found.to_pylist() == [{"x": {"type": "A", "ts": 0, "v": None}, "v": value} for value in (None, 7, 8)]


def test_refused_late_events_leave_everything_as_it_was() -> None:
    engine = ost.cel("A AS x ; B AS y").engine(on_late="raise")
    engine.push(rows("E", 5))
    with pytest.raises(ost.DataError, match="none was taken"):
        engine.push([{"type": "A", "ts": 6}, {"type": "A", "ts": 4}])
    engine.push(rows("A", 6))
    assert positions(engine.push(rows("B", 7))) == [(1, 2)]


def test_sums_and_items_do_not_wrap_around() -> None:
    large = [{"type": "A", "v": 2**62}] * 3
    with pytest.raises(ost.DataError, match="beyond 64-bit"):
        ost.cel("SELECT STRICT sum(x.v) WHERE (A AS x)+").detect(large)
    with pytest.raises(ost.DataError, match="a value of `w` is too large for its column, which holds int64"):
        ost.cel("SELECT x.v + x.v AS w WHERE A AS x").detect(large)
    assert ost.cel("SELECT sum(1.0 * x.v) AS s WHERE A AS x").detect(large)["s"].to_pylist() == [2.0**62] * 3


def test_a_zone_survives_expressions() -> None:
    table = pa.table({"type": ["A"], "at": pa.array([0], pa.timestamp("s", "Europe/Paris"))})
    found = ost.cel("SELECT coalesce(x.at, x.at) AS at WHERE A AS x").detect(table)
    assert found["at"].type == pa.timestamp("s", "Europe/Paris") and found["at"].to_pylist() == table["at"].to_pylist()


def test_lateness_is_text_a_number_or_a_timedelta() -> None:
    for lateness in ("90 seconds", 90, timedelta(seconds=90)):
        assert ost.cel("A AS x").engine(lateness=lateness).options.lateness == 90 * 10**9
    with pytest.raises(ost.OstinatoError, match="lateness cannot be -1"):
        ost.cel("A AS x").engine(lateness=-1)
    with pytest.raises(ost.OstinatoError, match="seconds") as refused:
        ost.cel("A AS x").engine(lateness="5 events")
    assert refused.value.option == "lateness"


@pytest.mark.slow
def test_kernels_run_without_compilation_too() -> None:
    program = "import ostinato as ost; rows = [{'type': letter} for letter in 'AAB']; "
    program += "print(ost.cel('(A AS x)+ ; B AS y').detect(rows)['positions'].to_pylist())"
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    found = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert sorted(json.loads(found.stdout)) == [[0, 1, 2], [0, 2], [1, 2]]


def test_an_attribute_window_needs_an_attribute_that_grows() -> None:
    events = [{"type": "A", "odo": value} for value in (5, 9, 7)]
    with pytest.raises(ost.DataError, match="row 2"):
        ost.cel("A AS x ; A AS y WITHIN 3 ON odo").detect(events)


def test_an_empty_stream_has_an_empty_answer_with_all_columns() -> None:
    empty = pa.table(
        {"type": pa.array([], pa.string()), "ts": pa.array([], pa.timestamp("us")), "v": pa.array([], pa.int64())}
    )
    assert ost.cel("A AS x").detect(empty, events=True).schema.names == ["start", "end", "positions", "events"]
    found = ost.cel("SELECT x, sum(y.v) AS total, count(y) AS n WHERE A AS x ; (B AS y)+").detect(empty)
    assert found.schema.names == ["x", "total", "n"] and found.schema.field("total").type == pa.int64()


@pytest.mark.slow
def test_a_million_keys_share_one_kernel_call() -> None:
    count = 1_000_000
    table = pa.table({"type": ["A"] * count + ["B"] * count, "k": [*range(count), *range(count)]})
    assert ost.cel("A AS x ; B AS y PARTITION BY k WITHIN 2 EVENTS").count(table) == count


@pytest.mark.parametrize(
    "text",
    [
        "ORDER AS o ; NOT PAID PARTITION BY id WITHIN 10 seconds",
        "ORDER AS o ; PAID AS p PARTITION BY id WITHIN 10 seconds",
        "SELECT MAX * WHERE ORDER AS o ; PAID+ PARTITION BY id WITHIN 10 seconds",
        "SELECT LAST * WHERE ORDER AS o ; PAID AS p PARTITION BY id WITHIN 10 seconds",
        "SELECT STRICT * WHERE ORDER AS o ; PAID AS p PARTITION BY id WITHIN 10 seconds",
        "(ORDER AS o : PAID AS p) FILTER o.id = p.id WITHIN 10 seconds",
    ],
)
def test_keys_that_fell_silent_are_forgotten(text: str) -> None:
    """Each second brings 1,000 new keys: only those of the last window or so may be remembered."""
    engine = ost.cel(text).engine()
    found = 0
    for second in range(60):
        keys = np.arange(1000 * second, 1000 * (second + 1))
        ordered = pa.table({"type": ["ORDER"] * 1000, "ts": np.full(1000, float(second)), "id": keys})
        paid = pa.table({"type": ["PAID"] * 1000, "ts": np.full(1000, second + 0.5), "id": keys - 5000})
        found += len(engine.push(pa.concat_tables([ordered, paid])))
        if second == 30:
            engine = Engine.restore(engine.snapshot())
    found += len(engine.flush())
    assert found == (5000 if "NOT" in text else 0 if ":" in text else 55_000)
    assert engine.stats().keys < 40_000


def test_a_key_that_comes_back_starts_afresh() -> None:
    engine = ost.cel("A AS x ; B AS y PARTITION BY k WITHIN 3 EVENTS").engine()
    engine.push([{"type": "A", "k": key} for key in range(3000)])
    engine.push([{"type": "E", "k": key % 3000} for key in range(9000)])
    engine = Engine.restore(engine.snapshot())
    assert engine.stats().keys == 0
    assert len(engine.push([{"type": letter, "k": 7} for letter in "BAB"])) == 1


def test_an_attribute_window_is_measured_in_each_partition() -> None:
    events = [{"type": letter, "car": car, "odo": odo} for letter, car, odo in
              [("A", 1, 100), ("A", 2, 5), ("B", 2, 6), ("B", 1, 103), ("B", 2, 9), ("A", 1, 104)]]  # fmt: skip
    query = ost.cel("A AS x ; B AS y PARTITION BY car WITHIN 3 ON odo")
    assert positions(query.detect(events)) == [(1, 2), (0, 3)]
    engine = query.engine()
    assert [row for event in events for row in positions(engine.push([event]))] == [(1, 2), (0, 3)]
    with pytest.raises(ost.DataError, match=r"`odo` decreases here within its partition"):
        engine.push([{"type": "A", "car": 2, "odo": 8}])
    with pytest.raises(ost.DataError, match="decreases"):
        ost.cel("A AS x ; B AS y WITHIN 3 ON odo").detect(events)


def test_events_of_one_time_wait_for_each_other_where_order_by_decides() -> None:
    engine = ost.cel("A AS x ; B AS y").engine(lateness="10 seconds", order_by="n")
    engine.push([{"type": "B", "ts": 5, "n": 2}, {"type": "E", "ts": 15, "n": 0}])
    engine.push([{"type": "A", "ts": 5, "n": 1}])
    assert positions(engine.flush()) == [(2, 0)]


def test_no_events_at_all_have_no_matches() -> None:
    query = ost.cel("A AS x ; B AS y FILTER y.v > 3 PARTITION BY k WITHIN 1 minute")
    assert query.detect([]).column_names == ["k", "start", "end", "positions"] and query.count([]) == 0
    assert len(query.detect([], time="when", type="kind", order_by=["n"])) == 0
    assert len(query.detect(pa.table({name: pa.nulls(0) for name in ("ts", "type", "k", "v")}))) == 0
    engine = query.engine()
    assert len(engine.push([])) == 0 and len(engine.push(pa.table({}))) == 0
    engine.push([{"ts": 1, "type": "A", "k": 1, "v": 0}])
    assert len(engine.push([{"ts": 2, "type": "B", "k": 1, "v": 4}])) == 1
    assert len(query.engine().flush()) == 0


def test_events_can_wait_for_time_to_be_told() -> None:
    binding = {"time": "ts", "type": None, "order_by": ()}
    engine = Engine(compile_text("A AS x ; B AS y WITHIN 1 minute"), EngineOptions(binding, lateness=None))
    assert positions(engine.push(rows("B", 8))) == []
    assert positions(engine.push(rows("A", 5))) == []
    engine = Engine.restore(engine.snapshot())
    assert positions(engine.advance(to=9)) == [(1, 0)]
    assert positions(engine.push(rows("B", 8))) == [] and engine.stats().late == 1
    engine.push(rows("B", 20))
    assert positions(engine.flush()) == [(1, 3)]


def test_a_strategy_waits_only_for_better_matches() -> None:
    engine = ost.cel("SELECT NXT * WHERE A+ ; NOT B WITHIN 5 seconds").engine()
    engine.push(rows("A.A"))
    assert positions(engine.advance(to=6)) == [(0,), (0, 1)]
    assert positions(engine.flush()) == []


def test_the_last_match_is_certain_before_an_earlier_one() -> None:
    """LAST prefers {1, 2} to {0, 2}, whose window ends first."""
    engine = ost.cel("SELECT LAST * WHERE (A ; C) ; NOT B WITHIN 5 seconds").engine()
    engine.push(rows("A.AC"))
    assert engine.due() == 8
    assert positions(engine.advance(to=7)) == []
    assert positions(engine.advance(to=8)) == [(1, 2)]
    engine = ost.cel("SELECT LAST * WHERE (A ; C) ; NOT B WITHIN 5 seconds").engine()
    engine.push(rows("A.AC"))
    assert positions(engine.push(rows("B", 6))) == [(0, 2)]
    assert engine.due() is not None  # to forget the events


@pytest.mark.parametrize("strategy", ["ALL", "NXT", "LAST", "MAX"])
@pytest.mark.parametrize("seed", range(6))
def test_absence_event_by_event_and_by_its_own_timer(strategy: str, seed: int) -> None:
    stream = rows("".join(np.random.default_rng(seed).choice(list("AAABC.."), 14)))
    query = ost.cel(f"SELECT {strategy} * WHERE (A+ ; C) ; NOT B WITHIN 4 seconds")
    wanted = sorted(positions(query.detect(stream)))
    live, timed, found, rung = query.engine(), query.engine(), [], []
    for event in stream:
        found += positions(live.push([event]))
        found += positions(live.advance(to=event["ts"] + 0.5))
        rung += positions(timed.push([event]))
    assert sorted(found + positions(live.flush())) == wanted
    for _ in range(20):
        if (due := timed.due()) is None:
            break
        rung += positions(timed.advance(to=due))
    assert timed.due() is None
    assert sorted(rung) == wanted


def test_nothing_is_due_before_the_first_event() -> None:
    assert ost.cel("A ; NOT B WITHIN 4 seconds").engine().due() is None


@pytest.mark.parametrize(
    ("times", "due"),
    [
        (pa.array([0, 2]), 6),
        (pa.array([0.0, 2.0]), None),
        (pa.array([1.7e9, 1.7e9 + 2]), None),
        (pa.array([0, 2], pa.timestamp("s")), datetime(1970, 1, 1, 0, 0, 6)),
        (pa.array([0, 2], pa.timestamp("ns")), None),
    ],
)
def test_when_it_is_due_there_is_something_to_do(times: pa.Array, due: Any) -> None:
    engine = ost.cel("A ; NOT B WITHIN 5 seconds").engine()
    engine.push(pa.table({"type": ["A", "A"], "ts": times}))
    assert due is None or engine.due() == due
    assert [len(engine.advance(to=pa.scalar(engine.due(), times.type))) for _ in range(2)] == [1, 1]


def test_a_number_between_two_whole_times_has_passed_the_earlier_one() -> None:
    engine = ost.cel("A ; NOT B WITHIN 5 seconds").engine()
    engine.push(rows("A"))
    assert positions(engine.advance(to=5)) == []
    assert positions(engine.advance(to=5.5)) == [(0,)]
    assert engine.due() is None


def test_events_that_wait_for_others_are_due() -> None:
    for order_by, due in [((), 3), (("type",), 4)]:
        engine = ost.cel("A").engine(lateness=10, order_by=order_by)
        engine.push(rows("A", 3))
        assert engine.due() == due
        assert len(engine.advance(to=due)) == 1
        assert engine.due() is None


@pytest.mark.parametrize("query", ["A AS x ; B AS y FILTER x.id = y.id", "A AS x ; B AS y PARTITION BY id"])
@pytest.mark.parametrize("time", [pa.decimal128(12, 2), pa.int32(), pa.float32(), pa.timestamp("ns"), pa.date32()])
@pytest.mark.parametrize(
    "ids",
    [
        pa.array(["a", "b", "a"]),
        pa.array(["a", "b", "a"]).dictionary_encode(),
        pa.array([b"a", b"b", b"a"], pa.binary(1)),
        pa.array([1.0, 2.0, 1.0]),
        pa.array([1, 2, 1]).cast(pa.decimal128(20, 1)),
    ],
    ids=lambda ids: str(ids.type),
)
def test_small_and_empty_batches(query: str, time: pa.DataType, ids: pa.Array) -> None:
    whole = pa.array([1, 2, 3], pa.int32())
    times = (whole.cast(pa.int64()) if pa.types.is_timestamp(time) else whole).cast(time)
    table = pa.table({"ts": times, "type": ["A", "X", "B"], "id": ids})
    engine = ost.cel(query).engine()
    found = [engine.push(table.slice(begin, size)) for begin, size in ((0, 0), (0, 1), (1, 0), (1, 2), (3, 0))]
    found.append(engine.push(table.schema.empty_table()))
    assert [len(each) for each in found] == [0, 0, 0, 1, 0, 0]


@pytest.mark.parametrize("user", [7, "ann", 0.5, True, datetime(2026, 1, 1)])
@pytest.mark.parametrize("query", ["B AS x ; C AS y FILTER y.user = x.user", "B ; C PARTITION BY k, user"])
def test_a_key_that_the_first_events_do_not_have(query: str, user: object) -> None:
    rows: list[dict[str, object]] = [{"ts": 0, "type": "tick", "k": 1}, {"ts": 0, "type": "B"}]
    rows += [{"ts": 1, "type": "B", "user": user}, {"ts": 2, "type": "C", "user": user}, {"ts": 3, "type": "C"}]
    whole = ost.cel(query).detect(rows)["positions"].to_pylist()
    engine, many, found, among = ost.cel(query).engine(), ost.engine({"q": ost.cel(query)}), [], []
    for row in rows:
        found += engine.push(row)["positions"].to_pylist()
        engine = Engine.restore(engine.snapshot())
        among += [match["positions"] for match in many.push(row)]
    assert found == among == whole == ([[1, 4], [2, 3]][::-1] if "PARTITION" in query else [[2, 3]])

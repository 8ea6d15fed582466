"""NOT with a time of its own."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.patterns.runtime.engine import Engine


def stream(letters: str, **columns: list[Any]) -> list[dict[str, Any]]:
    """One letter and one second each; a dot is a second without an event."""
    rows = [{"ts": ts, "type": letter} for ts, letter in enumerate(letters) if letter != "."]
    return [row | {name: values[at] for name, values in columns.items()} for at, row in enumerate(rows)]


def found(query: str, letters: str, **columns: list[Any]) -> list[list[int]]:
    rows = stream(letters, **columns)
    whole = positions(ost.cel(query).detect(rows))
    engine, each = ost.cel(query).engine(), []
    for row in rows:
        each += positions(engine.push([row]))
        engine = Engine.restore(engine.snapshot())
    each += positions(engine.flush())
    assert sorted(each) == sorted(whole)
    assert ost.cel(query).count(rows) == len(whole)
    return whole


def positions(table: pa.Table) -> list[list[int]]:
    return table["positions"].to_pylist()


# NOT … FOR at the end -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "letters", "want"),
    [
        ("A ; C ; NOT B FOR 2 seconds", "AC..B", [[0, 1]]),
        ("A ; C ; NOT B FOR 3 seconds", "AC..B", []),  # at exactly its end it is still inside
        ("A ; C ; NOT B WITHIN 3 seconds", "AC..B", [[0, 1]]),
        ("A ; NOT B FOR 0 seconds", "AB", [[0]]),
        ("A ; NOT B FOR 2 seconds ; NOT C FOR 4 seconds", "A..B.A...C", [[0]]),
        ("A ; NOT B FOR 2 seconds ; NOT C WITHIN 4 seconds", "A..C.A.X", [[2]]),
        ("A ; C ; NOT B FOR 5 seconds WITHIN 2 seconds", "AC.C", [[0, 1]]),  # WITHIN is about A and C
        ("A ; C ; NOT B FOR 5 seconds WITHIN 2 EVENTS", "ACC", [[0, 1]]),
        ("SELECT MAX * WHERE A+ ; NOT B FOR 1 second", "AA.B", [[0], [0, 1]]),
    ],
)
def test_no_event_for_some_time_after_the_last_one(query: str, letters: str, want: list[list[int]]) -> None:
    assert sorted(found(query, letters)) == want


def test_order_is_that_of_deadlines() -> None:
    query = "(A OR C ; C) ; NOT B FOR 2 seconds ; NOT D WITHIN 4 seconds"
    assert found(query, "CA.C.") == [[1], [0, 2]]  # until 5 and until 6, though they began at 1 and at 0


def test_it_may_compare_what_does_not_come_with_the_match() -> None:
    query = "A AS x ; C ; NOT (B AS n FILTER n.v = x.v) FOR 2 seconds"
    assert found(query, "ACBA.CB", v=[1, 0, 2, 2, 0, 2]) == [[0, 1], [0, 4]]


def test_partitions_do_not_see_each_other() -> None:
    assert found("A ; NOT B FOR 2 seconds PARTITION BY k", "AAB", k=[1, 2, 2]) == [[0]]


@pytest.mark.parametrize("kind", [pa.int64(), pa.float64(), pa.timestamp("ms"), pa.decimal128(10, 2)])
def test_timers_for_each_type_of_time(kind: pa.DataType) -> None:
    def after(seconds: int) -> Any:
        return datetime(2026, 1, 1) + timedelta(seconds=seconds) if pa.types.is_timestamp(kind) else seconds

    engine = ost.cel("A ; NOT B FOR 5 seconds").engine()
    assert engine.push(pa.table({"ts": pa.array([after(0), after(2)], kind), "type": ["A", "C"]})).num_rows == 0
    assert not len(engine.advance(to=pa.scalar(after(5), kind)))
    assert positions(engine.advance(to=pa.scalar(engine.due(), kind))) == [[0]]
    assert engine.due() is None


def test_it_needs_a_time_column() -> None:
    with pytest.raises(ost.OstinatoError, match="time"):
        ost.cel("A ; NOT B FOR 5 seconds").detect([{"type": "A"}])


def test_for_is_a_name_as_well() -> None:
    rows = [{"ts": 0, "type": "for", "for": 1}]
    assert len(ost.cel("for AS for ; NOT for FOR 5 seconds FILTER for.for = 1").detect(rows)) == 1


# NOT … FOR at the start -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "letters", "want"),
    [
        ("NOT B FOR 2 seconds ; A", "AB.AA", [[0], [3]]),  # at exactly two seconds before it is still too late
        ("NOT B FOR 2 seconds ; A ; C", "BA.AC", [[2, 3]]),
        ("NOT B FOR 2 seconds ; NOT C FOR 1 second ; A", "B.C.ACA", [[2]]),
        ("NOT B FOR 2 seconds ; (A OR C)+", "A.BC", [[0], [0, 2]]),
        ("C ; (NOT B FOR 1 second ; A)", "CBA.A", [[0, 3]]),
        ("(NOT B FOR 1 second ; A)+", "ABA.A", [[0], [0, 3], [3]]),
        ("(NOT B FOR 1 second ; A) OR C", "BAC", [[2]]),
        ("(NOT B FOR 1 second ; A) AND C", "BACA", [[2, 3]]),
        ("NOT B FOR 1 second ; A ; NOT B FOR 1 second", "AB.A.B", [[2]]),
        ("NOT A FOR 1 second ; A", "AAA.A", [[0], [3]]),
        ("SELECT STRICT * WHERE NOT B FOR 1 second ; A ; C", "BACAC", [[3, 4]]),
    ],
)
def test_no_event_for_some_time_before_the_first_one(query: str, letters: str, want: list[list[int]]) -> None:
    assert sorted(found(query, letters)) == want


def test_what_came_before_is_of_the_same_partition() -> None:
    assert found("NOT B FOR 2 seconds ; A PARTITION BY k", "BAA", k=[1, 2, 1]) == [[1]]


@pytest.mark.parametrize(("test", "want"), [("n.v = x.v", [[1], [3], [4]]), ("n.v > x.v", [[1], [2], [3], [4]])])
def test_what_came_before_may_be_compared_with_the_first_event(test: str, want: list[list[int]]) -> None:
    query = f"NOT (B AS n FILTER {test}) FOR 2 seconds ; A AS x"
    assert found(query, "BAAAA", v=[1, 2, 1, 1, 1]) == want


def test_many_keys_are_forgotten_when_their_time_has_passed() -> None:
    engine = ost.cel("NOT B FOR 5 seconds ; A PARTITION BY k").engine()
    for place in range(40):
        engine.push([{"ts": 10 * place + n / 100, "type": "B", "k": 100 * place + n} for n in range(100)])
    engine.snapshot()  # looks for what can be forgotten
    assert engine.stats().keys < 250
    assert positions(engine.push([{"ts": 391, "type": "A", "k": 3900}, {"ts": 391, "type": "A", "k": 1}])) == [[4001]]


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("NOT B ; A", "NOT cannot come first"),
        ("NOT B FOR 1 second ; A?", "all parts after this one may be left out"),
        ("NOT (B AS n FILTER n.v = y.v) FOR 1 second ; A AS x ; C AS y", "not with `y`"),
        ("A -> (NOT B FOR 1 second ; C)", "cannot begin what follows"),
    ],
)
def test_what_absence_at_the_start_cannot_be(query: str, reason: str) -> None:
    with pytest.raises(ost.QueryError, match=reason):
        ost.cel(query)


# NOT of a formula -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "letters", "want"),
    [
        ("A ; NOT (B ; C) ; D", "ABDCD", [[0, 2]]),
        ("A ; NOT (B ; C) ; D", "BACD", [[1, 3]]),  # only what lies between counts
        ("A ; NOT (B : C) ; D", "ABXCDBCD", [[0, 4]]),
        ("A ; NOT B{2} ; D", "ABDBD", [[0, 2]]),
        ("A ; NOT (B ; NOT X ; C) ; D", "ABXCDBCD", [[0, 4]]),
        ("A ; NOT (B AND C) ; D", "ACDBD", [[0, 2]]),
        ("A ; NOT (B ; C) ; NOT X ; NOT (C ; B) ; D", "ABDXD", [[0, 2]]),
        ("A ; NOT (B ; C) ; NOT X ; NOT (C ; B) ; D", "ABDCD", [[0, 2]]),
        ("A ; NOT (ANY ; ANY) ; D", "AXDXD", [[0, 2]]),
        ("(A ; NOT (B ; C) ; D)+", "ABDACD", [[0, 2], [0, 2, 3, 5], [3, 5]]),
        ("A ; NOT (B OR C) ; D", "ADCD", [[0, 1]]),
        ("A ; NOT (B OR C) FOR 1 second", "AB.A.C", [[2]]),
        ("NOT (B OR C) FOR 1 second ; A", "BA.A", [[2]]),
    ],
)
def test_no_match_of_a_formula_between_two_parts(query: str, letters: str, want: list[list[int]]) -> None:
    assert sorted(found(query, letters)) == want


def test_its_events_may_have_conditions() -> None:
    query = "A ; NOT ((B AS x FILTER x.v > 1) ; (ANY AS y FILTER y.v IS NULL)) ; D"
    assert found(query, "ABBDXD", v=[0, 1, 2, 3, None, 0]) == [[0, 3]]


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("A ; NOT (B ; C) WITHIN 5 seconds", "stands between two parts"),
        ("A ; NOT (B AS x ; C AS y FILTER x.v = y.v) ; D", "cannot be compared with each other"),
        ("A AS a ; NOT (B AS x ; C FILTER x.v = a.v) ; D", "`a` stands outside of this NOT"),
        ("A ; NOT (B?) ; D", "met by no event at all"),
        ("A ; NOT (B ; C) FOR 3 seconds", "how long a single event"),
        ("A ; NOT (B ; (NOT X FOR 1 second ; C)) ; D", "FOR cannot stand inside"),
    ],
)
def test_what_a_not_of_a_formula_cannot_be(query: str, reason: str) -> None:
    with pytest.raises(ost.QueryError, match=reason):
        ost.cel(query)


# NOT after : at the end -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "letters", "want"),
    [
        ("A : NOT B", "ABA.CA", [[2], [4]]),  # the stream may end there
        ("A ; C : NOT B", "ACBCX", [[0, 3]]),
        ("A : C : NOT B", "ACACB", [[0, 1]]),
        ("A : NOT (B AS n FILTER n.ts > 2)", "ABAB", [[0]]),
        ("A : NOT B WITHIN 1 EVENTS", "AB.A", [[2]]),
        ("SELECT MAX * WHERE A+ : NOT B", "AAXAB", [[0], [0, 1]]),
    ],
)
def test_the_very_next_event_is_another(query: str, letters: str, want: list[list[int]]) -> None:
    assert sorted(found(query, letters)) == want


def test_the_next_event_is_that_of_the_partition_and_needs_no_time() -> None:
    rows = [{"type": kind, "k": k, "v": k} for kind, k in [("A", 1), ("A", 2), ("B", 2), ("C", 1)]]
    assert positions(ost.cel("A : NOT B PARTITION BY k").detect(rows)) == [[0]]
    assert positions(ost.cel("A AS x : NOT (A AS n FILTER n.v > x.v)").detect(rows)) == [[1]]
    engine = ost.cel("A : NOT B PARTITION BY k").engine()
    assert [positions(engine.push([row])) for row in rows] == [[], [], [], [[0]]]
    assert engine.due() is None


# NOT at the end of a branch -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "letters", "want"),
    [
        ("(A ; NOT B) OR C WITHIN 5 seconds", "AC.AB", [[1]]),
        ("(A ; NOT B) OR C WITHIN 2 seconds", "AC.B", [[0], [1]]),
        ("(A ; NOT B FOR 2 seconds) OR (C ; NOT D FOR 1 second)", "AC.DBAB", [[0], [1]]),
        ("(A ; NOT B FOR 2 seconds) OR (C ; NOT D) WITHIN 3 seconds", "ACB.D", []),
        ("(A : NOT B) OR (A ; NOT C FOR 1 second)", "AB.AC.AXA", [[0], [2], [4], [6]]),
        ("(A ; NOT B FOR 9 seconds) OR A", "ABA", [[0], [2]]),  # each of them once
        ("C ; ((A ; NOT B FOR 1 second) OR X)", "CABX", [[0, 3]]),
        ("C -> ((A ; NOT B FOR 1 second) OR X)", "CABX", []),  # the first of A and X is the A
        ("((A ; NOT B FOR 1 second) OR X) ; NOT C FOR 2 seconds", "AX.CX", [[0], [3]]),
        ("NOT D FOR 1 second ; ((A ; NOT B FOR 1 second) OR X)", "DAX.A", [[2], [3]]),
        ("SELECT NXT * WHERE (A ; C ; NOT B FOR 2 seconds) OR C", "ACB.AC", [[0, 4], [1]]),
        ("SELECT MAX * WHERE (A ; C ; NOT B FOR 2 seconds) OR C", "ACB.AC", [[0, 4], [1], [3, 4]]),
        ("SELECT STRICT * WHERE (A ; C ; NOT B FOR 2 seconds) OR X", "ACX.AXC", [[0, 1], [2], [4]]),
        ("(A ; NOT B FOR 5 seconds) OR C LIMIT 2", "AXCXC.A", [[2], [4]]),
    ],
)
def test_not_at_the_end_of_a_branch(query: str, letters: str, want: list[list[int]]) -> None:
    assert sorted(found(query, letters)) == want


def test_a_branch_without_not_is_certain_at_once() -> None:
    query = "(A ; NOT B FOR 5 seconds) OR (C ; C)"
    engine = ost.cel(query).engine()
    assert [positions(engine.push([row])) for row in stream("ACC")] == [[], [], [[1, 2]]]
    assert engine.due() == 6
    assert positions(engine.advance(to=6)) == [[0]]
    assert engine.due() is None and engine.stats().waiting == 0


def test_labels_of_each_branch_come_when_they_are_certain() -> None:
    engine = ost.cel("SELECT x.ts, y.ts WHERE (A AS x ; NOT B FOR 5 seconds) OR A AS y").engine()
    assert engine.push(stream("A")).to_pylist() == [{"x_ts": None, "y_ts": 0}]
    assert engine.advance(to=6).to_pylist() == [{"x_ts": 0, "y_ts": None}]


def test_a_branch_may_compare_what_does_not_come_with_its_own_events() -> None:
    query = "(A AS x ; (NOT B AS n FILTER n.v = x.v)) OR (C AS y ; (NOT B AS n FILTER n.v > y.v)) WITHIN 9 seconds"
    assert sorted(found(query, "AACCB", v=[1, 2, 1, 2, 2])) == [[0], [3]]


@pytest.mark.parametrize("query", ["A : NOT B : C", "(A : NOT B) : C", "A : NOT B ; NOT C WITHIN 1 s", "NOT B : A"])
def test_where_not_cannot_stand_next_to_a_colon(query: str) -> None:
    with pytest.raises(ost.QueryError, match=r"NOT (after|cannot stand next to) `:`|NOT can come last"):
        ost.cel(query)


# Between two parts ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "letters", "want"),
    [
        ("(A : NOT B) ; C", "ABCACAXBC", [[3, 4], [3, 8], [5, 8]]),
        ("A : NOT B ; C", "AC", [[0, 1]]),  # C is the very next one, and no B
        ("A : NOT C ; C", "ACC", []),
        ("A : NOT ANY ; C", "AC.C", []),
        ("A+ : NOT B ; C", "AABC", [[0, 3]]),
        ("((A : NOT B) ; C)+", "AXBCABC", [[0, 3], [0, 6]]),
        ("((A : NOT D) ; C) AND D", "ADCAXDC", [[1, 3, 6], [3, 5, 6]]),
        ("((A AS x : NOT B) FILTER x.ts > 0) ; C", "ACAC", [[2, 3]]),
        ("((A AS x ; NOT B) FILTER x.ts > 0) ; C", "ACACBC", [[2, 3]]),
        ("A : NOT B ; NOT D ; C", "AXCDC", [[0, 2]]),
        ("SELECT STRICT * WHERE (A : NOT B) ; C", "ACXAXC", [[0, 1]]),
    ],
)
def test_the_very_next_event_is_another_and_more_follow(query: str, letters: str, want: list[list[int]]) -> None:
    assert sorted(found(query, letters)) == want


@pytest.mark.slow
@pytest.mark.parametrize(
    ("query", "letters", "want"),
    [
        ("A ; NOT B FOR 2 seconds ; C", "ACCC", [[0, 3]]),  # C must come later than that
        ("A ; NOT B FOR 2 seconds ; C", "AXXBC", [[0, 4]]),  # B may, too
        ("A ; NOT B FOR 2 seconds ; C", "AXBXC", []),
        ("A ; NOT B FOR 2 seconds ; C", "A....C", [[0, 1]]),
        ("A ; NOT B FOR 0 seconds ; C", "ABC", [[0, 2]]),
        ("A ; NOT B FOR 2 seconds ; NOT D ; C", "AXXDC", []),
        ("A ; NOT B FOR 1 second ; NOT D FOR 3 seconds ; C", "AXBXXC", [[0, 5]]),
        ("(A : NOT B) ; NOT D FOR 1 second ; C", "AXXC", [[0, 3]]),
        ("A+ ; NOT B FOR 2 seconds ; C", "ABAXXXC", [[0, 2, 6], [2, 6]]),
        ("A ; X? ; NOT B FOR 1 second ; C", "AXBXX.C", [[0, 5], [0, 3, 5], [0, 4, 5]]),
        ("A ; NOT B FOR 1 second ; X? ; C", "AX.XC", [[0, 3], [0, 2, 3]]),
        ("A ; NOT B FOR 2 seconds ; C WITHIN 4 seconds", "AXXXXC", []),
        ("(A ; NOT B FOR 1 second ; C){1,300}", "AXCAXC", [[0, 2], [0, 2, 3, 5], [0, 5], [3, 5]]),
        ("(A ; NOT B FOR 1 second ; C) AND (B ; NOT A FOR 1 second ; C)", "AXXBXXCC", [[0, 3, 6, 7]]),
        ("A ; NOT B FOR 1 second ; C ; NOT D FOR 1 second", "AXCXX", [[0, 2]]),
        ("SELECT NXT * WHERE A+ ; NOT B FOR 1 second ; C", "AAXCC", [[0, 1, 3], [0, 1, 4]]),
    ],
)
def test_no_event_for_some_time_and_more_follow(query: str, letters: str, want: list[list[int]]) -> None:
    assert sorted(found(query, letters)) == sorted(want)


def test_between_two_parts_it_may_be_compared_with_events_before() -> None:
    assert found("A AS x ; NOT (B AS n FILTER n.v = x.v) FOR 3 seconds ; C", "ABAXXXC", v=[1, 1, 2, 2, 2, 2, 2]) == [
        [2, 6]
    ]
    assert found("(A AS x : (NOT B AS n FILTER n.v = x.v)) ; C", "ABABC", v=[1, 1, 1, 2, 1]) == [[2, 4]]


@pytest.mark.parametrize("kind", [pa.int64(), pa.float64(), pa.timestamp("ms"), pa.date32(), pa.decimal128(24, 2)])
def test_delays_for_each_type_of_time(kind: pa.DataType) -> None:
    days = pa.types.is_temporal(kind)
    length = 86_400_000 if kind == pa.timestamp("ms") else 1
    whole = pa.int32() if kind == pa.date32() else pa.int64()
    times = pa.array([length * time for time in range(4)], whole).cast(kind)
    events = pa.table({"ts": times, "type": ["A", "C", "C", "C"]})
    query = f"A ; NOT B FOR 2 {'days' if days else 'seconds'} ; C"
    assert positions(ost.cel(query).detect(events)) == [[0, 3]]


def test_partitions_have_times_of_their_own() -> None:
    query = "A ; NOT B FOR 2 seconds ; C PARTITION BY k"
    assert sorted(found(query, "AABXCC", k=[1, 2, 1, 1, 1, 2])) == [[1, 5]]


def test_a_delay_needs_a_time_column() -> None:
    with pytest.raises(ost.DataError, match="time"):
        ost.cel("A ; NOT B FOR 2 seconds ; C").detect([{"type": "A"}])


def test_a_delay_cannot_be_forecast() -> None:
    with pytest.raises(ost.QueryError, match="measures time"):
        ost.Forecaster("A ; NOT B FOR 2 seconds ; C WITHIN 1 hour")

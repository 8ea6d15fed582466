"""The live engine of MATCH_RECOGNIZE: when rows come out, rows that come late, what cannot run over a stream."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest

import ostinato as ost

FALLS = """SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES FIRST(ts) AS since, LAST(ts) AS till
           PATTERN (A DOWN{{2}}{more}) {within} DEFINE DOWN AS v < PREV(v))"""


def rows(values: list[int], start: int = 1) -> list[dict[str, Any]]:
    return [{"ts": ts, "v": value} for ts, value in enumerate(values, start=start)]


def given(engine: Any, values: list[int]) -> list[list[tuple[Any, ...]]]:
    """What comes out after each row."""
    return [[tuple(row.values()) for row in engine.push(row).to_pylist()] for row in rows(values)]


def test_a_match_comes_out_with_the_row_that_completes_it() -> None:
    engine = ost.sql(FALLS.format(more="", within="")).engine()
    assert given(engine, [5, 4, 3, 2]) == [[], [], [(1, 3)], []]


def test_a_match_that_could_go_on_waits_for_the_row_that_ends_it() -> None:
    engine = ost.sql(FALLS.format(more=" DOWN*", within="")).engine()
    assert given(engine, [5, 4, 3, 2, 6]) == [[], [], [], [], [(1, 4)]]


def test_nothing_waits_for_what_can_never_be_complete() -> None:
    text = "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES count(*) AS n PATTERN (A B ^ | A) DEFINE A AS v > 0)"
    assert given(ost.sql(text).engine(), [1]) == [[(1,)]]


def test_time_ends_matches_with_within() -> None:
    query = ost.sql(FALLS.format(more=" DOWN*", within="WITHIN 10"))
    engine = query.engine()
    assert not len(engine.push(rows([5, 4, 3])))
    assert engine.due() == 11 and not len(engine.advance(10))
    assert engine.advance(11).to_pylist() == [{"since": 1, "till": 3}]
    assert engine.due() is None
    with pytest.raises(ost.DataError, match="no rows"):
        query.engine().advance(3)


def test_rows_of_other_partitions_end_matches_with_within() -> None:
    text = """SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES count(*) AS n
              PATTERN (A+) WITHIN INTERVAL 2 SECOND)"""
    at = [{"k": key, "ts": f"2026-01-01 00:00:0{second}"} for key, second in (("x", 0), ("x", 1), ("y", 2))]
    table = pa.Table.from_pylist(at)
    table = table.set_column(1, "ts", table["ts"].cast(pa.timestamp("ms")))
    assert ost.sql(text).engine().push(table).to_pylist() == [{"k": "x", "n": 2}]


def test_measures_wait_for_the_rows_that_they_read() -> None:
    text = """SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES LAST(ts) AS till, NEXT(v, 2) AS later
              PATTERN (A) DEFINE A AS v > 8)"""
    engine = ost.sql(text).engine()
    assert given(engine, [9, 1, 2]) == [[], [], [(1, 2)]]
    assert not len(engine.push({"ts": 4, "v": 9}))
    assert engine.flush().to_pylist() == [{"till": 4, "later": None}]


def test_conditions_wait_for_the_rows_that_they_read() -> None:
    text = """SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES LAST(ts) AS till PATTERN (A)
              DEFINE A AS NEXT(v) > v)"""
    assert given(ost.sql(text).engine(), [1, 2, 1, 3]) == [[], [(1,)], [], [(3,)]]


def test_unmatched_rows_come_out_once() -> None:
    text = """SELECT ts, n FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES count(*) AS n
              ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN (A B) DEFINE A AS v = 1, B AS v = 2)"""
    assert given(ost.sql(text).engine(), [0, 1, 2, 1, 0]) == [
        [(1, None)], [], [(2, 1), (3, 2)], [], [(4, None), (5, None)],
    ]  # fmt: skip


def test_the_query_around_it_looks_at_each_row() -> None:
    text = """SELECT since * 10 AS tenfold FROM (SELECT ts, v + 1 AS v FROM t WHERE v > 0) MATCH_RECOGNIZE (
              ORDER BY ts MEASURES FIRST(ts) AS since, LAST(v) AS last PATTERN (A B) DEFINE B AS v < PREV(v))
              WHERE last > 2;"""
    engine = ost.sql(text).engine()
    assert given(engine, [5, 0, 3, 2, 1]) == [[], [], [(10,)], [], []]
    assert engine.flush().schema.names == ["tenfold"]


def test_rows_that_come_late() -> None:
    query = ost.sql(FALLS.format(more="", within=""))
    engine = query.engine(lateness=2, on_late="collect")
    found = [engine.push(row).to_pylist() for row in ({"ts": 2, "v": 4}, {"ts": 1, "v": 5}, {"ts": 3, "v": 3})]
    assert found == [[], [], []]
    assert engine.push({"ts": 5, "v": 9}).to_pylist() == [{"since": 1, "till": 3}]
    assert not len(engine.push({"ts": 1, "v": 9})) and engine.late_events().to_pylist() == [{"ts": 1, "v": 9}]
    assert (engine.stats().rows, engine.stats().late, engine.stats().waiting) == (5, 1, 1)
    strict = query.engine(on_late="raise")
    strict.push({"ts": 2, "v": 4})
    with pytest.raises(ost.DataError, match="later than rows that were already read"):
        strict.push({"ts": 1, "v": 4})


def test_texts_may_come_in_any_order() -> None:
    """Each of them belongs right before the one before it, until there is no room left between two."""
    text = """SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES count(*) AS n, max(A.s) AS most
              PATTERN (A+ B) DEFINE A AS s >= FIRST(A.s) AND max(A.s) < 'z', B AS s < A.s)"""
    names = ["a", "c", *(f"b{'b' * length}" for length in range(70)), "cc", "a"]
    table = pa.table({"ts": range(len(names)), "s": names})
    engine = ost.sql(text).engine()
    found = pa.concat_tables([engine.push(table.slice(at, 1)) for at in range(len(names))] + [engine.flush()])
    assert found.equals(ost.sql(text).detect(table))


def test_texts_that_nothing_reads_any_more_are_forgotten() -> None:
    text = """SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES count(*) AS n, min(A.s) AS least
              PATTERN (A{3} B) DEFINE A AS s >= FIRST(A.s) OR s = 'none', B AS s > max(A.s))"""
    table = pa.table({"ts": range(30_000), "s": [f"{number * 7919 % 30_000:05}" for number in range(30_000)]})
    engine = ost.sql(text).engine()
    found, sizes = [], []
    for at in range(0, len(table), 5000):
        found.append(engine.push(table.slice(at, 5000)))
        sizes.append(len(engine.snapshot()))
        engine = ost.SqlEngine.restore(engine.snapshot())
    found.append(engine.flush())
    assert pa.concat_tables(found).equals(ost.sql(text).detect(table))
    assert max(sizes) < 100_000


def test_many_partitions_and_conditions() -> None:
    """Against the whole table, with restarts."""
    shuffled = random.Random(5)
    names = "ABCDEFGHIJ"
    defined = ", ".join(f"{name} AS v % 10 >= {at} AND v <> PREV(v)" for at, name in enumerate(names))
    text = f"""SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES count(*) AS n, FIRST(v) AS v
               PATTERN (A B+ C | D{{2,}} E? (F | G H* I) J) DEFINE {defined})"""
    count = 3000
    table = pa.table({
        "k": [shuffled.randrange(60) for _ in range(count)], "ts": range(count),
        "v": [shuffled.randrange(20) for _ in range(count)],
    })  # fmt: skip
    engine = ost.sql(text).engine()
    found, at = [], 0
    while at < count:
        size = shuffled.choice((1, 3, 40, 200))
        found.append(engine.push(table.slice(at, size)))
        at += size
        if shuffled.random() < 0.2:
            engine = ost.SqlEngine.restore(engine.snapshot())
    found.append(engine.flush())
    expected = Counter(map(repr, ost.sql(text).detect(table).to_pylist()))
    assert Counter(map(repr, pa.concat_tables(found).to_pylist())) == expected and expected


def test_what_is_kept_is_what_unfinished_matches_read() -> None:
    engine = ost.sql(FALLS.format(more=" DOWN*", within="")).engine()
    engine.push(rows(list(range(20_000))))
    assert engine.stats().kept < 5
    assert len(engine.snapshot()) < 10_000


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("SELECT count(*) FROM t MATCH_RECOGNIZE ({})", "aggregates rows"),
        ("SELECT * FROM t MATCH_RECOGNIZE ({}) ORDER BY n", "orders rows"),
        ("SELECT * FROM t MATCH_RECOGNIZE ({}) LIMIT 3", "limits how many rows"),
        ("SELECT DISTINCT n FROM t MATCH_RECOGNIZE ({})", "is DISTINCT"),
        ("SELECT n, count(*) FROM t MATCH_RECOGNIZE ({}) GROUP BY n", "groups rows"),
        ("SELECT row_number() OVER () FROM t MATCH_RECOGNIZE ({})", "window functions"),
        ("SELECT * FROM t MATCH_RECOGNIZE ({}) JOIN u ON true", "reads t and u"),
        ("SELECT * FROM (SELECT * FROM t ORDER BY v) MATCH_RECOGNIZE ({})", "orders rows"),
        ("SELECT * FROM range(3) MATCH_RECOGNIZE ({})", "reads no table"),
        ("WITH c AS (SELECT * FROM t) SELECT * FROM c MATCH_RECOGNIZE ({})", "common table expressions"),
        ("SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts DESC MEASURES 1 AS n PATTERN (A))", "by time descending"),
        ("SELECT * FROM t MATCH_RECOGNIZE ({}) WHERE n IN (SELECT 1)", "subquery"),
        ("SELECT * FROM t MATCH_RECOGNIZE (MEASURES (SELECT 1) AS n PATTERN (A))", "subquery"),
        ("SELECT * FROM t MATCH_RECOGNIZE ({}) MATCH_RECOGNIZE ({})", "several clauses"),
    ],
)
def test_what_has_no_answer_before_the_end_is_refused(text: str, reason: str) -> None:
    query = ost.sql(text.replace("{}", "ORDER BY ts MEASURES count(*) AS n PATTERN (A)"))
    with pytest.raises(ost.QueryError, match=reason) as error:
        query.engine()
    assert error.value.span is not None and error.value.fix


def test_errors_of_data() -> None:
    query = ost.sql("SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES 1 AS n PATTERN (A))")
    with pytest.raises(ost.QueryError, match="ordered by time"):
        query.engine().push([{"ts": "a"}])
    engine = query.engine()
    with pytest.raises(ost.DataError, match="NULL"):
        engine.push([{"ts": None}, {"ts": 1}])
    with pytest.raises(ost.DataError, match="no column `ts`"):
        engine.push(pa.table({"v": [1]}))
    assert len(engine.push([{"ts": 2}])) == 1
    engine.flush()
    with pytest.raises(ost.OstinatoError, match="has ended"):
        engine.push([{"ts": 3}])
    with pytest.raises(ost.DataError, match="this is a snapshot of an Engine"):
        ost.SqlEngine.restore(ost.cel("A AS x").engine().snapshot())
    looping = ost.sql(
        "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES 1 AS n AFTER MATCH SKIP TO FIRST A PATTERN (A))"
    ).engine()
    with pytest.raises(ost.DataError, match="first row of a match"):
        looping.push([{"ts": 1}])
    with pytest.raises(ost.OstinatoError, match="incomplete"):
        looping.push([{"ts": 2}])


def test_columns_whose_types_come_later() -> None:
    """Their first values are NULL; what is sought then goes on."""
    text = """SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES FIRST(ts) AS since, LAST(s) AS s,
              count(*) AS n, MATCH_NUMBER() AS number, sum(v) AS total
              PATTERN (A+ B) WITHIN 6 DEFINE A AS v IS NULL OR v < 3, B AS v > 2 AND s >= 'm')"""
    values: list[tuple[Any, Any, Any]] = [
        (None, None, None), (None, None, None), (None, 1, None), ("x", None, "z"), (None, 5, "n"), ("x", 4, "m"),
        ("x", 1, None), (None, 1, None), (None, 3, "o"),
    ]  # fmt: skip
    data = [{"ts": ts, "k": k, "v": v, "s": s} for ts, (k, v, s) in enumerate(values)]
    engine = ost.sql(text).engine(lateness=1)
    found = []
    for row in data:
        found += engine.push([row]).to_pylist()
        engine = ost.SqlEngine.restore(engine.snapshot())
    found += engine.flush().to_pylist()
    expected = ost.sql(text).detect(data).to_pylist()
    assert sorted(map(str, found)) == sorted(map(str, expected)) and len(expected) == 3


def test_the_empty_pattern() -> None:
    text = "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES MATCH_NUMBER() AS n, count(*) AS c PATTERN (()))"
    assert given(ost.sql(text).engine(), [1, 2]) == [[(1, 0)], [(2, 0)]]


def test_without_order_rows_are_taken_as_they_come() -> None:
    engine = ost.sql("SELECT * FROM t MATCH_RECOGNIZE (MEASURES LAST(v) AS v PATTERN (A B))").engine()
    assert [len(engine.push({"v": value})) for value in (3, 1, 2, 5)] == [0, 1, 0, 1]
    with pytest.raises(ost.DataError, match="no ORDER BY"):
        engine.advance(3)


def stopped(engine: Any) -> bool:
    with pytest.raises(ost.OstinatoError, match="incomplete"):
        engine.push([{"ts": 9, "v": "9"}])
    return True


def test_an_interrupt_stops_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that were read are not read again."""
    engine = ost.sql(FALLS.format(more="", within="")).engine()
    given(engine, [5])

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(engine.engine, "push", interrupt)
    with pytest.raises(KeyboardInterrupt):
        given(engine, [4])
    monkeypatch.undo()
    assert stopped(engine)


@pytest.mark.parametrize("at_end", [False, True])
def test_an_error_around_the_clause_stops_the_engine(at_end: bool) -> None:
    """The matches that it was given are lost."""
    more = "B+" if at_end else ""
    text = f"""SELECT CAST(w AS INTEGER) AS w FROM t
               MATCH_RECOGNIZE (ORDER BY ts MEASURES FIRST(v) AS w PATTERN (A {more}))"""
    engine = ost.sql(text).engine()
    with pytest.raises(ost.OstinatoError, match="Could not convert"):
        engine.push([{"ts": 1, "v": "x"}, {"ts": 2, "v": "y"}])
        engine.flush()
    assert stopped(engine)


def test_rows_of_one_time_wait_for_each_other_where_more_keys_order_them() -> None:
    schema = pa.schema([("ts", pa.int64()), ("w", pa.int64())])
    query = ost.sql(
        "SELECT * FROM t MATCH_RECOGNIZE ("
        "ORDER BY ts, w DESC MEASURES FIRST(w) AS first, LAST(w) AS last PATTERN (A A))"
    )
    engine = query.engine(schema=schema)
    found = [row for w in (None, 0, 3, 5) for row in engine.push({"ts": 1, "w": w}).to_pylist()]
    assert found == [] and engine.stats().waiting == 4
    assert engine.push({"ts": 2, "w": 0}).to_pylist() == [{"first": 5, "last": 3}, {"first": 0, "last": None}]


@pytest.mark.parametrize(
    "condition", ["sum(B.v + 0 * B.w) <> NEXT(FIRST(B.w))", "max(B.v) FILTER (WHERE B.w > 1) < NEXT(FIRST(B.w), 2)"]
)
@pytest.mark.parametrize("size", [1, 2, 5])
def test_rows_ahead_are_read_where_conditions_compute_columns(condition: str, size: int) -> None:
    query = ost.sql(
        "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES FIRST(ts) AS since, count(*) AS n"
        f" PATTERN (B+) DEFINE B AS {condition})"
    )
    table = pa.table({"ts": range(8), "v": [3, 0, 3, 1, 2, 0, 2, 1], "w": [2, 3, 3, 2, 5, 2, 4, 3]})
    engine, found = query.engine(), []
    for first in range(0, len(table), size):
        found += engine.push(table.slice(first, size)).to_pylist()
        engine = ost.SqlEngine.restore(engine.snapshot())
    assert found + engine.flush().to_pylist() == query.detect(table).to_pylist()

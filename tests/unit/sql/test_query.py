"""The verbs of a query in SQL."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ostinato as ost
from support.query_errors import assert_told

TICKS = [{"sym": sym, "ts": ts, "price": price} for sym in "ab" for ts, price in enumerate([5, 3, 4, 4, 2, 7])]
VALLEYS = """
    SELECT sym, since, bottom FROM ticks MATCH_RECOGNIZE (
        PARTITION BY sym ORDER BY ts MEASURES FIRST(ts) AS since, LAST(DOWN.price) AS bottom
        PATTERN (STRT DOWN+ UP+) DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price))
    ORDER BY sym, since"""
FOUND = [(sym, since, bottom) for sym in "ab" for since, bottom in ((0, 3), (3, 2))]


def rows(table: pa.Table) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in table.to_pylist()]


@pytest.mark.parametrize("kind", [list, pa.Table.from_pylist, pd.DataFrame, pl.DataFrame], ids=str)
def test_tables_of_all_kinds(kind: object) -> None:
    assert callable(kind)
    assert rows(ost.sql(VALLEYS).detect(kind(TICKS))) == FOUND
    assert rows(ost.sql(VALLEYS).detect({"ticks": kind(TICKS)})) == FOUND


def test_several_tables() -> None:
    query = ost.sql(VALLEYS.replace("ORDER BY sym, since", "AS m JOIN names USING (sym) ORDER BY ALL"))
    assert query.tables == ["ticks", "names"]
    names = [{"sym": "a", "name": "Acme"}]
    assert rows(query.detect({"ticks": TICKS, "names": names})) == FOUND[:2]
    with pytest.raises(ost.DataError, match="this query reads ticks and names") as raised:
        query.detect(TICKS)
    assert raised.value.fix == 'give tables by name: query.detect({"ticks": …, "names": …})'


def test_columns_of_types_that_duckdb_cannot_read_are_an_error() -> None:
    wide = pa.table({"ts": [1], "price": pa.array([1], pa.decimal256(50, 2)), "sym": ["a"]})
    with pytest.raises(ost.DataError, match="the table `ticks` has a column that DuckDB cannot read"):
        ost.sql(VALLEYS).detect(wide)


@pytest.mark.parametrize("name", ["#0", "#term1", "#label", "@0"])
def test_names_that_expressions_have_inside_are_no_names_of_columns(name: str) -> None:
    query = ost.sql(
        f'SELECT * FROM t MATCH_RECOGNIZE (MEASURES count(*) AS n PATTERN (A B) DEFINE B AS "{name}" > A."{name}")'
    )
    for read in (query.detect, query.engine().push):
        with pytest.raises(ost.DataError, match=f'MATCH_RECOGNIZE has uses of its own for the name "{name}"') as raised:
            read(pa.table({name: [1, 2]}))
        assert raised.value.fix is not None and "rename it" in raised.value.fix


@pytest.mark.parametrize(
    ("expression", "reason", "fix"),
    [
        ("price // 0", r"Division by zero in expression \(price // 0\)\n", "guard the division: x // nullif(y, 0)"),
        ("price * 9000000000000000000", r"Overflow .*\)\n", "cast the operands to DOUBLE or HUGEINT"),
        ("CAST(sym AS INT)", "Could not convert string 'a'", "use TRY_CAST, which gives NULL for such values"),
    ],
)  # fmt: skip
def test_values_that_cannot_be_used_come_with_the_fix_for_their_kind(expression: str, reason: str, fix: str) -> None:
    query = ost.sql(f"SELECT * FROM ticks MATCH_RECOGNIZE (ORDER BY ts MEASURES {expression} AS x PATTERN (A))")
    with pytest.raises(ost.DataError, match=reason) as raised:
        query.detect(TICKS)
    assert raised.value.fix == fix


@pytest.mark.parametrize(
    ("before", "after", "place"),
    [
        ("SELECT *", "ORDER BY n", "ORDER BY n"),
        ("SELECT DISTINCT *", "", "DISTINCT"),
        ("SELECT *", "LIMIT 3", "LIMIT 3"),
    ],
)
def test_what_no_stream_can_do_is_said_where_it_is_written(before: str, after: str, place: str) -> None:
    text = f"{before} FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES count(*) AS n PATTERN (A)) {after}"
    with pytest.raises(ost.QueryError, match="a stream has no end") as raised:
        ost.sql(text).engine()
    assert raised.value.span is not None and text[raised.value.span.start :].startswith(place)


def test_types_of_the_answer() -> None:
    schema = ost.sql(VALLEYS.replace("SELECT sym, since, bottom", "SELECT *")).detect(TICKS).schema
    assert schema.names == ["sym", "since", "bottom"]
    empty = ost.sql(VALLEYS).detect(pa.Table.from_pylist(TICKS).slice(0, 0))
    assert empty.schema == schema and not len(empty)


def test_python_variables_and_files_are_no_tables(tmp_path: Path) -> None:
    elsewhere = pa.table({"x": [1]})
    pq.write_table(elsewhere, tmp_path / "t.parquet")
    text = "SELECT * FROM {} MATCH_RECOGNIZE (MEASURES 1 AS x PATTERN (A))"
    with pytest.raises(ost.QueryError, match="there is no table `elsewhere`"):
        ost.sql(text.format("elsewhere")).detect({"t": elsewhere})
    for name in (f"'{tmp_path}/t.parquet'", f"read_parquet('{tmp_path}/t.parquet')"):
        with pytest.raises(ost.DataError, match="reads tables that it is given, and no files"):
            ost.sql(text.format(name)).detect({"t": elsewhere})


@pytest.mark.parametrize(
    ("clause", "reason", "place", "fix"),
    [
        ("MEASURES DWN.price AS x PATTERN (DOWN)", "no table or pattern variable `DWN`", "DWN", "`DOWN`"),
        ("MEASURES DOWN.prise AS x PATTERN (DOWN)", "there is no column `prise`", "prise", "`price`"),
        ("ORDER BY tss MEASURES 1 AS x PATTERN (A)", "there is no column `tss`", "tss", "`ts`"),
        ("MEASURES foor(price) AS x PATTERN (A)", "there is no function `foor`", "foor", "`floor`"),
        ("MEASURES sum(sym) AS x PATTERN (A)", "`sum` does not take VARCHAR", "sum(sym)", "cast"),
        (
            "MEASURES 1 AS x PATTERN (A) DEFINE A AS sym < price",
            "cannot be compared",
            "sym < price",
            "cast one of them",
        ),
        ("MEASURES 1 AS x PATTERN (A) DEFINE A AS [price]", "not true or false", "[price]", "compare it"),
        ("ORDER BY ts MEASURES 1 AS x PATTERN (A) WITHIN INTERVAL '1' DAY", "cannot be added", "INTERVAL", "a number"),
        ("MEASURES 1 AS x, y + 1 AS z PATTERN (A)", "there is no column `y`", "y", ""),
        ("MEASURES A.nope AS x PATTERN (A)", "no column `nope`", "nope", "known names: `price`, `sym`, `ts`"),
        ("PARTITION BY qqq MEASURES 1 AS x PATTERN (A)", "`qqq`", "qqq", "known names: `price`, `sym`, `ts`"),
        ("MEASURES CLASSIFIER AS x PATTERN (A)", "no column `CLASSIFIER`", "CLASSIFIER", "write CLASSIFIER()"),
    ],
)
def test_names_and_types(clause: str, reason: str, place: str, fix: str) -> None:
    text = f"SELECT * FROM ticks MATCH_RECOGNIZE ({clause})"
    assert_told(lambda: ost.sql(text).detect(TICKS), text, reason, place, fix)


def test_names_outside_the_clause_are_those_that_users_know() -> None:
    text = "SELECT qqq FROM ticks MATCH_RECOGNIZE (MEASURES 1 AS x PATTERN (A))"
    assert_told(lambda: ost.sql(text).detect(TICKS), text, "there is no column `qqq`", "qqq", "known names: `x`")


def test_a_table_that_is_not_there() -> None:
    with pytest.raises(ost.QueryError, match="there is no table `ticks`") as raised:
        ost.sql(VALLEYS).detect({"tick": TICKS})
    assert raised.value.fix == "did you mean `tick`?"
    with pytest.raises(ost.DataError, match="the table `ticks` has no columns"):
        ost.sql(VALLEYS).detect([])


def test_a_value_that_cannot_be_used() -> None:
    query = ost.sql("SELECT * FROM ticks MATCH_RECOGNIZE (MEASURES CAST(sym AS INTEGER) AS x PATTERN (A))")
    with pytest.raises(ost.DataError, match="Could not convert string 'a'"):
        query.detect(TICKS)


@pytest.mark.parametrize(
    ("clause", "reason", "place"),
    [
        ("MEASURES 1 AS x PATTERN (A) DEFINE A AS price = 'abc'", "condition of A: Could not convert", "price = 'abc'"),
        ("MEASURES 1 AS x PATTERN (A) DEFINE A AS 'x'", "the condition of A", "'x'"),
        ("MEASURES 1 AS y, CAST('q' AS INT) AS x PATTERN (A)", "the measure `x`", "CAST"),
    ],
)
def test_a_value_that_the_query_writes_and_that_cannot_be_used(clause: str, reason: str, place: str) -> None:
    text = f"SELECT * FROM ticks MATCH_RECOGNIZE ({clause})"
    assert_told(lambda: ost.sql(text).detect(TICKS), text, reason, place, "of the same type")


@pytest.mark.parametrize(
    ("clause", "reason"),
    [
        ("MEASURES 1 AS y, CAST(sym AS INT) AS x PATTERN (A)", "the measure `x`: Could not convert string 'a'"),
        ("MEASURES 1 AS x PATTERN (A) DEFINE A AS CAST(sym AS INT) > 1", "the condition of A: Could not convert"),
        ("MEASURES 1 AS x PATTERN (A B) DEFINE B AS price = A.sym", "condition of B: Could not .* 'a' to [A-Z0-9]+$"),
    ],
)
def test_a_value_of_a_row_that_cannot_be_used(clause: str, reason: str) -> None:
    with pytest.raises(ost.DataError) as raised:
        ost.sql(f"SELECT * FROM ticks MATCH_RECOGNIZE ({clause})").detect(TICKS)
    assert re.search(reason, raised.value.reason)


def test_the_table_of_a_clause_is_not_seen_around_it() -> None:
    text = "SELECT * FROM t MATCH_RECOGNIZE (MEASURES t.price AS x PATTERN (A)), n WHERE n.sym = t.sym"
    tables = {"t": TICKS, "n": TICKS}
    reason = "there is no table or pattern variable `t`"
    assert_told(lambda: ost.sql(text).detect(tables), text, reason, "t.sym", "MATCH_RECOGNIZE (…) AS t")


def test_options_of_streams_are_for_spark() -> None:
    with pytest.raises(ost.OstinatoError, match="lateness is for streaming DataFrames"):
        ost.sql(VALLEYS).detect(TICKS, lateness=3)  # type: ignore[call-overload]


def test_warnings() -> None:
    assert ost.sql(VALLEYS).warnings == []
    text = "SELECT * FROM t MATCH_RECOGNIZE (MEASURES 1 AS x PATTERN (A))"
    assert ost.sql(text).warnings == ["clause 1 has no ORDER BY: it takes the rows as they come"]


def test_explain() -> None:
    text = ost.sql(VALLEYS.replace("price > PREV(price)", "price > PREV(price) AND count(UP.*) < 3")).explain()
    assert text == (
        "#match0: the rows of ticks\n"
        "  partitions   sym\n"
        "  order        ts\n"
        "  pattern      STRT DOWN+ UP+\n"
        "  STRT         any row\n"
        "  DOWN         price < PREV(price)\n"
        "  UP           price > PREV(price) AND count(*) of UP < 3\n"
        "               looks at the match so far: count(*) of UP\n"
        "  after it     goes on past its last row\n"
        "  gives        one row per match\n"
        "    since      FIRST(ts)\n"
        "    bottom     LAST(DOWN.price)\n"
        "\n"
        "Then DuckDB runs\n"
        '  SELECT sym, since, bottom FROM "#match0"\n'
        "  ORDER BY sym, since"
    )
    assert repr(ost.sql(VALLEYS)) == f"ostinato.sql({VALLEYS!r})"


def test_tables_of_other_types_are_asked_about_again() -> None:
    text = """SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES LAST(B.x) AS x PATTERN (A B)
        DEFINE B AS B.x > A.x + 1)"""
    query = ost.sql(text)
    for _ in range(2):  # the second time nothing is asked
        assert rows(query.detect(pa.table({"ts": [1, 2], "x": [1, 3]}))) == [(3,)]
    assert rows(query.detect(pa.table({"x": [1.0, 2.5], "ts": [1, 2]}))) == [(2.5,)]
    with pytest.raises(ost.QueryError, match="there is no column"):
        query.detect(pa.table({"ts": [1, 2], "y": [1, 3]}))
    assert rows(query.detect(pa.table({"ts": [1, 2], "x": [1, 3]}))) == [(3,)]


def test_constants_are_kept_for_the_next_tables_only_where_they_stay_the_same() -> None:
    text = """SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES B.ts AS ts PATTERN (A B)
        DEFINE B AS B.x - A.x > {})"""
    table = pa.table({"ts": [1, 2], "x": [1, 3]})
    kept = {}
    for constant in ("1", "-(2 - 1)", "epoch(now()) * 0", "random() * 0"):
        query = ost.sql(text.format(constant))
        assert rows(query.detect(table)) == [(2,)]
        assert query._plans is not None
        kept[constant] = query._plans.get(query.query.clauses[0].match).conditions is not None
    assert kept == {"1": True, "-(2 - 1)": True, "epoch(now()) * 0": False, "random() * 0": False}


@pytest.mark.parametrize("column", [["b", "a"], pa.array(["b", "a"]).dictionary_encode(), pa.array([2, 1], pa.int8())])
def test_rows_that_are_shown_as_found_have_the_types_that_a_query_gives(column: object) -> None:
    clause = "MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES A.v AS v, MATCH_NUMBER() AS n PATTERN (A))"
    table = pa.table({"k": column, "ts": [1, 2], "v": [1.5, None]})
    plain = ost.sql(f"SELECT * FROM t {clause};").detect({"T": table})
    asked = ost.sql(f"SELECT k, v, n FROM (SELECT * FROM t) AS t {clause}").detect({"T": table})
    assert plain.schema == asked.schema and plain.to_pylist() == asked.to_pylist()


def test_columns_that_a_query_renames() -> None:
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["x", "X"])
    text = "SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY x MEASURES X_1 AS b, 3 AS X PATTERN (A))"
    assert ost.sql(text).detect(table).to_pylist() == [{"x": 1, "b": 2, "X_1": 3}]

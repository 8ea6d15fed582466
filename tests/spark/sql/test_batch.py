"""MATCH_RECOGNIZE over batch DataFrames: the rows that DuckDB's engine gives, with the query around it in Spark SQL."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.spark.sql.columns import AnswerColumns

_random = random.Random(3)
_COUNT = 400
TICKS = pa.table({
    "sym": [_random.choice("abc") for _ in range(_COUNT)], "ts": range(_COUNT),
    "price": [_random.randrange(30) for _ in range(_COUNT)], "part.of": [row % 2 for row in range(_COUNT)],
})  # fmt: skip
NAMES = pa.table({"sym": ["a", "b"], "name": ["Acme & Sons", "Bolt"]})
CLAUSE = """MATCH_RECOGNIZE (
    {keys} ORDER BY ts
    MEASURES FIRST(ts) AS since, LAST(DOWN.price) AS bottom, LAST(ts) AS till, avg(UP.price) AS mean
    {rows} PATTERN (STRT DOWN+ UP{{2,}})
    DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price) AND UP.price > 3)"""


def clause(keys: str, rows: str = "") -> str:
    return CLAUSE.format(keys=f"PARTITION BY {keys}" if keys else "", rows=rows)


QUERIES = [
    f"SELECT * FROM ticks {clause('sym', 'ALL ROWS PER MATCH WITH UNMATCHED ROWS')}",
    f"SELECT m.since, m.mean FROM (SELECT * FROM ticks WHERE price > 2) t {clause('')} AS m WHERE bottom < 9",
    f"WITH cheap AS (SELECT * FROM ticks WHERE price < 25) SELECT n.name, count(*) AS n FROM cheap"
    f" {clause('sym')} AS m JOIN names AS n ON n.sym = m.sym GROUP BY n.name",
    f"SELECT * FROM ticks {clause('sym')} AS first MATCH_RECOGNIZE (ORDER BY since MEASURES count(*) AS n,"
    " FIRST(sym) AS sym PATTERN (A B+) DEFINE B AS bottom > PREV(bottom))",
    f"SELECT since FROM ticks {clause('ts // 100, sym')}",
]


def contents(table: pa.Table) -> Counter[str]:
    return Counter(map(str, zip(*(column.to_pylist() for column in table.columns), strict=True)))


def test_the_rows_are_those_of_one_process(spark: Any) -> None:
    frames = {name: spark.createDataFrame(table) for name, table in (("ticks", TICKS), ("names", NAMES))}
    tables = {"ticks": TICKS, "names": NAMES}
    for text in QUERIES:
        query = ost.sql(text)
        found = query.detect({name: frames[name] for name in query.tables})
        expected = query.detect({name: tables[name] for name in query.tables})
        assert found.columns == expected.column_names
        assert contents(found.toArrow()) == contents(expected) and len(expected), text


def test_a_session_has_tables_by_name(spark: Any) -> None:
    spark.createDataFrame(TICKS).createOrReplaceTempView("ticks")
    try:
        query = ost.sql(f"SELECT sym, since FROM ticks {clause('sym')} ORDER BY since DESC LIMIT 3;")
        assert query.detect(spark).toArrow().to_pylist() == query.detect(TICKS).to_pylist()
        assert not [row.viewName for row in spark.sql("SHOW VIEWS").collect() if row.viewName.startswith("ostinato")]
        with pytest.raises(ost.OstinatoError, match="lateness"):
            query.detect(spark, lateness=3)
    finally:
        spark.catalog.dropTempView("ticks")
    with pytest.raises(ost.QueryError, match="ticks"):
        query.detect(spark)


def test_errors(spark: Any) -> None:
    frame = spark.createDataFrame(TICKS)
    for text, reason in (
        (f"SELECT nothing FROM ticks {clause('sym')}", "there is no column `nothing` in the query around"),
        (f"SELECT 1 FROM ticks {clause('sym')} JOIN tikcs", r"(?s)no table or view `tikcs`.*did you mean `ticks`"),
        (f"SELECT 1 FROM ticks {clause('sym')} JOIN lost", r"(?s)no table or view `lost`.*TempView\(\"lost\"\)"),
        (f"SELECT * FROM ticks {clause('sym').replace('price < PREV', chr(39) + 'low' + chr(39) + ' < PREV')}", "low"),
        (f"SELECT * FROM ticks {clause('nothing')}", "there is no column `nothing`"),
        (f"SELECT * FROM ticks, {clause('sym')}", "follows the table"),
    ):
        with pytest.raises(ost.OstinatoError, match=reason):
            ost.sql(text).detect({"ticks": frame})
    with pytest.raises(ost.QueryError, match="no type of Spark"):
        AnswerColumns.of(pa.schema([("u", pa.sparse_union([pa.field("a", pa.int32())]))]), "SELECT")
    with pytest.raises(ost.DataError, match="no DataFrames"):
        ost.sql(QUERIES[2]).detect({"ticks": frame, "names": NAMES})

"""The table function `ostinato_detect`: the same answers as `detect`, and errors of Spark that say what we say."""

from __future__ import annotations

from typing import Any

import pytest

import ostinato as ost
import ostinato.spark

QUERY = "A AS x ; B AS y WITHIN 10 minutes"
ROWS = 400


@pytest.fixture(scope="module")
def trades(spark: Any) -> Any:
    """Seven symbols; types and prices that follow from the row's number. Several partitions, in no order."""
    ost.spark.register(spark)
    frame = spark.range(ROWS).selectExpr(
        "concat('s', id % 7) AS symbol",
        "timestamp_seconds(id * 37 % 401 * 13) AS ts",
        "CASE WHEN id % 5 = 0 THEN 'A' WHEN id % 3 = 0 THEN 'B' ELSE 'C' END AS type",
        "id * 31 % 97 AS price",
    )
    frame = frame.repartition(3)
    frame.createOrReplaceTempView("trades")
    frame.withColumnsRenamed({"ts": "odd `name", "type": "kind"}).createOrReplaceTempView("renamed")
    return frame


def found(frame: Any) -> list[str]:
    return sorted(str(row) for row in frame.collect())


def call(spark: Any, arguments: str) -> Any:
    return spark.sql(f"SELECT * FROM ostinato_detect({arguments})")


def test_partition_by_in_the_query(spark: Any, trades: Any) -> None:
    query = "SELECT * WHERE A AS x ; B AS y FILTER x.price > 30 PARTITION BY symbol WITHIN 10 minutes"
    matches = call(spark, f"TABLE(trades), '{query}'")
    assert matches.columns == ["symbol", "start", "end", "events"]
    assert matches.schema == ost.cel(query).detect(trades).schema
    assert found(matches) == found(ost.cel(query).detect(trades)) != []


def test_partition_by_in_sql(spark: Any, trades: Any) -> None:
    """The partition is not known to the function: it is told by the events."""
    matches = call(spark, f"TABLE(trades) PARTITION BY (symbol) ORDER BY (ts), '{QUERY}'")
    assert matches.columns == ["start", "end", "events"]
    expected = ost.cel(f"{QUERY} PARTITION BY symbol").detect(trades).drop("symbol")
    assert found(matches) == found(expected) != []
    assert found(call(spark, f"TABLE(trades) PARTITION BY symbol ORDER BY ts, query => '{QUERY}'")) == found(expected)


def test_partition_by_an_expression(spark: Any, trades: Any) -> None:
    matches = call(spark, f"TABLE(trades) PARTITION BY (price % 2), '{QUERY}'")
    frame = trades.withColumn("odd", trades["price"] % 2)
    expected = ost.cel("SELECT x.ts AS a, y.ts AS b WHERE A AS x ; B AS y PARTITION BY odd WITHIN 10 minutes").detect(
        frame
    )
    assert found(matches.selectExpr("start AS a", "end AS b")) == found(expected)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT NXT * WHERE A AS x ; B AS y WITHIN 10 minutes",
        "A AS x ; B AS y FILTER x.symbol = y.symbol WITHIN 100 seconds",
        "SELECT x.price AS price, count(y) AS number WHERE A AS x ; (B AS y)+ WITHIN 60 seconds",
        "SELECT * WHERE A AS x ; B AS y PARTITION BY symbol WITHIN 10 minutes CONSUME BY ANY",
    ],
)
def test_the_table_as_one_stream(spark: Any, trades: Any, query: str) -> None:
    alone = "" if "CONSUME" in query else "WITH SINGLE PARTITION"
    matches = call(spark, f"TABLE(trades) {alone}, '{query}'")
    assert found(matches) == found(ost.cel(query).detect(trades)) != []


def test_named_columns_and_no_events(spark: Any, trades: Any) -> None:
    names = "time => 'odd `name', type => 'kind', order_by => array('price'), events => false"
    matches = call(spark, f"TABLE(renamed), query => '{QUERY} PARTITION BY symbol', {names}")
    assert matches.columns == ["symbol", "start", "end"]
    expected = ost.cel(f"{QUERY} PARTITION BY symbol").detect(trades, events=False)
    assert found(matches) == found(expected)


def test_options_without_a_name(spark: Any, trades: Any) -> None:
    """In the order of the documentation."""
    query = f"{QUERY} PARTITION BY symbol"
    expected = ost.cel(query).detect(trades, events=False)
    assert found(call(spark, f"TABLE(trades), '{query}', 'ts', 'type', array('price'), false, 'cel'")) == found(
        expected
    )
    matches = call(spark, f"TABLE(renamed) PARTITION BY (symbol), '{QUERY}', 'odd `name', 'kind', 'price', false")
    assert found(matches) == found(expected.drop("symbol")) != []


def test_matches_are_told_apart(spark: Any, trades: Any) -> None:
    query = f"{QUERY} PARTITION BY symbol"
    matches = call(spark, f"TABLE(trades), '{query}', identity => true")
    assert found(matches) == found(ost.cel(query).detect(trades, identity=True)) != []


@pytest.mark.parametrize("clause", ["PARTITION BY symbol WITHIN 6 EVENTS", "WITHIN 50 seconds"])
def test_the_other_language(spark: Any, trades: Any, clause: str) -> None:
    query = f"[type = ''A''] -> r . true* . [type = ''B'' AND price > r.price] {clause}"
    alone = "" if "PARTITION" in clause else "WITH SINGLE PARTITION"
    matches = call(spark, f"TABLE(trades) {alone}, '{query}', language => 'srem'")
    expected = ost.srem(query.replace("''", "'")).detect(trades)
    assert matches.schema == expected.schema
    assert found(matches) == found(expected) != []


def test_it_goes_on_in_sql(spark: Any, trades: Any) -> None:
    counted = spark.sql(f"""
        SELECT symbol, count(*) AS matches
        FROM ostinato_detect(TABLE(SELECT * FROM trades WHERE price > 5), '{QUERY} PARTITION BY symbol')
        GROUP BY symbol ORDER BY symbol
    """)
    expected = ost.cel(f"{QUERY} PARTITION BY symbol").detect(trades.filter("price > 5"))
    assert sum(row.matches for row in counted.collect()) == expected.count()


def test_an_empty_table_has_no_matches(spark: Any, trades: Any) -> None:
    empty = "TABLE(SELECT * FROM trades WHERE price < 0)"
    assert call(spark, f"{empty} WITH SINGLE PARTITION, '{QUERY}'").count() == 0
    assert call(spark, f"{empty}, '{QUERY} PARTITION BY symbol'").count() == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("TABLE(trades), 'A AS x ; B AS y FILTER x.prise > 3'", "unknown attribute `prise` of A"),
        ("TABLE(trades), 'A AS x ;; B'", "expected an event such as T AS x, found `;`"),
        ("TABLE(trades), 'A', time => 'at'", "no time column `at`"),
        ("TABLE(trades), 'A', type => 'kind'", "type is `kind`, but there is no such column"),
        ("TABLE(trades), 3", "a query is text, not int"),
        ("TABLE(trades), concat('A', rand())", "query must be a constant"),
        ("TABLE(trades), 'A', events => 'no'", "events cannot be 'no'\nfix: give true or false"),
        ("TABLE(trades), 'A', events => NULL", "events cannot be None"),
        ("TABLE(trades), 'A', 'ts', true", "type cannot be True\nfix: give the name of a column"),
        ("TABLE(trades), 'A', language => 'sql'", "language cannot be 'sql'\nfix: give 'cel' or 'srem'"),
        ("TABLE(trades), 'A', language => array('cel')", "language cannot be ['cel']"),
        ("TABLE(trades), 'A AS x', language => 'srem'", "A AS x"),
        ("TABLE(trades), 'true . [prise > 3]', language => 'srem'", "unknown attribute `prise`"),
        ("3, 'A'", "the first argument of ostinato_detect is a table"),
    ],
)
def test_what_is_wrong_is_said_when_the_query_is_analysed(
    spark: Any, trades: Any, arguments: str, message: str
) -> None:
    from pyspark.errors import AnalysisException

    with pytest.raises(AnalysisException) as caught:
        call(spark, arguments)
    assert message in str(caught.value)
    assert str(caught.value).count("File ") <= 1  # not the way through our source


@pytest.mark.parametrize("given", [None, "local", pytest])
def test_functions_are_registered_with_a_session(given: Any) -> None:
    with pytest.raises(ost.OstinatoError, match=r"spark cannot be .*\nfix: give a session of Spark"):
        ost.spark.register(given)


def test_two_partition_bys_are_refused(spark: Any, trades: Any) -> None:
    from pyspark.errors import AnalysisException

    with pytest.raises(AnalysisException, match="its own required partitioning"):
        call(spark, f"TABLE(trades) PARTITION BY (symbol), '{QUERY} PARTITION BY symbol'")


def test_a_table_in_parts_that_nothing_joins_is_refused(spark: Any, trades: Any) -> None:
    """Each part by itself would give a wrong answer."""
    from pyspark.errors import PythonException

    with pytest.raises(PythonException, match="nothing says which rows belong together\nfix: add PARTITION BY"):
        call(spark, f"TABLE(trades), '{QUERY}'").collect()


def test_a_row_that_cannot_be_read_fails_the_task_with_our_message(spark: Any, trades: Any) -> None:
    from pyspark.errors import PythonException

    nulls = "TABLE(SELECT symbol, type, if(price = 3, NULL, ts) AS ts FROM trades) WITH SINGLE PARTITION"
    with pytest.raises(PythonException, match=r"ostinato\.errors\.DataError: .*`ts`"):
        call(spark, f"{nulls}, '{QUERY}'").collect()

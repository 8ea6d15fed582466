"""Event rules over batch DataFrames: in tasks and in Spark SQL the answer that they have without Spark."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import Phase, given, seed, settings

import ostinato as ost
from ostinato.errors import DataError, OstinatoError, QueryError
from ostinato.rules.program import RuleProgram
from ostinato.rules.runtime.bound_program import bind_program
from ostinato.rules.syntax.format import program_text
from ostinato.spark import detect_rules
from ostinato.spark.columns import arrow_schema
from ostinato.spark.failures import describe_failure
from ostinato.spark.rules.columns import to_answer
from ostinato.spark.rules.spark_query import run_in_sql
from support import paths
from support.generators.rules import FUNCTIONS, Strata, cases, program
from support.generators.rules import SCHEMA as PLAIN
from support.generators.terms import Row
from support.spark.patterns import frame
from support.spark.rules import ALL, DOCUMENTS, PROGRAMS, documents, events, shown
from support.spark.settings import changed

EVENTS = events(3, 120)
VECTOR = json.loads((paths.VECTORS / "rules.json").read_text())


@pytest.fixture(autouse=True, scope="module")
def few_tasks(spark: Any) -> Iterator[None]:
    """The tables here are small."""
    with changed(spark, {"spark.sql.adaptive.coalescePartitions.initialPartitionNum": "2"}):
        yield


@pytest.fixture
def no_adaptive_plans(spark: Any) -> Iterator[None]:
    """For large plans: Spark would plan what is left of them again after each step."""
    with changed(spark, {"spark.sql.adaptive.enabled": "false"}):
        yield


def in_sql(rules: RuleProgram, given: Any, **columns: Any) -> Any:
    """Without tasks, whatever keys there are."""
    bound = bind_program(rules.program, rules.text, arrow_schema(given.schema), columns, near=True)
    return to_answer(run_in_sql(bound, given), bound)


def test_every_rule_derives_something() -> None:
    rules = ost.rules(ALL)
    assert set(rules.detect(EVENTS)["type"].to_pylist()) == set(rules.derived)


@pytest.mark.usefixtures("no_adaptive_plans")
def test_all_operators(spark: Any) -> None:
    """Some rules by one key, some by another, some by none."""
    rules = ost.rules("\n".join(text for name, text in PROGRAMS.items() if name != "chain"))
    expected = rules.detect(EVENTS)
    found = rules.detect(frame(spark, EVENTS, pieces=2, seed=1)).toArrow()
    assert shown(found) == shown(expected)
    assert found.schema.names == expected.schema.names
    assert [field.type for field in found.schema] == [field.type for field in expected.schema]


def test_rows_beside_the_events(spark: Any) -> None:
    """Beside rules with a key, which run in tasks."""
    rules = ost.rules(PROGRAMS["tables"] + PROGRAMS["joins"])
    rows = pa.table({"k": ["x", "z", None], "v": [1, 2, 3]})
    expected = rules.detect(EVENTS, tables={"c": rows})
    given = {"c": spark.createDataFrame(rows)}
    assert shown(rules.detect(frame(spark, EVENTS, seed=3), tables=given).toArrow()) == shown(expected)
    with pytest.raises(DataError, match="no rule looks into a table `d`"):
        rules.detect(frame(spark, EVENTS), tables={"d": rows})


@pytest.mark.usefixtures("no_adaptive_plans")
def test_in_sql_what_has_a_key(spark: Any) -> None:
    rules = ost.rules(PROGRAMS["joins"] + PROGRAMS["timers"] + PROGRAMS["collects"])
    assert shown(in_sql(rules, frame(spark, EVENTS, pieces=2, seed=2)).toArrow()) == shown(rules.detect(EVENTS))


@pytest.mark.usefixtures("no_adaptive_plans")
def test_the_papers_program(spark: Any) -> None:
    rows, rules = pa.Table.from_pylist(VECTOR["events"]), ost.rules(VECTOR["program"])
    derived = pa.Table.from_pylist(VECTOR["derived"], rules.detect(rows).schema)
    for found in (rules.detect(frame(spark, rows, pieces=2)), in_sql(rules, spark.createDataFrame(rows))):
        assert shown(found.toArrow()) == shown(derived)


def test_documents(spark: Any) -> None:
    """JSON and XML; a late order has no sent event for its name."""
    rules, rows = ost.rules(DOCUMENTS), documents()
    found = rules.detect(spark.createDataFrame(rows), document="text").toArrow()
    assert shown(found) == shown(rules.detect(rows, document="text"))


Case = tuple[Strata, list[Row]]


@pytest.mark.usefixtures("no_adaptive_plans")
def test_random_programs(spark: Any) -> None:
    @seed(11)
    @settings(max_examples=3, deadline=None, phases=[Phase.generate], database=None)
    @given(cases())
    def check(case: Case) -> None:
        strata, rows = case
        rules, table = RuleProgram(program_text(program(strata))), pa.Table.from_pylist(rows, PLAIN)
        try:
            expected = shown(rules.detect(table))
        except QueryError:  # kinds that do not go together
            return
        given = spark.createDataFrame(table)
        assert shown(rules.detect(given).toArrow()) == expected
        assert shown(in_sql(rules, given).toArrow()) == expected

    check()


def test_events_that_differ_in_a_microsecond(spark: Any) -> None:
    """They count each on its own."""
    times = [datetime(2026, 1, 1, 0, 0, 0, place, UTC) for place in range(3)]
    table = pa.table({"type": ["a"] * 3, "ts": [0, 0, 0], "v": [1, 1, 1], "seen": times})
    rules = ost.rules("""DETECT d { n { count(all var V) } }
                         ON and { event i: a {{ }}, while i: collect event w: a {{ v {{ var V }} }} } END""")
    assert in_sql(rules, spark.createDataFrame(table)).toArrow()["n"].to_pylist() == [3]


@pytest.mark.usefixtures("no_adaptive_plans")
def test_plans_that_would_be_too_large_are_cut(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ostinato.spark.rules.spark_query._MANY", 5)
    rules = ost.rules(PROGRAMS["chain"])
    assert shown(in_sql(rules, spark.createDataFrame(EVENTS)).toArrow()) == shown(rules.detect(EVENTS))


# Times ----------------------------------------------------------------------------------------------------------------

LATER = """DETECT later { k { var K } }
           ON and { event i: a {{ k {{ var K }} }}, event t: timer:shift-forward [ event i, 36 h ] } END
           DETECT count { n { count(all var K) } }
           ON and { event i: b {{ }}, event t: timer:extend-begin [ event i, 48 h ],
                    while t: collect a {{ k {{ var K }} }} } END"""


@pytest.mark.usefixtures("no_adaptive_plans")
@pytest.mark.parametrize(
    ("kind", "times"),
    [
        (pa.date32(), [date(1969, 12, 30), date(1970, 1, 2), date(2026, 1, 1)]),
        (pa.timestamp("us"), [datetime(1969, 12, 30, 2, 30), datetime(1970, 1, 1, 1, 0, 0, 7), datetime(2026, 1, 1)]),
        (pa.timestamp("us", tz="UTC"), [datetime(1969, 12, 31, 1, 0, 0, 7, UTC), datetime(2026, 3, 29, 2, tzinfo=UTC)]),
        (pa.int32(), [-50_000, 0, 7]),
        (pa.float64(), [-50_000.25, -0.0, 0.1, 1.1e9]),
        (pa.float32(), [-50_000.25, 0.1, 3.3]),
        (pa.decimal128(12, 3), [Decimal("-50000.125"), Decimal("0.001"), Decimal("3.3")]),
    ],
    ids=str,
)
def test_times_of_any_type(spark: Any, kind: pa.DataType, times: list[Any]) -> None:
    rows = [{"ts": time, "type": label, "k": place} for place, time in enumerate(times) for label in "ab"]
    table = pa.Table.from_pylist(rows, pa.schema({"ts": kind, "type": pa.string(), "k": pa.int64()}))
    rules = ost.rules(LATER)
    expected = rules.detect(table)
    found = in_sql(rules, spark.createDataFrame(table)).toArrow()
    assert shown(found.select(["type", "k", "n"])) == shown(expected.select(["type", "k", "n"]))
    for side in ("begin", "end"):
        assert sorted(found[side].cast(expected[side].type).to_pylist()) == sorted(expected[side].to_pylist())


def test_intervals_of_two_types(spark: Any) -> None:
    rows = [{"from": 1, "to": 2.5, "k": 1}, {"from": 2, "to": 2.0, "k": 2}]
    table = pa.Table.from_pylist(rows)
    rules = ost.rules("DETECT d { k { var K } } ON event i: a {{ k {{ var K }} }} END")
    columns: dict[str, Any] = {"begin": "from", "end": "to"}
    expected = shown(rules.detect(table, **columns))
    assert shown(in_sql(rules, spark.createDataFrame(table), **columns).toArrow()) == expected
    assert shown(rules.detect(spark.createDataFrame(table), **columns).toArrow()) == expected


# Plans ----------------------------------------------------------------------------------------------------------------


def plan(answer: Any) -> str:
    return str(answer._jdf.queryExecution().executedPlan().toString())


def test_joins_go_by_keys_and_by_buckets_of_time(spark: Any) -> None:
    """Not every event of one kind with every one of another, even without a variable in common."""
    near = """DETECT near { n { var V + var U } }
              ON and { event i: a {{ v { var V } }}, event j: b {{ v { var U } }} } where { {i, j} within 3 sec } END"""
    rules = ost.rules(PROGRAMS["joins"].partition("DETECT overlap")[0] + near)
    text = plan(in_sql(rules, frame(spark, EVENTS, pieces=2)))
    assert "Join" in text
    assert "NestedLoop" not in text and "Cartesian" not in text
    assert " div 6000000" in text


def test_rows_are_read_once_where_there_are_keys(spark: Any, tmp_path: Path) -> None:
    frame(spark, EVENTS).write.parquet(str(tmp_path / "events"))
    text = plan(ost.rules(PROGRAMS["joins"]).detect(spark.read.parquet(str(tmp_path / "events"))))
    assert text.count("FileScan") == 1


def test_only_what_is_read_is_moved(spark: Any, tmp_path: Path) -> None:
    """Rows that no rule can use, and columns that none asks for, stay where they are."""
    fields = {"type": pa.string(), "begin": pa.float64(), "end": pa.float64(), "other": pa.string()}
    fields |= {"area": pa.string(), "sensor": pa.string(), "value": pa.float64()}
    rows = [{name: event.get(name) for name in fields} for event in VECTOR["events"]]
    table = pa.Table.from_pylist(rows, pa.schema(fields))
    spark.createDataFrame(table).write.parquet(str(tmp_path / "events"))
    rules = ost.rules(VECTOR["program"])
    found = rules.detect(spark.read.parquet(str(tmp_path / "events")))
    text = plan(found)
    assert "other" not in text
    assert "> 40.0" in text
    assert shown(found.toArrow()) == shown(rules.detect(table))


def test_explain(spark: Any) -> None:
    told = ost.rules(VECTOR["program"] + PROGRAMS["nested"]).explain(spark.createDataFrame(_readings()))
    assert "rule 1: fire by area; smoke by area; temp by area" in told
    assert "rules 2, 3: avg_temp by sensor; burnt_down by sensor; temp by sensor" in told
    assert "in Spark SQL, over all tasks" in told


def _readings() -> pa.Table:
    more = {"area": pa.string(), "sensor": pa.string(), "value": pa.float64()}
    return pa.schema([*EVENTS.schema, *more.items()]).empty_table()


# Bad input ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"time": "tss"}, "time is `tss`, but there is no such column"),
        ({"type": "typ"}, "type is `typ`"),
        ({"document": "text"}, "document is `text`"),
        ({"begin": "begin"}, "an event has a begin and an end"),
        ({"lateness": 1}, "lateness applies only to streaming DataFrames"),
        ({"on_late": "raise"}, "on_late applies only to streaming DataFrames"),
        ({"buckets": 2}, "buckets applies only to streaming DataFrames"),
        ({"longest": 2}, "longest applies only to streaming DataFrames"),
        ({"metrics": "m"}, "metrics applies only to streaming DataFrames"),
    ],
)
def test_known_before_any_job(spark: Any, options: dict[str, Any], message: str) -> None:
    rules = ost.rules("DETECT d { k { var K } } ON event i: a {{ k {{ var K }} }} END")
    with pytest.raises(OstinatoError, match=message):
        rules.detect(spark.createDataFrame(EVENTS.slice(0, 0)), **options)


def test_terms_that_no_event_fits(spark: Any) -> None:
    rules = ost.rules("DETECT d { k { var K } } ON event i: a {{ kk {{ var K }} }} END")
    with pytest.raises(QueryError, match="no `kk`"):
        detect_rules(rules, spark.createDataFrame(EVENTS))
    own = ost.rules("DETECT d { k { turned(var K) } } ON event i: a {{ k {{ var K }} }} END", functions=FUNCTIONS)
    with pytest.raises(QueryError, match=r"Spark cannot call turned: .*\n.*\n *\^+\nfix: let Spark make"):
        own.detect(spark.createDataFrame(EVENTS))
    with pytest.raises(OstinatoError, match="a DataFrame of Spark"):
        detect_rules(rules, EVENTS)
    with pytest.raises(DataError, match="two columns are named"):
        detect_rules(rules, spark.createDataFrame(EVENTS).selectExpr("*", "k AS K"))


@pytest.mark.parametrize("text", ["{ k { var K } }", "{ n { count(all var K) } }"], ids=["in tasks", "in SQL"])
@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"begin": None, "end": 1.0}, "`begin` is NULL, but the order of events needs its value"),
        ({"begin": 0.0, "end": float("nan")}, "`end` is NaN, but"),
        ({"begin": 2.0, "end": 1.5}, "the event ends before it begins: `begin` is 2.0, `end` 1.5\nfix: correct"),
        ({"begin": -1e300, "end": 1.0}, "`begin` is -1.0E300, beyond what times of rules can be"),
    ],
)
def test_rows_that_cannot_be_placed_in_time(spark: Any, text: str, row: Row, message: str) -> None:
    """Also where no rule reads them."""
    from pyspark.errors import PySparkException

    schema = pa.schema({"type": pa.string(), "begin": pa.float64(), "end": pa.float64(), "k": pa.string()})
    table = pa.Table.from_pylist([{"type": "z", "k": "x", **row}], schema)
    rules = ost.rules(f"DETECT d {text} ON event i: a {{{{ k {{{{ var K }}}} }}}} END")
    given = spark.createDataFrame(table).repartition(2)
    found = rules.detect(given)  # nothing runs yet
    with pytest.raises(PySparkException) as caught:
        found.collect()
    assert message in str(describe_failure(caught.value))


def test_a_document_that_cannot_be_read(spark: Any) -> None:
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    rows = documents().slice(0, 1)
    rows = rows.set_column(2, "text", pa.array(["{"]))
    with pytest.raises((PySparkException, Py4JJavaError)) as caught:  # the latter where two stages fail at once
        ost.rules(DOCUMENTS).detect(spark.createDataFrame(rows), document="text").collect()
    assert str(describe_failure(caught.value)).startswith("bad JSON at line 1, column 2")


def test_rules_of_a_label_that_nest_other_fields(spark: Any) -> None:
    """Spark casts no structs that have other fields."""
    text = """
        DETECT d { l { x { var K }, n { var V } } } ON event e: a {{ k {{ var K }}, v {{ var V }} }} END
        DETECT d { l { y { var K } } } ON event e: b {{ k {{ var K }} }} END
        DETECT f { all m { x { var V } } } ON event e: a {{ v {{ var V }} }} END
        DETECT f { all m { y { var V } } } ON event e: b {{ v {{ var V }} }} END
    """
    rules = ost.rules(text)
    assert shown(in_sql(rules, frame(spark, EVENTS, pieces=2)).toArrow()) == shown(rules.detect(EVENTS))


def test_private_rules_alone_show_nothing(spark: Any) -> None:
    rules = ost.rules("PRIVATE DETECT p { k { var K } } ON event e: a {{ k {{ var K }} }} END")
    assert in_sql(rules, frame(spark, EVENTS, pieces=2)).toArrow().num_rows == 0
    assert rules.detect(frame(spark, EVENTS, pieces=2)).columns == ["type", "begin", "end"]


def test_hundreds_of_labels(spark: Any) -> None:
    """Spark goes into nested expressions by recursion, which has an end."""
    pair = """DETECT d{0} {{ k {{ var K }} }} ON and {{ event i: a{0} {{{{ k {{{{ var K }}}} }}}},
        event j: b{0} {{{{ k {{{{ var K }}}}, v {{{{ {0} }}}} }}}} }} where {{ i before j }} END"""
    rules = ost.rules("\n".join(pair.format(number) for number in range(250)))
    rows = [("a7", 1, "x", 0), ("b7", 2, "x", 7), ("b7", 3, "x", 8), ("a8", 1, "x", 0), ("b8", 2, "y", 8)]
    found = rules.detect(spark.createDataFrame(rows, "type string, ts int, k string, v int")).collect()
    assert [(row.type, row.begin, row.end, row.k) for row in found] == [("d7", 1, 2, "x")]

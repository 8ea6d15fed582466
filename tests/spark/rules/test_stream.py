"""Event rules over streams: the answer of the whole, timers, late rows, and going on from a checkpoint."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import ostinato as ost
from ostinato.errors import DataError, OstinatoError
from ostinato.rules.incremental.schema_evolution import conform_rows
from ostinato.rules.program import RuleProgram
from ostinato.spark.failures import describe_failure
from ostinato.spark.rules.explain import explain_rules
from support.spark.patterns import FOREVER, START, Feed, cut, shuffled
from support.spark.rules import DOCUMENTS, PROGRAMS, SCHEMA, documents, events, shown

EVENTS = events(4, 90)
END = pa.Table.from_pylist([{"begin": FOREVER, "end": FOREVER}], SCHEMA)
BY_KEY = PROGRAMS["joins"]


def run(feed: Feed, rules: RuleProgram, **options: Any) -> Any:
    """Read all files that are there, from where the last run stopped."""
    return feed.write(rules.detect(feed.frame(), **options))


def failure(feed: Feed, rules: RuleProgram, **options: Any) -> str:
    from pyspark.errors import PySparkException

    with pytest.raises(PySparkException) as caught:
        run(feed, rules, **options)
    return str(describe_failure(caught.value))


def found(feed: Feed) -> pa.Table:
    table: pa.Table = feed.spark.read.parquet(str(feed.sink)).toArrow()
    return table


def counted(running: Any) -> dict[str, int]:
    told = [progress.observedMetrics["ostinato"].asDict() for progress in running.recentProgress
            if "ostinato" in progress.observedMetrics]  # fmt: skip
    return {name: sum(row[name] or 0 for row in told) for name in ("events", "derived", "late")}


def event(type: str, seconds: float, **values: Any) -> dict[str, Any]:
    time = START + timedelta(seconds=seconds)
    return {"type": type, "begin": time, "end": time, **values}


def table(*rows: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), SCHEMA)


@pytest.mark.usefixtures("two_parts")
def test_all_operators(spark: Any, tmp_path: Path) -> None:
    """Cut anywhere, and shuffled inside each batch; on from a checkpoint after the first of them."""
    rules = ost.rules("\n".join(text for name, text in PROGRAMS.items() if name != "periodic"))
    first, second = (shuffled(piece, seed=1) for piece in cut(EVENTS, [47]))
    feed = Feed(spark, tmp_path, SCHEMA).add(first)
    run(feed, rules, buckets=2)
    run(feed.add(second, END), rules, buckets=2)
    assert shown(found(feed)) == shown(rules.detect(EVENTS))


def test_columns_that_come_and_widen(spark: Any, tmp_path: Path) -> None:
    """As if all rows had had the columns of the last run; a column that rules read does not go."""
    rules = ost.rules("\n".join(PROGRAMS[name] for name in ("joins", "nested")))
    narrow = {"v": pa.int32(), "w": pa.float32(), "at": pa.struct({"x": pa.int16()} | {"y": pa.float32()})}
    before = pa.schema([(name, narrow.get(name, SCHEMA.field(name).type)) for name in SCHEMA.names])
    after = SCHEMA.append(pa.field("extra", pa.string())).append(pa.field("more", pa.int64()))
    first, later = cut(EVENTS, [47])
    first = conform_rows(first, before)
    feed = Feed(spark, tmp_path, before).add(first)
    run(feed, rules, buckets=2)
    feed.add(later, END)
    feed.schema = after
    answer = rules.detect(feed.frame(), buckets=2)
    feed.write(answer)
    whole = pa.concat_tables([conform_rows(rows, after) for rows in (first, later)])
    found = spark.read.schema(answer.schema).parquet(str(feed.sink)).toArrow()
    assert shown(found) == shown(rules.detect(whole))


@pytest.mark.usefixtures("two_parts")
def test_periodic_timers(spark: Any, tmp_path: Path) -> None:
    """They go off as the watermark passes, also where no event comes to their rules."""
    rules, last = ost.rules(PROGRAMS["periodic"]), table(event("z", 500))
    first, second = (shuffled(piece, seed=1) for piece in cut(EVENTS, [47]))
    feed = Feed(spark, tmp_path, SCHEMA).add(first)
    run(feed, rules, buckets=2)
    run(feed.add(second, last), rules, buckets=2)
    wanted = rules.detect(pa.concat_tables([EVENTS, last]))
    end = pa.scalar(START + timedelta(seconds=500), SCHEMA.field("end").type)
    assert shown(found(feed)) == shown(wanted.filter(pc.less(wanted["end"], end)))


def test_rows_beside_the_stream(spark: Any, tmp_path: Path) -> None:
    """Each bucket gets the rows of its keys, when it begins."""
    rules, rows = ost.rules(PROGRAMS["tables"]), pa.table({"k": ["x", "y", "z"], "v": [1, 2, 3]})
    first, second = cut(EVENTS, [47])
    feed = Feed(spark, tmp_path, SCHEMA).add(first)
    run(feed, rules, tables={"c": spark.createDataFrame(rows)}, buckets=3)
    run(feed.add(second, END), rules, tables={"c": rows}, buckets=3)
    assert shown(found(feed)) == shown(rules.detect(EVENTS, tables={"c": rows}))


def test_late_rows(spark: Any, tmp_path: Path) -> None:
    """Each is told once, though two units read it; what is within the lateness is not late."""
    rules = ost.rules("""DETECT d { k { var K } } ON event i: a {{ k {{ var K }} }} END
                         DETECT e { v { var V } } ON event i: a {{ v {{ var V }} }} END""")
    batches = [table(event("a", 10, k="x", v=1)), table(event("a", 6, k="x", v=2), event("a", 3, k="y", v=3))]
    feed = Feed(spark, tmp_path, SCHEMA).add(*batches, END)
    running = run(feed, rules, lateness="5 seconds", on_late="collect")
    assert counted(running) == {"events": 3, "derived": 4, "late": 1}
    late = [row["late"] for row in found(feed).to_pylist() if row["late"] is not None]
    assert [(row["k"], row["v"]) for row in late] == [("y", 3)]


def test_only_the_same_program_goes_on(spark: Any, tmp_path: Path) -> None:
    text = "DETECT d { k { var K } } ON event i: a {{ k {{ var K }} }} END"
    rules, more = ost.rules(text), ost.rules(f"{text} {text.replace(' d ', ' e ')}")
    feed = Feed(spark, tmp_path, SCHEMA).add(table(event("a", 1, k="x")))
    run(feed, rules, buckets=2)
    feed.add(END)
    assert "holds the state of another query 'rules'" in failure(feed, more, buckets=2)
    run(feed, rules, buckets=2)  # nothing was spoilt
    assert [row["k"] for row in found(feed).to_pylist()] == ["x"]


def test_documents(spark: Any, tmp_path: Path) -> None:
    rows, rules = documents(), ost.rules(DOCUMENTS)
    end = pa.Table.from_pylist([{"ts": FOREVER, "type": "z", "text": "{}"}], rows.schema)
    feed = Feed(spark, tmp_path, rows.schema).add(*cut(rows, [3]), end)
    run(feed, rules, document="text", lateness=10)
    assert shown(found(feed)) == shown(rules.detect(rows, document="text"))


def test_bad_input(spark: Any, tmp_path: Path) -> None:
    rules = ost.rules(BY_KEY)
    feed = Feed(spark, tmp_path, SCHEMA).add(table(event("z", 2) | {"begin": FOREVER}))
    assert "the event ends before it begins: `begin` is 2100" in failure(feed, rules)
    with pytest.raises(DataError, match="a stream needs timestamps to advance by, and `end` is int64"):
        rules.detect(
            feed.frame().selectExpr("type", "k", "v", "unix_seconds(begin) AS begin", "unix_seconds(end) AS end")
        )
    with pytest.raises(OstinatoError, match="buckets"):
        rules.detect(feed.frame(), buckets=0)
    with pytest.raises(OstinatoError, match="watermark of the stream is on `seen`"):
        rules.detect(feed.frame().withWatermark("seen", "1 second"))


def test_explain(spark: Any, tmp_path: Path) -> None:
    told = explain_rules(ost.rules(BY_KEY + PROGRAMS["nested"]), Feed(spark, tmp_path, SCHEMA).frame(), buckets=8)
    assert "into 8 buckets" in told
    assert "rules 1, 2, 3, 5: a by k; b by k; c by k; either by k; pair by k; since by k; triple by k" in told
    assert "rules 7, 8, 9, 10, 11: in one task" in told


@pytest.mark.filterwarnings("ignore:no event has")
def test_two_hundred_rules(spark: Any, tmp_path: Path) -> None:
    """They are one unit: an engine and a state for all of them in each bucket."""
    join = """DETECT pair$ { k { var K } } ON and { event i: a$ {{ k {{ var K }} }}, event j: b$ {{ k {{ var K }} }}
              } where { i before j, {i, j} within 4 sec } END"""
    above = "DETECT above$ { v { var V } } ON event i: c {{ v {{ var V }}, w {{ var W }} }} where { var W > $ } END"
    rules = ost.rules("\n".join(text.replace("$", str(number)) for number in range(100) for text in (join, above)))
    rows = [
        event(f"{label}{number}", number / 10 + later, k="x")
        for number in (3, 7, 99)
        for label, later in (("a", 0), ("b", 1))
    ]
    rows += [event("c", 20, v=1, w=1.5)]
    feed = Feed(spark, tmp_path, SCHEMA).add(table(*rows[:4])).add(table(*rows[4:]), END)
    run(feed, rules, buckets=1)
    assert shown(found(feed)) == shown(rules.detect(table(*rows)))
    assert len(found(feed)) == 5

"""Streams: late rows, state that goes, matches that come by time alone, and going on from a checkpoint."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import ostinato as ost
from ostinato.patterns.runtime.snapshot import conform_table
from support.spark.patterns import (
    EMPTY,
    FOREVER,
    QUERIES,
    SCHEMA,
    START,
    Feed,
    by_query,
    cut,
    embedded,
    end_of_stream,
    frame,
    metrics,
    same,
    stream,
)

EVENTS = stream(6, 60)
NAMES = ["max", "rows", "aggregates", "key", "tied", "consume", "trailing", "trailing-key"]
GROUP = {name: QUERIES[name] for name in NAMES}


def event(seconds: float, type: str | None, **values: Any) -> dict[str, Any]:
    return {"ts": START + timedelta(seconds=seconds), "type": type, "n": int(seconds * 10), **values}


def table(*rows: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), SCHEMA)


# Going on -------------------------------------------------------------------------------------------------------------


def failure(feed: Feed, *arguments: Any, **options: Any) -> str:
    from pyspark.errors import PySparkException

    with pytest.raises(PySparkException) as caught:
        feed.run(*arguments, **options)
    return str(caught.value)


@pytest.mark.usefixtures("two_parts")
def test_a_restart_between_batches(spark: Any, tmp_path: Path) -> None:
    feed = Feed(spark, tmp_path)
    first, second = cut(EVENTS, [30])
    feed.add(first).run(GROUP)
    feed.add(second, end_of_stream()).run(GROUP)
    same(feed.found(GROUP), embedded(GROUP, EVENTS))


def test_a_query_more_or_less(spark: Any, tmp_path: Path) -> None:
    """Others come and go, which read other columns and split the stream otherwise; one does not notice."""
    first, second, third = cut(EVENTS, (20, 40))
    third = third.filter(pc.greater(third["ts"], second["ts"][-1]))
    kept = {name: QUERIES[name] for name in ("labels", "key-labels", "consume")}
    others = {name: QUERIES[name] for name in ("aggregates", "float-key", "all")}
    more = {name: QUERIES[name] for name in ("decimal-key", "tied-float", "far-last", "keys")}
    feed = Feed(spark, tmp_path)
    feed.add(first).run(kept | others, events=False)
    feed.add(second).run(kept, events=False)
    feed.add(third, end_of_stream()).run(kept | more, events=False)
    found = feed.found(kept | others | more)
    events = pa.concat_tables([first, second, third])
    same({name: found[name] for name in kept}, embedded(kept, events, events=False))
    assert any(found[name] for name in others)
    # What is added starts with what comes next.
    same({name: found[name] for name in more}, embedded(more, third, events=False))
    assert any(found[name] for name in more)


def test_columns_that_come_and_widen(spark: Any, tmp_path: Path) -> None:
    """All matches are those of rows in the columns of the last run; a number does not go on as a text."""
    group = {name: QUERIES[name] for name in ("all", "key", "tied", "less", "aggregates", "trailing-key")}
    narrow = {"k": pa.int32(), "v": pa.int16(), "f": pa.float32(), "d": pa.decimal128(5, 2)}
    narrow["o"] = pa.struct({"v": pa.int32()})
    names = [name for name in SCHEMA.names if name != "t"]
    before = pa.schema([pa.field(name, narrow.get(name, SCHEMA.field(name).type)) for name in names])
    extra = [pa.field("extra", kind) for kind in (pa.int32(), pa.string(), pa.int64())]  # which no file has
    events = EVENTS.filter(pc.is_valid(EVENTS["k"]))
    first, later = conform_table(events.slice(0, 25), before), events.slice(25)
    feed = Feed(spark, tmp_path, before.append(extra[0])).add(first)
    feed.run(group)
    feed.add(later, end_of_stream())
    feed.schema = SCHEMA.append(extra[1])
    assert failure(feed, group).count("`extra` was int32 in the state to go on from, now it is string") == 1
    feed.schema = SCHEMA.append(extra[2])
    feed.run(group)
    answer = ost.detect_many(group, feed.frame(), order_by=["n"])
    found = by_query(spark.read.schema(answer.schema).parquet(str(feed.sink)).toArrow(), group)
    whole = [conform_table(rows, feed.schema) for rows in (first, later)]
    same(found, embedded(group, pa.concat_tables(whole)))
    assert all(found.values())


def test_what_is_refused_changes_nothing(spark: Any, tmp_path: Path) -> None:
    """Another query of the same name, another key, another number of buckets, other columns."""
    group = {"q": QUERIES["all"], "other": QUERIES["key"]}
    feed = Feed(spark, tmp_path).add(EVENTS.slice(0, 20))
    feed.run(group)
    feed.add(EVENTS.slice(20))
    message = failure(feed, group | {"q": QUERIES["nxt"]})
    assert message.count("the checkpoint holds the state of another query 'q': A AS x ; B AS y WITHIN 4 seconds") == 1
    message = failure(feed, group | {"other": ost.cel(QUERIES["key"].text.replace("PARTITION BY k ", ""))})
    assert message.count("the checkpoint holds the state of another query 'other'") == 1
    assert failure(feed, group, buckets=7).count("now it is 7") == 1
    assert failure(feed, group, events=False).count("had other columns when the checkpoint was begun") == 1
    assert "was begun with order_by=['n'], now it is with order_by=['v']" in failure(feed, group, order_by=["v"])
    assert 'was begun without type, now it is with type="s"' in failure(feed, group, type="s")
    spaced = ost.cel(group["q"].text.replace(" ; ", "  -- then\n ;  "))
    feed.add(end_of_stream()).run(group | {"q": spaced})
    same(feed.found(group), embedded(group, EVENTS))


def test_a_query_that_comes_again_begins_anew(spark: Any, tmp_path: Path) -> None:
    """It is the only one of its key, and its bucket sleeps while it is gone."""
    other = {"other": QUERIES["all"]}
    both = other | {"q": ost.cel("A AS x ; NOT B AS n PARTITION BY k WITHIN 10 seconds")}
    feed = Feed(spark, tmp_path).add(table(event(0, "A", k=1), event(1, "A", k=1)))
    feed.run(both)
    feed.add(table(event(3, "A", k=1, v=1))).run(other)
    feed.add(table(event(5, "A", k=2)), end_of_stream()).run(both)
    (match,) = feed.found(both)["q"]
    assert "('k', 2)" in match


def test_a_changed_query_may_come_when_the_other_has_gone(spark: Any, tmp_path: Path) -> None:
    feed = Feed(spark, tmp_path).add(table(event(0, "A")))
    feed.run({"q": QUERIES["all"], "other": QUERIES["key"]})
    feed.add(table(event(1, "A", k=1))).run({"other": QUERIES["key"]})
    feed.add(table(event(2, "C"), event(3, "D")), end_of_stream())
    feed.run({"q": ost.cel("C AS x ; D AS y"), "other": QUERIES["key"]})
    assert len(feed.found(["q", "other"])["q"]) == 1


def test_a_query_at_its_limit_stops_alone(spark: Any, tmp_path: Path) -> None:
    """Until the stream is started with another limit; a stream of one query fails, and loses nothing."""
    group = {"many": ost.cel("A AS x ; B AS y"), "few": ost.cel("C AS x ; D AS y WITHIN 1 seconds")}
    rows = [event(place, "ABCD"[place % 4]) for place in range(24)]
    feed = Feed(spark, tmp_path).add(*cut(table(*rows), [12]))
    running = feed.run(group, limits=ost.Limits(matches=4))
    told = [counts["stopped"] for counts in metrics(running, "many") if counts["stopped"]]
    assert told and "more matches than may be returned at once" in str(told[-1])
    assert not any(counts["stopped"] for counts in metrics(running, "few"))
    later = [event(30 + place, letter) for place, letter in enumerate("ABCD")]
    running = feed.add(table(*later), end_of_stream()).run(group, limits=ost.Limits(matches=1000))
    assert not any(counts["stopped"] for counts in metrics(running, "many"))
    found, expected = feed.found(group), embedded(group, table(*rows, *later))
    assert found["few"] == expected["few"] and len(expected["few"]) == 7
    assert found["many"] == embedded(group, table(*later))["many"] and len(found["many"]) == 1
    alone = Feed(spark, tmp_path / "alone").add(table(*rows), end_of_stream())
    assert "more matches" in failure_of(alone, group["many"], ost.Limits(matches=4))
    alone.write(group["many"].detect(alone.frame(), order_by=["n"], limits=ost.Limits(matches=1000)))
    assert spark.read.parquet(str(alone.sink)).count() == len(embedded(group, table(*rows))["many"])


def failure_of(feed: Feed, query: Any, limits: ost.Limits) -> str:
    from pyspark.errors import PySparkException

    with pytest.raises(PySparkException) as caught:
        feed.write(query.detect(feed.frame(), order_by=["n"], limits=limits))
    return str(caught.value)


def test_many_conditions(spark: Any, tmp_path: Path) -> None:
    """Spark drops rows by their type alone then; the answer does not change, nor do the counts of so many queries."""
    group = {
        f"q{number}": ost.cel(f"A AS x ; {letter} AS y FILTER y.v > {number / 8} PARTITION BY k WITHIN 5 seconds")
        for number, letter in enumerate("BC" * 12)
    }
    expected = embedded(group, EVENTS)
    assert sum(map(len, expected.values())) > 20
    same(by_query(ost.detect_many(group, frame(spark, EVENTS), order_by=["n"]).toArrow(), group), expected)
    feed = Feed(spark, tmp_path).add(*cut(EVENTS, [20]), end_of_stream())
    running = feed.run(group)
    same(feed.found(group), expected)
    told = [step.observedMetrics["ostinato"].asDict() for step in running.recentProgress if step.observedMetrics]
    assert sum(counts["matches"] or 0 for counts in told) == sum(map(len, expected.values()))
    wanted = sum(kind in ("A", "B", "C") for kind in EVENTS["type"].to_pylist())
    assert sum(counts["events"] or 0 for counts in told) == wanted
    assert not any(counts["stopped"] for counts in told)


# Time -----------------------------------------------------------------------------------------------------------------


def test_late_rows_are_counted_and_do_not_matter(spark: Any, tmp_path: Path) -> None:
    """A row is late when it comes in a later batch than one that is further ahead than `lateness`."""
    batches = [
        table(event(0, "A", k=1), event(10, "A", k=1)),
        table(event(6, "B", k=1), event(4, "B", k=1), event(30, "A", k=2), event(29, "C")),
        table(event(11, "B", k=1), event(26, "B", k=2), event(24, "B", k=2), event(24, "D", k=2), event(31, "B", k=2)),
    ]
    feed = Feed(spark, tmp_path).add(*batches, end_of_stream())
    group = {"plain": ost.cel("A AS x ; B AS y"), "key": ost.cel("A AS x ; B AS y PARTITION BY k")}
    running = feed.run(group, lateness="5 seconds")
    taken = [event(0, "A", k=1), event(10, "A", k=1), event(6, "B", k=1), event(30, "A", k=2), event(26, "B", k=2),
             event(31, "B", k=2)]  # fmt: skip
    same(feed.found(group), embedded(group, table(*taken)))
    for name in group:  # the D is of no query, so nobody waits for it
        told = metrics(running, name)
        assert sum(counts["late"] for counts in told) == 3
        assert sum(counts["events"] for counts in told) == 9
        assert sum(counts["matches"] for counts in told) == len(embedded(group, table(*taken))[name])


def test_late_rows_beside_the_matches(spark: Any, tmp_path: Path) -> None:
    feed = Feed(spark, tmp_path).add(table(event(10, "A")), table(event(5, "B", v=7)), end_of_stream())
    feed.run({"q": ost.cel("A AS x ; B AS y")}, on_late="collect")
    (row,) = spark.read.parquet(str(feed.sink)).collect()
    assert (row["query"], row["late"]["type"], row["late"]["v"], row["events"]) == ("q", "B", 7, None)


def test_absence_is_told_when_time_has_passed(spark: Any, tmp_path: Path) -> None:
    """No event of that key comes any more; time goes on by events of no query at all."""
    query = {"q": ost.cel("A AS x ; NOT B AS n PARTITION BY k WITHIN 10 seconds")}
    feed = Feed(spark, tmp_path).add(table(event(0, "A", k=1), event(2, "A", k=2)), table(event(5, "B", k=2)))
    feed.add(table(event(10, "Z"))).run(query)
    assert feed.found(query) == {"q": []}  # at exactly ten seconds one might still come
    feed.add(table(event(11, "Z"))).run(query)
    (match,) = feed.found(query)["q"]
    assert "('k', 1)" in match


def test_absence_is_timed_from_the_last_event(spark: Any, tmp_path: Path) -> None:
    query = {"q": ost.cel("A AS x ; C AS y ; NOT B FOR 10 seconds PARTITION BY k")}
    feed = Feed(spark, tmp_path).add(table(event(0, "A", k=1), event(0, "A", k=2)))
    feed.add(table(event(8, "C", k=1), event(9, "C", k=2)), table(event(17, "B", k=2), event(18, "Z"))).run(query)
    assert feed.found(query) == {"q": []}
    feed.add(table(event(19, "Z"))).run(query)
    (match,) = feed.found(query)["q"]
    assert "('k', 1)" in match


def test_absence_at_the_start(spark: Any, tmp_path: Path) -> None:
    query = {"q": ost.cel("NOT B FOR 10 seconds ; A AS x PARTITION BY k")}
    feed = Feed(spark, tmp_path).add(table(event(0, "B", k=1), event(1, "B", k=2)), table(event(9, "A", k=1)))
    feed.add(table(event(12, "A", k=2), event(13, "A", k=3)), end_of_stream()).run(query)
    assert [("('k', 2)" in match, "('k', 3)" in match) for match in sorted(feed.found(query)["q"])] == [
        (True, False), (False, True)
    ]  # fmt: skip


def test_what_did_not_complete_in_time(spark: Any, tmp_path: Path) -> None:
    query = {"q": ost.cel("A AS x ; B AS y ; C AS z PARTITION BY k WITHIN 10 seconds WITH TIMEOUT ROWS")}
    feed = Feed(spark, tmp_path).add(table(event(0, "A", k=1), event(0, "A", k=2)), table(event(8, "B", k=1)))
    feed.add(table(event(9, "B", k=2), event(9, "C", k=2)), table(event(10, "Z"))).run(query)
    assert ["reached" in match for match in feed.found(query)["q"]] == [False]
    feed.add(table(event(11, "Z"))).run(query)
    assert sorted("('reached', 2)" in match for match in feed.found(query)["q"]) == [False, True]


def test_idle_keys_leave_nothing(spark: Any, tmp_path: Path) -> None:
    keys = 300
    rows = [event(place / keys, "A", k=place, s="x" * 50) for place in range(keys)]
    query = {"q": ost.cel("A AS x ; B AS y PARTITION BY k WITHIN 60 seconds")}
    feed = Feed(spark, tmp_path).add(table(*rows), table(event(30, "Z")), table(event(500, "Z")))
    told = metrics(feed.run(query, buckets=4), "q")
    assert max(counts["keys"] for counts in told) >= keys - 4  # the last row of each bucket waits
    assert told[-1]["keys"] == told[-1]["live"] == 0
    assert told[-1]["bytes"] < max(counts["bytes"] for counts in told) / 3


def test_times_that_spark_has_no_watermark_for(spark: Any, tmp_path: Path) -> None:
    """Its clock starts in 1970, but what was before is not late; it counts milliseconds, which the events need not."""
    start = datetime(1950, 1, 1, tzinfo=UTC)
    old = table(*(event(0, letter, v=place) | {"ts": start + timedelta(seconds=place), "n": place}
                  for place, letter in enumerate("AABACB")))  # fmt: skip
    close = table(*(event(0, letter) | {"ts": START + timedelta(microseconds=300 * place), "n": 10 + place}
                    for place, letter in enumerate("ABACBAABCBAB")))  # fmt: skip
    group = {"q": QUERIES["all"], "key": QUERIES["key"],
             "near": ost.cel("A AS x ; B AS y WITHIN 300 microseconds"),
             "not": ost.cel("A AS x ; NOT B AS n WITHIN 500 microseconds")}  # fmt: skip
    feed = Feed(spark, tmp_path).add(*cut(old, [3]), *cut(close, (3, 8)), end_of_stream())
    feed.run(group)
    same(feed.found(group), embedded(group, pa.concat_tables([old, close])))


# What comes out -------------------------------------------------------------------------------------------------------


def test_batches_without_rows_or_matches(spark: Any, tmp_path: Path) -> None:
    """The schema is known before anything was read, and stays."""
    feed = Feed(spark, tmp_path).add(EMPTY, table(event(0, "Z")))
    frame = ost.detect_many(GROUP, feed.frame(), order_by=["n"])
    running = feed.run(GROUP)
    assert running.exception() is None
    assert spark.read.schema(frame.schema).parquet(str(feed.sink)).count() == 0
    feed.add(EVENTS, EMPTY, end_of_stream()).run(GROUP)
    same(feed.found(GROUP), embedded(GROUP, pa.concat_tables([table(event(0, "Z")), EVENTS])))
    assert [field.name for field in spark.read.parquet(str(feed.sink)).schema] == frame.columns


def test_one_query_alone(spark: Any, tmp_path: Path) -> None:
    feed = Feed(spark, tmp_path).add(EVENTS, end_of_stream())
    answer = QUERIES["key"].detect(feed.frame(), order_by=["n"])
    assert answer.columns == ["k", "start", "end", "events"]
    running = answer.writeStream.format("memory").queryName("alone").trigger(availableNow=True).start()
    running.awaitTermination()
    assert spark.table("alone").count() == len(QUERIES["key"].detect(EVENTS, order_by=["n"]))


def test_a_stream_that_ends_in_the_middle_has_not_told_all(spark: Any, tmp_path: Path) -> None:
    """Rows at the watermark wait: others of the same time may follow."""
    feed = Feed(spark, tmp_path).add(table(event(0, "A"), event(1, "B")))
    query = {"q": QUERIES["all"]}
    feed.run(query)
    assert feed.found(query) == {"q": []}
    feed.add(table({"ts": FOREVER, "n": 1})).run(query)
    assert len(feed.found(query)["q"]) == 1


# Whose watermark it is ------------------------------------------------------------------------------------------------


def test_the_watermark_of_joined_sources_is_the_least(spark: Any, tmp_path: Path) -> None:
    """What is late to one source is not late to the stream as long as another is behind."""
    fast, slow = Feed(spark, tmp_path / "fast"), Feed(spark, tmp_path / "slow")
    far = table(event(10**6, "Z"))
    later = table(event(10**6 + 5, "Z"))
    fast.add(table(event(100, "A", k=1), event(900, "B", k=1)), table(event(901, "C", k=1)), far, later)
    behind = [table(event(5, "A", k=1)), table(event(110, "B", k=1), event(120, "A", k=1)), table(event(130, "B", k=1))]
    slow.add(*behind, pa.concat_tables([far, later]))
    frames = [feed.frame().withWatermark("ts", "10 seconds") for feed in (fast, slow)]
    query = {"q": ost.cel("A AS x ; B AS y PARTITION BY k")}
    found = ost.detect_many(query, frames[0].unionByName(frames[1]))
    run = found.writeStream.format("memory").queryName("joined").option("checkpointLocation", str(tmp_path / "state"))
    run.trigger(availableNow=True).start().awaitTermination()
    rows = pa.concat_tables(pq.read_table(feed.source) for feed in (fast, slow))
    assert spark.table("joined").count() == query["q"].count(rows) > 0


def test_two_detections_in_one_stream(spark: Any, tmp_path: Path) -> None:
    """What is late does not depend on buckets."""
    feed = Feed(spark, tmp_path).add(
        table(event(0.0009, "A", k=1)), table(*(event(0.0005, "A", k=key) for key in range(1, 6))), end_of_stream()
    )
    query = ost.cel("A AS x PARTITION BY k")
    one = query.detect(feed.frame(), buckets=1, metrics="first")
    both = one.unionByName(query.detect(feed.frame(), buckets=5, metrics="second"))
    run = both.writeStream.format("memory").queryName("twice").option("checkpointLocation", str(tmp_path / "state"))
    running = run.trigger(availableNow=True).start()
    running.awaitTermination()
    assert spark.table("twice").count() == 2 * 6
    for name in ("first", "second"):
        told = [progress.observedMetrics[name].asDict() for progress in running.recentProgress
                if name in progress.observedMetrics]  # fmt: skip
        assert told and not sum(row["late"] or 0 for row in map(_short, told))


def _short(row: dict[str, Any]) -> dict[str, Any]:
    return {name.rpartition(".")[2]: count for name, count in row.items()}


def test_the_watermark_must_be_on_the_time(spark: Any, tmp_path: Path) -> None:
    frame = Feed(spark, tmp_path / "other").add(end_of_stream()).frame().selectExpr("*", "ts AS other")
    frame = frame.withWatermark("other", "1 second")
    with pytest.raises(ost.OstinatoError, match="watermark of the stream is on `other`"):
        ost.cel("A AS x").detect(frame)
    plain = (
        Feed(spark, tmp_path / "plain")
        .add(end_of_stream())
        .frame()
        .selectExpr("cast(ts AS timestamp_ntz) AS ts", "type")
    )
    with pytest.raises(ost.DataError, match="a stream needs a timestamp"):
        ost.cel("A AS x").detect(plain)


def test_counting_on_spark(spark: Any) -> None:
    events = EVENTS.select(["ts", "type"])
    frame = spark.createDataFrame(events)
    query = ost.cel("A AS x ; B AS y WITHIN 5 seconds")
    assert query.count(frame) == query.count(events, order_by=["type"]) > 0
    with pytest.raises(ost.DataError, match="Spark DataFrame"):
        ost.cel("A AS x").engine().push(frame)

"""The stateful step, with a state store and a watermark of plain Python: any cuts, any order, any queries."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import ostinato as ost
from ostinato.errors import DataError
from ostinato.patterns.joint_answers import joint_schema
from ostinato.patterns.limits import Limits
from ostinato.patterns.runtime.snapshot import conform_table
from ostinato.patterns.syntax.format import to_text
from ostinato.patterns.syntax.nodes import Query
from ostinato.spark.buckets import Buckets
from ostinato.spark.packing import ROWS, pack, unpack
from ostinato.spark.patterns.engines import StreamSettings
from ostinato.spark.patterns.processor import QUERIES, Detector
from ostinato.spark.patterns.shipped_query import ShippedQuery
from support.generators.cel import queries
from support.generators.cel_streams import Row, streams, table
from support.spark.state_store import Store

KEY, SPLIT = ("", 0), json.dumps([])


@dataclass
class Job:
    """A bucket over its life: every batch is read by a new process, which knows only the store."""

    streaming: StreamSettings
    lateness: int = 0  # seconds
    store: Store = field(default_factory=Store)
    late: int = 0

    def __post_init__(self) -> None:
        self.streaming = replace(self.streaming, delay=1000 * self.lateness)

    def batch(self, rows: pa.Table) -> list[dict[str, Any]]:
        found = []
        if len(rows):
            frames = iter([pd.DataFrame({QUERIES: [SPLIT], ROWS: [pack(rows)]})])
            found += self._given(self._detector().handleInputRows(KEY, frames, self.store))
        found += self._expired()
        latest = rows["ts"].cast(pa.int64()).to_numpy().max(initial=0) // 1000 - 1000 * self.lateness
        self.store.watermark = max(self.store.watermark, int(latest))
        return found + self._expired()

    def _expired(self) -> list[dict[str, Any]]:
        found = []
        for timer in sorted(self.store.timers):
            if timer <= self.store.watermark:
                self.store.timers.discard(timer)
                found += self._given(self._detector().handleExpiredTimer(KEY, self.store, None))
        return found

    def _detector(self) -> Detector:
        detector = Detector(self.streaming, {})
        detector.init(self.store)  # type: ignore[arg-type]
        return detector

    def _given(self, frames: Iterator[pd.DataFrame]) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for frame in frames:
            self.late += int(frame["late"].sum())
            for data in frame[ROWS]:
                found += unpack(data, self.streaming.output).to_pylist() if data is not None else []
        return found


def moments(rows: list[Row]) -> pa.Table:
    plain = table(rows)
    times = plain["ts"].cast(pa.timestamp("s")).cast(pa.timestamp("us", tz="UTC"))
    plain = plain.set_column(plain.column_names.index("ts"), "ts", times)
    return plain.append_column("place", pa.array(range(len(rows)), pa.int64()))


def streaming(text: str, schema: pa.Schema, buckets: int = 4, name: str = "q") -> StreamSettings:
    binding = {"time": "ts", "type": None, "order_by": ("place",)}
    one = ShippedQuery(name, text, binding, True, Limits(), tuple(schema.names), pa.schema([]))
    answer = one.engine().push(schema.empty_table()).schema
    if "positions" in answer.names:
        answer = answer.remove(answer.get_field_index("positions"))
    shipped = replace(one, answer=answer)
    return StreamSettings({SPLIT: (shipped,)}, schema, ("place",), answer, Buckets(buckets), delay=0)


def end(schema: pa.Schema) -> pa.Table:
    return pa.Table.from_pylist([{"ts": timedelta(days=10_000) // timedelta(microseconds=1)}], schema)


def sorted_texts(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(repr({name: value for name, value in row.items() if name != "positions"}) for row in rows)


def embedded(text: str, events: pa.Table) -> list[str]:
    return sorted_texts(ost.cel(text).detect(events, events=True, order_by=["place"]).to_pylist())


@pytest.mark.slow
@settings(max_examples=30)
@given(queries(wider_filters=True, partitions=False), streams(max_size=10), st.lists(st.integers(0, 10), max_size=3))
def test_any_cuts(query: Query, rows: list[Row], places: list[int]) -> None:
    text, events = to_text(query), moments(rows)
    job = Job(streaming(text, events.schema))
    edges = [0, *sorted(places), len(rows)]
    found = []
    for start, stop in pairwise(edges):
        found += job.batch(events.slice(start, max(0, min(stop, len(rows)) - start)))
    found += job.batch(end(events.schema))
    assert sorted_texts(found) == embedded(text, events)
    assert job.late == 0


def narrow(events: pa.Table) -> pa.Table:
    """The same events before a column came, and others became wider."""
    for name in ("v", "k", "n", "m", "place"):
        at = events.column_names.index(name)
        events = events.set_column(at, name, events[name].cast(pa.int32()))
    inner = pa.struct({"v": pa.int16()})
    nested = pa.array([row and {"v": row["v"]} for row in events["o"].to_pylist()], inner)
    return events.set_column(events.column_names.index("o"), "o", nested)


def widened(before: pa.Table, later: pa.Table) -> pa.Table:
    return pa.concat_tables([conform_table(before, later.schema), later])


@pytest.mark.slow
@settings(max_examples=60)
@given(
    st.one_of(queries(wider_filters=True), queries(wider_filters=True, partitions=False)),
    streams(max_size=12),
    st.lists(st.integers(1, 11), min_size=1, max_size=3),
)
def test_columns_that_come_and_widen(query: Query, rows: list[Row], places: list[int]) -> None:
    """All matches are those of one run over rows in the columns of the last."""
    first, *others = sorted(places)
    large = [row | {name: row[name] << 40 for name in ("v", "k") if row[name] == 2} for row in rows[first:]]
    text, events = to_text(query), moments(rows[:first] + large)
    before, later = narrow(events.slice(0, first)), events.slice(first)
    later = later.append_column("extra", pa.array([f"e{place}" for place in range(len(later))], pa.string()))
    try:
        job = Job(streaming(text, before.schema))
    except ost.OstinatoError:
        assume(False)  # it reads the field that is not there yet
    early = pa.Table.from_pylist(job.batch(before), job.streaming.output)
    job.streaming = streaming(text, later.schema)
    found = conform_table(early, job.streaming.output).to_pylist()  # as Spark reads both files
    edges = [0, *(max(0, place - first) for place in others), len(later)]
    for start, stop in pairwise(edges):
        found += job.batch(later.slice(start, stop - start))
    found += job.batch(end(later.schema))
    assert sorted_texts(found) == embedded(text, widened(before, later))


def test_a_type_that_does_not_go_on() -> None:
    events = moments([{"type": "A", "ts": 1, "v": 2}])
    job = Job(streaming("A AS x ; B AS y", events.schema))
    job.batch(events)
    at = events.column_names.index("v")
    job.streaming = streaming("A AS x ; B AS y", events.set_column(at, "v", events["v"].cast(pa.string())).schema)
    with pytest.raises(DataError, match="`v` was int64 in the state to go on from, now it is string"):
        job.batch(events.set_column(at, "v", events["v"].cast(pa.string())))


Phases = list[tuple[int, set[int]]]  # how many rows come, and which queries there are beside the first


@pytest.mark.slow
@settings(max_examples=60)
@given(
    st.lists(queries(wider_filters=True, partitions=False), min_size=3, max_size=4),
    streams(max_size=12),
    st.lists(st.tuples(st.integers(1, 3), st.sets(st.integers(1, 3))), min_size=2, max_size=5),
)
def test_queries_that_come_and_go(asked: list[Query], rows: list[Row], phases: Phases) -> None:
    """A query gives what it would give of the rows after the last one that waited when it came."""
    events = moments(rows)
    known = many({f"q{number}": to_text(query) for number, query in enumerate(asked)}, events.schema)
    assume(known)
    present: dict[str, pa.Table] = {}
    found: dict[str, list[dict[str, Any]]] = {}
    job, at, seen = Job(known[0]), 0, -1
    for size, others in [*phases, (len(rows), {1, 2, 3})]:
        group = [query for number, query in enumerate(known[0].splits[SPLIT]) if number in {0, *others}]
        piece, later = events.slice(at, size), events.slice(at)
        job.streaming = replace(job.streaming, splits={SPLIT: tuple(group)})
        if not len(piece):
            piece, later = end(events.schema), events.slice(0, 0)
        names = {query.name for query in group}
        present = {name: taken for name, taken in present.items() if name in names}
        for name in names - present.keys():
            seconds = later["ts"].cast(pa.int64()).to_numpy() // 1_000_000
            present[name], found[name] = later.filter(pa.array(seconds > seen)), []
        for row in job.batch(piece):
            found[row.pop("query")].append(row)
        at += len(piece)
        seen = max([seen, *(row["ts"] for row in rows[:at])])
    for row in job.batch(end(events.schema)):
        found[row.pop("query")].append(row)
    for name, taken in present.items():
        query = ost.cel(next(query.text for query in job.streaming.splits[SPLIT] if query.name == name))
        expected = query.detect(taken, events=True, order_by=["place"])
        assert without_null(found[name]) == without_null(expected.to_pylist())


def many(texts: dict[str, str], schema: pa.Schema) -> list[StreamSettings]:
    """Those of the queries that can run in one stream; none if there are not two."""
    each = [streaming(text, schema, name=name) for name, text in texts.items()]
    shipped = tuple(query for settings in each for query in settings.splits[SPLIT])
    try:
        output = joint_schema({query.name: query.answer for query in shipped})
    except ost.OstinatoError:
        return []
    return [replace(each[0], splits={SPLIT: shipped}, output=output)]


def without_null(rows: list[dict[str, Any]]) -> list[str]:
    """Answers of one query, without the columns of others."""
    return sorted_texts([{name: value for name, value in sorted(row.items()) if value is not None} for row in rows])


@pytest.mark.slow
@settings(max_examples=30)
@given(queries(wider_filters=True, partitions=False), streams(max_size=8), st.randoms(use_true_random=False), st.data())
def test_late_rows_are_as_if_they_had_not_come(query: Query, rows: list[Row], chance: Any, data: Any) -> None:
    text, events = to_text(query), moments(rows)
    lateness = data.draw(st.integers(0, 4))
    job = Job(streaming(text, events.schema), lateness)
    order = list(range(len(rows)))
    chance.shuffle(order)
    found, taken, passed = [], [], 0
    for start in range(0, len(rows), 3):
        places = order[start : start + 3]
        taken += [place for place in places if rows[place]["ts"] >= passed]
        passed = max([passed, *(rows[place]["ts"] - lateness for place in places)])
        found += job.batch(events.take(pa.array(places, pa.int64())))
    found += job.batch(end(events.schema))
    assert job.late == len(rows) - len(taken)
    assert sorted_texts(found) == embedded(text, events.take(pa.array(sorted(taken), pa.int64())))


def test_a_quiet_bucket_sets_no_timer_and_keeps_little() -> None:
    rows = [{"type": "A", "ts": second, "s": "x" * 1000} for second in range(50)]
    events = moments(rows)
    job = Job(streaming("A AS x ; B AS y WITHIN 10 seconds", events.schema))
    job.batch(events)
    busy = len(job.store.value[0])
    job.batch(end(events.schema).take(pa.array([], pa.int64())))
    job.store.watermark = 10**9
    job._expired()
    assert not job.store.timers
    assert busy > 1000 and job.store.value is None


@pytest.mark.parametrize(
    ("text", "buckets", "message"),
    [("A AS x", 4, "state of another query"), ("A AS x ; B AS y", 8, "begun with buckets=4, now it is 8")],
)
def test_state_of_something_else(text: str, buckets: int, message: str) -> None:
    events = moments([{"type": "A", "ts": 1}])
    job = Job(streaming("A AS x ; B AS y", events.schema))
    job.batch(events)
    job.streaming = streaming(text, events.schema, buckets)
    with pytest.raises(DataError, match=message):
        job.batch(events)

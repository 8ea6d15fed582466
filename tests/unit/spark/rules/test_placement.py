"""Random rules over events that were split by unit and key: the answers together are the answer of the whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from ostinato.errors import DataError, QueryError
from ostinato.rules.algebra.partition import RuleUnit
from ostinato.rules.incremental.options import RuleOptions
from ostinato.rules.program import RuleProgram
from ostinato.rules.runtime.batch import detect_table
from ostinato.rules.runtime.bound_program import bind_program
from ostinato.rules.syntax.format import program_text
from ostinato.spark.buckets import Buckets
from ostinato.spark.checkpoint_header import HEADER
from ostinato.spark.packing import ROWS, pack, unpack
from ostinato.spark.rules.placement import conform_answer, plan_units, unit_program
from ostinato.spark.rules.processor import FIRST, RuleDetector, RuleStreaming, _engines
from support.generators.rules import SCHEMA, Strata, cases, program
from support.generators.terms import Row
from support.spark.state_store import Store

pytestmark = pytest.mark.slow

Case = tuple[Strata, list[Row]]
START = datetime(2026, 1, 1, tzinfo=UTC)
TIMED = SCHEMA.set(1, SCHEMA.field(1).with_type(pa.timestamp("us", tz="UTC")))
TIMED = TIMED.set(2, SCHEMA.field(2).with_type(pa.timestamp("us", tz="UTC")))
COLUMNS: dict[str, str | None] = {}


def fitting(strata: Strata, schema: pa.Schema = SCHEMA) -> RuleProgram | None:
    made = RuleProgram(program_text(program(strata)))
    try:
        bind_program(made.program, made.text, schema, COLUMNS)
    except QueryError:  # kinds that do not go together, such as a timestamp and a number of seconds
        return None
    return made


def units(rules: RuleProgram, schema: pa.Schema) -> tuple[RuleUnit, ...]:
    return plan_units(rules, bind_program(rules.program, rules.text, schema, COLUMNS), streams=True)


def place(unit: RuleUnit, row: Row) -> int | None:
    """The bucket of a row; None where the unit does not read it."""
    if unit.labels is not None and row["type"] not in unit.labels:
        return None
    return hash(tuple(row.get(name) for name in unit.keys.get(row["type"], ()))) % 3


def shown(tables: Iterable[pa.Table]) -> Counter[str]:
    """As texts; sums of floats differ in their last digit by the order of their parts."""
    return Counter(
        repr([(name, round(value, 9) if isinstance(value, float) else value) for name, value in row.items()])
        for table in tables
        for row in table.to_pylist()
    )


@settings(max_examples=20, deadline=None)
@given(cases())
def test_parts_are_the_whole(case: Case) -> None:
    strata, rows = case
    rules = fitting(strata)
    if rules is None:
        return
    whole = bind_program(rules.program, rules.text, SCHEMA, COLUMNS)
    found = []
    for unit in units(rules, SCHEMA):
        event("keyed" if unit.keys else "whole")
        own = unit_program(rules, unit, COLUMNS, SCHEMA).bind()
        for bucket in range(3) if unit.keys else range(1):
            mine = [row for row in rows if (place(unit, row) == bucket if unit.keys else True)]
            answer = detect_table(own, pa.Table.from_pylist(mine, SCHEMA))
            found.append(conform_answer(answer, whole.answer_schema))
    assert shown(found) == shown([detect_table(whole, pa.Table.from_pylist(rows, SCHEMA))])


class Stream:
    """The stateful step over micro-batches, each bucket with a store of its own."""

    def __init__(
        self, rules: RuleProgram, schema: pa.Schema, lateness: int = 0, *, known: bool = True, **options: Any
    ) -> None:
        """`known`: whether the step knows how far the watermark lies behind."""
        bound = bind_program(rules.program, rules.text, schema, COLUMNS)
        self.rules, self.schema, self.lateness = rules, schema, lateness
        self.units = plan_units(rules, bound, streams=True)
        texts = tuple(unit_program(rules, unit, COLUMNS, schema).text for unit in self.units)
        output = bound.answer_schema
        if options.get("on_late") == "collect":
            output = output.append(pa.field("late", pa.struct(list(schema))))
        told = RuleOptions(COLUMNS, None, **options)
        self.streaming = RuleStreaming(
            rules.text, texts, told, schema, output, (), Buckets(3), lateness if known else None
        )
        self.stores: dict[tuple[str, int], Store] = {}
        self.latest: datetime | None = None
        self.found: list[pa.Table] = []
        self.counts: Counter[str] = Counter()

    def batch(self, rows: list[Row]) -> None:
        watermark = 0
        if self.latest is not None:
            watermark = max(0, int(self.latest.timestamp() * 1000) - self.lateness)
        for store in self.stores.values():
            store.watermark = watermark
        parts: dict[tuple[str, int], list[Row]] = {}
        for row in rows:
            places = [(number, place(unit, row)) for number, unit in enumerate(self.units)]
            read = [(number, bucket) for number, bucket in places if bucket is not None]
            for number, bucket in read:
                parts.setdefault((str(number), bucket), []).append({**row, FIRST: read[0][0]})
        for key, mine in parts.items():
            store = self.stores.setdefault(key, Store(watermark=watermark))
            table = pa.Table.from_pylist(mine, self.schema.append(pa.field(FIRST, pa.int32())))
            self._take(self._detector(store).handleInputRows(key, iter([pd.DataFrame({ROWS: [pack(table)]})]), store))
        for key, store in self.stores.items():
            for timer in [timer for timer in store.listTimers() if timer <= watermark]:
                store.timers.discard(timer)
                self._take(self._detector(store).handleExpiredTimer(key, store, None))
        ends = [row["end"] for row in rows]
        self.latest = max([*ends, *([self.latest] if self.latest else [])], default=None)

    def _detector(self, store: Store) -> RuleDetector:
        detector = RuleDetector(self.streaming)
        detector.init(store)  # type: ignore[arg-type]
        return detector

    def _take(self, given: Any) -> None:
        for frame in given:
            for row in frame.to_dict("records"):
                if row[ROWS] is not None:
                    batch = unpack(row[ROWS], self.streaming.output)
                    self.found.append(pa.Table.from_batches([batch]))
                self.counts.update({name: row[name] for name in ("events", "derived", "late")})


def timed(rows: list[Row]) -> list[Row]:
    return [row | {side: START + timedelta(seconds=row[side]) for side in ("begin", "end")} for row in rows]


# Long after all that events derive. Periodic timers go on to it, and the last of them wait as late events might come.
END = {"type": "z", "begin": START + timedelta(minutes=20), "end": START + timedelta(minutes=20)}
SETTLED = START + timedelta(minutes=10)


@settings(max_examples=16, deadline=None)
@given(cases(), st.lists(st.integers(0, 10), max_size=3).map(sorted), st.booleans())
def test_streams_give_the_same(case: Case, cuts: list[int], known: bool) -> None:
    strata, rows = case
    rules = fitting(strata, TIMED)
    if rules is None:
        return
    events = timed(rows)
    expected = rules.detect(pa.Table.from_pylist([*events, END], TIMED))
    stream = Stream(rules, TIMED, lateness=60_000, known=known)
    for start, end in pairwise([0, *(min(cut, len(events)) for cut in cuts), len(events)]):
        stream.batch(events[start:end])
    stream.batch([END])
    stream.batch([END])
    assert shown(map(settled, stream.found)) == shown([settled(expected)])
    assert stream.counts["derived"] == sum(map(len, stream.found))
    assert stream.counts["late"] == 0


def settled(answer: pa.Table) -> pa.Table:
    return answer.filter(pc.field("end") <= pa.scalar(SETTLED, answer.schema.field("end").type))


RULES = """DETECT d { k { var K } } ON event i: a {{ k {{ var K }} }} END
           DETECT e { v { var V } } ON event i: a {{ v {{ var V }} }} END"""


def a(end: int, begin: int | None = None) -> Row:
    return {"type": "a", "begin": end if begin is None else begin, "end": end, "k": "x", "v": 1, "w": None}


def test_late_rows_are_told_once() -> None:
    """Two units read each of them."""
    stream = Stream(RuleProgram(RULES), TIMED, on_late="collect")
    assert len(stream.units) == 2
    for rows in ([a(5)], [a(4), a(5), a(6)], [a(3)]):
        stream.batch(timed(rows))
    stream.batch([END])
    stream.batch([END])
    assert stream.counts == {"events": 5, "derived": 4, "late": 2}
    late = [row["late"] for table in stream.found for row in table.to_pylist() if row["late"] is not None]
    assert [row["end"] for row in late] == [START + timedelta(seconds=seconds) for seconds in (4, 3)]


def test_rows_that_last_too_long_are_late() -> None:
    stream = Stream(RuleProgram(RULES), TIMED, longest=2e9)
    stream.batch(timed([a(5, 1), a(5, 3)]))
    assert stream.counts["late"] == 1


def test_late_rows_stop_the_stream_where_asked() -> None:
    stream = Stream(RuleProgram(RULES), TIMED, on_late="raise")
    stream.batch(timed([a(5)]))
    with pytest.raises(DataError, match="came after time had passed"):
        stream.batch(timed([a(4)]))


def test_timers_go_off_as_time_passes() -> None:
    """By events that wake the bucket of no key."""
    rules = RuleProgram("""DETECT d { k { var K } }
        ON and { event n: a {{ k {{ var K }} }}, event i: timer:from-end [ event n, 2 sec ],
                 while i: not b {{ k {{ var K }} }} } END""")
    stream = Stream(rules, TIMED)
    stream.batch(timed([a(0), a(0) | {"k": "y"}, a(1) | {"k": "y", "type": "b"}]))
    stream.batch([END | {"end": START + timedelta(seconds=2)}])
    stream.batch([])
    assert stream.counts["derived"] == 0  # at exactly two seconds one might still come
    stream.batch([END | {"end": START + timedelta(seconds=2, milliseconds=1)}])
    stream.batch([])
    assert [row["k"] for table in stream.found for row in table.to_pylist()] == ["x"]


def test_an_engine_that_is_not_at_hand_is_restored() -> None:
    stream = Stream(RuleProgram(RULES), TIMED)
    stream.batch(timed([a(5)]))
    _engines.clear()
    stream.batch([END])
    assert stream.counts["derived"] == 0
    stream.batch([])
    assert stream.counts["derived"] == 2


def test_another_program_does_not_go_on() -> None:
    store = Store()
    for text, buckets, message in ((RULES, 3, ""), (RULES + " ", 3, "another query"), (RULES, 4, "buckets=3")):
        made = Stream(RuleProgram(text), TIMED)
        detector = RuleDetector(replace(made.streaming, buckets=Buckets(buckets)))
        detector.init(store)  # type: ignore[arg-type]
        if message:
            with pytest.raises(DataError, match=message):
                list(detector.handleInputRows((HEADER, 0), iter(()), store))
        else:
            assert list(detector.handleInputRows((HEADER, 0), iter(()), store)) == []

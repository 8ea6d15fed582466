"""The columns that rules read of incoming events."""

from __future__ import annotations

import pyarrow as pa
import pytest

from ostinato.rules.algebra.query_plan import plan_program
from ostinato.rules.runtime.required_columns import RequiredColumns, empty_events, infer_time_type
from ostinato.rules.runtime.times import DEFAULT_TIME_TYPE
from ostinato.rules.syntax.parse import parse

COLUMNS = {"begin": None, "end": None, "time": None, "type": None, "document": None}


def required(body: str) -> RequiredColumns:
    return RequiredColumns.of(plan_program(parse(f"DETECT x {{ }} ON {body} END")))


def test_terms_say_what_they_read() -> None:
    found = required("event i: a {{ k {{ var K }}, src {{ ip {{ 1 }} }}, optional o {{ var O }}, desc d {{ }} }}")
    assert found.shapes == {"k": pa.null(), "src": pa.struct({"ip": pa.null()}), "o": pa.null(), "d": pa.null()}
    assert found.needed == {("a", "k"), ("a", "src")}


def test_cel_patterns_read_columns_too() -> None:
    assert required('event p: cel "SELECT a.v AS v WHERE A AS a FILTER a[w > 1]" {{ }}').shapes.keys() == {"v", "w"}


def test_rules_beside_others_require_what_the_whole_does() -> None:
    rules = "DETECT x { m { var K } } ON event i: a {{ k {{ var K }}, s {{ t {{ var T }} }} }} END "
    more = "DETECT y { } ON event i: x {{ m {{ 1 }}, n {{ 2 }} }} END "
    more += "DETECT y { } ON event i: a {{ s {{ u {{ }} }} }} END"
    plans = [plan_program(parse(text)) for text in (rules, more, rules + more)]
    known, whole = RequiredColumns.of(plans[0]), RequiredColumns.of(plans[2])
    assert RequiredColumns.of(plans[1], beside=known) == whole
    assert whole.needed == {("a", "k"), ("a", "s"), ("x", "n")}  # rules make the `m` of an `x`


def test_columns_that_never_came_are_added() -> None:
    found = required("event i: a {{ k {{ var K }}, src {{ ip {{ 1 }} }} }}")
    seen = pa.schema({"ts": pa.int64(), "src": pa.struct({"port": pa.int64()})})
    assert found.complete_schema(seen) == pa.schema(
        {"ts": pa.int64(), "src": pa.struct({"port": pa.int64(), "ip": pa.null()}), "k": pa.null()}
    )


@pytest.mark.parametrize(
    ("moments", "expected"), [("0, 60", pa.int64()), ('"2026-01-01", "2026-01-02"', DEFAULT_TIME_TYPE)]
)
def test_absolute_timers_say_how_time_is_counted(moments: str, expected: pa.DataType) -> None:
    plan = plan_program(parse(f"DETECT x {{ }} ON event t: timer:absolute [{moments}] END"))
    assert infer_time_type(plan) == expected
    assert empty_events(plan, COLUMNS).schema == pa.schema({"ts": expected, "type": pa.string()})

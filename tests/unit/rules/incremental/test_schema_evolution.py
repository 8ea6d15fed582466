"""What the live engine does about columns, fields and types that its first batch did not have."""

from __future__ import annotations

import warnings
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import ostinato
from ostinato.errors import DataError, QueryError
from ostinato.rules.incremental.engine import RuleEngine
from ostinato.rules.incremental.schema_evolution import conform_rows

pytestmark = pytest.mark.filterwarnings("ignore:no event has had")

Rows = list[dict[str, Any]]
OPTIONAL = "DETECT u { v { var V } } ON event o: a {{ optional v {{ var V }} }} END"
JOIN = "DETECT y { k { var K } } ON and { event i: a {{ k {{ var K }} }}, event j: b {{ k {{ var K }} }} } END"


def row(ts: Any, label: str = "a", **more: Any) -> dict[str, Any]:
    return {"ts": ts, "type": label, **more}


def live(text: str, *batches: Any, restored: bool = False, **options: Any) -> Rows:
    engine = ostinato.rules(text).engine(**options)
    found: Rows = []
    for batch in batches:
        found += engine.push(batch).to_pylist()
        if restored:
            engine = RuleEngine.restore(engine.snapshot())
    return found + engine.flush().to_pylist()


def at_once(text: str, rows: Rows) -> Rows:
    return ostinato.rules(text).detect(rows).to_pylist()


def values(rows: Rows) -> list[tuple[Any, ...]]:
    names = sorted({name for each in rows for name in each})
    return sorted((tuple(each.get(name) for name in names) for each in rows), key=str)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "rows"),
    [
        # a new column
        ("DETECT u { v { var V } } ON event o: a { v {{ var V }} } END", [row(1, v=1), row(2, v=3, z=4), row(3, v=5)]),
        ("DETECT u { v { var Z } } ON event o: a {{ desc z {{ var Z }} }} END", [row(1, v=1), row(2, z=4)]),
        ("DETECT u { v { var V } } ON event o: var V -> a {{ }} END", [row(1, v=1), row(2, v=1, z="x")]),
        ("DETECT u { } ON event o: a [[ v {{ 1 }}, w {{ 3 }}, z {{ 2 }} ]] END", [row(1, v=1), row(2, w=3, z=2, v=1)]),
        # a new field, also in a list
        (
            "DETECT u { v { var X } } ON event o: a {{ s { x {{ var X }} } }} END",
            [row(1, s={"x": 1}), row(2, s={"y": 2, "x": 2}), row(3, s={"x": 3})],
        ),
        (
            "DETECT u { v { var X } } ON event o: a {{ s {{ y {{ var X }} }} }} END",
            [row(1, s=[{"x": 1}]), row(2, s=[{"x": 1}, {"y": 2}])],
        ),
        # a type where there was none
        (OPTIONAL, [row(1, v=None), row(2, v=41.5), row(3)]),
        (OPTIONAL, [row(1, v=None), row(2, v=[2.5, 3.5])]),
        (
            "DETECT u { v { var V + 1 } } ON event o: a {{ v {{ var V }} }} where { var V > 40 } END",
            [row(1, v=None), row(2, v=41.5)],
        ),
        (
            "DETECT u { v { var V } } ON event o: a {{ s {{ v {{ var V }} }} }} END",
            [row(1, s=None), row(2, s={"w": 1}), row(3, s={"v": 2})],
        ),
        # other numbers
        (JOIN, [row(1, k=7), row(2, "b", k=7.5), row(3, "b", k=7)]),
        (JOIN, [row(1, k=Decimal("1.5")), row(2, "b", k=Decimal("10.25")), row(3, "b", k=Decimal("1.50"))]),
        (JOIN, [row(1, k=7), row(2.5, "b", k=7)]),  # of times
        (JOIN, [row(1, k=3), row(2, "b", k=Decimal("1.5")), row(3, "b", k=3)]),
        (OPTIONAL, [row(1, v=3), row(2, v=Decimal("1.5"))]),
        (OPTIONAL, [row(1, v=Decimal("1.5")), row(2, v=3)]),
        # what a recursive rule also derives
        (
            """DETECT q { n { var Y } } ON and {
              event r: q {{ n {{ var X }} }}, event c: e {{ x {{ var X }}, y {{ var Y }} }}
            } END""",
            [row(1, "e", x=1, y=2), row(2, "e", x=2, y=3), row(3, "q", n=1)],
        ),
        # a list in a list: its items are elements
        (OPTIONAL, [row(1, v=[[1]]), row(2, v=[[2, 3], [4]])]),
        (
            "DETECT u { v { var V } } ON event o: a {{ v {{ item {{ var V }} }} }} END",
            [row(1, v=[[1]]), row(2, v=[[2.5, 3], [4]])],
        ),
        (
            "DETECT u { v { var V } } ON event o: a {{ v { item { p {{ var V }} } } }} END",
            [row(1, v=[[{"p": 1}]]), row(2, v=[[{"q": 1}], [{"p": 2}]]), row(3, v=None)],
        ),
        (
            "DETECT u { v { var V } } ON event o: a {{ v {{ item {{ optional p {{ var V }} }} }} }} END",
            [row(1, v=[[{"q": 1}]]), row(2, v=[[{"p": 2}]])],
        ),
        # labels whose events come later
        (
            "DETECT u { o { var O } } "
            "ON and { event i: order {{ id {{ var O }} }}, event j: paid {{ oid {{ var O }} }} } END",
            [row(1, "order", id=7), row(2, "paid", oid=7)],
        ),
        (
            "DETECT u { x { var X } } ON and { event i: a {{ k {{ var K }} }}, "
            "event j: b {{ s {{ t {{ var X }} }}, k {{ var K }} }} } END",
            [row(1, k=7), row(2, "b", k=7, s={"t": "x"})],
        ),
        # what waits and what is kept: a timer, and a collection
        (
            "DETECT u { k { var K }, n { count(all var V) } } ON and { event i: a {{ k {{ var K }} }}, "
            "event t: timer:from-end [event i, 10 sec], "
            "while t: collect event w: b {{ k {{ var K }}, v {{ var V }} }} } END",
            [row(1, k="x"), row(2, "b", k="x", v=1), row(3, "b", k="x", v=1.5), row(4, "b", k="x", v=1.5, more="y")],
        ),
    ],
)
def test_later_batches_may_bring_more(text: str, rows: Rows) -> None:
    wanted = at_once(text, rows)
    assert wanted
    assert values(live(text, *([each] for each in rows), restored=True)) == values(wanted)
    assert values(live(text, rows[:1], rows[1:])) == values(wanted)


def test_tables_may_bring_more_columns_and_must_bring_all_that_were_there() -> None:
    text = "DETECT u { v { var V } } ON event o: a { v {{ var V }} } END"
    first, second = (
        pa.table({"ts": [1], "type": ["a"], "v": [1]}),
        pa.table({"ts": [2], "type": ["a"], "v": [3], "z": [4]}),
    )
    assert [each["v"] for each in live(text, first, second)] == [1]
    with pytest.raises(DataError, match="no column `z`, which earlier ones had"):
        live(text, second, first)


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        (7, "007", "`k` is a string in this batch, and was a number before"),
        (7, True, "`k` is a boolean in this batch, and was a number before"),
        ("7", 3, "`k` is a number in this batch, and was a string before"),
        (7, [7], "`k` is a list in this batch, and was a number before"),
        ({"x": 1}, {"x": "1"}, "`k.x` is a string in this batch, and was a number before"),
        (2.5, Decimal("2.5"), "`k` is a decimal128.* in this batch, and was a double before"),
        (2.5, 2**60 + 1, "`k`"),
    ],
)
def test_what_detect_refuses_is_refused_before_anything_changes(first: Any, second: Any, told: str) -> None:
    text = "DETECT y { } ON and { event i: a {{ k {{ }} }}, event j: b {{ k {{ }} }} } END"
    with pytest.raises((DataError, QueryError)):
        at_once(text, [row(1, k=first), row(2, "b", k=second)])
    engine = ostinato.rules(text).engine()
    engine.push([row(1, k=first)])
    with pytest.raises(DataError, match=told):
        engine.push([row(2, "b", k=second)])
    engine.push([row(3, "b", k=first)])
    assert [each["end"] for each in engine.flush().to_pylist()] == [3]
    assert engine.stats().events == 2


def test_a_time_without_a_zone_is_in_utc() -> None:
    """As it is for `detect`."""
    rows = [row(1, k=datetime(2026, 1, 1, 8, tzinfo=UTC)), row(2, "b", k=datetime(2026, 1, 1, 8))]
    assert values(live(JOIN, rows[:1], rows[1:])) == values(at_once(JOIN, rows)) != []


def test_a_batch_that_is_refused_teaches_nothing() -> None:
    engine = ostinato.rules(JOIN).engine(on_late="raise")
    engine.push([row(5, k=None)])
    engine.push([row(9, k=None)])
    with pytest.raises(DataError, match="time had passed"):
        engine.push([row(1, k="x")])
    engine.push([row(9, k=7), row(10, "b", k=7)])
    assert [each["k"] for each in engine.flush().to_pylist()] == [7]


def test_a_schema_is_final() -> None:
    schema = pa.schema([("type", pa.string()), ("ts", pa.int64()), ("v", pa.float32()), ("d", pa.decimal128(9, 2))])
    text = "DETECT u { v { var V } } ON event o: a { v {{ var V }} } END"
    assert [each["v"] for each in live(text, [row(1, v=2)], [row(2, v=2.5, z=1)], schema=schema)] == [2.0, 2.5]
    with pytest.raises(DataError, match="`v` is a string in this batch, and was a number before"):
        live(text, [row(1, v="2")], schema=schema)
    with pytest.raises(DataError, match="`ts`"):
        live(text, [row(1.5, v=2)], schema=schema)


def test_columns_of_the_answer_have_no_type_until_they_have_a_value() -> None:
    engine = ostinato.rules(OPTIONAL).engine()
    first = engine.push([row(1, v=None), row(2)])
    assert first.schema.field("v").type == pa.null()
    both = pa.concat_tables([first, engine.push([row(3, v=41.5)]), engine.flush()], promote_options="default")
    assert both.schema.field("v").type == pa.float64()
    assert both["v"].to_pylist() == [None, None, 41.5]


def test_late_rows_have_the_columns_that_were_seen() -> None:
    engine = ostinato.rules(OPTIONAL).engine(on_late="collect")
    engine.push([row(5), row(6)])
    engine.push([row(1)])
    engine.push([row(1, z=7)])
    assert engine.late_events().to_pylist() == [row(1, z=None), row(1, z=7)]


def test_an_attribute_that_no_event_of_its_label_has_is_told_once() -> None:
    engine = ostinato.rules(JOIN.replace("b {{ k", "b {{ kk")).engine()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        engine.push([row(1, k=7)])
    with pytest.warns(UserWarning, match="no event has had `kk` yet, which a rule reads of `b`; did you mean `k`?"):
        engine.push([row(2, "b", k=7)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        engine.push([row(3, "b", k=7)])
    table = pa.table({"ts": [1], "type": ["a"], "k": [7]})  # a table has all its columns
    with pytest.raises(QueryError, match="have no `kk`"):
        ostinato.rules(JOIN.replace("b {{ k", "b {{ kk")).engine().push(table)


def test_columns_that_say_what_events_are_cannot_come_later() -> None:
    rules = ostinato.rules("DETECT u { } ON event o: a {{ }} END")
    engine = rules.engine()
    engine.push([{"ts": 1}])
    with pytest.raises(DataError, match="`type` is new"):
        engine.push([{"ts": 2, "type": "a"}])
    engine = rules.engine()
    engine.push([{"ts": 1, "type": "a"}])
    with pytest.raises(DataError, match="`begin` is new"):
        engine.push([{"ts": 2, "type": "a", "begin": 1, "end": 2}])
    assert len(engine.flush()) == 1


PATTERN = """DETECT up { n { var N } } ON event p:
cel "SELECT y.v AS n WHERE a AS x ; a AS y FILTER x[v < 5] AND y[v > 5]" {{ n {{ var N }} }} END"""


def test_patterns_go_on() -> None:
    rows = [row(1, "a"), row(2, v=1), row(3, v=9, z=1)]
    wanted = at_once(PATTERN, rows)
    assert len(wanted) == 1
    assert values(live(PATTERN, *([each] for each in rows))) == values(wanted)
    with pytest.raises(DataError, match=r"(?s)`v` was int64 .*pattern.*schema="):
        live(PATTERN, [row(1, v=1), row(2, v=1)], [row(3, v=9.5)], [row(4)])


def test_what_waits_is_moved_to_wider_lists() -> None:
    text = "DETECT u { x { var X } } ON event o: a {{ s {{ t {{ x {{ var X }} }} }} }} END"
    rows = [row(2, s={"w": 1}), row(1, s=None), row(2, s={"t": [{"x": 1}, {"y": 2}]}), row(3, s={"t": [{"x": 2.5}]})]
    wanted = at_once(text, rows)
    assert [each["x"] for each in wanted] == [1, 2.5]
    assert values(live(text, *([each] for each in rows), lateness=9)) == values(wanted)


def test_maps_may_bring_more_keys_and_wider_numbers() -> None:
    text = "DETECT u { v { var V } } ON event o: a {{ m {{ k {{ var V }} }} }} END"
    whole, wider = (pa.map_(pa.string(), kind) for kind in (pa.int64(), pa.float64()))
    tables = [
        pa.table({"ts": [ts], "type": ["a"], "m": pa.array([pairs], kind)})
        for ts, pairs, kind in ((1, [("k", 1)], whole), (2, [("k", 2.5), ("z", 1)], wider), (3, [("z", 1)], whole))
    ]
    assert [each["v"] for each in live(text, *tables, lateness=9)] == [1.0, 2.5]


BIG = 2**53 + 1  # no float is
COUNT = """
DETECT u { n { count(all var X) } } ON and {
  event b: b {{ }}, event i: timer:from-end-backward [event b, 9 sec], while i: collect a {{ x {{ var X }} }}
} END
"""
KEPT = "DETECT u { x { var X } } ON and { event i: a {{ x {{ var X }} }}, event j: b {{ y {{ var X }} }} } END"


@pytest.mark.parametrize("text", [COUNT, KEPT])
@pytest.mark.parametrize("waiting", [False, True])
@pytest.mark.parametrize("other", [0.5, Decimal(1).scaleb(-25)])
def test_what_was_there_is_never_rounded(text: str, waiting: bool, other: Any) -> None:
    engine = ostinato.rules(text).engine(lateness=9 if waiting else 0)
    rows = [row(1, x=BIG), row(2, x=BIG - 1), row(3, "c")]
    for each in rows:
        engine.push([each])
    before = engine.stats()
    with pytest.raises(DataError, match=r"X|x") as caught:
        engine.push([row(4, "c", x=other)])
    assert "Arrow" not in str(caught.value)
    assert engine.stats() == before
    rows.append(row(5, "b", y=BIG))
    found = engine.push(rows[-1:]).to_pylist() + engine.flush().to_pylist()
    assert values(found) == values(at_once(text, rows)) != []


@pytest.mark.parametrize("kind", [pa.uint64(), pa.list_(pa.uint64()), pa.struct([("k", pa.uint64())])])
def test_numbers_over_64_bits_with_a_sign_are_refused_before_they_are_taken(kind: pa.DataType) -> None:
    def table(ts: int, value: int) -> pa.Table:
        held = [value] if pa.types.is_list(kind) else {"k": value} if pa.types.is_struct(kind) else value
        return pa.table({"ts": [ts], "type": ["a"], "x": pa.array([held], kind)})

    inner = "k {{ var X }}" if pa.types.is_struct(kind) else "var X"
    engine = ostinato.rules(f"DETECT u {{ x {{ var X }} }} ON event o: a {{{{ x {{{{ {inner} }}}} }}}} END").engine()
    found = engine.push(table(1, 5)).to_pylist()
    with pytest.raises(DataError, match="`x` has a number over"):
        engine.push(table(2, 2**64 - 1))
    assert engine.stats().events == 1
    for ts in (3, 4):
        found += engine.push(table(ts, ts)).to_pylist()
    assert [each["x"] for each in found + engine.flush().to_pylist()] == [5, 3, 4]


@pytest.mark.parametrize("kind", [pa.uint64(), pa.struct([("k", pa.uint64())])])
def test_numbers_that_no_rule_reads_may_be_of_any_size(kind: pa.DataType) -> None:
    text = "DETECT u { v { var V } } ON event o: a {{ v {{ var V }} }} END"
    rows = [row(ts, v=ts, x={"k": 2**64 - ts} if pa.types.is_struct(kind) else 2**64 - ts) for ts in range(1, 21)]
    schema = pa.schema([("ts", pa.int64()), ("type", pa.string()), ("v", pa.int64()), ("x", kind)])
    table = pa.Table.from_pylist(rows, schema)
    wanted = ostinato.rules(text).detect(table).to_pylist()
    assert len(wanted) == len(rows)
    assert values(live(text, table[:3], table[3:])) == values(wanted)


def test_columns_that_are_known_from_the_start_may_be_wider_after_a_restart() -> None:
    """What waits and what is kept goes on in them."""
    text = """DETECT d { k { var K }, v { var V } }
              ON and { event i: a {{ k {{ var K }}, v {{ var V }} }}, event j: b {{ k {{ var K }} }} }
              where { {i, j} within 10 sec } END"""
    narrow = pa.schema({"type": pa.string(), "ts": pa.int64(), "k": pa.int32(), "v": pa.float32()})
    wide = pa.schema({"new": pa.string(), **{name: narrow.field(name).type for name in ("type", "ts")}})
    wide = wide.append(pa.field("k", pa.int64())).append(pa.field("v", pa.float64()))
    first = pa.Table.from_pylist([{"type": "a", "ts": 1, "k": 7, "v": 0.5}, {"type": "b", "ts": 3, "k": 8}], narrow)
    later = [{"type": "b", "ts": 4, "k": 7}, {"type": "a", "ts": 5, "k": 2**40, "v": 0.1, "new": "x"}]
    later += [{"type": "b", "ts": 6, "k": 2**40}, {"type": "a", "ts": 7, "k": 8, "v": 1e300}]
    rules = ostinato.rules(text)
    engine = rules.engine(schema=narrow)
    found = engine.push(first).to_pylist()
    engine = type(engine).restore(engine.snapshot())
    engine.widen(wide)
    found += engine.push(pa.Table.from_pylist(later, wide)).to_pylist() + engine.flush().to_pylist()
    whole = pa.concat_tables([conform_rows(first, wide), pa.Table.from_pylist(later, wide)])
    assert sorted(map(repr, found)) == sorted(map(repr, rules.detect(whole).to_pylist()))
    assert len(found) == 3
    with pytest.raises(DataError, match="`k` was int64 in the state to go on from, now it is string"):
        rules.engine(schema=wide).widen(wide.set(3, pa.field("k", pa.string())))

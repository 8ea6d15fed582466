"""Tables in rules: what holds when, where rows come from, what an engine keeps of them, and what is refused."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest

import ostinato as ost
from ostinato import RuleEngine
from ostinato.errors import DataError, LimitError, OstinatoError, QueryError

PRICED = """TABLE price KEY item
DETECT sold { item { var I }, at { var P } }
ON and { event s: sale {{ item {{ var I }} }}, at s: price {{ item {{ var I }}, is {{ var P }} }} } END
DETECT unpriced { item { var I } }
ON and { event s: sale {{ item {{ var I }} }}, at s: not price {{ item {{ var I }}, is {{ }} }} } END"""
SCHEMA = pa.schema({"type": pa.string(), "ts": pa.int64(), "item": pa.string(), "is": pa.int64()})


def row(label: str, ts: int, item: str | None = "x", price: int | None = None) -> dict[str, Any]:
    return {"type": label, "ts": ts, "item": item, "is": price}


def found(*answers: pa.Table) -> list[tuple[Any, ...]]:
    return sorted((e["end"], e["type"], e["item"], e.get("at")) for given in answers for e in given.to_pylist())


def both(text: str, rows: list[dict[str, Any]], **options: Any) -> list[tuple[Any, ...]]:
    """The answer over the whole table, which is that of an engine that is saved between any two events."""
    rules = ost.rules(text)
    whole = rules.detect(pa.Table.from_pylist(rows, SCHEMA), **options)
    engine, answers = rules.engine(schema=SCHEMA, **options), []
    for each in rows:
        answers.append(engine.push([each]))
        engine = RuleEngine.restore(engine.snapshot())
    assert found(*answers, engine.flush()) == found(whole)
    return found(whole)


@pytest.mark.filterwarnings("ignore:no event has")
def test_the_last_row_of_a_key_holds_from_its_end_on() -> None:
    rows = [row("sale", 1), row("price", 2, price=5), row("sale", 2), row("sale", 3), row("price", 4, price=6)]
    rows += [row("price", 4, "y", 9), row("sale", 5), row("price", 6), row("sale", 7), row("sale", 7, "z")]
    assert both(PRICED, rows) == [
        (1, "unpriced", "x", None),
        (2, "sold", "x", 5),
        (3, "sold", "x", 5),
        (5, "sold", "x", 6),
        (7, "unpriced", "x", None),  # a row without `is` has replaced the others
        (7, "unpriced", "z", None),
    ]


@pytest.mark.filterwarnings("ignore:no event has")
def test_rows_of_one_end_hold_side_by_side_and_rows_without_a_key_do_not_count() -> None:
    rows = [row("price", 1, price=1), row("price", 2, price=2), row("price", 2, price=3), row("price", 3, None, 4)]
    assert both(PRICED, [*rows, row("sale", 4)]) == [(4, "sold", "x", 2), (4, "sold", "x", 3)]


@pytest.mark.filterwarnings("ignore:no event has")
def test_rows_beside_the_stream_hold_before_all_events() -> None:
    given = [{"item": "x", "is": 1}, {"item": "y", "is": 2}, {"item": None, "is": 3}]
    rows = [row("sale", 1), row("price", 2, price=5), row("sale", 3), row("sale", 3, "y")]
    assert both(PRICED, rows, tables={"price": given}) == [
        (1, "sold", "x", 1),
        (3, "sold", "x", 5),
        (3, "sold", "y", 2),
    ]


def test_rows_beside_the_stream_are_no_events() -> None:
    rules = ost.rules(PRICED + " DETECT seen { item { var I } } ON event p: price {{ item {{ var I }} }} END")
    rows = pa.Table.from_pylist([row("price", 2, "y", 5), row("sale", 3)], SCHEMA)
    answer = rules.detect(rows, tables={"price": [{"item": "x", "is": 1}]})
    assert found(answer) == [(2, "seen", "y", None), (3, "sold", "x", 1)]


def test_a_column_of_another_type_in_the_stream_is_not_that_of_the_table() -> None:
    rules = ost.rules(PRICED.replace("sale {{ item", "sale {{ name"))
    rows = [
        {"ts": 1, "type": "sale", "item": 7, "name": "x"},
        {"ts": 2, "type": "price", "item": 8, "name": None},
        {"ts": 3, "type": "sale", "item": 9, "name": "x"},
    ]
    tables = {"price": pa.table({"item": ["x"], "is": [4]})}
    engine = rules.engine(tables=tables)
    expected = [(1, "sold", "x", 4), (3, "sold", "x", 4)]
    assert found(rules.detect(rows, tables=tables)) == expected == found(engine.push(rows), engine.flush())


def test_a_table_of_derived_events_is_complete_first() -> None:
    text = """TABLE mean KEY item
    DETECT high { item { var I } }
    ON and { event s: sale {{ item {{ var I }}, is {{ var P }} }}, at s: mean {{ item {{ var I }}, of {{ var M }} }} }
       where { var P > var M } END
    DETECT mean { item { var I }, of { avg(all var P) } }
    ON and { event s: sale {{ item {{ var I }} }}, event h: timer:from-end-backward [event s, 10 sec],
             while h: collect event w: sale {{ item {{ var I }}, is {{ var P }} }} } END"""
    rows = [row("sale", 1, price=2), row("sale", 2, price=6), row("sale", 3, price=3), row("sale", 4, price=4)]
    assert [each for each in both(text, rows) if each[1] == "high"] == [(2, "high", "x", None), (4, "high", "x", None)]


def test_a_timer_reads_what_held_when_it_ended() -> None:
    text = """TABLE price KEY item
    DETECT sold { item { var I }, at { var P } }
    ON and { event s: sale {{ item {{ var I }} }}, event b: timer:shift-backward [event s, 5 sec],
             at b: price {{ item {{ var I }}, is {{ var P }} }} } END"""
    rows = [row("price", 1, price=1), row("price", 4, price=2), row("sale", 8), row("sale", 9)]
    assert both(text, rows) == [(8, "sold", "x", 1), (9, "sold", "x", 2)]
    assert "rows_price': the last row of each key, and each until 5 seconds after another replaced it" in (
        ost.rules(text).explain(longest=0)
    )


def test_all_rows_that_hold_are_collected() -> None:
    text = """TABLE price KEY item
    DETECT closing { item { "all" }, at { sum(each var P) }, n { count(all var I) } }
    ON and { event s: sale {{ }}, at s: price {{ item {{ var I }}, is {{ var P }} }} } END"""
    rows = [row("price", 1, "a", 2), row("price", 1, "b", 2), row("price", 2, "a", 3), row("sale", 5, None)]
    assert both(text, rows) == [(5, "closing", "all", 5)]


def test_a_key_of_two_children() -> None:
    text = """TABLE price KEY item, is
    DETECT sold { item { var I }, at { var P } }
    ON and { event s: sale {{ item {{ var I }} }}, at s: price {{ item {{ var I }}, is {{ var P }} }} } END"""
    rows = [row("price", 1, price=1), row("price", 2, price=2), row("price", 3, price=2), row("sale", 5)]
    assert both(text, rows) == [(5, "sold", "x", 1), (5, "sold", "x", 2)]


def test_an_engine_keeps_the_last_row_of_each_key() -> None:
    engine = ost.rules(PRICED).engine()
    for first, last in pairwise(range(0, 20_001, 1_000)):
        engine.push([row("price", ts, f"i{ts % 10}", ts) for ts in range(first, last)])
    assert max(engine.stats().kept.values()) < 2_500
    engine.snapshot()
    assert set(engine.stats().kept.values()) == {10}


def test_a_step_that_fails_replaces_nothing() -> None:
    text = (
        PRICED
        + """
    DETECT more { n { var N } } ON event s: boom {{ is {{ var N }} }} END
    DETECT more { n { var N + 1 } } ON event m: more {{ n {{ var N }} }} where { var N < 100 } END"""
    )
    engine = ost.rules(text).engine(limits=ost.RuleLimits(rounds=20))
    engine.push([row("price", 1, price=1), row("sale", 2)])
    engine.push([row("price", 5, price=2), row("boom", 5, None, 0)])
    with pytest.raises(LimitError):
        engine.push([row("sale", 6)])
    point = engine._steps.live.points["rows_price'"]
    kept = engine._steps.live.tuples(point.name)
    assert kept[:, point.until].tolist() == [2**62]


def test_later_columns_keep_the_rows() -> None:
    engine = ost.rules(PRICED).engine(tables={"price": [{"item": "x", "is": 1}]})
    first = engine.push([{"ts": 1, "type": "sale", "item": "x"}])
    second = engine.push([{"ts": 2, "type": "price", "item": "x", "is": 4, "more": "new"}])
    third = engine.push([{"ts": 3, "type": "sale", "item": "x", "more": None}])
    assert found(first, second, third, engine.flush()) == [(1, "sold", "x", 1), (3, "sold", "x", 4)]


def test_rules_come_and_go_with_their_tables() -> None:
    engine = ost.rules(PRICED).engine(tables={"price": [{"item": "x", "is": 1}, {"item": "y", "is": 2}]})
    engine.push([row("price", 1, price=5), row("sale", 2)])
    engine.advance(to=2)
    text = PRICED.partition("DETECT unpriced")[0].replace("sold", "again")
    engine.deploy("more", text)
    given = found(engine.push([row("price", 3, "y", 6), row("sale", 4, "y")]), engine.advance(to=4))
    assert given == [(4, "again", "y", 6), (4, "sold", "y", 6)]
    engine = RuleEngine.restore(engine.snapshot())
    engine.undeploy("more")
    assert found(engine.push([row("sale", 5)]), engine.flush()) == [(5, "sold", "x", 5)]
    with pytest.raises(QueryError, match="another program says that the key of `price` is `item`"):
        ost.rules(PRICED).engine().deploy("more", text.replace("KEY item", "KEY is"))


def test_rules_that_come_know_texts_that_no_rule_has_read_before() -> None:
    engine = ost.rules(PRICED).engine(tables={"price": [{"item": "x", "is": 1, "shop": "a"}]})
    engine.push([row("sale", 1)])
    seen = "DETECT seen { item { var S } } ON and { event s: sale {{ }}, at s: price {{ shop {{ var S }} }} } END"
    engine.deploy("more", "TABLE price KEY item " + seen)
    engine.push([row("sale", 2, "y")])  # another text that is new
    engine = RuleEngine.restore(engine.snapshot())
    assert found(engine.flush()) == [(2, "seen", "a", None), (2, "unpriced", "y", None)]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("DETECT a { } ON and { event b: b {{ }}, at b: c {{ }} } END", "`c` is no table"),
        ("TABLE c KEY k DETECT a { } ON and { event b: b {{ }}, at x: c {{ }} } END", "no event `x` here that `at`"),
        ("TABLE c KEY k TABLE c KEY v DETECT a { } ON event b: b {{ }} END", "`c` is declared twice"),
        ("TABLE c KEY k, k DETECT a { } ON event b: b {{ }} END", "`k` is listed twice"),
        ("TABLE c DETECT a { } ON event b: b {{ }} END", "expected KEY"),
        ("TABLE c KEY k", "found the end of the program"),
        ("TABLE c KEY k DETECT a { } ON and { event b: b {{ }}, at b: not var X -> c {{ }} } END", "binds no variable"),
        ("TABLE c KEY k DETECT c { k { 1 } } ON and { event b: b {{ }}, at b: c {{ }} } END", "through a table"),
        (
            "TABLE c KEY k DETECT c { k { 1 } } ON and { event b: b {{ }}, at b: not c {{ }} } END",
            "through negation: c <- at … not c",
        ),
    ],
)
def test_faults_of_programs(text: str, reason: str) -> None:
    with pytest.raises(QueryError, match=re.escape(reason)):
        ost.rules(text)


def test_faults_of_rows() -> None:
    rules, sales = ost.rules(PRICED), pa.Table.from_pylist([row("sale", 1)], SCHEMA)
    for given, reason in (
        ({"prices": []}, "no rule looks into a table `prices`"),
        ({"price": [{"name": "x"}]}, "have no column `item`, which is its key"),
        ([{"item": "x"}], "given by their labels"),
    ):
        for run in (
            lambda given=given: rules.detect(sales, tables=given),
            lambda given=given: rules.engine(tables=given),
        ):
            with pytest.raises(DataError, match=re.escape(reason)):
                run()
    with pytest.raises(QueryError, match="have no `is`") as caught:
        rules.detect([{"ts": 1, "type": "sale", "item": "x"}])
    assert "--table price=FILE" in str(caught.value)
    with pytest.raises(OstinatoError, match="have no `is`"):
        rules.detect(sales.drop_columns(["is"]), tables={"price": [{"item": "x"}]})


def test_what_a_program_says_of_its_tables() -> None:
    rules = ost.rules(PRICED)
    assert rules.tables == {"price": ("item",)}
    assert "table: price, the last of each item" in rules.explain()

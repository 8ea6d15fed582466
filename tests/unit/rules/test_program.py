"""`ostinato.rules(text).detect(table)`: what rules derive from whole tables, and what is said where they cannot."""

from __future__ import annotations

import re
import warnings
from datetime import date, datetime
from typing import Any

import pyarrow as pa
import pytest

import ostinato
from ostinato.errors import DataError, QueryError
from ostinato.rules.runtime.duckdb_store import DuckDBStore


def detect(text: str, rows: list[dict[str, Any]], **options: Any) -> list[dict[str, Any]]:
    table = ostinato.rules(text).detect(rows, **options)
    return [{name: value for name, value in row.items() if value is not None} for row in table.to_pylist()]


def one(text: str, rows: list[dict[str, Any]], **options: Any) -> dict[str, Any]:
    (found,) = detect(text, rows, **options)
    return {name: value for name, value in found.items() if name not in ("type", "begin", "end")}


READINGS = [
    {"type": "temp", "ts": at, "sensor": sensor, "value": value}
    for at, sensor, value in ((1, "s", 40), (2, "s", 40), (3, "t", 10), (4, "s", 50), (5, "s", 20))
]
LAST_MINUTE = """
ON and {{ event m: temp {{{{ sensor {{{{ var S }}}} }}}},
         event i: timer:from-end-backward [ event m, 1 min ],
         while i: collect {named} temp {{{{ sensor {{{{ var S }}}}, value {{{{ var T }}}} }}}} }}
   where {{ var S = 's' }}
END"""


def heads(head: str, *, named: bool = False) -> dict[str, Any]:
    """What the head makes of the readings of sensor s, as of its last one."""
    text = f"DETECT x {{ {head} }}" + LAST_MINUTE.format(named="event w:" if named else "")
    found = [row for row in detect(text, READINGS) if row["end"] == 5]
    assert len(found) == 1
    return {name: value for name, value in found[0].items() if name not in ("type", "begin", "end")}


def test_aggregates_are_over_distinct_values_unless_events_are_named() -> None:
    both = "a { avg(all var T) }, n { count(all var T) }, s { sum(all var T) }"
    assert heads(both) == {"a": pytest.approx(110 / 3), "n": 3, "s": 110}
    assert heads(both, named=True) == {"a": 37.5, "n": 4, "s": 150}


def test_each_counts_every_event_and_distinct_every_value_once() -> None:
    for named in (False, True):
        bag = "a { avg(each var T) }, n { count(each var T) }, s { sum(each var T) }, all_of_them { count(each 1) }"
        assert heads(bag, named=named) == {"a": 37.5, "n": 4, "s": 150, "all_of_them": 4}
        once = "n { count(distinct var T) }, s { sum(distinct var T) }, u { count(distinct var T % 3) }"
        assert heads(once, named=named) == {"n": 3, "s": 110, "u": 2}


def test_median_and_standard_deviation() -> None:
    spread = "m { median(each var T) }, u { median(distinct var T) }, d { stddev(each var T) }, w { stddev(all var T) }"
    made = heads(spread)
    assert made == {"m": 40, "u": 40, "d": pytest.approx(12.583057), "w": pytest.approx(15.275252)}
    assert heads("d { stddev(each var T * 0) }, e { stddev(distinct var T * 0) }") == {"d": 0}
    with pytest.raises(QueryError, match="stddev needs numbers"):
        heads("m { stddev(each var S) }")


def test_conditions_on_groups() -> None:
    def found(head: str, where: str) -> list[tuple[Any, Any]]:
        text = f"DETECT x {{ {head} }}" + LAST_MINUTE.format(named="").replace("var S = 's'", f"var S = 's', {where}")
        program = ostinato.rules(text)
        made = program.detect(READINGS)
        engine = program.engine()
        assert [*engine.push(READINGS).to_pylist(), *engine.flush().to_pylist()] == made.to_pylist()
        return [(row["end"], row["n"]) for row in made.to_pylist()]

    assert found("n { count(each 1) }", "count(each 1) > 2") == [(4, 3), (5, 4)]
    assert found("n { 'many' }", "count(each 1) > 2") == [(4, "many"), (5, "many")]
    assert found("n { var S }", "avg(all var T) > 42") == [(4, "s")]
    assert found("n { var T }", "count(each 1) > 1") == [(2, 40), (4, 40), (5, 40)], "one group for each T"
    assert found("n { count(each 1) }", "var T > 30 and count(each 1) < 3") == [(1, 1), (2, 2)], "T picks bindings"
    assert found("n { count(each 1) }", "var T > 30 or count(each 1) > 9") == [
        (1, 1),
        (2, 2),
        (4, 1),
        (4, 2),
        (5, 1),
        (5, 2),
    ]
    assert found("n { sum(each var T) }", "first(all var S) > 'a', not max(all var T) < end(m) * 10") == [
        (1, 40), (2, 80), (4, 130), (5, 150),
    ]  # fmt: skip
    assert found("n { all var T }", "lower(last(all var S)) = 's' and (m before i or count(each 1) > 3)") == [
        (5, [20, 40, 50])
    ]


def test_a_derived_event_begins_and_ends_as_its_head_says() -> None:
    body = """ON and { event a: a {{ }}, event b: b {{ }}, event t: timer:from-end [event b, 5 sec] }
              where { a before b } END"""
    rows = [{"type": "a", "begin": 1, "end": 3}, {"type": "b", "begin": 4, "end": 9}]
    for said, times in (
        ("", (1, 14)),
        ("from end(a)", (3, 14)),
        ("FROM begin(t) TO end(t)", (9, 14)),
        ("from begin(b) at most 9 per 1 min", (4, 14)),
    ):
        (row,) = detect(f"DETECT x {{ }} {said} {body}", rows)
        assert (row["begin"], row["end"]) == times
        engine = ostinato.rules(f"DETECT x {{ }} {said} {body}").engine()
        assert engine.push(rows).num_rows == 0
        (row,) = engine.flush().to_pylist()
        assert (row["begin"], row["end"]) == times
    # How long it may last says how long it is waited for.
    text = (
        f"DETECT x {{ }} from begin(t) {body} DETECT y {{ }} ON and {{ event x: x {{{{ }}}}, event c: c {{{{ }}}} }} "
    )
    plan = ostinato.rules(text + "where { c before x, {c, x} within 20 sec } END").explain()
    assert "c_c: until" in plan
    with pytest.raises(
        QueryError, match="would not be known when it ends: `t` may end later than end\\(b\\)"
    ) as caught:
        ostinato.rules(f"DETECT x {{ }} from begin(a) to end(b) {body}")
    assert str(caught.value).count("^") == len("end(b)")
    with pytest.raises(QueryError, match="there is no event `s` here that a derived event can begin or end with"):
        ostinato.rules(f"DETECT x {{ }} from begin(s) {body}")
    with pytest.raises(QueryError, match="`w` is collected"):
        ostinato.rules("DETECT x { } from begin(w) ON and { event a: a {{ }}, while a: collect event w: b {{ }} } END")


PARCEL = {"ts": 1, "type": "t", "a": "xy", "b": 2, "tags": ["p", "q", "p"], "src": {"ip": "1", "port": 80}}


@pytest.mark.parametrize(
    ("term", "found"),
    [
        ("{{ /[ab]/ {{ var V }} }}", ["2", "xy"]),
        ("{{ src {{ * {{ var V }} }} }}", ["1", "80"]),
        ("{{ a {{ var V -> /x./ }} }}", ["xy"]),
        ("{{ a {{ /x/ }}, b {{ var V }} }}", []),
        ("{{ desc /po.*/ {{ var V }} }}", [80]),
        ("{{ b {{ var V }}, without c {{ }} }}", [2]),
        ("{{ b {{ var V }}, without a {{ }} }}", []),
        ("{{ b {{ var V }}, without a {{ 'z' }} }}", [2]),
        ("{{ a {{ var V }}, without /a|b/ {{ }} }}", []),
        ("{{ tags {{ var V }}, without tags {{ 'q' }} }}", ["q"]),
        ("{{ tags {{ var V }}, tags {{ 'q' }}, without tags {{ var V }} }}", []),
        ("[[ a {{ }}, without tags {{ }}, tags {{ var V }} ]]", ["p"]),
        ("[[ without tags {{ 'p' }}, tags {{ var V }} ]]", ["p"]),
        ("{{ src {{ ip {{ var V }}, without port {{ }} }} }}", []),
        ("{{ position 2 * {{ var V }} }}", ["2"]),
        ("{{ position -1 src {{ ip {{ var V }} }} }}", ["1"]),
        ("{{ position var V tags {{ 'p' }} }}", [3, 5]),
        ("{{ position 9 * {{ var V }} }}", []),
    ],
)
def test_query_terms_of_xcerpt(term: str, found: list[Any]) -> None:
    program = ostinato.rules(f"DETECT x {{ v {{ var V }} }} ON event e: t {term} END")
    made = program.detect([PARCEL])
    assert sorted(made["v"].to_pylist(), key=str) == found
    engine = program.engine()
    assert engine.push([PARCEL]).num_rows + engine.flush().num_rows == len(found)


@pytest.mark.parametrize(
    ("term", "told"),
    [
        ("{ a {{ var V }}, without b {{ }} }", "in single brackets nothing but what is asked for"),
        ("{{ a {{ var V }}, without optional b {{ }} }}", "cannot be optional"),
        ("{{ position 0 a {{ var V }} }}", "a position is a whole number other than 0"),
        ("{{ /a(/ {{ var V }} }}", "not a regular expression: missing \\)"),
        ("{{ /z.*/ {{ var V }} }}", "nothing in the events `t` has a label that fits /z"),
        ("{{ b {{ /z/ }}, a {{ var V }} }}", "`b` is a number, and /z/ is for texts"),
        ("{{ a {{ }}, without b {{ var V }} }}", "`var V` is bound in `without` alone"),
        ("{{ b {{ var V }}, src {{ without ip {{ var V }} }} }}", "in `without` is bound elsewhere"),
    ],
)
def test_query_terms_that_say_nothing(term: str, told: str) -> None:
    with pytest.raises(QueryError, match=told) as caught:
        ostinato.rules(f"DETECT x {{ v {{ var V }} }} ON event e: t {term} END").detect([PARCEL])
    assert "^" in str(caught.value)


def test_first_and_last_go_by_time_and_by_what_is_asked_for() -> None:
    assert heads("f { first(all var T) }, l { last(all var T) }") == {"f": 40, "l": 20}
    ordered = "f { first(all var T order by [var T]) }, l { last(all var T order by [var T]) }"
    assert heads(ordered) == {"f": 20, "l": 50}
    assert heads("lo { min(all var T) }, hi { max(all var T) }") == {"lo": 20, "hi": 50}


def test_all_makes_lists() -> None:
    assert heads("r { all var T }") == {"r": [20, 40, 50]}
    assert heads("all r { var T }") == {"r": [20, 40, 50]}
    assert heads("all r { t { var T }, s { var S } } order by [var T desc]") == {
        "r": [{"t": 50, "s": "s"}, {"t": 40, "s": "s"}, {"t": 20, "s": "s"}]
    }
    assert heads("of { s { var S }, all r { var T } }") == {"of": {"s": "s", "r": [20, 40, 50]}}
    assert heads("r { var S }, r { 'x' }") == {"r": ["s", "x"]}


def test_times_of_events_are_values() -> None:
    assert heads("at { end(m) }, since { begin(i) }") == {"at": 5, "since": -55}
    assert heads("at { max(all end(w)) }, of { all begin(w) }", named=True) == {"at": 5, "of": [1, 2, 4, 5]}
    late = "DETECT x { at { end(m) } } ON event m: temp {{ }} where { end(m) > TIMESTAMP '2026-01-31 09:00' } END"
    moments = [datetime(2026, 1, 31, hour, 0, 0, 5000) for hour in (8, 10)]
    rows = [{"type": "temp", "ts": at} for at in moments]
    assert [row["at"] for row in detect(late, rows)] == moments[1:]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC"])
def test_times_as_values_are_as_fine_as_those_of_the_events(unit: str, zone: str | None) -> None:
    program = ostinato.rules("DETECT x { at { end(m) } } ON event m: temp {{ }} END")
    stamps = pa.array([7, 1_700_000_000], pa.int64()).cast(pa.timestamp(unit, zone))
    rows = pa.table({"type": ["temp"] * 2, "ts": stamps})
    engine = program.engine()
    for found in (program.detect(rows), pa.concat_tables([engine.push(rows), engine.flush()])):
        at = found["at"].cast(pa.timestamp("us", zone), safe=False)
        assert at == found["end"].cast(pa.timestamp("us", zone), safe=False)


@pytest.mark.parametrize(
    ("value", "made"),
    [
        ("CASE WHEN var T > 40 THEN 'hot' WHEN var T > 15 THEN 'warm' END", ["warm", "warm", None, "hot", "warm"]),
        ("upper(var S) || '-' || substring('event', 1, 3)", ["S-eve", "S-eve", "T-eve", "S-eve", "S-eve"]),
        ("replace(replace(var S, 's', 'zz'), '', 'no')", ["zz", "zz", "t", "zz", "zz"]),
        ("trim(var S || '　\t\n')", ["s", "s", "t", "s", "s"]),
        ("length(substring(var S, 2))", [0] * 5),
        ("CASE WHEN var T = 10 THEN 0.5 ELSE var T END", [40, 40, 0.5, 50, 20]),
    ],
)
def test_case_and_text_functions(value: str, made: list[Any]) -> None:
    text = (
        f"DETECT x {{ v {{ {value} }} }} ON event t: temp {{{{ sensor {{{{ var S }}}}, value {{{{ var T }}}} }}}} END"
    )
    program = ostinato.rules(text)
    engine = program.engine()
    live = pa.concat_tables([engine.push(READINGS), engine.flush()])
    assert program.detect(READINGS)["v"].to_pylist() == live["v"].to_pylist() == made


@pytest.mark.parametrize(
    ("head", "reason"),
    [
        ("a { end(j) }", "there is no event `j` here whose time could be a value"),
        ("a { end(w) }", "`w` is collected: there may be many of it"),
        ("a { substring(var S, 0) }", "the start of substring is a whole number from 1 on"),
        ("a { substring(var S) }", "substring takes 2 or 3 arguments"),
        ("a { var T || 'x' }", "concat needs text"),
    ],
)
def test_wrong_times_and_functions(head: str, reason: str) -> None:
    with pytest.raises(QueryError, match=re.escape(reason)):
        heads(head, named=True)


def test_grouping_in_grouping() -> None:
    text = """
    DETECT report { all sensor { name { var S }, n { count(all var T) }, all value { var T } } }
    ON and { event i: timer:absolute [0, 100],
             while i: collect temp {{ sensor {{ var S }}, value {{ var T }} }} } END"""
    assert one(text, READINGS) == {
        "sensor": [{"name": "s", "n": 3, "value": [20, 40, 50]}, {"name": "t", "n": 1, "value": [10]}]
    }


def test_derived_events_chain() -> None:
    text = """
    DETECT hot { sensor { var S }, by { var T - 30 } }
    ON event t: temp {{ sensor {{ var S }}, value {{ var T }} }} where { var T > 30 } END
    DETECT twice { sensor { var S }, total { var A + var B } }
    ON and { event i: hot {{ sensor {{ var S }}, by {{ var A }} }},
             event j: hot {{ sensor {{ var S }}, by {{ var B }} }} } where { i before j } END
    """
    found = detect(text, READINGS)
    assert [(row["begin"], row["end"], row["total"]) for row in found if row["type"] == "twice"] == [
        (1, 2, 20),
        (1, 4, 30),
        (2, 4, 30),
    ]


def test_recursion_runs_to_its_fixpoint() -> None:
    edges = [{"type": "edge", "ts": 1, "x": x, "y": y} for x, y in ("ab", "bc", "cd", "da", "xy")]
    text = """
    DETECT path { x { var X }, y { var Y } } ON event e: edge {{ x {{ var X }}, y {{ var Y }} }} END
    DETECT path { x { var X }, y { var Z } }
    ON and { event p: path {{ x {{ var X }}, y {{ var Y }} }}, event e: edge {{ x {{ var Y }}, y {{ var Z }} }} } END
    """
    found = {(row["x"], row["y"]) for row in detect(text, edges)}
    assert found == {(x, y) for x in "abcd" for y in "abcd"} | {("x", "y")}


def test_or_gives_a_rule_for_each_branch() -> None:
    text = "DETECT x { k { var K } } ON or { event i: a {{ k {{ var K }} }}, event j: b {{ k {{ var K }} }} } END"
    rows = [{"type": label, "ts": 1, "k": label} for label in "abc"]
    assert sorted(row["k"] for row in detect(text, rows)) == ["a", "b"]


def test_what_many_branches_derive_is_put_together_once(monkeypatch: pytest.MonkeyPatch) -> None:
    defined: list[str] = []
    define = DuckDBStore.define

    def noted(session: DuckDBStore, name: str, query: Any, *, kept: bool) -> None:
        defined.append(name)
        define(session, name, query, kept=kept)

    monkeypatch.setattr(DuckDBStore, "define", noted)
    choices = ", ".join(f"or {{ event {i}: a {{{{ }}}}, event {i}: b {{{{ }}}} }}" for i in "ijkl")
    rows = [{"type": "a", "ts": 0}, {"type": "b", "ts": 1}]
    found = detect(f"DETECT x {{ }} ON and {{ {choices} }} END", rows)
    assert [(row["begin"], row["end"]) for row in found] == [(0, 0), (0, 1), (1, 1)]
    assert defined.count("D x") == 1


def test_nested_rows() -> None:
    rows = [
        {
            "type": "order",
            "ts": 1,
            "id": 7,
            "to": {"city": "Bonn"},
            "items": [{"sku": "x", "n": 2}, {"sku": "y", "n": 1}],
        },
        {"type": "order", "ts": 2, "id": 8, "to": {"city": "Kiel"}, "items": []},
    ]
    item = """DETECT line { id { var I }, sku { var S }, n { var N } }
    ON event o: order {{ id {{ var I }}, items {{ sku {{ var S }}, n {{ var N }} }} }} END"""
    assert [(row["id"], row["sku"], row["n"]) for row in detect(item, rows)] == [(7, "x", 2), (7, "y", 1)]
    city = "DETECT x { c { var C } } ON event o: order {{ to {{ city {{ var C }} }} }} where { var C LIKE 'B%' } END"
    assert detect(city, rows)[0]["c"] == "Bonn"
    deep = "DETECT x { s { var S } } ON event o: order {{ desc sku {{ var S }} }} END"
    assert [row["s"] for row in detect(deep, rows)] == ["x", "y"]
    first = "DETECT x { s { var S } } ON event o: order {{ items {{ var S -> sku {{ 'x' }} }} }} END"
    assert detect(first, rows)[0]["s"] == '{"sku":["x"]}'


@pytest.mark.parametrize("live", [False, True])
def test_maps_are_like_structs_whose_fields_are_their_keys(live: bool) -> None:
    kind = pa.map_(pa.large_string(), pa.list_(pa.map_(pa.string(), pa.int64())))
    maps = [[("k", [[("n", 1)], [("n", 5), ("o", 2)]])], None, [("o", []), ("k", [[("o", 3)]])]]
    table = pa.table({"ts": [1, 2, 3], "type": ["a"] * 3, "m": pa.array(maps, kind)})

    def found(term: str) -> list[Any]:
        rules = ostinato.rules(f"DETECT u {{ v {{ var V }} }} ON event o: a {{{{ {term} }}}} END")
        if not live:
            return rules.detect(table)["v"].to_pylist()
        engine = rules.engine()
        tables = [engine.push(table.slice(at, 1)) for at in range(3)]
        return pa.concat_tables([*tables, engine.flush()])["v"].to_pylist()

    assert sorted(found("m {{ k {{ n {{ var V }} }} }}")) == [1, 5]
    assert found("m { k { o {{ var V }} } }") == [3]  # an empty list is not there
    assert sorted(found("desc o {{ var V }}")) == ["2", "3"]  # at any depth, so of any type
    assert found("m {{ none {{ var V }} }}") == []


def test_a_map_whose_keys_are_no_texts_is_refused() -> None:
    table = pa.table({"ts": [1], "s": pa.array([{"m": [(1, 2)]}], pa.struct([("m", pa.map_(pa.int64(), pa.int64()))]))})
    with pytest.raises(DataError, match=r"`s.m` is a map with keys of type int64, and labels are texts"):
        ostinato.rules("DETECT u { } ON event o: a {{ }} END").detect(table)


def test_documents() -> None:
    json = '{"area": "a", "reading": [{"t": 41}, {"t": 39}], "ok": true}'
    xml = '<temp area="a"><reading><t>41</t></reading><reading><t>38.5</t></reading></temp>'
    hot = "DETECT hot { t { var T } } ON event e: temp {{ desc t {{ var T }} }} where { var T > 40 } END"
    assert detect(hot, [{"ts": 1, "type": "temp", "doc": json}], document="doc") == [
        {"type": "hot", "begin": 1, "end": 1, "t": "41"}
    ]
    assert detect(hot, [{"ts": 1, "doc": xml}], document="doc")[0]["t"] == "41"
    area = "DETECT x { a { var A } } ON event e: temp {{ @area {{ var A }} }} END"
    assert detect(area, [{"ts": 1, "doc": xml}], document="doc")[0]["a"] == "a"
    joined = """DETECT x { n { count(all var T) } } ON and { event e: temp {{ area {{ var A }} }},
      event i: timer:from-end-backward [event e, 5 sec],
      while i: collect temp {{ area {{ var A }}, desc t {{ var T }} }} } END"""
    assert one(joined, [{"ts": 1, "type": "temp", "doc": json}], document="doc") == {"n": 2}


def test_a_number_is_no_boolean() -> None:
    rule = "DETECT %s { k { 1 } } ON event e: a {{ v {{ %s }} }} END "
    text = rule % ("x", "1") + rule % ("y", "true")
    rows = [{"ts": at, "type": "a", "doc": doc} for at, doc in enumerate(('{"v": 1}', '{"v": true}', '{"v": 1.0}'))]
    assert [(row["type"], row["end"]) for row in detect(text, rows, document="doc")] == [("x", 0), ("y", 1), ("x", 2)]
    engine = ostinato.rules(text).engine(document="doc")
    derived = pa.concat_tables([engine.push(rows), engine.flush()])
    assert derived["type"].to_pylist() == ["x", "y", "x"]


def test_values_of_documents_have_the_order_of_what_they_are() -> None:
    pair = """DETECT x { a { var X }, b { var Y } }
    ON and { event i: e {{ v {{ var X }} }}, event j: e {{ v {{ var Y }} }} }
      where { var X < var Y } END"""
    rows = [{"ts": 1, "type": "e", "doc": '{"v": 9}'}, {"ts": 2, "type": "e", "doc": '{"v": 10}'}]
    assert [(row["a"], row["b"]) for row in detect(pair, rows, document="doc")] == [("9", "10")]
    ends = """DETECT x { lo { min(all var X) }, hi { max(all var X) }, all v { var X } }
    ON event i: e {{ v {{ var X }} }} END"""
    many = [{"ts": 1, "type": "e", "doc": '{"v": [10, 9, 100, "a"]}'}]
    assert one(ends, many, document="doc") == {"lo": "9", "hi": "a", "v": ["9", "10", "100", "a"]}


def test_rules_on_rules_over_documents() -> None:
    text = """DETECT f { k { var V } } ON event i: e {{ v {{ var V }} }} END
    DETECT g { k { var K } } ON event f: f {{ k {{ var K }} }} END"""
    rows = [{"ts": 1, "type": "e", "doc": '{"v": 7}'}]
    assert [(row["type"], row["k"]) for row in detect(text, rows, document="doc")] == [("f", "7"), ("g", "7")]


def test_labels_that_differ_in_case_alone() -> None:
    rows = [{"type": "a", "ts": 1, "k": 2}, {"type": "A", "ts": 1, "k": 1}]
    text = """DETECT x { k { var K }, j { var J } }
    ON and { event i: a {{ k {{ var K }} }}, event j: A {{ k {{ var J }} }} } END"""
    assert one(text, rows) == {"k": 2, "j": 1}
    two = """DETECT x { k { var K } } ON event i: a {{ k {{ var K }} }} END
    DETECT X { k { var K } } ON event i: A {{ k {{ var K }} }} END"""
    assert [(row["type"], row["k"]) for row in detect(two, rows)] == [("X", 1), ("x", 2)]
    engine = ostinato.rules(two + " DETECT y { k { var K } } ON event i: X {{ k {{ var K }} }} END").engine()
    engine.push(rows)
    assert [(row["type"], row["k"]) for row in engine.flush().to_pylist()] == [("X", 1), ("x", 2), ("y", 1)]


def test_fields_that_differ_in_case_alone() -> None:
    row = {"type": "e", "ts": 1, "n": {"p": 1, "P": 2}}
    text = "DETECT x { k { var K }, l { var L } } ON event i: e {{ n {{ p {{ var K }}, P {{ var L }} }} }} END"
    assert one(text, [row]) == {"k": 1, "l": 2}
    with pytest.raises(QueryError, match="differ in case alone"):
        detect("DETECT x { o { p { 1 }, P { 2 } } } ON event i: e {{ }} END", [row])


def test_deep_heads() -> None:
    deep = 30
    text = "DETECT x { " + "k { " * deep + "var V" + " }" * deep + " } ON event i: a {{ v {{ var V }} }} END"
    value: Any = one(text, [ROW])
    for _ in range(deep):
        value = value["k"]
    assert value == 1


def test_variables_that_look_like_columns_of_ours() -> None:
    text = """DETECT x { k { var `i.begin` }, n { count(all var `#one`) } }
    ON event i: a {{ k {{ var `i.begin` }}, v {{ var `#one` }} }} END"""
    assert one(text, [ROW]) == {"k": "x", "n": 1}


def test_a_document_of_json_needs_a_label() -> None:
    text = "DETECT r { x { var X } } ON or { event o: a {{ id {{ var X }} }}, event p: b {{ id {{ var X }} }} } END"
    with pytest.raises(DataError, match="row 0: a JSON document does not say what kind of event it is"):
        detect(text, [{"ts": 1, "doc": '{"id": 1}'}], document="doc")
    single = "DETECT r { x { var X } } ON event o: a {{ id {{ var X }} }} END"
    assert one(single, [{"ts": 1, "doc": '{"id": 1}'}], document="doc") == {"x": "1"}


def test_a_bad_document_is_told_with_its_row() -> None:
    rows = [{"ts": 1, "type": "temp", "doc": "{}"}, {"ts": 2, "type": "temp", "doc": "{ 'a': 1 }"}]
    with pytest.raises(DataError, match="row 1: bad JSON at line 1, column 3"):
        detect("DETECT x { k { 1 } } ON event e: temp {{ a {{ 1 }} }} END", rows, document="doc")


def test_lists_of_what_never_came_are_left_out() -> None:
    text = "DETECT x { r { all var V } } ON event o: a {{ optional v {{ var V }} }} END"
    assert detect(text, [{"type": "a", "ts": 1, "v": None}]) == [{"type": "x", "begin": 1, "end": 1}]


def test_optional_values_are_left_out() -> None:
    text = "DETECT x { k { var K }, u { var U } } ON event i: a {{ k {{ var K }}, optional u {{ var U }} }} END"
    assert detect(text, [{"type": "a", "ts": 1, "k": "x", "u": None}]) == [
        {"type": "x", "begin": 1, "end": 1, "k": "x"}
    ]
    assert detect(text, [{"type": "a", "ts": 1, "k": "x", "u": 3}])[0]["u"] == 3


def test_names_that_differ_in_case_alone() -> None:
    text = "DETECT x { a { var a }, b { var A } } ON event I: e {{ k {{ var a }}, K {{ var A }} }} END"
    assert one(text, [{"type": "e", "ts": 1, "k": "low", "K": "high"}]) == {"a": "low", "b": "high"}


def test_nan_is_no_value() -> None:
    text = "DETECT x { v { var V } } ON event i: a {{ v {{ var V }} }} END"
    assert [
        row["v"] for row in detect(text, [{"type": "a", "ts": 1, "v": value} for value in (1.5, float("nan"))])
    ] == [1.5]


def test_total_terms_allow_nothing_else() -> None:
    text = "DETECT x { k { var K } } ON event i: a { k { var K } } END"
    rows = [{"type": "a", "ts": 1, "k": "x", "v": None}, {"type": "a", "ts": 1, "k": "y", "v": 1}]
    assert [row["k"] for row in detect(text, rows)] == ["x"]


def test_patterns_are_events() -> None:
    text = """DETECT x { n { var N } }
    ON and { event p: cel "SELECT x.k AS k, count(y) AS n WHERE A AS x ; (B AS y)+ PARTITION BY k WITHIN 5 seconds"
                     {{ n {{ var N }} }},
      event c: C {{ k {{ 'x' }} }} } where { p before c } END"""
    rows = [{"type": label, "ts": at, "k": "x"} for at, label in enumerate("ABBC")]
    assert sorted((row["begin"], row["end"], row["n"]) for row in detect(text, rows)) == [(0, 3, 1), (0, 3, 2)]


def test_a_pattern_happens_from_its_first_event_to_its_last_whatever_it_selects() -> None:
    text = """DETECT x { n { var N } }
    ON event p: cel "SELECT count(y) AS n WHERE A ; (B AS y)+ ; C WITHIN 5 seconds" {{ n {{ var N }} }} END"""
    rows = [{"type": label, "begin": at - 1, "end": at} for at, label in enumerate("ABBC")]
    assert [(row["begin"], row["end"], row["n"]) for row in detect(text, rows)] == [(-1, 3, 1), (-1, 3, 2)]


@pytest.mark.parametrize(
    ("times", "kind"),
    [
        ([1, 11], pa.int64()),
        ([1.5, 11.5], pa.float64()),
        ([datetime(2026, 1, 1), datetime(2026, 1, 1, 0, 0, 10)], pa.timestamp("us")),
        ([date(2026, 1, 1), date(2026, 1, 2)], pa.timestamp("ms")),
    ],
)
def test_times_come_out_as_they_went_in(times: list[Any], kind: pa.DataType) -> None:
    text = """DETECT x { k { var K } }
    ON and { event i: a {{ k {{ var K }} }}, event t: timer:from-end [event i, 1 day] } END"""
    table = ostinato.rules(text).detect([{"type": "a", "ts": time, "k": "x"} for time in times])
    assert table.schema.field("begin").type == kind
    assert table["begin"].to_pylist()[0] in (times[0], datetime(2026, 1, 1))


def test_a_timer_between_seconds_makes_floats() -> None:
    text = """DETECT x { k { var K } }
    ON and { event i: a {{ k {{ var K }} }}, event t: timer:from-end [event i, 0.5 sec] } END"""
    assert detect(text, [{"type": "a", "ts": 1, "k": "x"}])[0]["end"] == 1.5


# What is said where it cannot be done ---------------------------------------------------------------------------------

SIMPLE = "DETECT x { k { var K } } ON event i: a {{ k {{ var K }} }} END"
ROW = {"type": "a", "ts": 1, "k": "x", "v": 1}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("DETECT x { k { var K } } ON event i: a {{ kk {{ var K }} }} END", "have no `kk`.*did you mean `k`"),
        ("DETECT x { k { var K } } ON event i: a {{ k {{ z {{ var K }} }} }} END", "`k` is a string: it has no `z`"),
        ("DETECT x { k { 1 } } ON event i: a {{ v {{ 'x' }} }} END", "`v` is a number, and 'x' is not"),
        ("DETECT x { k { 1 } } ON event i: a {{ k {{ var K }} }} where { var K > 4 } END", "string and a number"),
        (
            "DETECT x { k { 1 } } ON and { event i: a {{ k {{ var K }} }}, event j: a {{ v {{ var K }} }} } END",
            "never equal",
        ),
        ("DETECT x { var K } ON event i: a {{ k {{ var K }} }} END", "no name for it"),
        ("DETECT x { k { } } ON event i: a {{ k {{ var K }} }} END", "nothing in it"),
        ("DETECT x { s { sum(all var K) } } ON event i: a {{ k {{ var K }} }} END", "sum needs numbers"),
        (
            "DETECT x { k { var Z } } ON event i: a {{ desc kk {{ var Z }} }} END",
            "has the label `kk`.*did you mean `k`",
        ),
        ("DETECT x { k { 1 } } ON event i: timer:absolute [9e12, 9.1e12] END", "too far away"),
        (
            "DETECT x { k { 1 } } ON and { event i: a {{ }}, event t: timer:from-end [event i, 1 ns] } END",
            r"finer than the times.*\^\^",
        ),
        (SIMPLE + " DETECT y { k { var V } } ON event i: a {{ v {{ var V }} }} END", "another label"),
    ],
)
def test_rules_that_do_not_fit_the_events(text: str, told: str) -> None:
    with pytest.raises(QueryError, match=f"(?s){told}"):
        ostinato.rules(text).detect([ROW])


def test_labels_that_never_occur_are_told() -> None:
    with pytest.warns(UserWarning, match="no event has the label `a`; did you mean `A`"):
        ostinato.rules(SIMPLE).detect([ROW | {"type": "A"}])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ostinato.rules(SIMPLE).detect([]).num_rows == 0
        assert ostinato.rules(SIMPLE).detect([ROW]).num_rows == 1


@pytest.mark.parametrize(
    ("rows", "options", "told"),
    [
        ([{"type": "a", "begin": 3, "end": 1, "k": "x"}], {}, "row 0: the event ends before it begins"),
        ([{"type": "a", "ts": None, "k": "x"}, ROW], {}, "row 0: `ts` is NULL"),
        ([{"type": "a", "k": "x"}], {}, "there is no `begin` and `end`, nor `ts`"),
        ([ROW], {"time": "tss"}, "no such column"),
        ([ROW], {"begin": "ts"}, "a begin and an end"),
        ([{"type": "a", "begin": 1, "end": datetime(2026, 1, 1), "k": "x"}], {}, "both timestamps, or both numbers"),
        ([ROW | {"ts": 10**15}], {}, "beyond what times of rules can be"),
        ([ROW | {"ts": -(2**63)}], {}, "beyond what times of rules can be"),
    ],
)
def test_events_that_cannot_be_read(rows: list[dict[str, Any]], options: dict[str, Any], told: str) -> None:
    with pytest.raises(DataError, match=told):
        ostinato.rules(SIMPLE).detect(rows, **options)


def test_a_rule_that_can_never_hold_is_told() -> None:
    text = """DETECT x { k { var K } }
    ON and { event i: a {{ k {{ var K }} }}, event t: timer:from-end [event i, 10 sec] }
       where { {i, t} within 5 sec } END"""
    assert ostinato.rules(text).warnings == ["rule 1 (x) can never hold: its times contradict each other"]
    both = "DETECT x { k { 1 } } ON and { event i: a {{ }}, event j: a {{ }} } where { i before j, j before i } END"
    assert len(ostinato.rules(both).warnings) == 1
    pattern = 'DETECT x { } ON event p: cel "A AS x ; B AS y" {{ }} END'
    assert "kept for ever" in ostinato.rules(pattern).warnings[0]
    assert ostinato.rules(SIMPLE).warnings == []


def test_what_a_program_reads_and_makes() -> None:
    rules = ostinato.rules(SIMPLE)
    assert (rules.incoming, rules.derived) == (["a"], ["x"])
    assert "ostinato.rules('DETECT x" in repr(rules)
    assert "CX[ x { k { var K } } ](" in rules.explain()


@pytest.mark.parametrize("timer", ["extend [event a, 2 sec]", "shift-forward [event a, 1 sec]"])
def test_how_long_a_timer_lasts_can_be_bounded(timer: str) -> None:
    rows = [{"begin": 0, "end": 1, "type": "a"}, {"begin": 0, "end": 8, "type": "a"}]
    text = "DETECT d { } ON and { event a: a {{ }}, event i: timer:TIMER } where { {i} within 3 sec } END"
    text = text.replace("TIMER", timer)
    assert ostinato.rules(text).detect(rows)["begin"].to_pylist() == [0]
    engine = ostinato.rules(text).engine()
    live = [engine.push(rows[:1]), engine.push(rows[1:]), engine.flush()]
    assert sum(map(len, live)) == 1


def test_an_object_without_fields_is_taken_live_as_well() -> None:
    rules = ostinato.rules("DETECT d { } ON event a: a {{ }} END")
    rows = [{"ts": 1, "type": "a", "z": {}}, {"ts": 2, "type": "a"}]
    engine = rules.engine()
    assert len(engine.push(rows[:1])) + len(engine.push(rows[1:])) + len(engine.flush()) == len(rules.detect(rows))

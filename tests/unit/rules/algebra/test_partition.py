"""Keys that keep events apart, and the rules that go by the same."""

from __future__ import annotations

import json

import pytest

from ostinato.rules.algebra.partition import RuleUnit, describe_units, partition_rules
from ostinato.rules.plan.normal_form import normalise
from ostinato.rules.syntax.parse import parse
from support import paths

VECTOR = json.loads((paths.VECTORS / "rules.json").read_text())


def units(text: str, plain: str = "k j v area sensor value") -> tuple[RuleUnit, ...]:
    return partition_rules(normalise(parse(text)), plain.split())


def keys(text: str, plain: str = "k j v") -> list[dict[str, tuple[str, ...]]]:
    return [dict(unit.keys) for unit in units(text, plain)]


def test_the_papers_rules_go_by_area_and_by_sensor() -> None:
    assert units(VECTOR["program"]) == (
        RuleUnit((1,), frozenset(["smoke", "temp"]), {"smoke": ("area",), "temp": ("area",), "fire": ("area",)}),
        RuleUnit(
            (2, 3), frozenset(["temp"]), {"temp": ("sensor",), "burnt_down": ("sensor",), "avg_temp": ("sensor",)}
        ),
    )


JOIN = "ON and { event i: a {{ k {{ var K }} }}, event j: b {{ j {{ var K }} }} } where { {i, j} within 1 sec } END"


@pytest.mark.parametrize(
    "text",
    [
        "DETECT d { n { 1 } } " + JOIN,  # two keys might derive the same event
        "DETECT d { k { var K + 1 } } " + JOIN.replace("var K", "var K"),
        "DETECT d { all k { var K } } " + JOIN,
        "DETECT d { k { var K } } ON and { event i: a {{ k {{ var K }} }}, event j: b {{ }} } END",
        "DETECT d { k { var K } } ON and { event i: a {{ k {{ var K }} }}, while i: not b {{ }} } END",
        "DETECT d { k { var K } } ON and { event i: a {{ k {{ var K }} }}, while i: collect b {{ v { var V } }} } END",
        "DETECT d { k { var K } } ON event i: a {{ k {{ x {{ var K }} }} }} END",
        "DETECT d { k { var K } } ON event i: a {{ desc k {{ var K }} }} END",
        "DETECT d { k { var K } } ON event i: a {{ optional k {{ var K }} }} END",
        "DETECT d { k { var K } } ON event i: a {{ tags {{ var K }} }} END",
        'DETECT d { k { var K } } ON and { event i: a {{ k {{ var K }} }}, event p: cel "a AS x ; b AS y" } END',
        "DETECT d { k { var K } } ON and { event i: a {{ k {{ var K }} }}, event j: a {{ j {{ var K }} }} } END",
    ],
)
def test_no_key(text: str) -> None:
    assert keys(text) == [{}]


def test_keys_of_different_names_and_of_several_attributes() -> None:
    assert keys("DETECT d { k { var K } } " + JOIN) == [{"a": ("k",), "b": ("j",), "d": ("k",)}]
    text = """DETECT d { k { var K }, v { var V } }
              ON and { event i: a {{ k {{ var K }}, v {{ var V }} }}, event j: b {{ k { var K }, v { var V } }} } END"""
    assert keys(text) == [{"a": ("k", "v"), "b": ("k", "v"), "d": ("k", "v")}]


def test_a_key_goes_through_derived_events() -> None:
    chain = """DETECT d { x { var K }, v { var V } } ON event i: a {{ k {{ var K }}, v {{ var V }} }} END
               DETECT e { y { var X } } ON and { event i: d {{ x {{ var X }} }}, event j: d {{ x {{ var X }} }} } END"""
    assert keys(chain) == [{"a": ("k",), "d": ("x",), "e": ("y",)}]
    lost = chain + " DETECT f { v { var V } } ON and { event i: e {{ }}, event j: d {{ v {{ var V }} }} } END"
    assert keys(lost) == [{}]


def test_two_rules_for_one_label_go_together() -> None:
    """Each might derive an event that the other derives too."""
    text = """DETECT d { k { var K }, v { var V } } ON event i: a {{ k {{ var K }}, v {{ var V }} }} END
              DETECT d { k { var K }, v { var V } } ON event i: b {{ j {{ var V }}, k {{ var K }} }} END"""
    assert keys(text, "k v") == [{"a": ("k",), "b": ("k",), "d": ("k",)}]
    assert keys(text, "v j") == [{"a": ("v",), "b": ("j",), "d": ("v",)}]


def test_only_what_has_no_key_is_read_whole() -> None:
    text = """DETECT d { k { var K } } ON event i: a {{ k {{ var K }} }} END
              DETECT e { n { 1 } } ON event i: b {{ }} END DETECT f { n { 2 } } ON event i: a {{ }} END"""
    found = units(text)
    assert [(unit.rules, unit.labels) for unit in found] == [((1,), frozenset("a")), ((2, 3), frozenset("ab"))]
    assert describe_units(found)[0] == "rule 1: a by k; d by k"
    assert describe_units(found)[1].startswith("rules 2, 3: in one task (no variable")


def test_a_pattern_reads_all_events() -> None:
    """Those between the events that it names may matter too."""
    text = 'DETECT d { k { var K } } ON event p: cel "SELECT x.k WHERE a AS x ; b AS y" {{ k {{ var K }} }} END'
    assert units(text) == (RuleUnit((1,), None, {}),)


def test_many_rules_that_read_no_label_by_two_attributes_are_one_unit() -> None:
    pair = """DETECT d$ { k { var K } } ON and { event i: a$ {{ k {{ var K }} }}, event j: b$ {{ j {{ var K }} }} }
        where { {i, j} within 1 sec } END """
    few, many = ("".join(pair.replace("$", str(number)) for number in range(rules)) for rules in (8, 9))
    assert len(units(few)) == 8
    other = "DETECT e { v { var V } } ON event i: a0 {{ v {{ var V }} }} END"
    one, two = units(many + other)
    assert one.rules == tuple(range(1, 10))
    assert (one.keys["a3"], one.keys["b3"]) == (("k",), ("j",))
    assert (two.rules, two.keys["a0"]) == ((10,), ("v",))


def test_a_table_goes_by_a_child_of_its_key() -> None:
    text = """TABLE p KEY k DETECT d { k { var K } }
    ON and { event a: a {{ k {{ var K }} }}, at a: p {{ k {{ var K }}, v {{ var V }} }} } END"""
    assert keys(text) == [{"a": ("k",), "p": ("k",), "d": ("k",)}]
    assert keys(text.replace("KEY k", "KEY v")) == [{}]  # a row with another k may replace one
    rows = normalise(parse(text.replace("at a: p {{ k", "at a: p {{ id").replace("KEY k", "KEY id")))
    assert [dict(unit.keys) for unit in partition_rules(rows, ["k"], {"p": ["id"]})] == [
        {"a": ("k",), "p": ("id",), "d": ("k",)}
    ]
    assert [dict(unit.keys) for unit in partition_rules(rows, ["k", "id"], {"p": None})] == [{}]

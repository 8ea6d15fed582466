"""CERA expressions of the paper's program: Figures 4 to 6 (translation), 9 and 10 (plan), 11 (differences)."""

from __future__ import annotations

import json

import pytest

from ostinato.errors import OstinatoError
from ostinato.rules.algebra import nodes as cera
from ostinato.rules.algebra.difference import difference
from ostinato.rules.algebra.format import format_definition, format_node
from ostinato.rules.algebra.query_plan import RulePlan, plan_program
from ostinato.rules.explain import explain_program
from ostinato.rules.syntax.parse import parse
from support import paths

VECTOR = json.loads((paths.VECTORS / "rules.json").read_text())


def planned(text: str, longest: str | None = None) -> RulePlan:
    return plan_program(parse(text)) if longest is None else plan_program(parse(text), float(longest))


@pytest.fixture(scope="module")
def paper() -> RulePlan:
    return planned(VECTOR["program"])


def definition(plan: cera.Plan, name: str) -> cera.Definition:
    return plan.by_name[name]


def test_figure_4(paper: RulePlan) -> None:
    assert format_node(paper.translated[0].node) == (
        "CX[ fire { area { var A } } ](\n"
        "µ[[begin, end] ← s ⊔ t](\n"
        "σ[s.end < t.begin ∧ max{s.end, t.end} - min{s.begin, t.begin} ≤ 1 min ∧ T > 40](\n"
        "QX[ s: smoke {{ area {{ var A }} }} ](E) ⋈ QX[ t: temp {{ area {{ var A }}, value {{ var T }} }} ](E))))"
    )


def test_figure_5(paper: RulePlan) -> None:
    shown = format_node(paper.translated[1].node)
    assert "µ[[begin, end] ← n ⊔ i](" in shown
    assert "⋈ X[ i: from-end[n, 12 sec] ](E)) ▷_{i⊒temp'} QX[ temp': temp {{ sensor {{ var S }} }} ](E)" in shown


def test_figure_6(paper: RulePlan) -> None:
    shown = format_node(paper.translated[2].node)
    assert "⋈ X[ i: from-start-backward[m, 1 min] ](E)) ⋈_{i⊒temp'} QX[ temp': temp" in shown


def test_figure_10_pushes_selections_shares_and_materialises(paper: RulePlan) -> None:
    plan = paper.query_plan
    assert format_definition(definition(plan, "A_t")) == "A_t := π[A](\n    σ[T > 40](\n    temp_t))"
    assert "smoke_s ⋈ A_t" in format_node(definition(plan, "fire_1").node)
    assert format_node(definition(plan, "B_n,i").node) == "π[S](σ[T > 40](temp_n)) ⋈ X[ i: from-end[n, 12 sec] ](E)"
    # Temp_v of the second rule is Temp_m of the third, and Temp_n of the second is Temp_w of the third.
    third = definition(plan, "avg_temp_3").node
    renamed = [node for node in cera.walk(third) if isinstance(node, cera.Rename)]
    assert {(node.input.name, node.events) for node in renamed} == {  # type: ignore[union-attr]
        ("temp_temp'", (("m", "temp'"),)),
        ("temp_n", (("temp'", "n"),)),
    }
    assert sum(isinstance(each.node, cera.Match) for each in plan.definitions) == 4


def test_figure_11(paper: RulePlan) -> None:
    fire = format_node(difference(definition(paper.query_plan, "fire_1").node))
    assert "(Δsmoke_s ⋈ (◦∪Δ)A_t) ∪ (◦smoke_s ⋈ ΔA_t)" in fire
    burnt = format_node(difference(definition(paper.query_plan, "burnt_down_2").node))
    assert "ΔB_n,i ▷_{i⊒temp'} (◦∪Δ)temp_temp'" in burnt


def test_what_is_kept_and_how_long(paper: RulePlan) -> None:
    kept = explain_program(paper).split("-- kept\n")[1]
    assert "smoke_s: until s.begin + 1 minute" in kept
    assert "temp_t: not kept" in kept
    assert "B_n,i: until its own end" in kept
    # An event m may have begun within a minute of n, and end at any later time.
    assert "temp_n: is kept for ever: avg_temp_3 may wait for `m`" in kept


def test_how_long_events_last_bounds_what_is_kept() -> None:
    plan = planned(VECTOR["program"], "5e9")
    assert not any(found.unbounded for found in plan.relevance.values())
    assert "temp_n: until n.begin + 65 seconds" in explain_program(plan)


def test_equal_constants_of_different_kinds_are_different_points() -> None:
    text = "DETECT x { k { var K } } ON event i: a {{ v {{ %s }}, k {{ var K }} }} END\n"
    plan = planned("".join(text % value for value in ("1", "true", "1.0")))
    assert sum(isinstance(each.node, cera.Match) for each in plan.query_plan.definitions) == 3


def test_variables_of_other_names_share_a_point() -> None:
    text = (
        "DETECT x { k { var A } } ON event i: a {{ k {{ var A }} }} END "
        "DETECT y { k { var B } } ON event j: a {{ k {{ var B }} }} END"
    )
    plan = planned(text).query_plan
    assert sum(isinstance(each.node, cera.Match) for each in plan.definitions) == 1
    assert "ρ[j ← i, B ← A](a_i)" in format_node(definition(plan, "y_2").node)


def test_relations_are_joined_along_shared_variables() -> None:
    plan = planned(
        "DETECT x { k { var K } } ON and { event i: a {{ k {{ var K }} }}, event j: b {{ v {{ var V }} }},"
        " event h: c {{ k {{ var K }}, v {{ var V }} }} } where { {i, j, h} within 1 min } END"
    )
    joins = [node for node in cera.walk(plan.translated[0].node) if isinstance(node, cera.Join)]
    assert all(set(node.left.schema.data) & set(node.right.schema.data) for node in joins)


def test_negation_goes_before_collection_where_it_can() -> None:
    plan = planned(
        "DETECT x { n { count(all var V) } } ON and { event i: a {{ k {{ var K }} }},"
        " event t: timer:extend [event i, 10 sec], while t: collect b {{ v {{ var V }} }},"
        " while t: not c {{ k {{ var K }} }} } END"
    )
    shown = format_node(plan.translated[0].rewritten)
    assert shown.index("▷") < shown.index("⋈_{t⊒b'}")
    named = planned(
        "DETECT x { n { count(all var V) } } ON and { event i: a {{ k {{ var K }} }},"
        " event t: timer:extend [event i, 10 sec], while t: collect b {{ v {{ var V }} }},"
        " while t: not c {{ v {{ var V }} }} } END"
    )
    shown = format_node(named.translated[0].rewritten)
    assert shown.index("▷") > shown.index("⋈_{t⊒b'}")


def test_what_decides_about_groups_is_not_projected_away() -> None:
    """V is not in the head, but tells apart which T are collected."""
    plan = planned(
        "DETECT x { n { count(all var T) } } ON and { event i: a {{ v {{ var V }} }},"
        " event t: timer:extend-begin [event i, 10 sec], while t: collect b {{ v {{ var T }} }} }"
        " where { var T < var V } END"
    )
    construct = plan.translated[0].rewritten
    assert isinstance(construct, cera.Construct)
    assert set(construct.input.schema.data) == {"V", "T"}


def test_projection_may_not_drop_times_or_references() -> None:
    plan = planned("DETECT x { k { var K } } ON event i: a {{ k {{ var K }}, v {{ var V }} }} END")
    match = plan.query_plan.definitions[0].node
    projected = cera.Project(("K",), match)
    assert projected.schema.times == match.schema.times
    assert projected.schema.refs == match.schema.refs
    with pytest.raises(OstinatoError, match=r"i\.begin"):
        cera.Project(("i.begin",), match)


def test_temporal_joins_drop_what_they_collect(paper: RulePlan) -> None:
    (join,) = [node for node in cera.walk(paper.translated[2].node) if isinstance(node, cera.TemporalJoin)]
    assert set(join.schema.times) == {"m", "i"}
    assert join.ident not in join.schema.refs
    assert "T" in join.schema.data

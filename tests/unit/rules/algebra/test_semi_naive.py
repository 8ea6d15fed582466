"""What a round of a recursion computes, and whether rounds end by themselves."""

from __future__ import annotations

import pytest

from ostinato.rules.algebra.format import format_node
from ostinato.rules.algebra.query_plan import plan_program
from ostinato.rules.algebra.semi_naive import is_finite, plan_rounds
from ostinato.rules.syntax.parse import parse

STEP = "event r: r {{ k {{ var A }} }}, event e: e {{ k {{ var A }}, to {{ var B }} }}"
LINEAR = f"DETECT r {{ k {{ var B }} }} ON and {{ {STEP} }} END"
SQUARE = (
    "DETECT r { k { var B } } "
    "ON and { event p: r {{ k {{ var A }} }}, event q: r {{ k {{ var A }}, v {{ var B }} }} } END"
)


def test_linear_rules_look_nothing_of_the_recursion_up() -> None:
    plan = plan_program(parse(LINEAR))
    rounds = plan_rounds(plan.query_plan.definitions, ["r"])
    assert [definition.name for definition, _ in rounds.additions] == ["r_r", "r_1"]
    assert "Δr_r ⋈ e_e" in format_node(rounds.additions[-1][1])
    assert rounds.looked_up == {"e_e"}


def test_rules_that_read_the_recursion_twice_look_it_up() -> None:
    plan = plan_program(parse(SQUARE))
    rounds = plan_rounds(plan.query_plan.definitions, ["r"])
    assert rounds.looked_up == {"r_p", "r_q"}


@pytest.mark.parametrize(
    ("head", "finite"),
    [("k { var A }", True), ("k { 1 }, v { var B }", True), ("k { var A + 1 }", False), ("k { var E }", False)],
)
def test_recursion_that_only_copies_values_ends(head: str, finite: bool) -> None:
    (rule,) = parse(f"DETECT r {{ {head} }} ON event i: a {{{{ k {{{{ var A }}}} }}}} END").rules
    assert is_finite(rule.head, ["A", "B"]) is finite

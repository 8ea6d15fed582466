"""How long tuples of points are kept, and why."""

from __future__ import annotations

from ostinato.rules.algebra.query_plan import RulePlan, plan_program
from ostinato.rules.algebra.relevance import PointUse
from ostinato.rules.syntax.parse import parse


def planned(body: str) -> RulePlan:
    return plan_program(parse(f"DETECT x {{ k {{ var K }} }} ON {body} END"))


def test_joins_without_a_bound_wait_for_ever() -> None:
    found = planned("and { event i: a {{ k {{ var K }} }}, event j: b {{ k {{ var K }} }} }").relevance
    assert found["a_i"].unbounded == (("x_1", "j"),)
    assert found["b_j"].unbounded == (("x_1", "i"),)


def test_what_is_joined_to_nothing_is_not_stored() -> None:
    found = planned("event i: a {{ k {{ var K }} }}").relevance
    assert not found["a_i"].stored


def test_timers_wait_for_their_end() -> None:
    found = planned("and { event i: a {{ k {{ var K }} }}, event t: timer:from-end [event i, 5 sec] }").relevance
    (name,) = [name for name, relevance in found.items() if relevance.waits]
    assert found[name].stored and found[name].uses == ()


def test_bounds_are_in_the_names_of_the_point() -> None:
    found = planned(
        "and { event i: a {{ k {{ var K }} }}, event j: a {{ k {{ var K }} }} } where { {i, j} within 1 sec }"
    ).relevance["a_i"]
    assert [type(use) for use in found.uses] == [PointUse, PointUse]
    assert {time[0] for use in found.uses for bound in use.bounds for time, _ in bound.until if time} == {"i"}

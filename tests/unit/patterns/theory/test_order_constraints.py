"""What < and <= constraints say together."""

from __future__ import annotations

import pytest

from ostinato.patterns.theory.order_constraints import OrderConstraints


@pytest.mark.parametrize(
    ("edges", "contradicts"),
    [
        ([("a", "b", True), ("b", "c", False)], False),
        ([("a", "b", False), ("b", "a", False)], False),
        ([("a", "b", False), ("b", "c", True), ("c", "a", False)], True),
        ([("a", "a", True)], True),
        ([("a", "a", False)], False),
    ],
)
def test_a_cycle_with_a_strict_edge_contradicts(edges: list[tuple[str, str, bool]], contradicts: bool) -> None:
    assert OrderConstraints(edges).contradicts_itself() == contradicts


def test_what_lies_on_a_cycle_is_equal() -> None:
    order = OrderConstraints([("a", "b", False), ("b", "c", False), ("c", "a", False), ("c", "d", False)])
    assert order.equal("a", "c")
    assert not order.equal("a", "d")
    assert not order.equal("a", "elsewhere")


def test_parts_are_connected_in_either_direction() -> None:
    order = OrderConstraints([("a", "b", True), ("c", "b", False), ("d", "e", False)])
    assert list(order.parts()) == [["a", "b", "c"], ["d", "e"]]

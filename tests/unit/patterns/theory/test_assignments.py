"""Values that give tests the wanted outcomes."""

from __future__ import annotations

import pytest

from ostinato.core.expression_interpreter import evaluate_expression
from ostinato.patterns.syntax.srem import nodes
from ostinato.patterns.syntax.srem.parse import parse
from ostinato.patterns.theory.assignments import find_assignment
from ostinato.patterns.theory.attribute_kinds import attribute_kinds
from ostinato.patterns.theory.budget import Effort
from ostinato.patterns.theory.comparisons import FALSE, NULL, TRUE, outcome_bit


@pytest.mark.parametrize("outcomes", [(TRUE, TRUE), (TRUE, FALSE), (FALSE, TRUE), (FALSE, FALSE), (NULL, TRUE | NULL)])
def test_each_test_has_its_outcome(outcomes: tuple[int, int]) -> None:
    (one,) = (test.test for test in nodes.tests(parse("[v > 10]").expression))
    (other,) = (test.test for test in nodes.tests(parse("[2 * v < 30]").expression))
    facts = dict(zip((one, other), outcomes, strict=True))
    rows = find_assignment(facts, attribute_kinds(facts), Effort(10_000))
    assert rows is not None
    assert all(outcome_bit(evaluate_expression(test, rows)) & wanted for test, wanted in facts.items())


def test_no_values_where_there_are_none() -> None:
    facts = {test.test: TRUE for test in nodes.tests(parse("[v = 1] . [v = 2]").expression)}
    assert find_assignment(facts, attribute_kinds(facts), Effort(10_000)) is None


def test_a_search_ends_with_its_effort() -> None:
    (test,) = (test.test for test in nodes.tests(parse("[v > 10 AND w > v]").expression))
    assert find_assignment({test: TRUE}, {}, Effort(1)) is None
    assert find_assignment({test: TRUE}, {}, Effort(1_000)) is not None

from __future__ import annotations

import math
from datetime import datetime
from decimal import Decimal

import pytest

from ostinato.core.expression_interpreter import passes
from ostinato.core.expressions import CURRENT, Attribute, Call, Expr, Literal
from ostinato.patterns.syntax.srem.nodes import Concat, Test
from ostinato.patterns.syntax.srem.parse import parse
from ostinato.patterns.theory import satisfiability as satisfy
from ostinato.patterns.theory.satisfiability import find_model, is_satisfiable


def test(text: str) -> Expr:
    """A condition on the current event and on the events r, q and p."""
    expression = parse(f"[true] -> p, q, r . [{text}]").expression
    assert isinstance(expression, Concat) and isinstance(expression.parts[1], Test)
    return expression.parts[1].test


test.__test__ = False  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "holding",
    [
        "type = 'A' AND type = 'B'",
        "x > 5 AND x < 5",
        "x >= 5 AND x <= 5 AND x != 5",
        "x > 3 AND x < 1 + 1",
        "x = 1 AND x = 1.5",
        "x < y AND y < x",
        "x < y AND y <= r.x AND r.x < q.x AND q.x <= x",
        "x <= y AND y <= x AND x != y",
        "x = y AND y = r.y AND r.y != x",
        "x = y AND y = 3 AND x > 4",
        "x > 5 AND x = r.x AND r.x <= y AND y < 5",
        "x IN (1, 2) AND x > 2",
        "x IN (1, 2) AND x IN (3, 4)",
        "x IN (1, 2) AND x != 1 AND x != 2",
        "x IS NULL AND x > 5",
        "x IS NULL AND x + 1 = r.x",
        "x IS NULL AND x IS NOT NULL",
        "x IS NULL AND NOT (x > 5)",
        "x = NULL",
        "x > 5 AND NOT (x > 3)",
        "NOT (x = 3 OR x != 3)",
        "name < 'a' AND name > 'b'",
        "name < 'a' AND name > 5",
        "name < 'a' AND name = y AND y > 5",
        "name = 'ab' AND name LIKE 'b%'",
        "name = 'ab' AND NOT name LIKE 'a%'",
        "name = 'ab' AND upper(name) = 'ab'",
        "x = 2 AND x * 3 = 5",
        "flag AND NOT flag",
        "flag AND flag IS NULL",
        "ts < TIMESTAMP '2024-01-01' AND ts > TIMESTAMP '2024-01-02'",
        "x > r.x + 5 AND x < r.x + 3",
        "x < r.x - 1 AND r.x <= x",
        "x > 2 * r.x AND x < 2 * r.x",
        "(x > 5 OR x < 1) AND x = 3",
        "(x = 1 OR x = 2) AND (x = 3 OR x = 4)",
        "is_true(x > 5) AND x IS NULL",
        "x = r.x AND (x < r.x OR x > r.x)",
    ],
)
def test_cannot_hold(holding: str) -> None:
    assert not is_satisfiable([(test(holding), True)])
    assert find_model([(test(holding), True)]) is None


@pytest.mark.parametrize(
    "holding",
    [
        "x >= 5 AND x <= 5",
        "x > 5 AND x < 6",
        "x > 1 AND x < r.x AND r.x < q.x AND q.x < 2",
        "x = r.y AND r.y != r.x AND y > x",
        "x = 1 AND x = 1.0",
        "name > 'a' AND name < 'b'",
        "name < 'a' AND other = 5",
        "name LIKE 'a_c%' AND length(name) = 3",
        "lower(name) = 'x' AND name != 'y'",
        "NOT (x > 5) AND NOT (x < 3)",
        "x IN (1, 2, NULL) AND x != 1",
        "ts > TIMESTAMP '2024-01-01' AND ts < TIMESTAMP '2024-01-02'",
        "ts >= TIMESTAMP '9999-12-31 23:30:00' AND ts != r.ts",
        "2 * x = 11 AND x + y > 20",
        "x - 3 = 4 AND x / 7 = y",
        "x > 2 * r.x AND r.x > 3",
        "flag AND NOT r.flag",
        "flag = TRUE AND r.flag = FALSE",
        "x != r.x AND x != q.x AND q.x != r.x",
        "x IS NULL OR x > 3",
        "(x = 1 OR x = 2) AND (x = 2 OR x = 3)",
        "x IS NOT NULL AND x != x",  # NaN
    ],
)
def test_can_hold(holding: str) -> None:
    found = find_model([(test(holding), True)])
    assert is_satisfiable([(test(holding), True)])
    assert found is not None and passes(test(holding), {CURRENT: {}, **found})


@pytest.mark.parametrize(
    ("holding", "failing", "possible"),
    [
        ("x > 5", "x > 3", False),
        ("x > 3", "x > 5", True),
        ("type = 'T'", "type = 'H' AND id = r.id", True),
        ("id = r.id AND type = 'H'", "type = 'H' AND r.id = id", False),
        ("x < 5", "r.x < 5", True),
        ("x < 5 AND x = r.x", "r.x < 5", False),
        ("x IS NOT NULL", "x = 3 OR x != 3", False),
        ("x IS NOT NULL", "x < 3 OR x >= 3", True),  # NaN is neither
        ("x = x", "x < 3 OR x >= 3", False),
        ("x IS NULL OR x = 3", "x = 3", True),
        ("(x IS NULL OR x = 3) AND x IS NOT NULL", "x = 3", False),
        ("TRUE", "x > 3 OR NOT (x > 3)", True),  # both are NULL where x is
        ("TRUE", "is_true(x > 3) OR NOT is_true(x > 3)", False),
        ("TRUE", "x IS NULL OR x IS NOT NULL", False),
        ("x > 1 AND r.x > 1", "x = r.x OR x < r.x OR x > r.x", False),
        ("x IN (1, 2)", "x IN (1, 2, 3)", False),
        ("name LIKE 'a%'", "name < 'b' OR name >= 'b'", False),
        ("x > r.x + 1", "x > r.x", False),
    ],
)
def test_a_test_that_does_not_hold_is_false_or_null(holding: str, failing: str, possible: bool) -> None:
    wanted = [(test(holding), True), (test(failing), False)]
    assert is_satisfiable(wanted) is possible
    found = find_model(wanted)
    assert (found is not None) is possible
    if found is not None:
        assert passes(test(holding), {CURRENT: {}, "r": {}, **found})
        assert not passes(test(failing), {CURRENT: {}, "r": {}, **found})


def test_a_negation_in_a_condition_is_sqls_own() -> None:
    """NOT p is TRUE where p is FALSE, and a literal that does not hold may also be NULL."""
    negation, absent = test("NOT (x > 5)"), test("x IS NULL")
    assert not is_satisfiable([(negation, True), (absent, True)])
    assert is_satisfiable([(test("x > 5"), False), (absent, True)])
    assert is_satisfiable([(negation, False), (absent, True)])


def test_nan_is_like_no_number() -> None:
    x, nan = Attribute(CURRENT, "x"), Literal(math.nan)
    assert not is_satisfiable([(Call("=", (x, nan)), True)])
    assert not is_satisfiable([(Call("<", (x, nan)), True)])
    assert is_satisfiable([(Call("!=", (x, nan)), True)])


def test_constants_of_several_types_are_one_order() -> None:
    x = Attribute(CURRENT, "x")

    def equal(constant: int | float | Decimal | datetime) -> tuple[Expr, bool]:
        return Call("=", (x, Literal(constant))), True

    assert is_satisfiable([equal(1), equal(True), equal(1.0), equal(Decimal("1.0"))])
    assert is_satisfiable([equal(0.1), equal(Decimal("0.1"))])
    assert not is_satisfiable([equal(1), equal(Decimal("1.01"))])
    assert not is_satisfiable([equal(1), equal(datetime(2024, 1, 1))])
    assert is_satisfiable([equal(math.inf), (Call(">", (x, Literal(10**300))), True)])


def test_values_are_chosen_to_be_read() -> None:
    holding = test("type = 'H' AND id = r.id AND value > 40 AND r.type = 'T'")
    assert find_model([(holding, True)]) == {
        CURRENT: {"type": "H", "id": 0, "value": 41},
        "r": {"type": "T", "id": 0},
    }


def test_too_many_alternatives_may_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three values, four different numbers of them: certainly no, but only after many attempts."""
    names = ["a", "b", "c", "d"]
    ranges = " AND ".join(f"{name} IN (1, 2, 3)" for name in names)
    different = " AND ".join(f"{one} != {other}" for one in names for other in names if one < other)
    assert not is_satisfiable([(test(f"{ranges} AND {different}"), True)])
    monkeypatch.setattr(satisfy, "_STEPS", 500)
    satisfy._decide.cache_clear()
    assert is_satisfiable([(test(f"{ranges} AND {different}"), True)])
    assert find_model([(test(f"{ranges} AND {different}"), True)]) is None
    satisfy._decide.cache_clear()

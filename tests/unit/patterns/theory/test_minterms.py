from __future__ import annotations

import pytest

from ostinato.core.expressions import CURRENT, TRUE, Attribute, Call, Expr, Literal, to_text
from ostinato.errors import LimitError
from ostinato.patterns.theory.minterms import minterm_test, satisfiable_minterms


def is_type(name: str) -> Expr:
    return Call("=", (Attribute(CURRENT, "type"), Literal(name)))


def above(bound: int, name: str = "x") -> Expr:
    return Call(">", (Attribute(CURRENT, name), Literal(bound)))


def test_no_tests_have_one_minterm() -> None:
    assert satisfiable_minterms([]) == [()]
    assert minterm_test([], []) == TRUE


def test_independent_tests_have_all_minterms() -> None:
    assert set(satisfiable_minterms([above(1, "x"), above(1, "y")])) == {
        (True, True),
        (True, False),
        (False, True),
        (False, False),
    }


def test_true_always_holds() -> None:
    """Example 5.16: φ1 ∧ ¬⊤ is unsatisfiable, and φ1 ∧ ⊤ is simply φ1."""
    phi = is_type("T")
    assert satisfiable_minterms([phi, TRUE]) == [(True, True), (False, True)]
    assert minterm_test([phi, TRUE], (True, True)) == phi


@pytest.mark.slow
def test_exclusive_tests_have_one_minterm_more_than_there_are_tests() -> None:
    tests = [is_type(f"T{number}") for number in range(40)]
    found = satisfiable_minterms(tests)
    assert len(found) == 41
    assert sorted(map(sum, found)) == [0] + [1] * 40
    assert minterm_test(tests, found[0]) == tests[0]  # that it is none of the other types follows


def test_nested_tests_have_one_minterm_more_than_there_are_tests() -> None:
    tests = [above(bound) for bound in range(30)]
    assert len(satisfiable_minterms(tests)) == 31
    assert to_text(minterm_test(tests[:2], (True, False))) == "x > 0 AND NOT is_true(x > 1)"


def test_what_does_not_hold_may_be_null() -> None:
    x = above(5)
    opposite = Call("<=", x.args) if isinstance(x, Call) else x
    assert set(satisfiable_minterms([x, opposite])) == {(True, False), (False, True), (False, False)}


def test_is_true_is_not_said_twice() -> None:
    certain = Call("is_true", (above(5),))
    assert to_text(minterm_test([certain], (False,))) == "NOT is_true(x > 5)"


def test_too_many() -> None:
    tests = [above(0, f"x{number}") for number in range(8)]
    with pytest.raises(LimitError, match=r"8 tests on the same event(.|\n)*minterms=100(.|\n)*fix: narrow the window"):
        satisfiable_minterms(tests, limit=100)
    assert len(satisfiable_minterms(tests, limit=256)) == 256

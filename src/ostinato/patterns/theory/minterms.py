"""Minterms (SRA paper, Example 5.16, Algorithm 8): all possible combinations of tests that hold on one event."""

from __future__ import annotations

from collections.abc import Sequence

from ostinato.core.expressions import Call, Expr
from ostinato.errors import LimitError
from ostinato.patterns.theory.conjunction import conjunction
from ostinato.patterns.theory.satisfiability import is_satisfiable

MAX_MINTERMS = 4096


def satisfiable_minterms(tests: Sequence[Expr], limit: int = MAX_MINTERMS) -> list[tuple[bool, ...]]:
    """For each satisfiable minterm, whether each test holds.

    The tests are taken one by one and impossible combinations are dropped at once, so the work grows with the number
    of minterms, not with 2ⁿ.
    """
    found: list[tuple[bool, ...]] = [()]
    for count in range(1, len(tests) + 1):
        found = [
            longer
            for shorter in found
            for longer in ((*shorter, True), (*shorter, False))
            if is_satisfiable(zip(tests[:count], longer, strict=True))
        ]
        if len(found) > limit:
            raise LimitError(
                "minterms",
                limit,
                reason=f"{len(tests)} tests on the same event have too many possible outcomes",
                fix="narrow the window, or write conditions that exclude each other",
            )
    return found


def minterm_test(tests: Sequence[Expr], holds: Sequence[bool]) -> Expr:
    """The test that is TRUE exactly where the minterm says; what already follows from the rest is left out.

    A test that must not hold becomes `NOT is_true(test)`, which is TRUE on NULL as well. Only such tests are left out,
    so that two minterms still differ: in some test that one of them requires to hold.
    """
    literals = list(zip(tests, holds, strict=True))
    for literal in [literal for literal in literals if not literal[1]]:
        others = [other for other in literals if other != literal]
        if not is_satisfiable([*others, (literal[0], True)]):
            literals = others
    return conjunction(test if positive else _fails(test) for test, positive in literals)


def _fails(test: Expr) -> Expr:
    return Call("not", (test if isinstance(test, Call) and test.op == "is_true" else Call("is_true", (test,)),))

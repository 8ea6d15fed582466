"""What a condition says before all of its events are known, for WITH TIMEOUT ROWS: what then fails already is no
beginning of a match.

`x.v > 1 AND y.v > x.v OR x.v > 5 AND y.v < x.v` stands on y, if that comes last; but without `x.v > 1 OR x.v > 5`, no y
can pass. So such conditions are added, for all that can be known before the rest; they follow from the whole.
"""

from __future__ import annotations

from collections.abc import Iterator

from ostinato.core import expressions as ex
from ostinato.core.expressions import Expr
from ostinato.patterns.plan.rewrite import check_node_limit
from ostinato.patterns.syntax import nodes as n
from ostinato.patterns.syntax.nodes import Formula


def add_early_tests(formula: Formula) -> Formula:
    """The formula where each filter also says what it asks of some of its events alone."""
    formula = n.rebuild(formula, add_early_tests)
    if not isinstance(formula, n.Filter):
        return formula
    tests = ex.conjuncts(formula.predicate)
    early = [found for test in tests for found in _early_tests(test)]
    return n.Filter(formula.body, ex.conjoin([*early, *tests]), formula.span) if early else formula


def _early_tests(test: Expr) -> Iterator[Expr]:
    """What follows from a test for each set of events that its parts ask about, smallest first."""
    whole, known = ex.variables(test), {frozenset[str]()}
    for names in {ex.variables(part) for part in _parts(test)}:
        known |= {others | names for others in known}
        check_node_limit(len(known))
    for names in sorted(known - {whole, frozenset()}, key=lambda each: (len(each), sorted(each))):
        if (found := _follows(test, names, positive=True)) != ex.TRUE:
            yield found


def _parts(test: Expr) -> Iterator[Expr]:
    """The comparisons that AND, OR and NOT combine."""
    if isinstance(test, ex.Call) and test.op in ex.LOGIC:
        for arg in test.args:
            yield from _parts(arg)
    else:
        yield test


def _follows(test: Expr, known: frozenset[str], *, positive: bool) -> Expr:
    """The test where each part with other variables is taken as true; as false, where the test must not hold."""
    if not isinstance(test, ex.Call) or test.op not in ex.LOGIC:
        return test if ex.variables(test) <= known else ex.TRUE if positive else ex.FALSE
    if test.op == "not":
        inner = _follows(test.args[0], known, positive=not positive)
        if inner in (ex.TRUE, ex.FALSE):
            return ex.TRUE if inner == ex.FALSE else ex.FALSE
        return ex.Call("not", (inner,), test.span)
    args = [_follows(arg, known, positive=positive) for arg in test.args]
    neutral, decisive = (ex.TRUE, ex.FALSE) if test.op == "and" else (ex.FALSE, ex.TRUE)
    kept = [arg for arg in args if arg != neutral]
    if decisive in kept:
        return decisive
    return ex.Call(test.op, tuple(kept), test.span) if len(kept) > 1 else kept[0] if kept else neutral

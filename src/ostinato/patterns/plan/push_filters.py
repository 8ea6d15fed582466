"""Moves every test onto the event it belongs to: LP-normal form (CEL paper, Theorem 2).

A test that compares events with each other goes onto the last of them (RMA paper, Theorem 8): the others are then
known, unless they come later, which patterns/automata/registers.py refuses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from ostinato.core.expressions import TRUE, Call, Earlier, Expr, attributes, conjoin, conjuncts, variables
from ostinato.errors import QueryError
from ostinato.patterns.plan.rewrite import check_node_limit, count_nodes, expand_alternatives, merge_filters, simplify
from ostinato.patterns.syntax import nodes as n
from ostinato.patterns.syntax.nodes import Formula


def push_filters(formula: Formula) -> Formula:
    """Theorem 2, step 2: move each test onto the definitions of its variable, where they lie below the filter; a test
    over several onto the last event that defines one of them."""
    formula = n.rebuild(formula, push_filters)
    if not isinstance(formula, n.Filter):
        return formula
    below = n.vdef_plus(formula.body)
    tests: dict[str, list[Expr]] = {}
    everywhere: list[Expr] = []
    rest: list[Expr] = []
    last: list[Expr] = []
    for test in conjuncts(formula.predicate):
        names = variables(test)
        if len(names) > 1 and not names.isdisjoint(below):
            last.append(test)
        elif len(names) != 1 or any(isinstance(node, Earlier) for node in attributes(test)):
            everywhere.append(test)
        elif (name := _variable(test)) in below:
            tests.setdefault(name, []).append(test)
        else:
            rest.append(test)
    body = _push_everywhere(_push(formula.body, tests), everywhere)
    for test in last:
        body = _push_last(body, test)
    return merge_filters(replace(formula, body=body, predicate=conjoin(rest))) if rest else body


def _variable(test: Expr) -> str:
    """The one variable of a test."""
    (name,) = variables(test)
    return name


def _push(formula: Formula, tests: Mapping[str, list[Expr]]) -> Formula:
    event = formula.body if isinstance(formula, n.Filter) else formula
    if isinstance(event, n.Event):
        return _on_event(formula, tests.get(event.variable, []))
    if isinstance(formula, n.Repeat):  # the same name below a + is another variable
        return formula
    return n.rebuild(formula, lambda child: _push(child, tests))


def _push_everywhere(formula: Formula, tests: list[Expr]) -> Formula:
    """A test without variables, or on events outside only, holds for all events or for none, so it may stand on every
    one of them."""
    if isinstance(formula.body if isinstance(formula, n.Filter) else formula, n.Event):
        return _on_event(formula, tests)
    if isinstance(formula, n.Repeat) and (hidden := n.loop_variables(formula)):
        for test in tests:
            if both := variables(test) & hidden:
                name = min(both).removeprefix(n.earlier_name(""))
                raise QueryError(
                    f"`{name}` names an event outside the + and one inside; this condition means the one outside",
                    span=test.span,
                    fix="give them different names",
                )
    return n.rebuild(formula, lambda child: _push_everywhere(child, tests)) if tests else formula


def _push_last(formula: Formula, test: Expr) -> Formula:
    """Onto the last event that defines a variable of the test; in an OR, that of each branch."""
    if isinstance(formula.body if isinstance(formula, n.Filter) else formula, n.Event):
        return _on_event(formula, [test])
    if isinstance(formula, n.Sequence):
        names = variables(test)
        last = max(place for place, part in enumerate(formula.parts) if not names.isdisjoint(n.vdef_plus(part)))
        parts = (_push_last(part, test) if place == last else part for place, part in enumerate(formula.parts))
        return replace(formula, parts=tuple(parts))
    if isinstance(formula, n.And):
        names = variables(test)
        owners = [part for part in formula.parts if not names.isdisjoint(n.vdef_plus(part))]
        if len(owners) > 1:  # any of their events may come last
            return replace(formula, tests=(*formula.tests, test))
        return n.rebuild(formula, lambda part: _push_last(part, test) if part is owners[0] else part)
    return n.rebuild(formula, lambda child: _push_last(child, test))


def _on_event(formula: Formula, tests: list[Expr]) -> Formula:
    """Add tests to an event, which may have some already."""
    return merge_filters(n.Filter(formula, conjoin(tests), formula.span)) if tests else formula


def lift_filters(formula: Formula) -> Formula:
    """Theorem 2, step 1, for a test inside the formula on a variable that is bound only in a wider scope; a test over
    several variables only where one of them is bound later than where the test stands.

    The lowest sequence ρ that binds the variable becomes (ρ with the test taken as true) FILTER test OR (ρ with the
    test taken as false) FILTER NOT is_true(test), and the outer filters are pushed down at once.
    """
    return _lift(formula, _Copies())


class _Copies:
    """Counts the nodes copied so far, since many small sequences can add up to too many."""

    def __init__(self) -> None:
        self.nodes = 0

    def add(self, formula: Formula) -> None:
        self.nodes += count_nodes(formula)
        check_node_limit(self.nodes)


def _lift(formula: Formula, copies: _Copies) -> Formula:
    formula = n.rebuild(formula, lambda child: _lift(child, copies))
    if not isinstance(formula, n.Sequence | n.And):
        return formula
    pending, done = [formula], list[Formula]()
    while pending:
        current = pending.pop()
        place, test = next(_out_of_place(current), (0, TRUE))
        if test == TRUE:
            done.append(current)
            continue
        own = variables(test) & n.vdef_plus(current.parts[place])
        if not own <= n.bound(current.parts[place]):
            # The other branches of an OR do not have the event, so they are other sequences.
            for choice in expand_alternatives(current.parts[place], own):
                copies.add(current)
                parts = (*current.parts[:place], choice, *current.parts[place + 1 :])
                pending.append(replace(current, parts=parts))
            continue
        held, failed = _assume(current, test, holds=True), _assume(current, test, holds=False)
        if isinstance(failed, n.Sequence | n.And):
            copies.add(failed)
            complement = Call("not", (Call("is_true", (test,), test.span),), test.span)
            pending.append(_push_test(failed, complement))
        if isinstance(held, n.Sequence | n.And):
            pending.append(_push_test(held, test))
    return simplify(n.Or(tuple(done), formula.span))


def _out_of_place(whole: n.Sequence | n.And) -> Iterator[tuple[int, Expr]]:
    """Tests that belong on another event of the sequence, on that of their variable or on one that may come later; and
    in which part they stand."""
    names = n.bound(whole)
    for place, part in enumerate(whole.parts):
        before = whole.parts[:place] if isinstance(whole, n.And) else ()
        later = frozenset().union(*(n.bound(other) for other in (*before, *whole.parts[place + 1 :])))
        for test in _free_tests(part):
            mentioned = variables(test)
            if not mentioned.isdisjoint(names if len(mentioned) == 1 else later):
                yield place, test


def _push_test(formula: n.Sequence | n.And, test: Expr) -> n.Sequence | n.And:
    if len(variables(test)) > 1:
        pushed = _push_last(formula, test)
        assert isinstance(pushed, n.Sequence | n.And)
        return pushed
    return replace(formula, parts=tuple(_push(part, {_variable(test): [test]}) for part in formula.parts))


def _free_tests(formula: Formula) -> Iterator[Expr]:
    """Tests that need more than their own event, or a variable that comes from outside or from a sibling."""
    if isinstance(formula, n.Filter):
        own = frozenset({formula.body.variable}) if isinstance(formula.body, n.Event) else frozenset()
        yield from (test for test in conjuncts(formula.predicate) if variables(test) - own)
    if isinstance(formula, n.And):
        yield from (test for test in formula.tests if variables(test) - n.vdef_plus(formula))
    hidden = n.loop_variables(formula) if isinstance(formula, n.Repeat) else frozenset()
    for child in n.children(formula):
        yield from (test for test in _free_tests(child) if variables(test).isdisjoint(hidden))


def _assume(formula: Formula, test: Expr, *, holds: bool) -> Formula:
    """The formula where a free test is known to hold, or known to fail."""
    if isinstance(formula, n.Repeat) and not variables(test).isdisjoint(n.loop_variables(formula)):
        return formula
    formula = simplify(n.rebuild(formula, lambda child: _assume(child, test, holds=holds)))
    if isinstance(formula, n.And) and test in formula.tests:
        others = tuple(other for other in formula.tests if other != test)
        return replace(formula, tests=others) if holds else n.Never(formula.span)
    if not isinstance(formula, n.Filter) or test not in conjuncts(formula.predicate):
        return formula
    if not holds:
        return n.Never(formula.span)
    rest = [other for other in conjuncts(formula.predicate) if other != test]
    return replace(formula, predicate=conjoin(rest)) if rest else formula.body

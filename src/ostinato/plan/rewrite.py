"""From any well-formed formula to a safe one in LP-normal form (CEL paper, section 5), in visible passes.

Every pass keeps both the complex events and the variable that labels each of their positions. Afterwards every filter
stands directly on the event it tests. A filter's predicate may be a conjunction; from `split` on, each conjunct
mentions one variable, or compares events with each other. Such a test stands in the end on the last of its events (RMA
paper, Theorem 8): the others are then known, unless they come later, which compile.py refuses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product

from ostinato.errors import LimitError, QueryError
from ostinato.lang.expr import FALSE, TRUE, Call, Expr, Literal, variables
from ostinato.plan.nodes import (
    Absent,
    Event,
    Filter,
    Formula,
    Never,
    Or,
    Query,
    Repeat,
    Sequence,
    bound,
    children,
    rebuild,
    vdef_plus,
)

MAX_NODES = 20_000


@dataclass(frozen=True)
class Pass:
    """One step: a name for `explain` and a function on queries."""

    name: str
    run: Callable[[Query], Query]


def normalise(query: Query) -> tuple[tuple[str, Query], ...]:
    """The query after each pass, in order; the last one is what automata are built from."""
    stages: list[tuple[str, Query]] = []
    for step in PASSES:
        query = step.run(query)
        _limit(size(query.formula))
        stages.append((step.name, query))
    return tuple(stages)


def size(formula: Formula) -> int:
    """Nodes of the formula, filters included, predicates not."""
    return 1 + sum(size(child) for child in children(formula))


# flatten ------------------------------------------------------------------------------------------------------------


def flatten(formula: Formula) -> Formula:
    """Merge an OR in an OR, a sequence in a sequence of its kind, a filter on a filter, a repeat of a repeat."""
    formula = rebuild(formula, flatten)
    if isinstance(formula, Or):
        return replace(formula, parts=tuple(_spliced(formula.parts, lambda part: isinstance(part, Or))))
    if isinstance(formula, Sequence):
        contiguous = formula.contiguous
        return replace(
            formula,
            parts=tuple(
                _spliced(formula.parts, lambda part: isinstance(part, Sequence) and part.contiguous == contiguous)
            ),
        )
    return _one_filter(formula)


def _one_filter(formula: Formula) -> Formula:
    if not isinstance(formula, Filter) or not isinstance(formula.body, Filter):
        return formula
    inner = formula.body
    return replace(formula, body=inner.body, predicate=conjoin([inner.predicate, formula.predicate]))


def _spliced(parts: Iterable[Formula], mergeable: Callable[[Formula], bool]) -> Iterator[Formula]:
    for part in parts:
        if mergeable(part):
            yield from children(part)
        else:
            yield part


def flatten_top(formula: Formula) -> Formula:
    """Flatten, and move the filters over a final NOT inside: they test only the events before it."""
    formula = flatten(formula)
    if isinstance(formula, Filter):
        core, tail = split_tail(formula.body)
        if tail:
            return _with_tail(replace(formula, body=core), tail)
    return formula


def split_tail(formula: Formula) -> tuple[Formula, tuple[Formula, ...]]:
    """A sequence without the NOTs at its end, and those NOTs."""
    if not isinstance(formula, Sequence) or formula.contiguous:
        return formula, ()
    end = len(formula.parts)
    while end and isinstance(formula.parts[end - 1], Absent):
        end -= 1
    if end in (0, len(formula.parts)):
        return formula, ()
    parts, tail = formula.parts[:end], formula.parts[end:]
    return parts[0] if end == 1 else replace(formula, parts=parts), tail


def _with_tail(core: Formula, tail: tuple[Formula, ...]) -> Formula:
    return core if not tail or isinstance(core, Never) else Sequence((core, *tail), span=core.span.to(tail[-1].span))


# split --------------------------------------------------------------------------------------------------------------


def split(formula: Formula) -> Formula:
    """Resolve AND, OR and NOT over several variables into filters on one variable each (section 3).

    A condition that compares events with each other anywhere stays whole.
    """
    formula = rebuild(formula, split)
    if not isinstance(formula, Filter):
        return formula
    alternatives = split_predicate(formula.predicate)
    _limit(len(alternatives) * size(formula.body))
    body, span = formula.body, formula.span
    parts = [Filter(body, conjoin(tests), span) if tests else body for tests in alternatives]
    return parts[0] if len(parts) == 1 else Or(tuple(parts), span) if parts else Never(span)


def split_predicate(predicate: Expr) -> list[list[Expr]]:
    """An OR of ANDs of parts that cannot be split further; a part over two variables or more is correlated.

    A part over one variable stays whole. [[]] is always true, [] never true: a filter passes only on TRUE, and
    TRUE distributes over AND, OR and NOT in three-valued logic.
    """
    result = []
    for alternative in _alternatives(predicate, positive=True):
        tests = [part for test in alternative for part in conjuncts(test) if part != TRUE]
        if FALSE not in tests and Literal(None) not in tests:
            result.append(tests)
    return [[]] if [] in result else result


def _alternatives(expr: Expr, *, positive: bool) -> list[list[Expr]]:
    if len(variables(expr)) <= 1 or not isinstance(expr, Call) or expr.op not in ("and", "or", "not"):
        return [[expr if positive else _negated(expr)]]
    if expr.op == "not":
        return _alternatives(expr.args[0], positive=not positive)
    if (expr.op == "or") == positive and _compares(expr):
        return [[expr if positive else _negated(expr)]]
    choices = [_alternatives(arg, positive=positive) for arg in expr.args]
    if (expr.op == "or") == positive:
        return _merged(tests for choice in choices for tests in choice)
    count = 1
    for choice in choices:
        count *= len(choice)
        _limit(count)
    return [[test for tests in picked for test in tests] for picked in product(*choices)]


def _compares(expr: Expr) -> bool:
    """Whether some part compares events with each other."""
    if isinstance(expr, Call) and expr.op in ("and", "or", "not"):
        return any(map(_compares, expr.args))
    return len(variables(expr)) > 1


def _negated(expr: Expr) -> Expr:
    return expr.args[0] if isinstance(expr, Call) and expr.op == "not" else Call("not", (expr,), expr.span)


def _merged(alternatives: Iterable[list[Expr]]) -> list[list[Expr]]:
    """x.a = 1 OR y.b = 2 OR x.a = 3 needs two copies of the formula, not three: single tests on one variable join."""
    single: dict[frozenset[str], list[Expr]] = {}
    result: list[list[Expr]] = []
    for tests in alternatives:
        names = variables(tests[0])
        if len(tests) > 1 or len(names) != 1:
            result.append(tests)
        elif names in single:
            whole = Call("or", (*_operands("or", single[names][0]), *_operands("or", tests[0])), tests[0].span)
            single[names][0] = whole
        else:
            single[names] = tests
            result.append(tests)
    return result


def _operands(op: str, expr: Expr) -> tuple[Expr, ...]:
    return expr.args if isinstance(expr, Call) and expr.op == op else (expr,)


def conjuncts(predicate: Expr) -> tuple[Expr, ...]:
    return _operands("and", predicate)


def conjoin(tests: Iterable[Expr]) -> Expr:
    """One flat conjunction, each test once."""
    flat = tuple(dict.fromkeys(part for test in tests for part in conjuncts(test)))
    return flat[0] if len(flat) == 1 else Call("and", flat, flat[0].span.to(flat[-1].span))


# make safe ----------------------------------------------------------------------------------------------------------


def make_safe(formula: Formula) -> Formula:
    """Theorem 1 (appendix B.1), bottom-up: where the parts of a sequence share a variable, choose one branch of every
    OR that defines it and drop the choices that still bind it twice, since no event is at two positions."""
    formula = simplify(rebuild(formula, make_safe))
    if not isinstance(formula, Sequence):
        return formula
    count = Counter(name for part in formula.parts for name in vdef_plus(part))
    shared = frozenset(name for name, times in count.items() if times > 1)
    if not shared:
        return formula
    kept: list[tuple[tuple[Formula, ...], frozenset[str]]] = [((), frozenset())]
    for part in formula.parts:
        choices = [(choice, vdef_plus(choice) & shared) for choice in _choices(part, shared)]
        kept = [
            ((*parts, choice), names | new) for parts, names in kept for choice, new in choices if names.isdisjoint(new)
        ]
        _limit(len(kept) * len(formula.parts))
    _limit(sum(size(part) for parts, _ in kept for part in parts))
    return simplify(Or(tuple(replace(formula, parts=parts) for parts, _ in kept), formula.span))


def _choices(formula: Formula, shared: frozenset[str]) -> list[Formula]:
    """The formula as alternatives, each of which binds every shared variable that it defines outside a +."""
    if vdef_plus(formula).isdisjoint(shared):
        return [formula]
    if isinstance(formula, Or):
        groups: dict[frozenset[str], list[Formula]] = {}
        for part in formula.parts:
            for choice in _choices(part, shared):
                groups.setdefault(vdef_plus(choice) & shared, []).append(choice)
        return [parts[0] if len(parts) == 1 else Or(tuple(parts), formula.span) for parts in groups.values()]
    below = [_choices(child, shared) for child in children(formula)]
    count = 1
    for choices in below:
        count *= len(choices)
        _limit(count)
    if isinstance(formula, Filter):
        return [replace(formula, body=choice) for choice in below[0]]
    if isinstance(formula, Sequence):
        return [replace(formula, parts=picked) for picked in product(*below)]
    return [formula]


def simplify(formula: Formula) -> Formula:
    """Remove Never from just below this node, and branches of an OR that are there twice."""
    if isinstance(formula, Or):
        parts = tuple(dict.fromkeys(part for part in formula.parts if not isinstance(part, Never)))
        return replace(formula, parts=parts) if len(parts) > 1 else parts[0] if parts else Never(formula.span)
    if any(isinstance(child, Never) for child in children(formula)):
        return Never(formula.span)
    return formula


# LP-normal form -----------------------------------------------------------------------------------------------------


def push_down(formula: Formula) -> Formula:
    """Theorem 2, step 2: move each test onto the definitions of its variable, where they lie below the filter; a test
    over several onto the last event that defines one of them."""
    formula = rebuild(formula, push_down)
    if not isinstance(formula, Filter):
        return formula
    below = vdef_plus(formula.body)
    tests: dict[str, list[Expr]] = {}
    everywhere: list[Expr] = []
    rest: list[Expr] = []
    last: list[Expr] = []
    for test in conjuncts(formula.predicate):
        names = variables(test)
        if len(names) > 1 and not names.isdisjoint(below):
            last.append(test)
        elif len(names) != 1:
            everywhere.append(test)
        elif (name := _variable(test)) in below:
            tests.setdefault(name, []).append(test)
        else:
            rest.append(test)
    body = _push_everywhere(_push(formula.body, tests), everywhere)
    for test in last:
        body = _push_last(body, test)
    return _one_filter(replace(formula, body=body, predicate=conjoin(rest))) if rest else body


def _variable(test: Expr) -> str:
    """The one variable of a test."""
    (name,) = variables(test)
    return name


def _push(formula: Formula, tests: Mapping[str, list[Expr]]) -> Formula:
    event = formula.body if isinstance(formula, Filter) else formula
    if isinstance(event, Event):
        return _on_event(formula, tests.get(event.variable, []))
    if isinstance(formula, Repeat):  # the same name below a + is another variable
        return formula
    return rebuild(formula, lambda child: _push(child, tests))


def _push_everywhere(formula: Formula, tests: list[Expr]) -> Formula:
    """A test without variables, or on events outside only, holds for all events or for none, so it may stand on every
    one of them."""
    if isinstance(formula.body if isinstance(formula, Filter) else formula, Event):
        return _on_event(formula, tests)
    if isinstance(formula, Repeat) and (hidden := vdef_plus(formula.body)):
        for test in tests:
            if both := variables(test) & hidden:
                raise QueryError(
                    f"`{min(both)}` is an event outside and one inside the +, and this condition is about the first",
                    span=test.span,
                    fix="give them different names",
                )
    return rebuild(formula, lambda child: _push_everywhere(child, tests)) if tests else formula


def _push_last(formula: Formula, test: Expr) -> Formula:
    """Onto the last event that defines a variable of the test; in an OR, that of each branch."""
    if isinstance(formula.body if isinstance(formula, Filter) else formula, Event):
        return _on_event(formula, [test])
    if isinstance(formula, Sequence):
        names = variables(test)
        last = max(place for place, part in enumerate(formula.parts) if not names.isdisjoint(vdef_plus(part)))
        parts = (_push_last(part, test) if place == last else part for place, part in enumerate(formula.parts))
        return replace(formula, parts=tuple(parts))
    return rebuild(formula, lambda child: _push_last(child, test))


def _on_event(formula: Formula, tests: list[Expr]) -> Formula:
    """More tests on an event, which may have some already."""
    return _one_filter(Filter(formula, conjoin(tests), formula.span)) if tests else formula


def lift(formula: Formula) -> Formula:
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
        self.nodes += size(formula)
        _limit(self.nodes)


def _lift(formula: Formula, copies: _Copies) -> Formula:
    formula = rebuild(formula, lambda child: _lift(child, copies))
    if not isinstance(formula, Sequence):
        return formula
    pending, done = [formula], []
    while pending:
        current = pending.pop()
        place, test = next(_out_of_place(current), (0, TRUE))
        if test == TRUE:
            done.append(current)
            continue
        own = variables(test) & vdef_plus(current.parts[place])
        if not own <= bound(current.parts[place]):
            # The other branches of an OR do not have the event, so they are other sequences.
            for choice in _choices(current.parts[place], own):
                copies.add(current)
                parts = (*current.parts[:place], choice, *current.parts[place + 1 :])
                pending.append(replace(current, parts=parts))
            continue
        held, failed = _assume(current, test, holds=True), _assume(current, test, holds=False)
        if isinstance(failed, Sequence):
            copies.add(failed)
            complement = Call("not", (Call("is_true", (test,), test.span),), test.span)
            pending.append(_pushed(failed, complement))
        if isinstance(held, Sequence):
            pending.append(_pushed(held, test))
    return simplify(Or(tuple(done), formula.span))


def _out_of_place(sequence: Sequence) -> Iterator[tuple[int, Expr]]:
    """Tests that belong on another event of the sequence, on that of their variable or on a later one; and in which
    part they stand."""
    names = bound(sequence)
    for place, part in enumerate(sequence.parts):
        later = frozenset().union(*(bound(other) for other in sequence.parts[place + 1 :]))
        for test in _free_tests(part):
            mentioned = variables(test)
            if not mentioned.isdisjoint(names if len(mentioned) == 1 else later):
                yield place, test


def _pushed(formula: Sequence, test: Expr) -> Sequence:
    if len(variables(test)) > 1:
        pushed = _push_last(formula, test)
        assert isinstance(pushed, Sequence)
        return pushed
    return replace(formula, parts=tuple(_push(part, {_variable(test): [test]}) for part in formula.parts))


def _free_tests(formula: Formula) -> Iterator[Expr]:
    """Tests that need more than their own event, or a variable that comes from outside or from a sibling."""
    if isinstance(formula, Filter):
        own = frozenset({formula.body.variable}) if isinstance(formula.body, Event) else frozenset()
        yield from (test for test in conjuncts(formula.predicate) if variables(test) - own)
    hidden = vdef_plus(formula.body) if isinstance(formula, Repeat) else frozenset()
    for child in children(formula):
        yield from (test for test in _free_tests(child) if variables(test).isdisjoint(hidden))


def _assume(formula: Formula, test: Expr, *, holds: bool) -> Formula:
    """The formula where a free test is known to hold, or known to fail."""
    if isinstance(formula, Repeat) and not variables(test).isdisjoint(vdef_plus(formula.body)):
        return formula
    formula = simplify(rebuild(formula, lambda child: _assume(child, test, holds=holds)))
    if not isinstance(formula, Filter) or test not in conjuncts(formula.predicate):
        return formula
    if not holds:
        return Never(formula.span)
    rest = [other for other in conjuncts(formula.predicate) if other != test]
    return replace(formula, predicate=conjoin(rest)) if rest else formula.body


# the passes ---------------------------------------------------------------------------------------------------------


def _limit(nodes: int) -> None:
    if nodes > MAX_NODES:
        raise LimitError(
            "formula_nodes",
            MAX_NODES,
            reason="rewriting the formula makes too many copies of its parts",
            fix="use different variables in different parts, put each filter next to the event it tests, "
            "and split a filter that joins many variables by OR into several queries",
        )


def _on_core(change: Callable[[Formula], Formula]) -> Callable[[Query], Query]:
    """A pass over the formula; NOTs at its end stay there, so that no pass copies them into branches of an OR."""

    def run(query: Query) -> Query:
        core, tail = split_tail(query.formula)
        return replace(query, formula=_with_tail(change(core), tail))

    return run


PASSES: tuple[Pass, ...] = (
    Pass("flatten", lambda query: replace(query, formula=flatten_top(query.formula))),
    Pass("split filters", _on_core(split)),
    Pass("make safe", _on_core(make_safe)),
    Pass("push filters down", _on_core(push_down)),
    Pass("lift filters from a wider scope", _on_core(lift)),
    Pass("merge", lambda query: replace(query, formula=flatten(query.formula))),
)

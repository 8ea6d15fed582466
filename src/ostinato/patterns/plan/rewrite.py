"""Simplifies formulas step by step (CEL paper, section 5): flat, with tests that cannot be split, and safe.

Every step keeps both the complex events and the variable that labels each of their positions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import product

from ostinato.core import expressions as ex
from ostinato.core.expressions import Expr
from ostinato.errors import LimitError
from ostinato.patterns.syntax import nodes as n
from ostinato.patterns.syntax.first_events import first_events
from ostinato.patterns.syntax.nodes import Formula

MAX_NODES = 20_000


def count_nodes(formula: Formula) -> int:
    """Nodes of the formula, filters included, predicates not."""
    return 1 + sum(count_nodes(child) for child in n.children(formula))


def check_node_limit(nodes: int) -> None:
    if nodes > MAX_NODES:
        raise LimitError(
            "formula_nodes",
            MAX_NODES,
            reason="rewriting the formula makes too many copies of its parts",
            fix="use different variables in different parts, put each filter next to the event it tests, "
            "and split a filter that joins many variables by OR into several queries",
        )


# flatten ------------------------------------------------------------------------------------------------------------


def flatten(formula: Formula) -> Formula:
    """Merge an OR in an OR, a sequence in a sequence of its kind, a filter on a filter, a repeat of a repeat."""
    formula = n.rebuild(formula, flatten)
    if isinstance(formula, n.Or):
        return replace(formula, parts=tuple(_splice(formula.parts, lambda part: isinstance(part, n.Or))))
    if isinstance(formula, n.Sequence):
        link = formula.link
        return replace(formula, parts=tuple(_splice(formula.parts, lambda part: _continues(part, link))))
    if isinstance(formula, n.And):
        apart = formula.apart
        merges = _splice(formula.parts, lambda part: isinstance(part, n.And) and not part.apart and not apart)
        return replace(formula, parts=tuple(merges))
    if isinstance(formula, n.Optional) and isinstance(formula.body, n.Optional):
        return formula.body
    return merge_filters(formula)


def _continues(part: Formula, link: n.Link) -> bool:
    """Whether a part is a sequence of the same kind. A guard looks back to the parts of its own sequence only, so that
    one whose first part may be left out stays by itself."""
    if not isinstance(part, n.Sequence) or part.link != link:
        return False
    guarded = link == "->" or any(isinstance(each, n.Guarded) for each in part.parts)
    return not (guarded and n.nullable(part.parts[0]))


def merge_filters(formula: Formula) -> Formula:
    if not isinstance(formula, n.Filter) or not isinstance(formula.body, n.Filter):
        return formula
    inner = formula.body
    return replace(formula, body=inner.body, predicate=ex.conjoin([inner.predicate, formula.predicate]))


def _splice(parts: Iterable[Formula], mergeable: Callable[[Formula], bool]) -> Iterator[Formula]:
    for part in parts:
        if mergeable(part):
            yield from n.children(part)
        else:
            yield part


# bound loops --------------------------------------------------------------------------------------------------------


def bound_loops(formula: Formula, events: int) -> Formula:
    """No loop has more rounds than fit into a window of so many events."""
    formula = n.rebuild(formula, lambda child: bound_loops(child, events))
    if not isinstance(formula, n.Repeat) or formula.most is None:
        return formula
    return replace(
        formula, most=max(formula.least, min(formula.most, events // max(1, n.shortest_match(formula.body))))
    )


# expand -> ----------------------------------------------------------------------------------------------------------


def expand_next(formula: Formula) -> Formula:
    """`φ -> ψ` as φ ; ψ with a guard: no event that ψ can begin with comes between. Only conditions that stand on ψ
    itself count, so this comes before any filter is moved."""
    built = n.rebuild(formula, expand_next)
    if isinstance(formula, n.Repeat) and isinstance(built, n.Repeat) and formula.link == "->":
        return replace(built, link=";", barred=first_events(formula.body))
    if isinstance(formula, n.Sequence) and isinstance(built, n.Sequence) and formula.link == "->":
        guards = zip(built.parts[1:], formula.parts[1:], strict=True)
        guarded = (n.Guarded(part, first_events(source), part.span) for part, source in guards)
        return replace(built, link=";", parts=(built.parts[0], *guarded))
    return built


# split --------------------------------------------------------------------------------------------------------------


def split_filters(formula: Formula) -> Formula:
    """Resolve AND, OR and NOT over several variables into filters on one variable each (section 3).

    A condition that compares events with each other stays whole.
    """
    formula = n.rebuild(formula, split_filters)
    if not isinstance(formula, n.Filter):
        return formula
    alternatives = split_predicate(formula.predicate)
    check_node_limit(len(alternatives) * count_nodes(formula.body))
    body, span = formula.body, formula.span
    parts = [n.Filter(body, ex.conjoin(tests), span) if tests else body for tests in alternatives]
    return parts[0] if len(parts) == 1 else n.Or(tuple(parts), span) if parts else n.Never(span)


def split_predicate(predicate: Expr) -> list[list[Expr]]:
    """An OR of ANDs of parts that cannot be split further; a part over two variables or more is correlated.

    A part over one variable stays whole. [[]] is always true, [] never true: a filter passes only on TRUE, and
    TRUE distributes over AND, OR and NOT in three-valued logic.
    """
    result = []
    for alternative in _alternatives(predicate, positive=True):
        tests = [part for test in alternative for part in ex.conjuncts(test) if part != ex.TRUE]
        if ex.FALSE not in tests and ex.Literal(None) not in tests:
            result.append(tests)
    return [[]] if [] in result else result


def own_tests(formula: Formula) -> list[Expr]:
    """The unsplittable parts of this node's own predicate."""
    if not isinstance(formula, n.Filter | n.Absent) or formula.predicate is None:
        return []
    return [test for tests in split_predicate(formula.predicate) for test in tests]


def _alternatives(expr: Expr, *, positive: bool) -> list[list[Expr]]:
    if len(ex.variables(expr)) <= 1 or not isinstance(expr, ex.Call) or expr.op not in ("and", "or", "not"):
        return [[expr if positive else _negate(expr)]]
    if expr.op == "not":
        return _alternatives(expr.args[0], positive=not positive)
    if (expr.op == "or") == positive and _compares(expr):
        return [[expr if positive else _negate(expr)]]
    choices = [_alternatives(arg, positive=positive) for arg in expr.args]
    if (expr.op == "or") == positive:
        return _merge_alternatives(tests for choice in choices for tests in choice)
    count = 1
    for choice in choices:
        count *= len(choice)
        check_node_limit(count)
    return [[test for tests in picked for test in tests] for picked in product(*choices)]


def _compares(expr: Expr) -> bool:
    """Whether some part compares events with each other."""
    if isinstance(expr, ex.Call) and expr.op in ("and", "or", "not"):
        return any(map(_compares, expr.args))
    return len(ex.variables(expr)) > 1


def _negate(expr: Expr) -> Expr:
    return expr.args[0] if isinstance(expr, ex.Call) and expr.op == "not" else ex.Call("not", (expr,), expr.span)


def _merge_alternatives(alternatives: Iterable[list[Expr]]) -> list[list[Expr]]:
    """x.a = 1 OR y.b = 2 OR x.a = 3 needs two copies of the formula, not three: single tests on one variable join."""
    single: dict[frozenset[str], list[Expr]] = {}
    result: list[list[Expr]] = []
    for tests in alternatives:
        names = ex.variables(tests[0])
        if len(tests) > 1 or len(names) != 1:
            result.append(tests)
        elif names in single:
            whole = ex.Call("or", (*ex.operands("or", single[names][0]), *ex.operands("or", tests[0])), tests[0].span)
            single[names][0] = whole
        else:
            single[names] = tests
            result.append(tests)
    return result


# make safe ----------------------------------------------------------------------------------------------------------


def make_safe(formula: Formula) -> Formula:
    """Theorem 1 (appendix B.1), bottom-up: where the parts of a sequence share a variable, choose one branch of every
    OR that defines it and drop the choices that still bind it twice, since no event is at two positions."""
    formula = simplify(n.rebuild(formula, make_safe))
    if not isinstance(formula, n.Sequence | n.And):
        return formula
    count = Counter(name for part in formula.parts for name in n.vdef_plus(part))
    shared = frozenset(name for name, times in count.items() if times > 1)
    if not shared:
        return formula
    kept: list[tuple[tuple[Formula, ...], frozenset[str]]] = [((), frozenset())]
    for part in formula.parts:
        choices = [(choice, n.vdef_plus(choice) & shared) for choice in expand_alternatives(part, shared)]
        kept = [
            ((*parts, choice), names | new) for parts, names in kept for choice, new in choices if names.isdisjoint(new)
        ]
        check_node_limit(len(kept) * len(formula.parts))
    check_node_limit(sum(count_nodes(part) for parts, _ in kept for part in parts))
    return simplify(n.Or(tuple(replace(formula, parts=parts) for parts, _ in kept), formula.span))


def expand_alternatives(formula: Formula, shared: frozenset[str]) -> list[Formula]:
    """The formula as alternatives, each of which binds every shared variable that it defines outside a +."""
    if n.vdef_plus(formula).isdisjoint(shared):
        return [formula]
    if isinstance(formula, n.Or):
        groups: dict[frozenset[str], list[Formula]] = {}
        for part in formula.parts:
            for choice in expand_alternatives(part, shared):
                groups.setdefault(n.vdef_plus(choice) & shared, []).append(choice)
        return [parts[0] if len(parts) == 1 else n.Or(tuple(parts), formula.span) for parts in groups.values()]
    below = [expand_alternatives(child, shared) for child in n.children(formula)]
    count = 1
    for choices in below:
        count *= len(choices)
        check_node_limit(count)
    if isinstance(formula, n.Optional):
        return [*below[0], n.Empty(formula.span)]
    if isinstance(formula, n.Filter | n.Guarded | n.Quiet):
        return [replace(formula, body=choice) for choice in below[0]]
    if isinstance(formula, n.Sequence | n.And):
        return [replace(formula, parts=picked) for picked in product(*below)]
    return [formula]


def simplify(formula: Formula) -> Formula:
    """Remove Never directly below this node, and repeated branches of an OR."""
    if isinstance(formula, n.Or):
        parts = tuple(dict.fromkeys(part for part in formula.parts if not isinstance(part, n.Never)))
        return replace(formula, parts=parts) if len(parts) > 1 else parts[0] if parts else n.Never(formula.span)
    if isinstance(formula, n.Optional) and isinstance(formula.body, n.Never | n.Empty):
        return n.Empty(formula.span)
    if any(isinstance(child, n.Never) for child in n.children(formula)):
        return n.Never(formula.span)
    return formula

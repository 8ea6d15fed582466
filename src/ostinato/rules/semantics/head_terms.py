"""Σ(h): the data terms that a rule head makes of a set of substitutions (CERA paper, section 4.2; Xcerpt)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeVar

from ostinato.core.expression_interpreter import evaluate_expression
from ostinato.core.expressions import Expr, Variable, to_text, variables, walk
from ostinato.errors import DataError
from ostinato.rules.semantics.simulation import Substitution
from ostinato.rules.syntax import nodes as n
from ostinato.rules.syntax.variables import bound_variables
from ostinato.rules.terms.data import Child, DataTerm, is_absent, sort_key, to_json
from ostinato.rules.terms.event import IntervalEvent

T = TypeVar("T")


@dataclass(frozen=True)
class TracedSubstitution:
    """One σ of Σ_τ, with the event that each `while … collect` of the rule matched for it."""

    sigma: Substitution
    collected: tuple[IntervalEvent, ...] = ()


def construct_term(rule: n.NormalRule, group: Sequence[TracedSubstitution]) -> DataTerm:
    """The term of one group: all answers under one binding of the variables outside `all` (explicit grouping)."""
    return DataTerm(rule.head.label, tuple(child for part in rule.head.children for child in _built(part, group, rule)))


def evaluate_group(term: n.Combined, group: Sequence[TracedSubstitution], rule: n.NormalRule) -> Any:
    """The value of an expression over aggregates of the group."""
    made = {name: _aggregate(each, group, rule) for name, each in term.by_variable.items()}
    known = {name: value for name, value in made.items() if value is not None}
    return evaluate_value(term.expr, {**group[0].sigma, **known})


def evaluate_value(expr: Expr, sigma: Substitution) -> Any:
    """The value of an expression; a variable without a binding is NULL, and so are NaN and what needs over 64 bits."""
    bindings: dict[str, Any] = {name: sigma.get(name) for name in variables(expr)}
    try:
        found = evaluate_expression(expr, bindings, null_beyond_64_bits)
    except TypeError as error:
        raise DataError(f"`{to_text(expr)}` does not fit {bindings}: {error}") from error
    return None if is_absent(found) else found


def null_beyond_64_bits(found: Any) -> Any:
    return None if isinstance(found, int) and not -(2**63) <= found < 2**63 else found


def free_variables(term: n.ConstructTerm | n.Condition) -> tuple[str, ...]:
    """The variables of a construct term or a condition outside `all` and aggregates, in the order of the text."""
    if isinstance(term, n.Value | n.Data):
        return tuple(dict.fromkeys(node.name for node in walk(term.expr) if isinstance(node, Variable)))
    if isinstance(term, n.Make | n.Formula):
        parts = term.children if isinstance(term, n.Make) else term.parts
        return tuple(dict.fromkeys(name for part in parts for name in free_variables(part)))
    if isinstance(term, n.Combined):
        return tuple(name for name in free_variables(n.Value(term.expr)) if name not in term.by_variable)
    return ()


def _built(term: n.ConstructTerm, group: Sequence[TracedSubstitution], rule: n.NormalRule) -> list[Child]:
    """What the term adds to the children of its parent: nothing, where all of its content is unbound."""
    if isinstance(term, n.Make):
        children = tuple(child for part in term.children for child in _built(part, group, rule))
        return [DataTerm(term.label, children)] if children or not term.children else []
    if isinstance(term, n.All):
        return [child for each in _instances(term, group) for child in _built(term.term, each, rule)]
    if isinstance(term, n.Aggregate):
        found = _aggregate(term, group, rule)
    elif isinstance(term, n.Combined):
        found = evaluate_group(term, group, rule)
    else:
        found = evaluate_value(term.expr, group[0].sigma)
    return [] if found is None else [found]


def groups_of(answers: Iterable[TracedSubstitution], names: Sequence[str]) -> list[list[TracedSubstitution]]:
    """The answers that agree on these variables, together."""
    groups: dict[tuple[str | None, ...], list[TracedSubstitution]] = {}
    for answer in answers:
        groups.setdefault(_binding(answer, names), []).append(answer)
    return list(groups.values())


def _binding(answer: TracedSubstitution, names: Iterable[str]) -> tuple[str | None, ...]:
    return tuple(to_json(answer.sigma[name]) if name in answer.sigma else None for name in names)


# all ------------------------------------------------------------------------------------------------------------------


def _instances(term: n.All, group: Sequence[TracedSubstitution]) -> list[list[TracedSubstitution]]:
    """One instance for each binding: by `order by`, then by the values of its own variables."""
    own = tuple(dict.fromkeys((*free_variables(term.term), *term.group_by)))

    def ranked(order: n.Order) -> Callable[[list[TracedSubstitution]], Child | None]:
        """The first of the values that the instance has under the order."""

        def get(instance: list[TracedSubstitution]) -> Child | None:
            bound = [answer.sigma.get(order.name) for answer in instance]
            return _ordered(bound, [(lambda child: child, order.descending)])[0]

        return get

    keys = [(ranked(order), order.descending) for order in (*term.order_by, *map(n.Order, own))]
    return _ordered(groups_of(group, own), keys)


def _ordered(items: Sequence[T], keys: Sequence[tuple[Callable[[T], Child | None], bool]]) -> list[T]:
    """Sorted by each key, ascending or descending; NULL is last in both."""
    result = list(items)
    for get, descending in reversed(keys):
        result.sort(key=lambda item: sort_key(get(item)), reverse=descending)
        result.sort(key=lambda item: get(item) is None)
    return result


# Aggregates -----------------------------------------------------------------------------------------------------------


def _aggregate(term: n.Aggregate, group: Sequence[TracedSubstitution], rule: n.NormalRule) -> Any:
    """Over the different bindings of the argument's variables (`all`), where `collect event w` lets each event count on
    its own; over all ways in which the events that bind them match (`each`); or over different values (`distinct`)."""
    names, collects = sorted(variables(term.expr)), rule.collects
    sources = [index for index, collect in enumerate(collects) if not names or _binds(collect, names)]
    counted = sources if term.over == "each" else [index for index in sources if collects[index].ident is not None]
    if term.over == "each":
        bound = [set(bound_variables(query)) for query in rule.events]
        bound = [each for each in bound if not names or each & set(names)]
        bound += [set(bound_variables(collects[index])) for index in sources]
        own = sorted(set(names).union(*bound))
    else:
        own = names

    def times(answer: TracedSubstitution) -> list[tuple[int, int]]:
        return [(answer.collected[index].end, answer.collected[index].begin) for index in sources]

    if term.name in ("first", "last"):
        by_value = sorted(group, key=lambda answer: sort_key(evaluate_value(term.expr, answer.sigma)))
        if term.order_by:
            ranked = _ordered(by_value, [(_bound(order.name), order.descending) for order in term.order_by])
        else:
            ranked = sorted(by_value, key=times)
        values = list(_values(term.expr, ranked))
        return values[0 if term.name == "first" else -1] if values else None
    distinct = {
        (_binding(answer, own), tuple(answer.collected[index] for index in counted)): answer for answer in group
    }
    values = list(_values(term.expr, distinct.values()))
    if term.over == "distinct":
        values = list({to_json(value): value for value in values}.values())
    return _AGGREGATES[term.name](values)


def _binds(collect: n.While, names: Iterable[str]) -> bool:
    times = [] if collect.ident is None else [n.time_variable(side, collect.ident) for side in ("begin", "end")]
    return not set(names).isdisjoint([*bound_variables(collect), *times])


def _bound(name: str) -> Callable[[TracedSubstitution], Child | None]:
    return lambda answer: answer.sigma.get(name)


def _values(expr: Expr, answers: Iterable[TracedSubstitution]) -> Iterator[Any]:
    found = (evaluate_value(expr, answer.sigma) for answer in answers)
    return (each for each in found if each is not None)


def _deviation(values: Sequence[Any]) -> float | None:
    """Of a sample; NULL where a number is so large that its square might be beyond all floats."""
    _exact_sum(values)
    if len(values) < 2 or any(abs(value) >= 1e150 for value in values):
        return None
    exact = [Fraction(value) for value in values]
    mean = sum(exact) / len(exact)
    return math.sqrt(sum((each - mean) ** 2 for each in exact) / (len(exact) - 1))


def _median(values: Sequence[Any]) -> float | None:
    """Halfway between the two in the middle, which may be one."""
    _exact_sum(values)
    ordered = sorted(map(float, values))
    return ordered[(len(ordered) - 1) // 2] / 2 + ordered[len(ordered) // 2] / 2 if ordered else None


def _sum(values: Sequence[Any]) -> Any:
    return null_beyond_64_bits(_exact_sum(values)) if values else None


def _exact_sum(values: Sequence[Any]) -> Any:
    for each in values:
        if isinstance(each, bool) or not isinstance(each, int | float | Decimal):
            raise DataError(f"sum, avg, stddev and median need numbers, not {each!r}")
    if any(isinstance(each, float) for each in values):
        return math.fsum(map(float, values))
    return sum(values)


_AGGREGATES: dict[str, Callable[[Sequence[Any]], Any]] = {
    "count": len,
    "sum": _sum,
    "avg": lambda values: float(_exact_sum(values)) / len(values) if values else None,
    "stddev": _deviation,
    "median": _median,
    "min": lambda values: min(values, key=sort_key, default=None),
    "max": lambda values: max(values, key=sort_key, default=None),
}

"""Whether comparisons, IS NULL and other tests can have the given outcomes together.

Terms are attributes, constants and calls; each is NULL, or a value without a place in the order (NaN), or an ordered
value. Equality and order between ordered values is a graph: a cycle with a strict edge is a contradiction.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any

from ostinato.core.expression_interpreter import evaluate_expression, to_instant, written_decimal
from ostinato.core.expressions import ARITHMETIC, NUMERIC_FUNCTIONS, Call, Duration, Expr, Literal
from ostinato.errors import DataError
from ostinato.patterns.theory.order_constraints import OrderConstraints

TRUE, FALSE, NULL = 1, 2, 4  # outcomes of a test; a set of them is their sum

_RELATIONS = ("=", "<", "<=")
# May have a value although an argument is NULL.
_NOT_STRICT = ("and", "or", "in", "is_null", "is_true", "coalesce", "case")
_EXACT = 2**53  # up to here an integer is the same number as int, float and Decimal


@dataclass(eq=False, slots=True)
class KnownTerm:
    """An expression, and whether it is known to be NULL, not NULL, or an ordered value."""

    expr: Expr
    op: str
    args: tuple[KnownTerm, ...]
    null: bool = False
    present: bool = False
    ordered: bool = False


Edge = tuple[KnownTerm, KnownTerm, bool]


def is_consistent(facts: Mapping[Expr, int]) -> bool:
    """False only if no values can give every atom one of its outcomes. Comparisons are given as =, < and <= alone."""
    terms: dict[Expr, KnownTerm] = {}
    outcomes = {_term(atom, terms): possible for atom, possible in facts.items()}
    if not _settle(outcomes, terms.values()):
        return False
    edges, unequal = _relations(outcomes)
    evaluated: dict[KnownTerm, Literal] = {}
    while True:
        order = OrderConstraints([*edges, *_fixed_edges(edges, unequal)])
        if order.contradicts_itself() or any(len(_kinds(part)) > 1 for part in order.parts()):
            return False
        if any(left.ordered if left is right else order.equal(left, right) for left, right in unequal):
            return False  # (only NaN differs from itself)
        new = _evaluate(terms.values(), order, evaluated)
        if any(not outcomes[test] & outcome_bit(result.value) for test, result in new.items() if test in outcomes):
            return False
        results = [(term, _term(result, terms)) for term, result in new.items() if sort_place(result.value)]
        if not results:
            return True
        evaluated |= new
        edges += [edge for left, right in results for edge in ((left, right, False), (right, left, False))]


def _term(expr: Expr, terms: dict[Expr, KnownTerm]) -> KnownTerm:
    """The term of an expression, after the terms of its arguments."""
    if (known := terms.get(expr)) is not None:
        return known
    args = tuple(_term(arg, terms) for arg in expr.args) if isinstance(expr, Call) else ()
    term = terms[expr] = KnownTerm(expr, expr.op if isinstance(expr, Call) else "", args)
    if isinstance(expr, Literal):
        term.null = expr.value is None
        term.present = not term.null
        term.ordered = sort_place(expr.value) is not None
    return term


# NULL and NaN ---------------------------------------------------------------------------------------------------------


def _settle(outcomes: dict[KnownTerm, int], terms: Iterable[KnownTerm]) -> bool:
    """Draw conclusions until none is new; False on a contradiction."""
    size = -1
    while size != (size := sum(term.null + term.present + term.ordered for term in terms)):
        for atom, possible in outcomes.items():
            outcomes[atom] = _conclude(atom, possible)
        for term in terms:
            _pass_through(term)
        if any(term.null and term.present for term in terms) or not all(outcomes.values()):
            return False
    return not any(
        isinstance(term.expr, Literal) and term.ordered and sort_place(term.expr.value) is None for term in terms
    )


def _conclude(atom: KnownTerm, possible: int) -> int:
    """The outcomes that are left, and what they say about the terms."""
    if atom.op == "is_null":
        atom.args[0].null |= possible == TRUE
        atom.args[0].present |= possible == FALSE
        return possible
    if atom.null:
        possible &= NULL
    if atom.present or (atom.op in _RELATIONS and all(arg.present for arg in atom.args)):
        possible &= TRUE | FALSE
    atom.present |= not possible & NULL
    atom.null |= possible == NULL
    if (possible == TRUE and atom.op in _RELATIONS) or (atom.op in ("like", "rlike") and not possible & NULL):
        for arg in atom.args:
            arg.ordered = True
    return possible


def _pass_through(call: KnownTerm) -> None:
    """A strict call has a value only if its arguments do; arithmetic makes nothing ordered out of NaN."""
    if not call.args or call.op in _NOT_STRICT:
        return
    for arg in call.args:
        arg.present |= call.present
        arg.ordered |= call.ordered and call.op in (*ARITHMETIC, *NUMERIC_FUNCTIONS)
    base, _ = _offset(call)
    if base is not call and base.ordered:
        call.ordered = call.present = True


# Equality and order ---------------------------------------------------------------------------------------------------


def _relations(outcomes: Mapping[KnownTerm, int]) -> tuple[list[Edge], list[tuple[KnownTerm, KnownTerm]]]:
    """The order between terms, and pairs known to differ."""
    edges: list[Edge] = []
    unequal = []
    for atom, possible in outcomes.items():
        if atom.op not in _RELATIONS or possible not in (TRUE, FALSE):
            continue
        left, right = atom.args
        if atom.op == "=" and possible == TRUE:
            edges += ((left, right, False), (right, left, False))
        elif atom.op == "=":
            unequal.append((left, right))
        elif possible == TRUE:
            edges.append((left, right, atom.op == "<"))
        elif left.ordered and right.ordered:  # else it may fail because one is NaN
            edges.append((right, left, atom.op == "<="))
    return edges, unequal


def _fixed_edges(edges: list[Edge], unequal: list[tuple[KnownTerm, KnownTerm]]) -> Iterator[Edge]:
    """The order between constants, and between `t`, `t + 1`, `t + 2`, whatever t is.

    Rounding keeps `t + 1 <= t + 2`, but not `<`.
    """
    terms = dict.fromkeys([term for edge in edges for term in edge[:2]] + [term for pair in unequal for term in pair])
    places = {term: spot for term in terms if isinstance(term.expr, Literal) if (spot := sort_place(term.expr.value))}
    for left, right in pairwise(sorted(places, key=places.__getitem__)):
        if places[left][0] == places[right][0]:
            strict = places[left] != places[right]
            yield left, right, strict
            if not strict:
                yield right, left, False
    by_base: dict[KnownTerm, list[tuple[Decimal, KnownTerm]]] = {}
    for term in terms:
        base, shift = _offset(term)
        by_base.setdefault(base, []).append((shift, term))
    for shifted in by_base.values():
        for (_, lower), (_, upper) in pairwise(sorted(shifted, key=lambda item: item[0])):
            yield lower, upper, False


def _offset(term: KnownTerm) -> tuple[KnownTerm, Decimal]:
    """`t + 5` as t and 5; any other term as itself and 0."""
    if term.op in ("+", "-") and len(term.args) == 2:
        base, shift = term.args[::-1] if term.op == "+" and isinstance(term.args[0].expr, Literal) else term.args
        spot = sort_place(shift.expr.value) if isinstance(shift.expr, Literal) else None
        if spot and spot[0] == "number" and spot[1].is_finite():
            return base, spot[1] if term.op == "+" else -spot[1]
    return term, Decimal(0)


def _kinds(part: Iterable[KnownTerm]) -> set[str]:
    return {spot[0] for term in part if isinstance(term.expr, Literal) if (spot := sort_place(term.expr.value))}


def _evaluate(
    terms: Iterable[KnownTerm], order: OrderConstraints[KnownTerm], before: Mapping[KnownTerm, Literal]
) -> dict[KnownTerm, Literal]:
    """Evaluate calls of texts and integers that have no value yet; other numbers round by how they are stored."""
    if not any(_is_evaluable(term) for term in terms):
        return {}
    constants = [term for term in terms if isinstance(term.expr, Literal) and _is_exact(term.expr.value)]
    values: dict[KnownTerm, Expr] = {}
    new: dict[KnownTerm, Literal] = {}
    for term in terms:  # arguments come before their calls
        if term in before:
            values[term] = before[term]
        elif _is_evaluable(term) and all(arg in values for arg in term.args):
            try:
                new[term] = Literal(evaluate_expression(Call(term.op, tuple(values[arg] for arg in term.args)), {}))
            except (TypeError, ValueError, ArithmeticError, DataError):
                continue
            values[term] = new[term]
        else:
            values.update((term, other.expr) for other in constants if other is term or order.equal(other, term))
    return new


def _is_evaluable(term: KnownTerm) -> bool:
    return bool(term.args) and term.op not in (*_RELATIONS, *_NOT_STRICT)


def _is_exact(constant: Any) -> bool:
    return isinstance(constant, str) or (isinstance(constant, int) and abs(constant) <= _EXACT)


# Values ---------------------------------------------------------------------------------------------------------------


def outcome_bit(result: Any) -> int:
    return TRUE if result is True else NULL if result is None else FALSE


def sort_place(constant: Any) -> tuple[str, Any] | None:
    """The kind of a constant and what to sort it by; None where it has no place in an order."""
    if constant is None or (isinstance(constant, float | Decimal) and math.isnan(constant)):
        return None
    if isinstance(constant, str):
        return "text", constant
    if isinstance(constant, date):
        return "time", to_instant(constant)
    if isinstance(constant, Duration):  # what it is compared with may be a number of seconds
        return "number", Decimal(constant.nanoseconds).scaleb(-9)
    if isinstance(constant, timedelta):
        return "number", Decimal(constant // timedelta(microseconds=1)).scaleb(-6)
    return "number", written_decimal(constant) if isinstance(constant, float) else Decimal(constant)

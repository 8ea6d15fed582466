"""Conditions inside a loop that look back on its rounds so far: `(A AS x FILTER x.v > prev(x.v))+`.

`prev(x.v)` and aggregates of x become attributes of one more variable, that of the earlier events x. It is known
throughout a round, as a variable from outside the loop is; in the first round it has nothing to show.

In a condition after the loop, `avg(x.v)` is of all its rounds: an attribute of a variable that the loop binds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from ostinato.core import expressions as ex
from ostinato.core.expression_interpreter import evaluate_expression
from ostinato.core.expressions import Earlier, Expr
from ostinato.patterns.syntax import nodes as n
from ostinato.patterns.syntax.nodes import Formula

_NULL = ex.Literal(None)
_KNOW_NULL = ("and", "or", "in", "is_null", "is_true", "coalesce", ex.CASE)
_FOLDED = (*ex.COMPARISONS, *ex.ARITHMETIC, *ex.LOGIC, "is_null", "is_true")


def name_earlier(formula: Formula) -> Formula:
    """The formula with all such calls named."""
    return _name_rounds(name_whole(formula), frozenset())


def _name_rounds(formula: Formula, loops: frozenset[str]) -> Formula:
    """Those that look back from inside a loop. `loops` are the variables of the loops around the formula."""

    def change(predicate: Expr) -> Expr:
        return _named(predicate, lambda name: n.earlier_name(name) if name in loops else None)

    inside = loops | n.vdef_plus(formula.body) if isinstance(formula, n.Repeat) else loops
    return n.map_predicates(formula, change, lambda child: _name_rounds(child, inside))


def name_whole(formula: Formula) -> Formula:
    """The formula with those named that stand after a loop; the loop keeps what they ask for."""
    repeated, asked = n.repeated_variables(formula), set[str]()

    def whole(name: str, loops: frozenset[str]) -> str | None:
        if name not in repeated or name in loops:
            return None
        asked.add(name)
        return n.whole_name(name)

    def visit(part: Formula, loops: frozenset[str]) -> Formula:
        inside = loops | n.vdef_plus(part.body) if isinstance(part, n.Repeat) else loops
        return n.map_predicates(
            part,
            lambda predicate: _named(predicate, lambda name: whole(name, loops)),
            lambda child: visit(child, inside),
        )

    def keep(part: Formula) -> Formula:
        built = n.rebuild(part, keep)
        return replace(built, kept=n.vdef_plus(built.body) & asked) if isinstance(built, n.Repeat) else built

    named = visit(formula, frozenset())
    return keep(named) if asked else named


def _named(predicate: Expr, owner: Callable[[str], str | None]) -> Expr:
    """The condition with its aggregates as attributes of another variable, if there is one for theirs."""

    def named(node: Expr) -> Expr:
        if not isinstance(node, ex.Call) or node.op not in ex.AGGREGATES:
            return node
        own = ex.variables(node)
        variable = owner(min(own)) if len(own) == 1 else None
        return node if variable is None else Earlier(variable, ex.to_text(node), node.span, node.op, node.args[0])

    return ex.transform(predicate, named)


def first_round(formula: Formula, names: frozenset[str]) -> Formula:
    """The body of a loop as it is in its first round, where the variables `names` of earlier events have no event."""

    def change(predicate: Expr) -> Expr:
        return without_earlier(predicate, names)

    if isinstance(formula, n.Repeat):
        inner = names - n.loop_variables(formula)
        return n.map_predicates(formula, change, lambda child: first_round(child, inner))
    built = n.map_predicates(formula, change, lambda child: first_round(child, names))
    if isinstance(built, n.Filter) and built.predicate in (ex.TRUE, ex.FALSE):
        return built.body if built.predicate == ex.TRUE else n.Never(built.span)
    return built


def without_earlier(predicate: Expr, names: frozenset[str]) -> Expr:
    """The condition where there were no such events: counts are 0, all else is NULL. TRUE and FALSE stand alone."""

    def unset(node: Expr) -> Expr:
        if isinstance(node, Earlier) and node.variable in names:
            return ex.Literal(0 if node.op == "count" else None, node.span)
        return _fold(node)

    if not any(isinstance(node, Earlier) and node.variable in names for node in ex.walk(predicate)):
        return predicate
    return _passing(ex.transform(predicate, unset))


def _fold(node: Expr) -> Expr:
    """The value of a call, where literals decide it."""
    if not isinstance(node, ex.Call):
        return node
    if _NULL in node.args and node.op not in _KNOW_NULL:
        return _NULL
    if node.op == "coalesce":
        args = tuple(arg for arg in node.args if arg != _NULL)
        return replace(node, args=args) if len(args) > 1 else args[0] if args else _NULL
    decisive = {"and": ex.FALSE, "or": ex.TRUE}.get(node.op, _NULL)
    if node.op in ("and", "or") and decisive in node.args:
        return decisive
    if node.op in _FOLDED and all(isinstance(arg, ex.Literal) for arg in node.args):
        value = evaluate_expression(node, {})
        return ex.Literal(value, node.span)
    return node


def _passing(predicate: Expr) -> Expr:
    """A condition that passes where this one does, which NULL does not."""
    if predicate == _NULL:
        return ex.FALSE
    if not isinstance(predicate, ex.Call) or predicate.op not in ("and", "or"):
        return predicate
    neutral = ex.TRUE if predicate.op == "and" else ex.FALSE
    parts = [part for part in map(_passing, predicate.args) if part != neutral]
    if predicate.op == "and" and ex.FALSE in parts:
        return ex.FALSE
    if len(parts) < 2:
        return parts[0] if parts else neutral
    return replace(predicate, args=tuple(parts))


def earlier_names(repeat: n.Repeat) -> frozenset[str]:
    """The variables of its own earlier events that the conditions of a loop read."""
    own = frozenset(map(n.earlier_name, n.vdef_plus(repeat.body)))
    return own & (_read_names(repeat.body) | _names_in(_barred(repeat)))


def _read_names(formula: Formula) -> frozenset[str]:
    found = _names_in(_own_predicates(formula)).union(*map(_read_names, n.children(formula)))
    return found - n.loop_variables(formula) if isinstance(formula, n.Repeat) else found


def _names_in(predicates: Iterable[Expr]) -> frozenset[str]:
    nodes = (node for predicate in predicates for node in ex.walk(predicate))
    return frozenset(node.variable for node in nodes if isinstance(node, Earlier))


def _own_predicates(formula: Formula) -> tuple[Expr, ...]:
    if isinstance(formula, n.Filter | n.Absent) and formula.predicate is not None:
        return (formula.predicate,)
    if isinstance(formula, n.Repeat | n.Guarded):
        return _barred(formula)
    return formula.tests if isinstance(formula, n.And) else ()


def _barred(formula: n.Repeat | n.Guarded) -> tuple[Expr, ...]:
    return tuple(absent.predicate for absent in formula.barred if absent.predicate is not None)

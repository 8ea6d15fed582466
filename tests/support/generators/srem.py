"""Random SREM expressions and patterns: several registers, overwritten in loops, and streams in which they matter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from ostinato.core.expressions import COMPARISONS, CURRENT, TRUE, Attribute, Call, Expr, transform
from ostinato.core.window_clause import Window
from ostinato.patterns.syntax.srem import nodes
from ostinato.patterns.syntax.srem.nodes import Expression
from support.generators.cel_predicates import predicate
from support.generators.cel_streams import SECOND, Row

Draw = Callable[[st.SearchStrategy[Any]], Any]

REGISTERS = ("r", "s", "t")


def _pick(draw: Draw, *options: Any) -> Any:
    return options[draw(st.integers(0, len(options) - 1))]


_values = st.tuples(
    st.sampled_from(["A", "B", "A", "B", None]),
    st.sampled_from([1, 0, 2, 1, 0, 3, None]),
    st.sampled_from(["a", "b", "a", None]),
    st.sampled_from([1, 1, 1, 2, None]),
    st.sampled_from([0, 1, 1, 2]),
    st.sampled_from([0, 1, 2]),
)


@st.composite
def alike_streams(draw: Draw, max_size: int = 6) -> list[Row]:
    """Rows as those of `generators.streams`, with few values, so that events often agree with stored ones."""
    rows: list[Row] = []
    ts = n = 0
    for _ in range(max(draw(st.integers(0, max_size)), draw(st.integers(0, max_size)))):
        relation, v, s, k, later, more = draw(_values)
        ts, n = ts + later, n + more
        rows.append({"type": relation, "v": v, "s": s, "k": k, "ts": ts, "n": n, "m": n - 9 * (k or 0)})
    return rows


@st.composite
def expressions(draw: Draw, *, max_depth: int = 3, legal: bool = False) -> Expression:
    """An expression. With `legal`, a register is read only where some way to the test has written it, as in a text."""
    expression = _expression(draw, max_depth)
    return legalised(expression) if legal else expression


def _expression(draw: Draw, depth: int) -> Expression:
    kinds = ("test", "concat", "stored", "concat", "stored", "either", "star", "plus", "optional", "counted", "nothing")
    kind = _pick(draw, *kinds) if depth else _pick(draw, "test", "stored")
    if kind in ("concat", "either"):
        parts = tuple(_expression(draw, depth - 1) for _ in range(_pick(draw, 2, 2, 3)))
        return nodes.Concat(parts) if kind == "concat" else nodes.Either(parts)
    if kind == "stored":  # what is written is read, so that registers make a difference
        register = _pick(draw, *REGISTERS)
        return nodes.Concat(
            (nodes.Test(_pick(draw, TRUE, _test(draw)), (register,)), _expression_reading(draw, register, depth))
        )
    if kind == "optional":
        return nodes.Either((_expression(draw, depth - 1), nodes.EPSILON))
    if kind in ("star", "plus"):
        body = _expression(draw, depth - 1)
        return nodes.Star(body) if kind == "star" else nodes.Plus(body)
    if kind == "counted":
        least, most = _pick(draw, (1, 2), (0, 2), (2, 3), (2, 2), (2, None), (1, 1), (0, None))
        return nodes.Repeat(_expression(draw, depth - 1), least, most)
    return nodes.Test(_test(draw), _writes(draw)) if kind == "test" else nodes.EPSILON


def _expression_reading(draw: Draw, register: str, depth: int) -> Expression:
    reading = nodes.Test(_against(draw, register), _writes(draw))
    if not depth:
        return reading
    return _pick(draw, reading, nodes.Plus(reading), nodes.Concat((_expression(draw, depth - 1), reading)))


def _writes(draw: Draw) -> tuple[str, ...]:
    return _pick(draw, (), ("r",), ("s",), ("r", "s"), ("t",), (), ("r",), REGISTERS)


def _test(draw: Draw) -> Expr:
    kind = _pick(draw, "any", "correlated", "any", "correlated", "unary", "both", "two")
    if kind == "any":
        return TRUE
    if kind == "unary":
        return predicate(draw, CURRENT)
    if kind == "both":
        return Call(_pick(draw, "and", "or"), (_correlation(draw), Call("is_null", (Attribute(CURRENT, "k"),))))
    if kind == "two":
        tests = (_correlation(draw), _correlation(draw))
        return _pick(draw, Call("and", tests), Call("not", (Call("or", tests),)))
    return _correlation(draw)


def _correlation(draw: Draw) -> Expr:
    """The current event against a stored one, or two stored ones against each other."""
    if _pick(draw, True, True, False):
        return _against(draw, _pick(draw, *REGISTERS))
    return Call("!=", (Attribute("s", "v"), Attribute("r", "v")))


def _against(draw: Draw, register: str) -> Expr:
    attribute = _pick(draw, "v", "v", "s", "k", "type")
    operator = _pick(draw, "<=", ">=", "=", *COMPARISONS)
    return Call(operator, (Attribute(CURRENT, attribute), Attribute(register, attribute)))


def legalised(expression: Expression, before: frozenset[str] = frozenset()) -> Expression:
    """The same, where a test looks at the current event instead of a register that is never written before it."""
    if isinstance(expression, nodes.Test):
        return replace(expression, test=transform(expression.test, lambda node: _held(node, before)))
    if isinstance(expression, nodes.Concat):
        parts = []
        for part in expression.parts:
            parts.append(legalised(part, before))
            before |= nodes.written_registers(part)
        return nodes.Concat(tuple(parts))
    if isinstance(expression, nodes.Either):
        return nodes.Either(tuple(legalised(part, before) for part in expression.parts))
    if not (isinstance(expression, nodes.Repeat) and expression.most == 1):  # an earlier round may have written them
        before |= nodes.written_registers(expression)
    return replace(expression, body=legalised(expression.body, before))


def _held(node: Expr, before: frozenset[str]) -> Expr:
    return replace(node, variable=CURRENT) if isinstance(node, Attribute) and node.variable not in before else node


@st.composite
def patterns(draw: Draw, *, max_depth: int = 3) -> nodes.SremPattern:
    """A legal expression with clauses; the time is in `ts`, as in the streams of `generators`."""
    expression = draw(expressions(max_depth=max_depth, legal=True))
    partition_by: tuple[str, ...] = _pick(draw, (), (), ("k",), ("k", "s"))
    kind = _pick(draw, None, None, "events", "time", "attribute")
    amount = _pick(draw, 4, 3, 2, 1, 5)
    if kind is None:
        return nodes.SremPattern(expression, partition_by)
    if kind == "events":
        return nodes.SremPattern(expression, partition_by, Window("events", amount, text=f"{amount} EVENTS"))
    if kind == "time":
        return nodes.SremPattern(expression, partition_by, Window("time", amount * SECOND, text=f"{amount} seconds"))
    # m never goes back among the events of one k, n among all
    attribute = "m" if partition_by else "n"
    return nodes.SremPattern(
        expression, partition_by, Window("attribute", amount, attribute, text=f"{amount} ON {attribute}")
    )

"""Symbolic regular expressions with memory (SREM) as frozen nodes (SRA paper, Definition 3.12).

The paper's ε is a Concat of no parts, written `()`; its ∅ is the test `[FALSE]`. `e?` is short for `e | ()`. A test may
write several registers at once, where the paper's writes one: Lemma 5.5 says that this adds nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import cast

from ostinato.core import expressions as expr
from ostinato.core.expressions import CURRENT, FALSE, NOWHERE, TRUE, Expr, quote_name, variables
from ostinato.core.window_clause import Window
from ostinato.errors import Span


class _Tree:
    """Base of all expressions: text, and a hash that is computed once and never leaves the process."""

    def __hash__(self) -> int:
        known: int | None = self.__dict__.get("_hash")
        if known is None:
            parts = (value for name, value in self.__dict__.items() if name != "span")
            known = self.__dict__["_hash"] = hash((type(self), *parts))
        return known

    def __str__(self) -> str:
        return to_text(cast(Expression, self))

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in self.__dict__.items() if name != "_hash"}


@dataclass(frozen=True)
class Test(_Tree):
    """`[test] -> writes`: one event that passes the test; the written registers hold it from then on."""

    __test__ = False  # pytest would collect it by its name

    test: Expr = TRUE
    writes: tuple[str, ...] = ()  # sorted
    span: Span = field(default=NOWHERE, compare=False)
    __hash__ = _Tree.__hash__

    @property
    def reads(self) -> frozenset[str]:
        return variables(self.test) - {CURRENT}


@dataclass(frozen=True)
class Concat(_Tree):
    """`e1 . e2 . …`; without parts, the empty string."""

    parts: tuple[Expression, ...] = ()
    span: Span = field(default=NOWHERE, compare=False)
    __hash__ = _Tree.__hash__


@dataclass(frozen=True)
class Either(_Tree):
    """`e1 | e2 | …`, at least two parts."""

    parts: tuple[Expression, ...]
    span: Span = field(default=NOWHERE, compare=False)
    __hash__ = _Tree.__hash__


@dataclass(frozen=True)
class Star(_Tree):
    """`e*`: any number of times, none included. What one round wrote, the next may read."""

    body: Expression
    span: Span = field(default=NOWHERE, compare=False)
    __hash__ = _Tree.__hash__


@dataclass(frozen=True)
class Plus(_Tree):
    """`e+`: `e . e*`, in one node so that nested ones do not double."""

    body: Expression
    span: Span = field(default=NOWHERE, compare=False)
    __hash__ = _Tree.__hash__


@dataclass(frozen=True)
class Repeat(_Tree):
    """`e{least,most}`: `e . e . …`, from `least` to `most` times, without a bound where that is None."""

    body: Expression
    least: int
    most: int | None
    span: Span = field(default=NOWHERE, compare=False)
    __hash__ = _Tree.__hash__


Expression = Test | Concat | Either | Star | Plus | Repeat

EPSILON = Concat()  # ε: the empty string alone
EMPTY = Test(FALSE)  # ∅: no string


@dataclass(frozen=True)
class SremPattern:
    """A whole SREM query: the expression and its clauses."""

    expression: Expression
    partition_by: tuple[str, ...] = ()
    window: Window | None = None
    text: str = field(default="", compare=False)


def children(expression: Expression) -> tuple[Expression, ...]:
    if isinstance(expression, Concat | Either):
        return expression.parts
    return () if isinstance(expression, Test) else (expression.body,)


def tests(expression: Expression) -> Iterator[Test]:
    """Every test of the expression, in the order of its text."""
    if isinstance(expression, Test):
        yield expression
    for child in children(expression):
        yield from tests(child)


def written_registers(expression: Expression) -> frozenset[str]:
    """The registers that it writes somewhere."""
    return frozenset(register for test in tests(expression) for register in test.writes)


# Binding strength, loosest first; a part is bracketed where it does not bind tighter than what it stands in.
_EITHER, _CONCAT, _REPEAT = 1, 2, 3


def to_text(expression: Expression) -> str:
    """SREM text that parses back to an equal expression."""
    return _text(expression, 0)


def _text(expression: Expression, outer: int) -> str:
    if isinstance(expression, Test):
        test = "true" if expression.test == TRUE else f"[{expr.to_text(expression.test)}]"
        if not expression.writes:
            return test
        return f"{test} -> {', '.join(map(quote_name, expression.writes))}"
    if expression == EPSILON:
        return "()"
    if isinstance(expression, Concat):
        strength, body = _CONCAT, " . ".join(_text(part, _CONCAT) for part in expression.parts)
    elif isinstance(expression, Either) and len(expression.parts) == 2 and expression.parts[1] == EPSILON:
        return f"{_repeat_text(expression.parts[0])}?"
    elif isinstance(expression, Either):
        strength, body = _EITHER, " | ".join(_text(part, _EITHER) for part in expression.parts)
    else:
        return f"{_repeat_text(expression.body)}{_sign(expression)}"
    return body if strength > outer else f"({body})"


def _sign(loop: Star | Plus | Repeat) -> str:
    if isinstance(loop, Star | Plus):
        return "*" if isinstance(loop, Star) else "+"
    if loop.least == loop.most:
        return f"{{{loop.least}}}"
    return f"{{{loop.least},}}" if loop.most is None else f"{{{loop.least or ''},{loop.most}}}"


def _repeat_text(body: Expression) -> str:
    """What stands before `*`, `+`, `?` or `{n,m}`. `[a] -> r*` would be the same, but is easily misread."""
    text = _text(body, _REPEAT)
    return f"({text})" if isinstance(body, Test) and body.writes else text

"""CEL: query text to `plan.nodes.Query`.

The grammar is cel.lark with shared.lark, the nodes are made in cel_build.py, what to say about bad syntax is in
cel_errors.py.
lark is imported on first use only, so that importing the package stays quick.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from ostinato.errors import QueryError, Span, did_you_mean
from ostinato.lang.expr import AGGREGATES, Attribute, Call, Expr, Variable, to_text
from ostinato.plan.nodes import Query

if TYPE_CHECKING:
    from lark import Lark, Token, Tree

MAX_DEPTH = 100  # levels of brackets, and of operators inside operators
LARGEST = 2**63 - 1
ANSWER_COLUMNS = ("start", "end", "positions")  # of SELECT *; `events` only where it is asked for

# Spelling -> nanoseconds, shortest unit first; the long names also in the plural.
_SIZES = {
    "nanosecond ns": 1,
    "microsecond us": 1_000,
    "millisecond ms": 1_000_000,
    "second sec s": 1_000_000_000,
    "minute min": 60_000_000_000,
    "hour hr h": 3_600_000_000_000,
    "day d": 86_400_000_000_000,
    "week w": 604_800_000_000_000,
}
UNITS = {
    spelling: size
    for names, size in _SIZES.items()
    for name in names.split()
    for spelling in ((name, name + "s") if len(name) > 2 or name == "hr" else (name,))
}


def parse(text: str) -> Query:
    """The query that `text` states. Raises QueryError with the place, the reason and a likely fix."""
    from lark.exceptions import UnexpectedInput

    from ostinato.lang.cel_build import Builder
    from ostinato.lang.cel_errors import explain

    try:
        tree = grammar("cel.lark", "query").parse(text)
        _name_bare_events(tree)
        query: Query = Builder(text).build(tree)
        return query
    except UnexpectedInput as error:
        raise explain(text, error) from None
    except QueryError as error:
        raise error.within(text) from None


def parse_duration(text: str) -> int:
    """Nanoseconds of `30 seconds`, in the units of WITHIN."""
    parts = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([^\W\d]+)\s*", text)
    if parts is None:
        reason = f"`{text}` is not a duration"
        fix = "write a number and a unit, such as 30 seconds"
        raise QueryError(reason, text=text, span=Span(0, len(text)), fix=fix)
    try:
        return nanoseconds(parts[1], parts[2], Span(*parts.span(2)))
    except QueryError as error:
        raise error.within(text) from None


def nanoseconds(number: str, unit: str, span: Span) -> int:
    """A decimal number of a unit; `span` is the unit's place in the text."""
    size = UNITS.get(unit.lower())
    if size is None:
        known = [f"{names.split()[0]}s" for names in _SIZES]
        if unit.lower() == "events":
            raise QueryError("this is a time, and events are none", span=span, fix="write a unit such as seconds")
        if unit.lower() in ("month", "months", "year", "years", "quarter", "quarters"):
            reason = f"a {unit.lower().removesuffix('s')} has no fixed length"
            raise QueryError(reason, span=span, fix="write so many days or hours: 30 days")
        raise QueryError(f"unknown unit `{unit}`", span=span, fix=did_you_mean(unit.lower(), [*known, "events"]))
    if Decimal(number) > Decimal(LARGEST) / size:  # their product may be too large even for a Decimal
        raise QueryError(f"{number} {unit} is longer than 292 years", span=span, fix="give a shorter time")
    return round(Decimal(number) * size)


def item_names(exprs: Sequence[Expr], given: Sequence[str | None] | None = None) -> list[str]:
    """The column of each SELECT item: the given name, or one after its attribute, told apart by its variable."""
    given = given or [None] * len(exprs)
    short = [name or _item_name(expr, with_variable=False) for expr, name in zip(exprs, given, strict=True)]
    count = Counter(short)
    return [
        _item_name(expr, with_variable=True) if name is None and count[default] > 1 else default
        for expr, name, default in zip(exprs, given, short, strict=True)
    ]


def _item_name(expr: Expr, *, with_variable: bool) -> str:
    if isinstance(expr, Variable):
        return expr.name
    if isinstance(expr, Attribute):
        return f"{expr.variable}_{expr.name}" if with_variable else expr.name
    if isinstance(expr, Call) and expr.op in AGGREGATES and isinstance(expr.args[0], Attribute | Variable):
        return f"{expr.op}_{_item_name(expr.args[0], with_variable=with_variable)}"
    return to_text(expr)


@cache
def grammar(file: str, start: str) -> Lark:
    """The parser of a language: the grammar that all share, then its own, which may override rules of it."""
    from lark import Lark

    sources = (files("ostinato.lang").joinpath(name).read_text(encoding="utf-8") for name in ("shared.lark", file))
    return Lark(
        "\n".join(sources),
        start=start,
        parser="lalr",
        lexer="contextual",
        propagate_positions=True,
        maybe_placeholders=True,
        postlex=_BracketLimit(),
    )


class _BracketLimit:
    """Refuses brackets nested too deep before the parser sees them."""

    always_accept = ()

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        depth = 0
        for token in stream:
            depth += {"_LPAR": 1, "_LSQB": 1, "_RPAR": -1, "_RSQB": -1}.get(token.type, 0)
            if depth > MAX_DEPTH:
                raise too_deep(span_of(token))
            yield token


def span_of(token: Token) -> Span:
    start = token.start_pos or 0
    return Span(start, start + len(token))


def too_deep(span: Span) -> QueryError:
    return QueryError(
        f"the query nests more than {MAX_DEPTH} levels deep here",
        span=span,
        fix="remove brackets that are not needed, or split the query into several",
    )


def _name_bare_events(tree: Tree[Any]) -> None:
    """Give `R` without AS the variables #1, #2, … in the order of the text."""
    bare = 0
    for node in tree.iter_subtrees_topdown():  # type: ignore[no-untyped-call]
        if node.data in ("event", "any_event") and node.children[1] is None:
            bare += 1
            node.children[1] = f"#{bare}"

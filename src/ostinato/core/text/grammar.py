"""Parsers of query languages: the shared grammar, spans of tokens, and how deep a text may nest.

lark is imported on first use only, so that importing the package stays quick.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from ostinato.errors import QueryError, Span

if TYPE_CHECKING:
    from lark import Lark, Token

MAX_DEPTH = 100  # levels of brackets, and of operators inside operators


@cache
def load_parser(package: str, start: str) -> Lark:
    """The parser of a language: the shared grammar, then its own, which may override shared rules.

    `package` is where its `grammar.lark` lies.
    """
    from lark import Lark

    sources = (
        files(place).joinpath(file).read_text(encoding="utf-8")
        for place, file in ((__package__, "shared.lark"), (package, "grammar.lark"))
    )
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
                raise nesting_error(token_span(token))
            yield token


def token_span(token: Token) -> Span:
    start = token.start_pos or 0
    return Span(start, start + len(token))


def unquote(text: str) -> str:
    """The text between single or double quotes; a quote inside is doubled."""
    return text[1:-1].replace(text[0] * 2, text[0])


def nesting_error(span: Span) -> QueryError:
    return QueryError(
        f"the query nests more than {MAX_DEPTH} levels deep here",
        span=span,
        fix="remove brackets that are not needed, or split the query into several",
    )

"""Parsers of query languages: the shared grammar, spans of tokens, and how deep a text may nest.

lark is imported on first use only, so that importing the package stays quick. It would take 60 ms of each process to
work out the tables of a grammar: they lie beside it, in a file per rule that texts start with. `make grammars` writes
these files. One that was made for another text of the grammar, or by another lark, or that is damaged is not used.
"""

from __future__ import annotations

import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import cache
from hashlib import blake2b
from pkgutil import get_data
from typing import TYPE_CHECKING, Any

from ostinato.errors import QueryError, Span

if TYPE_CHECKING:
    from lark import Lark, Token

MAX_DEPTH = 100  # levels of brackets, and of operators inside operators


class Words(ABC):
    """Comes between lark's tokens and the parser."""

    always_accept: tuple[str, ...] = ()

    @abstractmethod
    def process(self, stream: Iterator[Token]) -> Iterator[Token]: ...


@cache
def load_parser(package: str, start: str, words: Words | None = None) -> Lark:
    """The parser of a language: the shared grammar, then its own, which may override shared rules.

    `package` is where its `grammar.lark` lies. A language whose `words` are not lark's has all of its grammar there:
    they are made of a single token, the text.
    """
    from lark import Lark, __version__

    try:
        tables = parse_tables(_read(package, tables_name(start)))
    except OSError:
        tables = None
    if tables is None or (tables["grammar"], tables["lark"]) != (_grammar(package, words), __version__):
        return build_parser(package, start, words)
    load: Callable[..., Lark] = Lark._load_from_dict
    return load(tables["data"], tables["memo"], **_options(words))


def build_parser(package: str, start: str, words: Words | None = None) -> Lark:
    """The same, from the grammar alone."""
    from lark import Lark

    lexer = "basic" if words else "contextual"
    options = {"parser": "lalr", "lexer": lexer, "maybe_placeholders": True, **_options(words)}
    return Lark(_grammar(package, words), start=start, **options)


def tables_name(start: str) -> str:
    """The file of the tables for texts that start with a rule."""
    return f"grammar.{start}.tables"


def pack_tables(tables: dict[str, Any]) -> bytes:
    """What their file holds: a digest, then the rest."""
    data = pickle.dumps(tables, protocol=4)
    return _digest(data) + data


def parse_tables(content: bytes) -> dict[str, Any] | None:
    """The tables of a file; None if it is not whole."""
    size = len(_digest(b""))
    data = content[size:]
    return pickle.loads(data) if content[:size] == _digest(data) else None


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=16).digest()


def _grammar(package: str, words: Words | None) -> str:
    places = [] if words else [(__package__, "shared.lark")]
    return "\n".join(_read(*place).decode() for place in (*places, (package, "grammar.lark")))


def _options(words: Words | None) -> dict[str, Any]:
    return {"propagate_positions": True, "postlex": words or _BracketLimit()}


def _read(package: str, file: str) -> bytes:
    content = get_data(package, file)
    assert content is not None
    return content


class _BracketLimit(Words):
    """Refuses brackets nested too deep before the parser sees them."""

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

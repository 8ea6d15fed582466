"""SQL with MATCH_RECOGNIZE: query text to `nodes.Query`.

words.py makes words of the text, places.py finds the clauses in it and what each reads from. Of a clause, tokens.py
makes the terminals of grammar.lark, build.py the nodes, expressions.py those of the expressions; messages.py says what
is wrong. The query around the clauses stays text: it is parsed by the engine that runs it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ostinato.core.text.grammar import Words, load_parser
from ostinato.errors import QueryError
from ostinato.sql.syntax import nodes as n
from ostinato.sql.syntax.places import find_places
from ostinato.sql.syntax.tokens import terminals
from ostinato.sql.syntax.words import Word, words

if TYPE_CHECKING:
    from lark import Token


def parse(text: str) -> n.Query:
    """The query that `text` states. Raises QueryError with the place, the reason and a likely fix."""
    try:
        found = words(text)
        places = find_places(text, found)
        clauses = [
            n.Clause(_clause(text, found[place.keyword : place.close + 1]), place.input, place.whole, place.scopes)
            for place in places
        ]
        return n.Query(text, tuple(clauses))
    except QueryError as error:
        raise error.within(text) from None


def _clause(text: str, found: Sequence[Word]) -> n.MatchRecognize:
    from lark.exceptions import UnexpectedInput

    from ostinato.sql.syntax.build import ClauseBuilder
    from ostinato.sql.syntax.messages import syntax_error

    # Blanks in front keep the places of the whole text.
    padded = " " * found[0].start + text[found[0].start : found[-1].end]
    try:
        tree = load_parser(__package__, "clause", WORDS).parse(padded)
    except UnexpectedInput as error:
        raise syntax_error(text, found, error) from None
    return ClauseBuilder(text, found).build(tree)


class _Words(Words):
    """The terminals of tokens.py as lark's tokens. lark itself reads the text as a single one."""

    always_accept = ("TEXT",)

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        from lark import Token

        for text in stream:
            for kind, word in terminals(str(text), words(text)):
                yield Token(kind, word.text, word.start, end_pos=word.end)


WORDS = _Words()

"""XSeq: query text to `nodes.Query`.

tokens.py tells words apart, grammar.lark is the grammar, build.py makes the nodes of clauses and paths, operands.py
those of values and conditions. messages.py explains bad syntax, plan/check.py what makes no sense. lark is imported on
first use only, so that importing the package stays quick.

The language is Figure 2 of the paper. What the figure leaves open is read as follows:

- Axes are written `name::`, with `_` or `-` (`following-sibling::`), or short: `.` self, `/` child, `//` descendant,
  `@` attribute, `/\\` first child, `\\` immediate following sibling; none is the following sibling. `/@a` is `@a`,
  `//@a` an attribute of any descendant, `/axis::a` is `axis::a`.
- A first step without an axis is `//` in the whole query, and a child in a predicate. An axis before a bracket is that
  of the first step in it; before a definition, `// ($Z: $X $Y $Z)`, that of its first round.
- Strings stand in '…' or "…", with the quote doubled inside; comments in (: … :). Keywords may be in capitals.
- A path among conditions, `[a and not(@b)]`, means that there is one. Which words are names, and when `*`, `-`, `/` and
  `.` are operators, is said in tokens.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from ostinato.core.text.grammar import MAX_DEPTH, Words, load_parser, nesting_error
from ostinato.errors import QueryError
from ostinato.xseq.syntax import nodes as n
from ostinato.xseq.syntax.tokens import Word, words

if TYPE_CHECKING:
    from lark import Token

# Words that say nothing more than that they are there: the grammar leaves terminals with an underscore out of the tree.
_SILENT = frozenset(
    (
        *("RETURN", "FROM", "WHERE", "PARTITION", "BY", "AS", "UNION", "INTERSECT", "AND", "OR"),
        *("COMMA", "COLON", "LPAR", "RPAR", "LSQB", "RSQB"),
    )
)


def parse(text: str) -> n.Query:
    """The query that `text` states, whether or not it makes sense."""
    from lark.exceptions import UnexpectedInput

    from ostinato.xseq.syntax.build import Builder
    from ostinato.xseq.syntax.messages import syntax_error

    try:
        defined = _path_variables(words(text))
        return Builder(defined).build(load_parser(__package__, "query", WORDS).parse(text))
    except UnexpectedInput as error:
        raise syntax_error(text, error) from None
    except QueryError as error:
        raise error.within(text) from None


class _Words(Words):
    """The words of tokens.py as lark's tokens. lark itself reads the text as a single one."""

    always_accept = ("TEXT",)

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        from lark import Token

        depth = 0
        for word in (word for text in stream for word in words(text)):
            depth += {"LPAR": 1, "LSQB": 1, "RPAR": -1, "RSQB": -1}.get(word.type, 0)
            if depth > MAX_DEPTH:
                raise nesting_error(word.span)
            kind = f"_{word.type}" if word.type in _SILENT else word.type
            yield Token(kind, word.text, word.start, end_pos=word.span.end)


WORDS = _Words()


def _path_variables(found: list[Word]) -> frozenset[str]:
    return frozenset(
        word.text[1:] for word, following in pairwise(found) if (word.type, following.type) == ("VARIABLE", "COLON")
    )

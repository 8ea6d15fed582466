"""CEL: query text to `nodes.Query`.

The grammar is `grammar.lark` on top of the shared one; `build.py` makes the nodes, `messages.py` says what is wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ostinato.core.text.grammar import load_parser
from ostinato.errors import QueryError
from ostinato.patterns.syntax.nodes import Query

if TYPE_CHECKING:
    from lark import Tree


def parse(text: str) -> Query:
    """The query that `text` states. Raises QueryError with the place, the reason and a likely fix."""
    from lark.exceptions import UnexpectedInput

    from ostinato.patterns.syntax.cel.build import CelBuilder
    from ostinato.patterns.syntax.cel.messages import syntax_error

    try:
        tree = load_parser(__package__, "query").parse(text)
        _name_bare_events(tree)
        query: Query = CelBuilder(text).build(tree)
        return query
    except UnexpectedInput as error:
        raise syntax_error(text, error) from None
    except QueryError as error:
        raise error.within(text) from None


def _name_bare_events(tree: Tree[Any]) -> None:
    """Give `R` without AS the variables #1, #2, … in the order of the text."""
    bare = 0
    for node in tree.iter_subtrees_topdown():  # type: ignore[no-untyped-call]
        if node.data in ("event", "any_event") and node.children[1] is None:
            bare += 1
            node.children[1] = f"#{bare}"

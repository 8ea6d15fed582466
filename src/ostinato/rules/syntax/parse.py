"""Event rules: from the text of a program to a `Ruleset`.

The grammar is grammar.lark with the shared one of core.text, build.py makes the nodes, and messages.py explains bad
syntax. lark is imported on first use only, so that importing the package stays quick.
"""

from __future__ import annotations

from collections.abc import Mapping

from ostinato.core.text.grammar import load_parser
from ostinato.core.user_functions import UserFunction
from ostinato.errors import QueryError
from ostinato.rules.syntax.nodes import Ruleset


def parse(text: str, functions: Mapping[str, UserFunction] | None = None) -> Ruleset:
    """The rules that `text` states. Raises QueryError with the place, the reason and a likely fix.

    `functions` are those of the user, by name in lower case. What only the rules together show (unbound variables,
    missing windows) is checked in plan.check.
    """
    from lark.exceptions import UnexpectedInput

    from ostinato.rules.syntax.build import Builder
    from ostinato.rules.syntax.messages import syntax_error

    try:
        program: Ruleset = Builder(text, functions).build(load_parser(__package__, "program").parse(text))
        return program
    except UnexpectedInput as error:
        raise syntax_error(text, error) from None
    except QueryError as error:
        raise error.within(text) from None

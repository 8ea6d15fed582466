"""Event rules: program text to `plan.rules.Program`.

The grammar is rules.lark with shared.lark, the nodes are made in rules_build.py, what to say about bad syntax is in
rules_errors.py. lark is imported on first use only, so that importing the package stays quick.
"""

from __future__ import annotations

from ostinato.core.text.grammar import load_parser
from ostinato.errors import QueryError
from ostinato.rules.syntax.nodes import Ruleset


def parse(text: str) -> Ruleset:
    """The rules that `text` states. Raises QueryError with the place, the reason and a likely fix.

    What only the rules together show (unbound variables, windows that are not there) is for plan.rules_check.
    """
    from lark.exceptions import UnexpectedInput

    from ostinato.rules.syntax.build import Builder
    from ostinato.rules.syntax.messages import syntax_error

    try:
        program: Ruleset = Builder(text).build(load_parser(__package__, "program").parse(text))
        return program
    except UnexpectedInput as error:
        raise syntax_error(text, error) from None
    except QueryError as error:
        raise error.within(text) from None

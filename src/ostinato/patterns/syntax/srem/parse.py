"""SREM: pattern text to `nodes.SremPattern`.

The grammar is `grammar.lark` on top of the shared one; `build.py` makes the nodes, `messages.py` says what is wrong.
"""

from __future__ import annotations

from ostinato.core.expressions import attributes
from ostinato.core.text.grammar import load_parser
from ostinato.errors import QueryError, did_you_mean
from ostinato.patterns.syntax.srem import nodes as n
from ostinato.patterns.syntax.srem.nodes import Expression


def parse(text: str) -> n.SremPattern:
    """The pattern that `text` states. Raises QueryError with the place, the reason and a likely fix."""
    from lark.exceptions import UnexpectedInput

    from ostinato.patterns.syntax.srem.build import SremBuilder
    from ostinato.patterns.syntax.srem.messages import syntax_error

    try:
        pattern: n.SremPattern = SremBuilder(text).build(load_parser(__package__, "pattern").parse(text))
        _check_reads(pattern.expression, frozenset())
        return pattern
    except UnexpectedInput as error:
        raise syntax_error(text, error) from None
    except QueryError as error:
        raise error.within(text) from None


def _check_reads(expression: Expression, before: frozenset[str]) -> None:
    """Raise QueryError for a test that reads a register which no path to it writes; `before` were written earlier."""
    if isinstance(expression, n.Test):
        for register in sorted(expression.reads - before):
            raise _never_written(register, expression, before)
    elif isinstance(expression, n.Concat):
        for part in expression.parts:
            _check_reads(part, before)
            before |= n.written_registers(part)
    else:
        rounds = expression.most if isinstance(expression, n.Repeat) else None
        if not isinstance(expression, n.Either) and rounds != 1:  # one round may read what the round before it wrote
            before |= n.written_registers(expression)
        for child in n.children(expression):
            _check_reads(child, before)


def _never_written(register: str, test: n.Test, before: frozenset[str]) -> QueryError:
    read = next(attribute for attribute in attributes(test.test) if attribute.variable == register)
    write = f"write it in an earlier test: true -> {register} . […]"
    fix = did_you_mean(register, before) if before else write
    return QueryError(f"register `{register}` is never written before this", span=read.span, fix=fix)

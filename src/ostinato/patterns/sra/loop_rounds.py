"""Rounds that read an event: a round of a counted loop that reads none changes nothing, so it need not be built.

`(a?){2,90}` is `a{0,90}`. Built as it is written, every round could be left out at every other one, and the automaton
would have as many rules as there are pairs of rounds.
"""

from __future__ import annotations

from ostinato.patterns.syntax.srem.nodes import EMPTY, Concat, Either, Expression, Plus, Repeat, Star, Test


def nullable(expression: Expression) -> bool:
    """Whether ε is among its strings."""
    if isinstance(expression, Test):
        return False
    if isinstance(expression, Concat):
        return all(map(nullable, expression.parts))
    if isinstance(expression, Either):
        return any(map(nullable, expression.parts))
    if isinstance(expression, Repeat):
        return expression.least == 0 or nullable(expression.body)
    return isinstance(expression, Star) or nullable(expression.body)


def _nonempty_sequence(sequence: Concat) -> Expression:
    """One choice for each part that may be the first to read an event, of those that can all be left out."""
    choices = []
    for place, part in enumerate(sequence.parts):
        first = nonempty(part)
        if first != EMPTY:
            rest = sequence.parts[place + 1 :]
            choices.append(Concat((first, *rest), sequence.span) if rest else first)
    return choices[0] if len(choices) == 1 else Either(tuple(choices), sequence.span) if choices else EMPTY


def nonempty(expression: Expression) -> Expression:
    """The same strings, without ε."""
    if isinstance(expression, Test):
        return expression
    if isinstance(expression, Concat):
        return _nonempty_sequence(expression) if nullable(expression) else expression
    if isinstance(expression, Either):
        parts = tuple(part for part in map(nonempty, expression.parts) if part != EMPTY)
        return parts[0] if len(parts) == 1 else Either(parts, expression.span) if parts else EMPTY
    body = nonempty(expression.body)
    if body == EMPTY:
        return EMPTY
    if isinstance(expression, Repeat):
        least = 1 if nullable(expression.body) else max(expression.least, 1)
        return Repeat(body, least, expression.most, expression.span)
    return Plus(body, expression.span)

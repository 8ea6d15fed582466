"""Which conditions look at rows by place alone: at columns of the row, and of rows a fixed number of rows away.

Whether they hold for a row does not depend on the match, so they are evaluated over whole columns.
"""

from __future__ import annotations

from ostinato.sql.syntax import nodes as n


def step_of(match: n.MatchRecognize, variable: str, term: n.Term) -> int | None:
    """How many rows after the current row, which is mapped to `variable`, a term looks; None where the match says."""
    if not isinstance(term, n.Navigation) or term.end != "LAST" or term.skip:
        return None
    if variable not in match.members(term.variable):
        return None
    known = all(isinstance(inner, n.Classifier) and term.step == 0 for inner in term.value.terms)
    return term.step if known else None


def is_local(match: n.MatchRecognize, variable: str, condition: n.Sql) -> bool:
    """Whether a condition of `variable` looks at rows by place alone."""
    return all(step_of(match, variable, term) is not None for term in condition.terms)


def furthest_step(match: n.MatchRecognize) -> int:
    """How many rows after a row must be known before its conditions can be evaluated."""
    return max((step for definition in match.definitions for step in _steps(definition.condition)), default=0)


def _steps(value: n.Sql) -> list[int]:
    return [term.step for term in value.terms if isinstance(term, n.Navigation)]

"""Faults of WITH TIMEOUT ROWS: what cannot stand beside it."""

from __future__ import annotations

from ostinato.errors import QueryError
from ostinato.patterns.plan.absences import expand_quiet, split_branches
from ostinato.patterns.plan.rewrite import flatten
from ostinato.patterns.syntax import nodes as n
from ostinato.patterns.syntax.earlier_rounds import name_whole
from ostinato.patterns.syntax.item_names import REACHED
from ostinato.patterns.syntax.part_numbers import part_numbers


def check_timeout(query: n.Query) -> None:
    if query.timeout is None:
        return
    if query.window is None or query.window.kind != "time":
        raise QueryError(
            "WITH TIMEOUT ROWS needs a time limit",
            span=query.timeout.span,
            fix="measure the window in time, such as WITHIN 10 minutes",
        )
    others = {
        "CONSUME BY ANY": query.consume == "ANY",
        "CONSUME BY PARTITION (SKIP PAST LAST ROW)": query.consume == "PARTITION",
        "AFTER MATCH SKIP": query.skip is not None,
        "LIMIT": query.limit is not None,
    }
    for words, given in others.items():
        if given:
            raise QueryError(
                f"{words} cannot go with WITH TIMEOUT ROWS: it counts what events complete, not what time ends",
                span=query.timeout.span,
                fix=f"leave out {words}, or ask for the two in queries of their own",
            )
    for column in (*query.partition_by, *(item.name for item in query.items or ())):
        if column == REACHED:
            raise QueryError(
                f"WITH TIMEOUT ROWS gives a column `{REACHED}` of its own",
                span=query.timeout.span,
                fix="name the other one: x.reached AS another_name",
            )
    if n.whole_loops(name_whole(query.formula)):
        raise QueryError(
            "a condition on all events of a loop cannot go with WITH TIMEOUT ROWS: only the next event tests it",
            span=query.timeout.span,
            fix="leave WITH TIMEOUT ROWS out, or put the condition inside the loop, on the rounds so far",
        )
    for core, _ in split_branches(flatten(expand_quiet(query.formula))):
        for part in n.subformulas(core):
            _check_part(part, query.timeout)
    part_numbers(query.formula)


def _check_part(part: n.Formula, timeout: n.Timeout) -> None:
    """Those that wait in more than one way: what ends them depends on more than the state of a run."""
    fix = "leave WITH TIMEOUT ROWS out, or ask for what does not complete in a query of its own"
    if isinstance(part, n.And):
        words = "PERMUTE" if part.apart else "AND"
        raise QueryError(f"{words} cannot go with WITH TIMEOUT ROWS", span=part.span, fix=fix)
    if isinstance(part, n.AbsentFormula):
        raise QueryError("NOT of several events cannot go with WITH TIMEOUT ROWS", span=part.span, fix=fix)
    if isinstance(part, n.Absent) and (part.at_once or part.lasting is not None):
        words = "NOT after `:`" if part.at_once else "NOT … FOR"
        reason = f"{words} between two parts cannot go with WITH TIMEOUT ROWS"
        raise QueryError(reason, span=part.span, fix=fix)

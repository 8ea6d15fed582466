"""From any well-formed formula to a safe one in LP-normal form (CEL paper, section 5), in visible passes.

Every pass keeps both the complex events and the variable that labels each of their positions. Afterwards every filter
stands directly on the event it tests. A filter's predicate may be a conjunction; from `split_filters` on, each conjunct
mentions one variable, or compares events with each other. Such a test stands in the end on the last of its events (RMA
paper, Theorem 8): the others are then known, unless they come later, which patterns/automata/registers.py refuses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ostinato.patterns.plan.absences import expand_quiet, flatten_branches, on_cores
from ostinato.patterns.plan.early_tests import add_early_tests
from ostinato.patterns.plan.loop_aggregates import place_aggregates
from ostinato.patterns.plan.push_filters import lift_filters, push_filters
from ostinato.patterns.plan.rewrite import (
    bound_loops,
    check_node_limit,
    count_nodes,
    expand_next,
    flatten,
    make_safe,
    split_filters,
)
from ostinato.patterns.syntax.earlier_rounds import name_earlier
from ostinato.patterns.syntax.nodes import Formula, Query


@dataclass(frozen=True)
class Pass:
    """One step: a name for `explain` and a function on queries."""

    name: str
    run: Callable[[Query], Query]


def normalise(query: Query) -> tuple[tuple[str, Query], ...]:
    """The query after each pass, in order; the last one is what automata are built from."""
    stages: list[tuple[str, Query]] = []
    query = replace(query, formula=name_earlier(query.formula))
    for step in PASSES:
        query = step.run(query)
        check_node_limit(count_nodes(query.formula))
        stages.append((step.name, query))
    return tuple(stages)


def _on_cores(change: Callable[[Formula], Formula]) -> Callable[[Query], Query]:
    return lambda query: replace(query, formula=on_cores(change, query.formula))


def _add_early_tests(query: Query) -> Query:
    return query if query.timeout is None else replace(query, formula=on_cores(add_early_tests, query.formula))


def _bound_loops(query: Query) -> Query:
    if query.window is None or query.window.kind != "events":
        return query
    return replace(query, formula=bound_loops(query.formula, int(query.window.amount)))


PASSES: tuple[Pass, ...] = (
    Pass("bound loops", _bound_loops),
    Pass("absence at the start", lambda query: replace(query, formula=expand_quiet(query.formula))),
    Pass("expand next", lambda query: replace(query, formula=expand_next(query.formula))),
    Pass("place aggregates of loops", lambda query: replace(query, formula=place_aggregates(query.formula))),
    Pass("flatten", lambda query: replace(query, formula=flatten_branches(query.formula))),
    Pass("split filters", _on_cores(split_filters)),
    Pass("test early", _add_early_tests),
    Pass("make safe", _on_cores(make_safe)),
    Pass("push filters down", _on_cores(push_filters)),
    Pass("lift filters from a wider scope", _on_cores(lift_filters)),
    Pass("merge", lambda query: replace(query, formula=flatten(query.formula))),
)

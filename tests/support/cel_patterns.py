"""What the patterns inside of event rules match, by the declarative semantics of CEL and of SREM."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ostinato.core.expressions import variables
from ostinato.patterns.compile import compile_text
from ostinato.patterns.semantics.cel import evaluate
from ostinato.patterns.semantics.srem import detect
from ostinato.patterns.syntax.nodes import repeated_variables
from ostinato.patterns.syntax.srem import parse as srem
from ostinato.patterns.syntax.srem.nodes import SremPattern
from ostinato.rules.plan.embedded_cel import match_columns, select_all_variables
from ostinato.rules.syntax.nodes import CelPattern
from ostinato.rules.terms.data import from_row
from ostinato.rules.terms.event import IntervalEvent
from support.answers import item_value
from support.generators.cel_streams import Row


def cel_patterns(rows: list[Row], ticks_per_second: int = 1) -> Callable[[CelPattern], Iterable[IntervalEvent]]:
    """The matches over incoming rows, by end: `match { column { … } }` from the first event to the last."""
    stream = sorted(rows, key=lambda row: row["end"])

    def patterns(pattern: CelPattern) -> Iterable[IntervalEvent]:
        if pattern.language == "srem":
            yield from segments(srem.parse(pattern.query))
            return
        query = compile_text(select_all_variables(pattern.query), "cel").query
        many = repeated_variables(query.formula)
        items = query.items or ()
        names = sorted(frozenset().union(*(variables(item.expr) for item in items)))
        for match in evaluate(query, stream, time="end").matches:
            labels = {name: match.labels.get(name, ()) for name in names}
            first, last = stream[match.positions[0]], stream[match.positions[-1]]
            values = {name: first.get(name) for name in query.partition_by} if query.items is None else {}
            values |= {item.name: item_value(item.expr, labels, stream, many) for item in items}
            term = from_row(
                "match", {name: values[name] for name in match_columns(query) if not name.startswith("#")}, without=()
            )
            yield IntervalEvent(first["begin"] * ticks_per_second, last["end"] * ticks_per_second, term)

    def segments(pattern: SremPattern) -> Iterable[IntervalEvent]:
        for first, last in detect(pattern, stream, time="end"):
            term = from_row("match", {name: stream[first].get(name) for name in pattern.partition_by}, without=())
            begin, end = stream[first]["begin"], stream[last]["end"]
            yield IntervalEvent(begin * ticks_per_second, end * ticks_per_second, term)

    return patterns

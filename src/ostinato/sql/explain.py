"""How a query is understood, as text: each clause, and what is left to DuckDB."""

from __future__ import annotations

from collections.abc import Iterator

from ostinato.errors import Span
from ostinato.sql.plan.row_terms import step_of
from ostinato.sql.runtime.answer import Replacement
from ostinato.sql.syntax import nodes as n
from ostinato.sql.syntax.format import (
    expression_text,
    key_text,
    name_text,
    pattern_text,
    rows_text,
    skip_text,
    term_text,
)
from ostinato.sql.to_cel import cel_text


def explain(query: n.Query) -> str:
    rest = Replacement(query.text)
    parts = []
    for number, clause in enumerate(query.clauses):
        parts.append("\n".join(_clause(clause, number, rest)))
        rest.put(clause.place, f'"#match{number}"')
    whole = rest.text(Span(0, len(query.text)))
    return "\n\n".join([*parts, f"Then DuckDB runs\n{_indented(whole)}"])


def _clause(clause: n.Clause, number: int, rest: Replacement) -> Iterator[str]:
    match = clause.match
    yield f"#match{number}: the rows of {_one_line(rest.text(clause.input))}"
    if match.partition_by:
        yield f"  partitions   {', '.join(map(key_text, match.partition_by))}"
    yield f"  order        {', '.join(map(key_text, match.order_by)) or 'as they come'}"
    yield f"  pattern      {pattern_text(match.pattern)}"
    if match.within is not None:
        yield f"  within       {expression_text(match.within)} from its first row"
    conditions = {each.name: each.condition for each in match.definitions}
    for name in n.symbols(match.pattern):
        condition = conditions.get(name)
        yield f"  {name_text(name):<12} {'any row' if condition is None else expression_text(condition)}"
        for term in () if condition is None else condition.terms:
            if step_of(match, name, term) is None:
                yield f"{'':15}looks at the match so far: {term_text(term)}"
    for subset in match.subsets:
        yield f"  {name_text(subset.name):<12} the rows of {', '.join(map(name_text, subset.members))}"
    yield f"  after it     goes on {skip_text(match.skip)}"
    yield f"  gives        {rows_text(match)}"
    for measure in match.measures:
        yield f"    {measure.name:<10} {expression_text(measure.value)}"
    if (same := cel_text(match)) is not None:
        yield f"  in CEL       {same}"
        yield f"{'':15}with the time `{key_text(match.order_by[0])}`, as long as no time is NULL and no number NaN"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _indented(text: str) -> str:
    return "\n".join(f"  {line.strip()}" for line in text.strip().split("\n"))

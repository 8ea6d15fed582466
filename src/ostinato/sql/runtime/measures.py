"""Measures over all matches at once: what each term reads becomes a column, and DuckDB evaluates the rest."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from ostinato.sql.runtime.aggregates import aggregate
from ostinato.sql.runtime.errors import quote
from ostinato.sql.runtime.input import one_chunk, select
from ostinato.sql.runtime.output import Output
from ostinato.sql.syntax import nodes as n
from ostinato.sql.syntax.words import words


class Measures:
    """Evaluates expressions over output rows; each term once."""

    def __init__(self, output: Output) -> None:
        self.output = output
        self.terms: dict[n.Term, str] = {}
        self.columns: dict[str, pa.Array] = {}

    def evaluate(self, values: Sequence[n.Sql], names: Sequence[str] | None = None) -> list[pa.Array]:
        """The values of expressions, each of which may name those before it."""
        texts = [value.render(self._term) for value in values]
        found: list[pa.Array | None] = [self.columns.get(text.strip().strip('"')) for text in texts]
        named = names or [f"c{place}" for place in range(len(values))]
        if any(column is None and _mentions(text, named) for column, text in zip(found, texts, strict=True)):
            found = [None for _ in found]
        rest = [place for place, column in enumerate(found) if column is None]
        if rest:
            items = [f"({texts[place]}) AS {quote(named[place])}" for place in rest]
            evaluated = self._select(items, " , ".join(items))
            for place, column in zip(rest, evaluated.columns, strict=True):
                found[place] = one_chunk(column)
        return [column for column in found if column is not None]

    def _select(self, items: list[str], text: str) -> pa.Table:
        """Over the current rows, with the terms as columns."""
        output = self.output
        given = {name: output.rows.at(name, output.current) for name in output.rows.named_in(text)}
        given |= {name: column for name, column in self.columns.items() if quote(name) in text}
        table = pa.table(given) if given else pa.table({"#nothing": pa.nulls(output.size)})
        return select(output.rows.source.connection, items, table, output.rows.source.alias)

    def _term(self, term: n.Term) -> str:
        name = self.terms.get(term)
        if name is None:
            name = self.terms[term] = f"#term{len(self.terms)}"
            self.columns[name] = self._value(term)
        return quote(name)

    def _value(self, term: n.Term) -> pa.Array:
        if isinstance(term, n.MatchNumber):
            return self.output.numbers
        if isinstance(term, n.Aggregate):
            return aggregate(self.output, term)
        assert isinstance(term, n.Navigation)
        return navigation(self.output, term)


def navigation(output: Output, term: n.Navigation) -> pa.Array:
    """The values that a navigation reads."""
    rows, places = output.rows_of(term)
    if term.value.parts == (n.Classifier(),):
        return output.labels(places)
    text = term.value.render(lambda inner: '"#label"' if isinstance(inner, n.Classifier) else '"#number"')
    column = next((name for name in output.rows.columns if name.lower() == text.strip().lower()), None)
    if column is not None:
        return output.rows.at(column, rows)
    given = {name: output.rows.at(name, rows) for name in output.rows.named_in(text)}
    given["#there"] = pa.array(rows >= 0)
    if '"#label"' in text:
        given["#label"] = output.labels(places)
    if '"#number"' in text:
        given["#number"] = output.numbers
    source = output.rows.source
    items = [f'CASE WHEN "#there" THEN ({text}) END AS c']
    return one_chunk(select(source.connection, items, pa.table(given), source.alias).column(0))


def _mentions(text: str, names: Sequence[str]) -> bool:
    known = {name.lower() for name in names}
    return any(word.is_name and word.name.lower() in known for word in words(text))

"""Measures over all matches at once: what each term reads becomes a column, and DuckDB evaluates the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from ostinato.core.arrays import Int64, UInt8
from ostinato.sql.kernels.measures import navigate
from ostinato.sql.runtime.aggregates import aggregate
from ostinato.sql.runtime.errors import quote
from ostinato.sql.runtime.input import OrderedRows, one_chunk, select
from ostinato.sql.runtime.matches import Matches
from ostinato.sql.syntax import nodes as n
from ostinato.sql.syntax.words import words


@dataclass(frozen=True)
class Output:
    """The places in matches at which measures are evaluated, match by match and in order.

    Attributes
    ----------
    match_of : array
        The match of each output row.
    places : array
        The place of its current row in the match; -1 in an empty match.
    one_row : bool
        Whether all of them are the last rows of their matches.
    """

    match: n.MatchRecognize
    rows: OrderedRows
    matches: Matches
    match_of: Int64
    places: Int64
    one_row: bool

    @property
    def size(self) -> int:
        return self.match_of.size

    @cached_property
    def starts(self) -> Int64:
        return self.matches.starts[self.match_of]

    @cached_property
    def current(self) -> Int64:
        """The current row of each; -1 where there is none."""
        return np.where(self.places < 0, -1, self.starts + self.places)

    @cached_property
    def numbers(self) -> pa.Array:
        return pa.array(self.matches.numbers[self.match_of])

    @cached_property
    def longest(self) -> int:
        return int(self.matches.lengths.max(initial=0))

    def members(self, variable: str) -> UInt8:
        """By state: whether its row belongs to a variable."""
        automaton = self.matches.automaton
        names = self.match.members(variable)
        return np.array([*(name in names for name in automaton.variables), False], np.uint8)[automaton.variable]

    def rows_of(self, term: n.Navigation) -> tuple[Int64, Int64]:
        """The row that a navigation leads to, and its place in the match; -1 where there is none."""
        final = term.mode == "FINAL" or self.one_row
        members = self.members(term.variable)
        if members[2:].all():
            known = self.matches.lengths[self.match_of] if final else self.places + 1
            found = np.where(term.skip >= known, -1, term.skip if term.end == "FIRST" else known - 1 - term.skip)
        else:
            found = np.empty(self.size, np.int64)
            own = np.empty(self.longest, np.int64)
            from_first = int(term.end == "FIRST")
            path, offsets = self.matches.path, self.matches.offsets
            navigate(path, offsets, members, self.match_of, self.places, from_first, term.skip, final, own, found)
        rows = np.where(found < 0, -1, self.starts + found + term.step)
        if term.step:
            partitions = np.searchsorted(self.rows.bounds, self.starts, "right")
            outside = (rows < self.rows.bounds[partitions - 1]) | (rows >= self.rows.bounds[partitions])
            rows = np.where(outside, -1, rows)
            found = np.where(rows < 0, -1, found + term.step)
        return rows, found

    def labels(self, places: Int64) -> pa.Array:
        """The variables of the rows at places in the matches; NULL outside them."""
        inside = (places >= 0) & (places < self.matches.lengths[self.match_of])
        at = np.where(inside, self.matches.offsets[self.match_of] + places, 0)
        path = self.matches.path
        states = path[at] if path.size else np.zeros(self.size, np.int64)
        variables = self.matches.automaton.variable[states]
        return pa.array(self.matches.automaton.variables, pa.string()).take(pa.array(variables, mask=~inside))


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

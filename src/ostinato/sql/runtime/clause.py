"""The rows of one clause, from the rows that it reads."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from ostinato.core.arrays import Int64
from ostinato.sql.automaton.build import Automaton, build_automaton
from ostinato.sql.limits import SqlLimits
from ostinato.sql.runtime.codes import combine
from ostinato.sql.runtime.conditions import Conditions, compile_conditions
from ostinato.sql.runtime.errors import VALUE_ERRORS, blame, quote
from ostinato.sql.runtime.find import find_matches
from ostinato.sql.runtime.input import OrderedRows, key_text, path_of, read_rows
from ostinato.sql.runtime.matches import Matches
from ostinato.sql.runtime.measures import Measures
from ostinato.sql.runtime.output import Output
from ostinato.sql.runtime.plans import ClausePlan, Plans
from ostinato.sql.runtime.registers import read_columns
from ostinato.sql.runtime.row_values import RowValues, to_bytes
from ostinato.sql.runtime.search import search_matches, texts_of
from ostinato.sql.runtime.source import Source
from ostinato.sql.syntax import nodes as n


def evaluate(
    match: n.MatchRecognize, source: Source, limits: SqlLimits | None = None, plans: Plans | None = None
) -> pa.Table:
    """ONE ROW PER MATCH gives the keys of PARTITION BY and the measures; ALL ROWS PER MATCH the keys of PARTITION BY
    and ORDER BY, the measures, and the other columns."""
    plan = ClausePlan() if plans is None else plans.get(match)
    rows = read_rows(match, source, texts_of_clause(match) if match.rows == "ONE ROW" else None)
    return rows_of_matches(match, rows, _find(match, rows, limits or SqlLimits(), plan))


def rows_of_matches(match: n.MatchRecognize, rows: OrderedRows, found: Matches) -> pa.Table:
    """What the clause shows of matches; WITH UNMATCHED ROWS also of the rows that are in none."""
    return _one_row(match, rows, found) if match.rows == "ONE ROW" else _all_rows(match, rows, found)


def _find(match: n.MatchRecognize, rows: OrderedRows, limits: SqlLimits, plan: ClausePlan) -> Matches:
    automaton, conditions, values = _planned(match, rows, plan)
    items = [f"CAST(({text}) AS BOOLEAN)" for text in conditions.local.values()]
    try:
        found = values.evaluate(items)
    except VALUE_ERRORS:  # of which condition?
        defined = {each.name: each.condition for each in match.definitions}
        for name, item in zip(conditions.local, items, strict=True):
            with blame(defined[name], f"the condition of {name}"):
                values.evaluate([item])
        raise
    codes = combine([to_bytes(column) for column in found], rows.size)
    places = {name: place for place, name in enumerate(conditions.local)}
    allowed = codes.allowed_states(automaton, [places.get(name, -1) for name in automaton.variables])
    if not conditions.steps:
        return find_matches(match, automaton, codes.of_rows, allowed, rows.bounds, limits)
    columns = read_columns(conditions.registers, values, texts_of(conditions, automaton))
    return search_matches(match, automaton, conditions, columns, rows, codes.of_rows, allowed, limits)


def _planned(match: n.MatchRecognize, rows: OrderedRows, plan: ClausePlan) -> tuple[Automaton, Conditions, RowValues]:
    """The automaton, the conditions, and what they read of these rows."""
    if plan.conditions is not None:
        return *plan.conditions, RowValues.known(match, rows, plan.shifted, plan.types)
    automaton = build_automaton(match.pattern)
    values = RowValues(match, rows)
    conditions = compile_conditions(match, automaton.variables, values)
    if conditions.registers.lasting:
        plan.shifted, plan.types = values.shifted, values.known_types
        plan.conditions = automaton, conditions
    return automaton, conditions, values


def texts_of_clause(match: n.MatchRecognize) -> list[str]:
    """The expressions of a clause, as far as they name columns."""
    values = [*(key.value for key in (*match.partition_by, *match.order_by)), *(each.value for each in match.measures)]
    values += [each.condition for each in match.definitions]
    return [text for value in values for text in _all_text(value)]


def _all_text(value: n.Sql) -> list[str]:
    found = [value.render(lambda term: " ")]
    for term in value.terms:
        if isinstance(term, n.Navigation):
            found += _all_text(term.value)
        elif isinstance(term, n.Aggregate):
            found += _all_text(term.call)
    return found


def _one_row(match: n.MatchRecognize, rows: OrderedRows, found: Matches) -> pa.Table:
    output = Output(match, rows, found, np.arange(found.count), found.lengths - 1, True)
    columns = [(_key_name(rows, key), rows.at(rows.keys[key], found.starts)) for key in match.partition_by]
    columns += _measures(match, output)
    return _table(columns)


def _all_rows(match: n.MatchRecognize, rows: OrderedRows, found: Matches) -> pa.Table:
    match_of, places, shown = _output_rows(match, rows, found)
    output = Output(match, rows, found, match_of, places, False)
    keys = list(match.partition_by)
    named = {path_of(key)[-1].lower() for key in keys if path_of(key)}
    for key in match.order_by:  # what it computes is no column of the answer
        if path_of(key) and path_of(key)[-1].lower() not in named:
            keys.append(key)
    columns = [(_key_name(rows, key), rows.at(rows.keys[key], shown[0])) for key in keys]
    measures = _measures(match, output)
    if shown[1] is not None:  # rows without a match have no measures
        measures = [(name, column.take(shown[1])) for name, column in measures]
    hidden = {
        *(path_of(key)[-1].lower() for key in keys if path_of(key)),
        *(name.lower() for name in rows.source.joined),
    }
    others = [(name, rows.at(name, shown[0])) for name in rows.columns if name.lower() not in hidden]
    return _table([*columns, *measures, *others])


def _output_rows(
    match: n.MatchRecognize, rows: OrderedRows, found: Matches
) -> tuple[Int64, Int64, tuple[Int64, pa.Array | None]]:
    """The matches and places of the output rows of matches; and of all output rows, the row, and which of those it is.
    The latter is None where all are rows of matches."""
    excluded = found.automaton.excluded
    match_of = np.repeat(np.arange(found.count), found.lengths)
    places = np.arange(match_of.size) - found.offsets[match_of]
    if excluded.any():
        kept = ~excluded[found.path]
        match_of, places = match_of[kept], places[kept]
    empty = np.flatnonzero(found.lengths == 0)
    if empty.size and match.rows != "ALL ROWS OMIT EMPTY":
        match_of = np.concatenate([match_of, empty])
        places = np.concatenate([places, np.full(empty.size, -1)])
        order = np.argsort(match_of, kind="stable")
        match_of, places = match_of[order], places[order]
    row_of = found.starts[match_of] + np.maximum(places, 0)
    if match.rows != "ALL ROWS WITH UNMATCHED":
        return match_of, places, (row_of, None)
    covered = np.zeros(rows.size + 1, np.int64)
    np.add.at(covered, found.starts, 1)
    np.add.at(covered, found.starts + np.maximum(found.lengths, 1), -1)
    unmatched = np.flatnonzero(np.cumsum(covered)[: rows.size] == 0)
    order = np.argsort(np.concatenate([found.starts[match_of], unmatched]), kind="stable")
    source = np.where(order < match_of.size, order, -1)
    return (
        match_of,
        places,
        (
            np.concatenate([row_of, unmatched])[order],
            pa.array(source, mask=source < 0),
        ),
    )


def _measures(match: n.MatchRecognize, output: Output) -> list[tuple[str, pa.Array]]:
    values, names = [each.value for each in match.measures], [each.name for each in match.measures]
    try:
        columns = Measures(output).evaluate(values, names)
    except VALUE_ERRORS:  # of which measure?
        for count, (value, name) in enumerate(zip(values, names, strict=True), start=1):
            with blame(value, f"the measure `{name}`"):
                Measures(output).evaluate(values[:count], names[:count])
        raise
    return [(each.name, column) for each, column in zip(match.measures, columns, strict=True)]


def _key_name(rows: OrderedRows, key: n.Key) -> str:
    """The column, or the name that DuckDB gives to what is computed."""
    if rows.keys[key] in rows.columns:
        return rows.keys[key]
    source = rows.source
    text = f"DESCRIBE SELECT {key_text(key)} FROM (SELECT * FROM {source.text}) AS {quote(source.alias)}"
    return str(source.connection.sql(text).fetchall()[0][0])


def _table(columns: list[tuple[str, pa.Array]]) -> pa.Table:
    return pa.Table.from_arrays([column for _, column in columns], names=[name for name, _ in columns])

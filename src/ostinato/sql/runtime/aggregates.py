"""Aggregates over the rows of a variable, of all output rows: counts, sums and extremes by a kernel, others by DuckDB.

DuckDB says which type each aggregate has, and computes those of other types and functions, DISTINCT, FILTER and ORDER
BY over the listed rows of each output row.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from ostinato.core.arrays import Int64
from ostinato.core.arrow import NO_MASK, raw_values, validity
from ostinato.sql.kernels.layout import COUNT, GREATEST, LEAST, SUM
from ostinato.sql.kernels.measures import total_floats, total_ints
from ostinato.sql.runtime.input import one_chunk, select
from ostinato.sql.runtime.output import Output
from ostinato.sql.syntax import nodes as n

_FUNCTIONS = {"count": COUNT, "sum": SUM, "avg": SUM, "mean": SUM, "min": LEAST, "max": GREATEST}
_ROWS_AT_ONCE = 20_000_000  # listed for DuckDB


def aggregate(output: Output, term: n.Aggregate) -> pa.Array:
    found = _by_kernel(output, term) if term.plain and term.function in _FUNCTIONS and len(term.arguments) < 2 else None
    return _by_engine(output, term) if found is None else found


def _by_kernel(output: Output, term: n.Aggregate) -> pa.Array | None:
    matches, final = output.matches, term.mode == "FINAL" or output.one_row
    given = (
        matches.path,
        matches.offsets,
        output.members(term.variable),
        output.match_of,
        output.places,
        matches.starts,
    )
    counts = np.empty(output.size, np.int64)
    if not term.arguments:
        if term.function != "count":
            return None
        total_ints(*given, np.empty(0, np.int64), NO_MASK, COUNT, final, np.empty(output.size, np.int64), counts)
        return pa.array(counts)
    (argument,) = term.arguments
    if argument.terms or not (values := _argument(output, argument)):
        return None
    column = values[0]
    function = _FUNCTIONS[term.function]
    valid = validity(column)
    if function == COUNT:
        total_ints(*given, np.empty(0, np.int64), valid, COUNT, final, np.empty(output.size, np.int64), counts)
        return pa.array(counts)
    if pa.types.is_float64(column.type):
        floats = np.empty(output.size, np.float64)
        total_floats(*given, np.ascontiguousarray(raw_values(column)), valid, function, final, floats, counts)
        if term.function in ("avg", "mean"):
            with np.errstate(invalid="ignore", divide="ignore"):
                floats = floats / counts
        return pa.array(floats, mask=counts == 0)
    if pa.types.is_signed_integer(column.type) or (function != SUM and pa.types.is_timestamp(column.type)):
        ints = np.empty(output.size, np.int64)
        if not total_ints(*given, raw_values(column).astype(np.int64), valid, function, final, ints, counts):
            return None
        return _whole(output, term, column.type, ints, counts)
    return None


def _whole(output: Output, term: n.Aggregate, kind: pa.DataType, ints: Int64, counts: Int64) -> pa.Array:
    if term.function in ("avg", "mean"):
        with np.errstate(invalid="ignore", divide="ignore"):
            return pa.array(ints / counts, mask=counts == 0)
    found = pa.array(ints, mask=counts == 0)
    if term.function == "sum":
        return found.cast(pa.decimal128(38, 0)) if len(found) else pa.array([], pa.decimal128(38, 0))
    return found.cast(kind)


def _argument(output: Output, argument: n.Sql) -> list[pa.Array]:
    """The values of an expression over the columns of each row of the input, in order."""
    rows = output.rows
    text = argument.render(lambda term: "")
    name = next((each for each in rows.columns if each.lower() == text.strip().lower()), None)
    if name is not None:
        return [rows.column(name)]
    named = rows.named_in(text)
    if not named:
        return []
    table = pa.table({each: rows.column(each) for each in named})
    return [one_chunk(select(rows.source.connection, [f"({text}) AS c"], table, rows.source.alias).column(0))]


def _by_engine(output: Output, term: n.Aggregate) -> pa.Array:
    """By DuckDB, over a table that lists for each output row the rows that it aggregates."""
    source = output.rows.source
    call = term.call.render(lambda inner: '"#label"' if isinstance(inner, n.Classifier) else '"#number"')
    items = [f'"#group", {call} AS c']
    threads = source.connection.sql("SELECT current_setting('threads')").fetchall()[0][0]
    source.connection.execute("SET threads = 1")  # so that it reads the rows in their order
    try:
        nothing = select(source.connection, [f"{call} AS c"], _listed(output, term, call, 0, 0), source.alias)
        parts = []
        for first, last in _pieces(output, term):
            listed = _listed(output, term, call, first, last)
            found = select(source.connection, items, listed, source.alias, 'GROUP BY "#group"')
            groups = np.asarray(one_chunk(found.column(0)))
            values = pa.concat_arrays([one_chunk(nothing.column(0)), one_chunk(found.column(1))])
            index = np.zeros(last - first, np.int64)
            index[groups - first] = np.arange(1, groups.size + 1)
            parts.append(values.take(pa.array(index)))
    finally:
        source.connection.execute(f"SET threads = {int(threads)}")
    return pa.concat_arrays(parts) if parts else one_chunk(nothing.column(0)).slice(0, 0)


def _limits(output: Output, term: n.Aggregate) -> Int64:
    """How many rows of its match each output row looks at."""
    final = term.mode == "FINAL" or output.one_row
    found: Int64 = output.matches.lengths[output.match_of] if final else output.places + 1
    return found


def _pieces(output: Output, term: n.Aggregate) -> list[tuple[int, int]]:
    ends = np.concatenate([[0], np.cumsum(_limits(output, term))])
    pieces, first = [], 0
    while first < output.size:
        last = max(first + 1, int(np.searchsorted(ends, ends[first] + _ROWS_AT_ONCE, "right")) - 1)
        pieces.append((first, last))
        first = last
    return pieces


def _listed(output: Output, term: n.Aggregate, call: str, first: int, last: int) -> pa.Table:
    matches = output.matches
    limits = _limits(output, term)[first:last]
    groups = np.repeat(np.arange(first, last), limits)
    places = np.arange(groups.size) - np.repeat(np.cumsum(limits) - limits, limits)
    states = matches.path[matches.offsets[output.match_of[groups]] + places]
    kept = np.flatnonzero(output.members(term.variable)[states])
    groups, places, states = groups[kept], places[kept], states[kept]
    rows = output.starts[groups] + places
    given = {name: output.rows.at(name, rows) for name in output.rows.named_in(call)}
    if '"#label"' in call:
        variables = pa.array(matches.automaton.variables, pa.string())
        given["#label"] = variables.take(pa.array(matches.automaton.variable[states]))
    if '"#number"' in call:
        given["#number"] = output.numbers.take(pa.array(groups))
    given["#group"] = pa.array(groups)
    return pa.table(given)

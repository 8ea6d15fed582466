"""Rows pushed in any batches, with a restart after each, give what the whole table gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ostinato as ost
from ostinato.sql.live.engine import SqlEngine
from support.generators import row_patterns
from support.generators.draws import Draw, pick, rarely
from support.generators.sql import clauses, tables

pytestmark = pytest.mark.slow

SCHEMA = pa.schema([("g", pa.string()), ("ts", pa.int64()), ("v", pa.int64()), ("w", pa.int64())])
Rows = list[dict[str, Any]]


def contents(table: pa.Table) -> list[str]:
    return sorted(map(repr, zip(*(column.to_pylist() for column in table.columns), strict=True)))


def outcome(query: Any, table: pa.Table) -> Any:
    try:
        found = query.detect(table)
    except ost.DataError as error:
        return type(error)
    return found.schema, contents(found)


def pushed(query: Any, batches: Sequence[Rows | pa.Table], restart: bool, **options: Any) -> Any:
    engine = query.engine(**{"schema": SCHEMA} | options)
    try:
        found = []
        for batch in batches:
            found.append(engine.push(batch if isinstance(batch, pa.Table) else pa.Table.from_pylist(batch, SCHEMA)))
            if restart:
                engine = SqlEngine.restore(engine.snapshot())
        table = pa.concat_tables([*found, engine.flush()], promote_options="permissive")
    except ost.DataError as error:
        return type(error)
    return table.schema, contents(table)


def cut(draw: Draw, rows: Rows) -> list[Rows]:
    """In batches of any size."""
    batches: list[Rows] = [[]]
    for row in rows:
        if draw(st.booleans()):
            batches.append([])
        batches[-1].append(row)
    return batches


def live(text: str, draw: Draw) -> str:
    """A stream has the earliest rows first."""
    order = pick(draw, "ORDER BY ts", "ORDER BY ts, v NULLS FIRST", "ORDER BY ts + 1, w DESC")
    within = f"WITHIN {pick(draw, 1, 2, 3)}" if rarely(draw) else ""
    text = text.replace("ORDER BY ts DESC", order).replace("ORDER BY v NULLS FIRST, ts", order)
    return text.replace(" SUBSET U", f" {within} SUBSET U")


def check(text: str, data: Rows, draw: st.DataObject) -> None:
    query = ost.sql(live(text, draw.draw))
    expected = outcome(query, pa.Table.from_pylist(data, SCHEMA))
    batches = cut(draw.draw, data)
    assert pushed(query, batches, draw.draw(st.booleans())) == expected


@settings(max_examples=100, deadline=None)
@given(clauses(of_match=False), tables(10), st.data())
def test_conditions_on_rows(text: str, data: Rows, draw: st.DataObject) -> None:
    check(text, data, draw)


@settings(max_examples=100, deadline=None)
@given(clauses(), tables(10), st.data())
def test_conditions_on_the_match_so_far(text: str, data: Rows, draw: st.DataObject) -> None:
    check(text, data, draw)


@settings(max_examples=60, deadline=None)
@given(clauses(), tables(8), st.data())
def test_rows_that_come_late(text: str, data: Rows, draw: st.DataObject) -> None:
    """Within the lateness, rows may come in any order; those of one time stay in theirs."""
    query = ost.sql(live(text, draw.draw))
    expected = outcome(query, pa.Table.from_pylist(data, SCHEMA))
    late = draw.draw(st.lists(st.integers(0, 3), min_size=len(data), max_size=len(data)))
    ties: dict[int, int] = {}
    arrival = [row["ts"] + ties.setdefault(row["ts"], delay) for row, delay in zip(data, late, strict=True)]
    order = sorted(range(len(data)), key=lambda place: arrival[place])
    batches = cut(draw.draw, [data[place] for place in order])
    assert pushed(query, batches, draw.draw(st.booleans()), lateness=3) == expected


@settings(max_examples=80, deadline=None)
@given(clauses(), tables(8), st.data())
def test_columns_whose_types_come_with_their_first_values(text: str, data: Rows, draw: st.DataObject) -> None:
    query = ost.sql(live(text, draw.draw))
    empty = draw.draw(st.integers(0, len(data)))
    rows = [{**row, "v": None, "w": None} if place < empty else row for place, row in enumerate(data)]
    expected = outcome(query, pa.Table.from_pylist(rows, SCHEMA))
    batches = [pa.Table.from_pylist(batch) for batch in cut(draw.draw, rows) if batch]
    found = pushed(query, batches, draw.draw(st.booleans()), schema=None)
    if isinstance(found, tuple) and isinstance(expected, tuple):  # types depend on what has come
        found, expected = found[1] if data else [], expected[1]
    assert found == expected


@settings(max_examples=50, deadline=None)
@given(row_patterns.clauses(looks_back=True, uncommon=True), row_patterns.tables(), st.data())
def test_texts_floats_and_what_only_duckdb_can_evaluate(clause: str, table: pa.Table, draw: st.DataObject) -> None:
    clause = clause.replace("ts DESC", "ts").replace("ORDER BY y, ts", "ORDER BY ts, y")
    query = ost.sql(f"SELECT * FROM t MATCH_RECOGNIZE ({clause})")
    rows = table.sort_by("ts")
    batches = [rows.slice(0, 0)]
    for place in range(len(rows)):
        last = rows.slice(place, 1)
        batches = (
            [*batches, last] if draw.draw(st.booleans()) else [*batches[:-1], pa.concat_tables([batches[-1], last])]
        )
    expected = outcome(query, rows)
    assert pushed(query, batches, draw.draw(st.booleans()), schema=rows.schema) == expected

"""Random programs over random streams: the declarative semantics, the plan at once, and steps in any batching agree."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import ostinato
from ostinato.errors import QueryError
from ostinato.rules.incremental import null_code, state
from ostinato.rules.incremental.engine import RuleEngine
from ostinato.rules.kernels.layout import FIRST_NULL
from ostinato.rules.program import RuleProgram
from ostinato.rules.semantics.fixpoint import derived_events
from ostinato.rules.semantics.shown import shown_events
from ostinato.rules.syntax.format import program_text
from ostinato.rules.syntax.nodes import NormalRule
from ostinato.rules.terms.data import from_row
from ostinato.rules.terms.event import IntervalEvent
from support.derived import comparable_events, events_in
from support.generators.rules import (
    DERIVED,
    FUNCTIONS,
    SCHEMA,
    Strata,
    cases,
    events_of,
    matches_of,
    program,
    streams,
    tables_of,
)
from support.generators.terms import NESTED_SCHEMA, Row, nested_streams

pytestmark = pytest.mark.slow

MICRO = 1_000_000  # ticks of a second, as engines count them
_quiet = settings(deadline=None, suppress_health_check=list(HealthCheck))


def _rules(strata: Strata) -> RuleProgram:
    return ostinato.rules(program_text(program(strata)), functions=FUNCTIONS)


def _in_seconds(event: IntervalEvent) -> IntervalEvent:
    return IntervalEvent(int(event.begin / MICRO), int(event.end / MICRO), event.term)


def _normal(strata: Strata) -> list[NormalRule]:
    return [rule for rules in strata for rule in rules]


def _whole(rules: RuleProgram, table: pa.Table, tables: dict[str, pa.Table] | None = None) -> pa.Table:
    """Kinds of values may clash in a random program; what fits must agree."""
    try:
        return rules.detect(table, tables=tables)
    except QueryError as error:
        assume("another" not in str(error) and "others" not in str(error) and "different kinds" not in str(error))
        raise


def _stepwise(
    rules: RuleProgram,
    rows: list[Row],
    schema: pa.Schema,
    sizes: list[int],
    data: Any,
    given: dict[str, pa.Table],
) -> pa.Table:
    engine = rules.engine(tables=given)
    tables = [engine.push(schema.empty_table())]
    while rows:
        size = sizes.pop() if sizes else len(rows)
        batch, rows = rows[:size], rows[size:]
        tables.append(engine.push(pa.Table.from_pylist(batch, schema=schema)))
        act = data.draw(st.sampled_from(["", "", "advance", "restore", "forget"]))
        if act == "advance":
            tables.append(engine.advance(to=batch[-1]["end"] - 1))
        elif act == "restore":
            engine = RuleEngine.restore(engine.snapshot(), functions=FUNCTIONS)
        elif act == "forget":
            engine._steps.live.forget(engine.now, all_of_it=True)
    return pa.concat_tables([*tables, engine.flush()])


def _check(case: tuple[Strata, list[Row]], schema: pa.Schema, data: Any) -> None:
    strata, rows = case
    rules = _rules(strata)
    # Children of derived events stand in the order of the answer's columns, not of each head (docs/rules.md).
    assume(not any(f"{label} [" in rules.text for label in DERIVED))
    given = _given(strata, schema, data)
    tables = {label: pa.Table.from_pylist(found, schema=_columns(schema)) for label, found in given.items()}
    whole = _whole(rules, pa.Table.from_pylist(rows, schema=schema), tables)
    incoming = events_of(rows, MICRO)
    before = [from_row(label, row) for label, found in given.items() for row in found]
    matched = matches_of(rows, MICRO)
    derived = derived_events(strata, incoming, ticks_per_second=MICRO, patterns=matched, rows=before)
    shown = shown_events(_normal(strata), derived, ticks_per_second=MICRO)
    assert comparable_events(events_in(whole)) == comparable_events(map(_in_seconds, shown))
    sizes = data.draw(st.lists(st.integers(1, 4), max_size=8))
    chunk, few = data.draw(st.sampled_from([1, 3, 256])), data.draw(st.sampled_from([0, 2, 16]))
    null = data.draw(st.sampled_from([FIRST_NULL, 5 * MICRO, 20 * MICRO]))  # also times
    with (
        patch.object(state, "CHUNK", chunk),  # events of a step
        patch.object(state, "FEW_ROWS", few),  # rows of a group
        patch.object(null_code, "FIRST_NULL", null),
    ):
        stepwise = _stepwise(rules, rows, schema, sizes, data, tables)
    assert comparable_events(events_in(stepwise)) == comparable_events(events_in(whole))
    assert len(stepwise) == len(whole), "an event is derived once"


def _columns(schema: pa.Schema) -> pa.Schema:
    """The columns of rows that are no events."""
    return pa.schema([field for field in schema if field.name not in ("type", "begin", "end")])


def _given(strata: Strata, schema: pa.Schema, data: Any) -> dict[str, list[Row]]:
    """For some tables, rows that are given beside the stream."""
    makers = streams(4) if schema is SCHEMA else nested_streams(4)
    found = {}
    for label in tables_of(strata):
        if data.draw(st.booleans()):
            found[label] = [{name: row[name] for name in _columns(schema).names} for row in data.draw(makers)]
    return found


@settings(_quiet, max_examples=25)
@given(cases(), st.data())
def test_flat_events(case: tuple[Strata, list[Row]], data: Any) -> None:
    _check(case, SCHEMA, data)


@settings(_quiet, max_examples=25)
@given(cases(patterns=True), st.data())
def test_patterns_over_what_rules_derive(case: tuple[Strata, list[Row]], data: Any) -> None:
    _check(case, SCHEMA, data)


@settings(_quiet, max_examples=15)
@given(cases(functions=True), st.data())
def test_functions_of_the_user(case: tuple[Strata, list[Row]], data: Any) -> None:
    _check(case, SCHEMA, data)


@settings(_quiet, max_examples=12)
@given(cases(nested=True), st.data())
def test_nested_events(case: tuple[Strata, list[Row]], data: Any) -> None:
    _check(case, NESTED_SCHEMA, data)


@settings(_quiet, max_examples=12)
@given(cases(), st.integers(0, 70))
def test_temporal_preservation(case: tuple[Strata, list[Row]], now: int) -> None:
    """Theorem 0.1: to know what ends up to now, it is enough to know what came in up to now.

    That time has come to now is an event too, by which periodic timers go off.
    """
    strata, rows = case
    rules, rows = _rules(strata), [*rows, {"type": "z", "begin": now, "end": now}]
    every = events_in(_whole(rules, pa.Table.from_pylist(rows, schema=SCHEMA)))
    known = [row for row in rows if row["end"] <= now]
    early = events_in(rules.detect(pa.Table.from_pylist(known, schema=SCHEMA)))
    assert {event for event in every if event.end <= now} == {event for event in early if event.end <= now}

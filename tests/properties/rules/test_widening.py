"""Live over dicts that leave out what they have no value for, in any batching: what `detect` of all rows derives."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import ostinato
from ostinato.errors import QueryError
from ostinato.rules.incremental.engine import RuleEngine
from ostinato.rules.program import RuleProgram
from ostinato.rules.syntax.format import program_text
from ostinato.rules.terms.event import IntervalEvent
from support.derived import comparable_events, events_in
from support.generators.rules import Strata, cases, program
from support.generators.terms import Row

pytestmark = pytest.mark.filterwarnings("ignore:no event has")
_quiet = settings(deadline=None, suppress_health_check=list(HealthCheck))
_more = st.fixed_dictionaries({}, optional={"z": st.sampled_from([1, 2.5]), "y": st.sampled_from(["x", None])})


def _sparse(row: Row, data: Any) -> Row:
    """The row as a dict of its own: mostly without keys of no value, sometimes with others; 1.0 may be 1."""
    kept = {name: value for name, value in row.items() if value is not None or data.draw(st.booleans())}
    whole = {name: int(value) for name, value in kept.items() if isinstance(value, float) and value.is_integer()}
    return {**kept, **(whole if data.draw(st.booleans()) else {}), **data.draw(_more)}


def _live(rules: RuleProgram, rows: list[Row], data: Any) -> frozenset[IntervalEvent]:
    engine = rules.engine()
    tables = []
    while rows:
        size = data.draw(st.integers(1, 3))
        batch, rows = rows[:size], rows[size:]
        tables.append(engine.push(batch))
        if data.draw(st.booleans()):
            engine = RuleEngine.restore(engine.snapshot())
    return frozenset().union(*map(events_in, [*tables, engine.flush()]))


@pytest.mark.slow
@settings(_quiet, max_examples=12)
@given(cases() | cases(nested=True), st.data())
def test_dicts_in_any_batching(case: tuple[Strata, list[Row]], data: Any) -> None:
    strata, rows = case
    assume(rows)
    rules = ostinato.rules(program_text(program(strata)))
    sparse = [_sparse(row, data) for row in rows]
    try:
        whole = rules.detect(sparse)
    except QueryError:
        assume(False)
    assert comparable_events(_live(rules, sparse, data)) == comparable_events(events_in(whole))

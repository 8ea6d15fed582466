"""However a stream is cut into batches, the count is the number of rows of the answer."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ostinato.patterns.compile import compile_query
from ostinato.patterns.runtime import count, matcher, tallies
from ostinato.patterns.runtime.engine import Engine
from ostinato.patterns.runtime.state import EngineOptions
from ostinato.patterns.syntax.nodes import Query
from support.generators.cel import queries
from support.generators.cel_streams import Row, streams, table


@pytest.mark.slow
@settings(max_examples=90, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    queries(wider_filters=True, reuse=False),
    streams(),
    st.lists(st.integers(0, 9), max_size=4),
    st.sampled_from([1, 3, 1 << 16]),
    st.sampled_from(["added up", "walked", "either"]),
    st.booleans(),
)
def test_any_batching_gives_the_count_of_the_whole(
    monkeypatch: pytest.MonkeyPatch, query: Query, rows: list[Row], cuts: list[int], few: int, way: str, pauses: bool
) -> None:
    monkeypatch.setattr(tallies, "_FEW", few)  # so that small windows, too, are carried from batch to batch
    monkeypatch.setattr(tallies, "_MAX_CELLS", 64 if way == "added up" else 0)
    monkeypatch.setattr(tallies, "_MAX_STEPS", 0 if way == "walked" else 1 << 13)
    monkeypatch.setattr(tallies, "_STEPS", 1 if pauses else 1 << 24)
    monkeypatch.setattr(matcher, "_STEPS", 60 if pauses else 1 << 22)

    def engine() -> Engine:
        binding: dict[str, Any] = {"time": None, "type": None, "order_by": ()}
        return Engine(compile_query(query), EngineOptions(binding))

    places = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    batches = [table(rows[begin:end]) for begin, end in pairwise(places)]
    assert count.count_batches(engine(), batches) == len(engine().run_batch(table(rows)))

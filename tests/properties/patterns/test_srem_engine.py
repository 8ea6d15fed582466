"""SREM on the engine gives what the declarative semantics says, in any batching and after any restart."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from ostinato.patterns.compile import compile_pattern
from ostinato.patterns.runtime.count import count_table
from ostinato.patterns.runtime.engine import Engine
from ostinato.patterns.runtime.state import EngineOptions
from ostinato.patterns.semantics.srem import detect
from ostinato.patterns.syntax.srem.nodes import SremPattern
from support.answers import BINDING
from support.generators.cel_streams import Row, table
from support.generators.srem import alike_streams, patterns


def engine(pattern: SremPattern) -> Engine:
    return Engine(compile_pattern(pattern), EngineOptions(dict(BINDING)))


def segments(found: list[pa.Table]) -> list[tuple[int, int]]:
    """A segment of one event has one position."""
    return sorted((positions[0], positions[-1]) for part in found for positions in part["positions"].to_pylist())


@settings(max_examples=90)
@given(patterns(), alike_streams())
def test_whole_stream(pattern: SremPattern, rows: list[Row]) -> None:
    assert segments([engine(pattern).run_batch(table(rows))]) == sorted(detect(pattern, rows, time="ts"))
    assert count_table(engine(pattern), table(rows)) == len(detect(pattern, rows, time="ts"))


@settings(max_examples=60)
@given(patterns(), alike_streams(), st.integers(0, 6))
def test_any_batching_and_restart(pattern: SremPattern, rows: list[Row], cut: int) -> None:
    first = engine(pattern)
    found = [first.push(table(rows[:cut]))]
    second = Engine.restore(first.snapshot())
    found += [second.push(table(rows[cut:])), second.flush()]
    assert segments(found) == sorted(detect(pattern, rows, time="ts"))

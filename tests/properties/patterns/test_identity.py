"""Matches are told apart as the definition says: their ids, their times and when they are known, however the events
are read."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

import ostinato as ost
from ostinato.core.expressions import variables
from ostinato.patterns.compile import CompiledPattern
from ostinato.patterns.plan.required_columns import required_attributes
from ostinato.patterns.runtime.engine import Engine
from ostinato.patterns.runtime.identity import may_be_known_later
from ostinato.patterns.semantics.cel import LabelledMatch, evaluate
from ostinato.patterns.semantics.identity import identify
from ostinato.patterns.syntax.format import to_text
from ostinato.patterns.syntax.nodes import Query
from support.answers import engine
from support.generators.cel import queries
from support.generators.cel_streams import SECOND, Pieces, Row, in_pieces, pieces, streams, table

COLUMNS = ("start", "end", "known", "match_id")


def expected(compiled: CompiledPattern, rows: list[Row]) -> list[tuple[Any, ...]]:
    """The columns of each row of the answer, straight from the definition."""
    query, later = compiled.query, may_be_known_later(compiled)
    names = sorted(frozenset().union(*(variables(item.expr) for item in query.items or ())))
    groups: dict[Any, list[LabelledMatch]] = {}
    for match in evaluate(query, rows, time="ts").matches:
        key: Any = match.positions if query.items is None else tuple(match.labels.get(name, ()) for name in names)
        groups.setdefault((key, match.reached), []).append(match)
    found: list[tuple[Any, ...]] = []
    counts: Counter[Any] = Counter()
    for alike in groups.values():
        match = alike[0]
        shown = {
            place: None if query.items is None else [name for name in names if place in match.labels.get(name, ())]
            for place in match.positions
        }
        events = {place: labels for place, labels in shown.items() if query.items is None or labels}
        content = [([rows[place][name] for name in read(query)], labels) for place, labels in events.items()]
        known = known_at(min(each.moment for each in alike), rows) if later else None
        part = (known,) if compiled.hides_variables else ()
        looks = (tuple(sorted(map(repr, content))), match.reached, part)
        told = identify(to_text(query), query.language, content, match.reached, counts[looks], part)
        counts[looks] += 1
        times = [rows[place]["ts"] for place in events] or [None]
        found.append((times[0], times[-1], known, told))
    return sorted(found, key=repr)


def read(query: Query) -> list[str]:
    return ["ts", "type", *sorted(required_attributes(query) - {"ts", "type"})]


def known_at(moment: tuple[float, float], rows: list[Row]) -> Any:
    time, place = moment
    if place < len(rows):
        return rows[int(place)]["ts"]
    return None if time == float("inf") else time // SECOND


def told(tables: list[pa.Table]) -> list[tuple[Any, ...]]:
    rows = [row for each in tables for row in each.to_pylist()]
    return sorted((tuple(row.get(name) for name in COLUMNS) for row in rows), key=repr)


@settings(max_examples=60)
@given(queries(), streams(), st.lists(st.integers(0, 9), max_size=4), st.booleans())
def test_any_batching_and_restart(query: Query, rows: list[Row], cuts: list[int], restart: bool) -> None:
    running = engine(query, identity=())
    want = expected(running.compiled, rows)
    assert told([engine(query, identity=()).run_batch(table(rows))]) == want
    found = []
    for begin, end in pairwise([0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]):
        found.append(running.push(table(rows[begin:end])))
        if restart:
            running = Engine.restore(running.snapshot())
    assert told([*found, running.flush()]) == want


@settings(max_examples=30)
@given(queries(), streams(max_size=5), st.lists(st.integers(0, 12), max_size=4))
def test_events_that_are_alike(query: Query, rows: list[Row], cuts: list[int]) -> None:
    rows = [row for row in rows for _ in range(2)]
    running = engine(query, identity=())
    want = expected(running.compiled, rows)
    assert len({each[-1] for each in want}) == len(want)
    found = []
    for begin, end in pairwise([0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]):
        found.append(running.push(table(rows[begin:end])))
        running = Engine.restore(running.snapshot())
    assert told([*found, running.flush()]) == want


@settings(max_examples=30)
@given(queries(), streams(), pieces, st.booleans())
def test_in_an_engine_of_many_queries(query: Query, rows: list[Row], cut: Pieces, restart: bool) -> None:
    text = to_text(query)
    live = ost.engine({"q": ost.cel(text), "other": ost.cel("A ; B")}, identity=True)
    compiled = live.engines["q"].compiled
    found = []
    for piece in in_pieces(rows, cut):
        found.append(live.push(piece))
        if restart:
            live = ost.Engine.restore(live.snapshot())
    tables = [part.tables["q"] for part in [*found, live.flush()] if "q" in part.tables]
    assert told(tables) == expected(compiled, rows)

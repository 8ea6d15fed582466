"""What each period gives, one after the other, is what one run over all gives."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pyarrow as pa
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import ostinato as ost
from ostinato.core.window_clause import Window
from ostinato.errors import OstinatoError
from ostinato.patterns.runtime.increments import Period, check_increments, events_back, first_tick
from ostinato.patterns.syntax.format import to_text
from ostinato.patterns.syntax.nodes import Query
from support.generators.cel import queries
from support.generators.cel_streams import SECOND, Row, streams, table


@settings(max_examples=50)
@given(queries(), streams(max_size=14), st.lists(st.integers(-1, 20), max_size=4))
def test_increments(query: Query, rows: list[Row], cuts: list[int]) -> None:
    if query.window is None or query.window.kind == "attribute":
        query = replace(query, window=Window("time", 3 * SECOND))
    ready = ost.cel(to_text(replace(query, consume="NONE", limit=None, skip=None)))
    try:
        check_increments(ready._compiled)
    except OstinatoError:
        assume(False)
    events = table(rows)
    whole = ready.detect(events, identity=True)
    moments = [None, *sorted(cuts), None]
    found = [ready.detect(events, identity=True, since=since, until=until) for since, until in pairwise(moments)]
    time = "known" if "known" in whole.column_names else "end"
    assert sorted(map(repr, pa.concat_tables(found).to_pylist())) == sorted(map(repr, whole.to_pylist()))
    if cuts and events_back(ready._compiled) is None and len(events):
        # The past as a table, and what comes then as a stream that begins with what can matter.
        moment, running = max(cuts), ready.engine(identity=True)
        running.push(events.slice(0, 0))
        clock = running.stream.clock
        assert clock is not None
        first = first_tick(ready._compiled, clock, moment)
        later = pa.concat_tables([running.push(table([row])) for row in rows if row["ts"] >= first] + [running.flush()])
        later = later.filter(Period(moment, None).contains(clock, later))
        past = ready.detect(events, identity=True, until=moment)["match_id"].to_pylist()
        assert sorted(past + later["match_id"].to_pylist()) == sorted(whole["match_id"].to_pylist())
    for part, (since, until) in zip(found, pairwise(moments), strict=True):
        for known in part[time].to_pylist():
            assert (since is None or known > since) and (until is None or known <= until)

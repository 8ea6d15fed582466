"""SREMs inside of rules, over random streams: the declarative semantics, whole tables and any batching agree."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ostinato as ost
from ostinato import RuleEngine
from ostinato.rules.plan.normal_form import normalise
from ostinato.rules.semantics.fixpoint import derived_events
from support.cel_patterns import cel_patterns
from support.derived import comparable_events, events_in
from support.generators.rules import SCHEMA, events_of
from support.generators.terms import Row, record

pytestmark = pytest.mark.slow

PATTERNS = (
    "true -> r . ([v > r.v] -> r)+ . [v < r.v] PARTITION BY k WITHIN 9 seconds",
    "[type = 'a'] -> r . [type = 'b' AND v = r.v] WITHIN 12 seconds PARTITION BY k",
    "[type = 'a'] . [type != 'a']* . [type = 'a'] PARTITION BY k WITHIN 10 seconds",
    "([v >= 1] . [v < 1])+ PARTITION BY k WITHIN 15 seconds",
)
RULES = """
DETECT found {{ k {{ var K }}, ended {{ end(p) }} }} ON event p: srem "{0}" {{{{ k {{{{ var K }}}} }}}} END
DETECT calm {{ k {{ var K }} }}
ON and {{ event p: srem "{0}" {{{{ k {{{{ var K }}}} }}}}, event t: timer:from-end [event p, 4 sec],
         while t: not c {{{{ k {{{{ var K }}}} }}}} }} END
"""
rows = st.lists(
    record(
        type=st.sampled_from("abc"),
        gap=st.integers(1, 4),
        lasts=st.integers(0, 3),
        k=st.sampled_from("xy"),
        v=st.sampled_from([0, 1, 2, 3, None]),
    ),
    max_size=9,
)


def _stream(drawn: list[Row]) -> list[Row]:
    """Events that end one after the other: what ends together would be ordered by its values."""
    found, end = [], 0
    for row in drawn:
        end += row["gap"]
        begin = max(0, end - row["lasts"])
        found.append({"type": row["type"], "begin": begin, "end": end, "k": row["k"], "v": row["v"], "w": None})
    return found


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(PATTERNS), rows.map(_stream), st.lists(st.integers(1, 4), max_size=6), st.booleans())
def test_matches_are_events(pattern: str, stream: list[Row], sizes: list[int], restore: bool) -> None:
    rules = ost.rules(RULES.format(pattern))
    whole = rules.detect(pa.Table.from_pylist(stream, schema=SCHEMA))
    events = events_of(stream)
    wanted = derived_events([normalise(rules.program)], events, ticks_per_second=1, patterns=cel_patterns(events))
    assert comparable_events(events_in(whole)) == comparable_events(wanted)
    engine = rules.engine()
    answers = [engine.push(SCHEMA.empty_table())]
    while stream:
        size = sizes.pop() if sizes else len(stream)
        answers.append(engine.push(pa.Table.from_pylist(stream[:size], schema=SCHEMA)))
        stream = stream[size:]
        engine = RuleEngine.restore(engine.snapshot()) if restore else engine
    live = pa.concat_tables([*answers, engine.flush()])
    assert comparable_events(events_in(live)) == comparable_events(events_in(whole))
    assert len(live) == len(whole)

"""The matches of a CEL query as events."""

from __future__ import annotations

import pyarrow as pa

from ostinato.rules.relational.kinds import Attributes
from ostinato.rules.runtime.ingest import LABEL
from ostinato.rules.runtime.pattern_stream import PatternStream

INCOMING = Attributes.of({"k": pa.string(), "v": pa.int64()})
PATTERN = PatternStream("SELECT b.v AS v WHERE A AS a ; B AS b WITHIN 10 seconds", INCOMING, 1)


def events(*rows: tuple[str, int, int, int]) -> pa.Table:
    labels, begins, ends, values = zip(*rows, strict=True)
    keys = pa.array(["x"] * len(rows))
    return pa.table({LABEL: labels, "begin": begins, "end": ends, "c0": keys, "c1": values})


def test_a_match_lasts_from_its_first_event_to_its_last() -> None:
    found = PATTERN.match_all(events(("A", 1, 3, 10), ("B", 4, 6, 20)))
    assert PATTERN.attributes.types == {"v": pa.int64()}
    assert found.to_pylist() == [{"begin": 1, "end": 6, "c0": 20}]


def test_steps_give_what_ends_by_then() -> None:
    engine = PATTERN.engine()
    assert len(PATTERN.matches(engine, events(("A", 1, 3, 10)), 3)) == 0
    assert PATTERN.matches(engine, events(("B", 4, 6, 20)), 6).to_pylist() == [{"begin": 1, "end": 6, "c0": 20}]


def test_the_order_of_rows_does_not_matter() -> None:
    rows = [("A", 1, 3, 10), ("A", 2, 3, 11), ("B", 4, 6, 20)]
    assert PATTERN.match_all(events(*rows)).equals(PATTERN.match_all(events(*reversed(rows))))

"""Random streams in which some events cannot be read: an engine of one query is as if those pushes had not come, and in
an engine of many queries the others give the same matches."""

from __future__ import annotations

from random import Random
from typing import Any

import pyarrow as pa
import pytest

import ostinato as ost

QUERIES = [
    "A AS x ; B AS y FILTER x[CAST(s AS INT) > 3] WITHIN 5 seconds",
    "A AS x ; NOT C FOR 2 seconds FILTER x[CAST(s AS INT) > 3]",
    "NOT (C AS c FILTER CAST(c.s AS INT) > 3) FOR 3 seconds ; A AS x",
    "A AS x ; B AS y FILTER x[CAST(s AS INT) > 3] PARTITION BY k WITHIN 3 EVENTS",
    "A AS x ; B AS y FILTER x[CAST(s AS INT) > 3] WITHIN 4 ON ts",
    "SELECT x WHERE A AS x ; B AS y FILTER x[CAST(s AS INT) > 3] AND x.k = y.k WITHIN 9 seconds LIMIT 4",
]
GOOD = ost.cel("A AS x ; B AS y WITHIN 5 seconds")


def batches(random: Random, count: int) -> list[Any]:
    """A dict, a list of dicts or a table each; now and then with a text that is no number."""
    found: list[Any] = []
    newest = 0
    for _ in range(count):
        size = random.choice([1, 1, 1, 3, 20])
        rows = []
        for _ in range(size):
            newest += random.choice([0, 0, 1, 1, 2])
            text = "q" if random.random() < 0.4 / size else str(random.randint(0, 9))
            ts = max(0, newest - random.choice([0, 0, 0, 1, 3]))
            rows.append({"ts": ts, "type": random.choice("ABCD"), "s": text, "k": random.randint(0, 2)})
        form = random.choice(["dict", "list", "table"])
        found.append(rows[0] if form == "dict" else pa.Table.from_pylist(rows) if form == "table" else rows)
    return found


@pytest.mark.parametrize("seed", range(48))
def test_a_push_that_is_refused_is_as_if_it_had_not_come(seed: int) -> None:
    random = Random(seed)
    query, lateness = ost.cel(QUERIES[seed % len(QUERIES)]), random.choice([0, 0, 2])
    engine, clean = query.engine(lateness=lateness), query.engine(lateness=lateness)
    for batch in batches(random, 25):
        try:
            found = engine.push(batch)
        except ost.DataError:
            continue
        assert found.to_pylist() == clean.push(batch).to_pylist()
        if random.random() < 0.1:
            engine = ost.Engine.restore(engine.snapshot())
    assert engine.flush().to_pylist() == clean.flush().to_pylist()
    assert (engine.stats().events, engine.stats().late) == (clean.stats().events, clean.stats().late)


@pytest.mark.parametrize("seed", range(24))
def test_the_others_go_on(seed: int) -> None:
    random = Random(seed)
    options: dict[str, Any] = {"lateness": random.choice([0, 0, 2])}
    queries = {str(number): ost.cel(query) for number, query in enumerate(QUERIES)}
    live, clean = ost.engine(queries | {"good": GOOD}, **options), ost.engine({"good": GOOD}, **options)
    stopped: set[str] = set()
    for batch in batches(random, 25):
        found = live.push(batch)
        stopped |= set(found.stopped)
        assert [match for match in found if match["query"] == "good"] == list(clean.push(batch))
        assert {*live.queries} == {*queries, "good"} - stopped and not stopped & {*found.counts()}
    assert live.stats().queries["good"].matches == clean.stats().queries["good"].matches

"""For tests of your own queries: events from a line of letters, any batching of a run, and a comparison that explains.

>>> import ostinato as ost
>>> from ostinato.testing import assert_matches, events, run
>>> assert_matches(run(ost.cel("A AS x ; B AS y WITHIN 2 seconds"), events("A . B A B")), [(0, 1), (2, 3)])
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from ostinato.patterns.query import PatternQuery


def events(line: str, *, start: int = 0, **attributes: Any) -> list[dict[str, Any]]:
    """One event per word, one second apart; a dot is a second without an event. `attributes` go into every event."""
    words = line.split()
    return [{"type": word, "ts": start + at} | attributes for at, word in enumerate(words) if word != "."]


def run(
    query: PatternQuery, rows: list[dict[str, Any]], *, batch: int = 0, restart: bool = False, **options: Any
) -> pa.Table:
    """All matches, with the events pushed `batch` at a time (0: at once).

    With `restart` the engine is saved and restored after every batch. No answer should depend on either.
    """
    engine = query.engine(**options)
    found = []
    for begin in range(0, max(len(rows), 1), batch or max(len(rows), 1)):
        found.append(engine.push(rows[begin : begin + (batch or len(rows))]))
        if restart:
            engine = type(engine).restore(engine.snapshot())
    return pa.concat_tables([*found, engine.flush()])


def positions(matches: pa.Table) -> list[tuple[int, ...]]:
    """The positions of each match of a `SELECT *`."""
    return [tuple(found) for found in matches["positions"].to_pylist()]


def assert_matches(matches: pa.Table, expected: Iterable[Iterable[int]]) -> None:
    """The matches of a `SELECT *` are exactly those with the expected positions, in any order, each once."""
    found, wanted = sorted(positions(matches)), sorted(tuple(each) for each in expected)
    missing = [each for each in wanted if each not in found]
    surplus = [each for each in found if each not in wanted]
    twice = sorted({each for each in found if found.count(each) > wanted.count(each) > 0})
    faults = [
        f"{name}: {each}" for name, each in (("missing", missing), ("not expected", surplus), ("twice", twice)) if each
    ]
    assert not faults, f"{len(found)} matches, {len(wanted)} expected; " + "; ".join(faults)

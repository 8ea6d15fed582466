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
    """One event per word, one second apart.

    Parameters
    ----------
    line
        Event types, with blanks between them; a dot is a second without an event.
    start
        The time of the first word.
    attributes
        Further columns, the same in every event.
    """
    words = line.split()
    return [{"type": word, "ts": start + at} | attributes for at, word in enumerate(words) if word != "."]


def run(
    query: PatternQuery, rows: list[dict[str, Any]], *, batch: int = 0, restart: bool = False, **options: Any
) -> pa.Table:
    """All matches of a query. No answer should depend on `batch` or `restart`.

    Parameters
    ----------
    query
        Such as `ostinato.cel(…)`.
    rows
        The events, such as `events("A B")`.
    batch
        How many events to push at a time; 0: all at once.
    restart
        Whether to save and restore the engine after every batch.
    options
        Those of `query.engine`.
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
    """The matches of a `SELECT *` are exactly those with the expected positions, in any order, each once.

    Parameters
    ----------
    matches
        What `run` or `detect` returned.
    expected
        The positions of each match, such as `[(0, 1), (2, 3)]`.
    """
    found, wanted = sorted(positions(matches)), sorted(tuple(each) for each in expected)
    missing = [each for each in wanted if each not in found]
    surplus = [each for each in found if each not in wanted]
    twice = sorted({each for each in found if found.count(each) > wanted.count(each) > 0})
    faults = [
        f"{name}: {each}" for name, each in (("missing", missing), ("not expected", surplus), ("twice", twice)) if each
    ]
    assert not faults, f"{len(found)} matches, {len(wanted)} expected; " + "; ".join(faults)

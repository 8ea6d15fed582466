"""Writes the snapshots beside this file: engines of each kind, stopped in the middle of a stream.

    PYTHONPATH=src python tests/golden/snapshots/write.py

They stand for state that users have saved. Write them anew only together with a new version number of the format.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import ostinato as ost

FOLDER = Path(__file__).parent
QUERIES = {
    "plain": "A AS x ; B AS y WITHIN 20 seconds",
    "keyed": "A AS x ; (B AS y)+ ; C AS z PARTITION BY key WITHIN 20 seconds",
    "unbounded": "SELECT x.key AS first, COUNT(y) AS times WHERE A AS x ; (B AS y FILTER y[n > 90])+ FILTER x[n < 20]",
    "tied": "A AS x ; B AS y FILTER x.name = y.name WITHIN 20 seconds",
    "nxt": "SELECT NXT * WHERE A AS x ; (B AS y)+ ; C AS z WITHIN 20 seconds",
    "last": "SELECT LAST * WHERE A AS x ; (B AS y)+ ; C AS z PARTITION BY key WITHIN 20 seconds",
    "max": "SELECT MAX * WHERE A AS x ; (B AS y)+ ; C AS z WITHIN 20 seconds",
    "strict": "SELECT STRICT * WHERE A AS x ; B AS y",
    "absent": "A AS x ; NOT B PARTITION BY key WITHIN 20 seconds",
    "distinct": "SELECT x WHERE A AS x ; B AS y WITHIN 30 EVENTS",
}


def halves() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Events before and after the snapshot, a little out of order."""
    chance = random.Random(3)
    rows = [
        {
            "ts": number - chance.choice((0, 0, 2)),
            "type": chance.choice("ABCD"),
            "key": chance.randrange(3),
            "name": chance.choice(["ann", "bob", None]),
            "n": chance.randrange(100),
        }
        for number in range(120)
    ]
    return rows[:60], rows[60:]


def stopped(text: str) -> ost.Engine:
    """An engine that has read the first half. Some events still wait for earlier ones, some have come too late."""
    engine = ost.cel(text).engine(lateness=1, on_late="collect", events=True)
    engine.push(halves()[0])
    return engine


if __name__ == "__main__":
    for name, text in QUERIES.items():
        (FOLDER / f"{name}.snapshot").write_bytes(stopped(text).snapshot())

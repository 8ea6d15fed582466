"""A snapshot says which engine took it, and how to restore it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import ostinato as ost

RULES = "DETECT y { n { 1 } } ON event e: a {{ }} END"
SQL = "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES 1 AS n PATTERN (A))"
SNAPSHOTS: dict[str, Callable[[], Any]] = {
    "an Engine\nfix: restore it with ostinato.Engine.restore": lambda: ost.cel("A AS x").engine(),
    "a LiveEngine\nfix: restore it with ostinato.Engine.restore": lambda: ost.engine(ost.cel("A AS x")),
    "a SqlEngine\nfix: restore it with ostinato.SqlEngine.restore": lambda: ost.sql(SQL).engine(),
    "a RuleEngine\nfix: restore it with ostinato.RuleEngine.restore": lambda: ost.rules(RULES).engine(),
}
RESTORES = {
    "an Engine; a LiveEngine": ost.Engine.restore,
    "a LiveEngine": ost.LiveEngine.restore,
    "a SqlEngine": ost.SqlEngine.restore,
    "a RuleEngine": ost.RuleEngine.restore,
}


@pytest.mark.parametrize("of", SNAPSHOTS)
@pytest.mark.parametrize("reads", RESTORES)
def test_the_engine_of_a_snapshot(of: str, reads: str) -> None:
    taken = SNAPSHOTS[of]().snapshot()
    restore: Callable[[bytes], Any] = RESTORES[reads]
    if of.split("\n")[0] in reads.split("; "):
        assert restore(taken).snapshot() == taken
    else:
        with pytest.raises(ost.DataError, match=f"this is a snapshot of {of}$"):
            restore(taken)

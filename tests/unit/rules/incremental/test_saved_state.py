"""Snapshots: of this release, and those of releases whose points were tables of DuckDB."""

from __future__ import annotations

import json
from typing import Any

import pytest

import ostinato
from ostinato.rules.incremental.engine import RuleEngine
from support import paths

FOLDER = paths.TESTS / "golden" / "rule_snapshots"
CASES = {case["name"]: case for case in json.loads((FOLDER / "cases.json").read_text(encoding="utf-8"))}


def rows(engine: RuleEngine, events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found = [*engine.push(events).to_pylist(), *engine.flush().to_pylist()]
    return sorted(found, key=repr)


@pytest.mark.parametrize("name", CASES)
def test_state_that_users_have_saved_goes_on(name: str) -> None:
    engine = RuleEngine.restore((FOLDER / f"{name}.snapshot").read_bytes())
    again = RuleEngine.restore(engine.snapshot())
    wanted = sorted(CASES[name]["derived"], key=repr)
    assert rows(engine, CASES[name]["after"]) == wanted
    assert rows(again, CASES[name]["after"]) == wanted


def test_a_snapshot_is_as_small_as_what_is_kept() -> None:
    rules = ostinato.rules("DETECT r { } ON and { event a: a {{ k {{ var K }} }}, event b: b {{ k {{ var K }} }} } END")
    sizes = []
    for keys in (10, 1_000):
        engine = rules.engine()
        engine.push([{"ts": n, "type": "a", "k": f"key {n}"} for n in range(keys)])
        sizes.append(len(engine.snapshot()))
    assert sizes[1] - sizes[0] < 990 * 100

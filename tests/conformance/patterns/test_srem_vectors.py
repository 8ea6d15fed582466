"""Worked SREM examples with their right answers: by the declarative evaluator, the automaton and the engine."""

from __future__ import annotations

import json
from typing import Any

import pytest

import ostinato as ost
from ostinato.patterns.semantics.srem import detect
from ostinato.patterns.sra.from_srem import build_sra
from ostinato.patterns.syntax.srem.parse import parse
from support import paths

VECTORS = json.loads((paths.VECTORS / "srem.json").read_text())


@pytest.mark.parametrize("case", VECTORS["cases"], ids=lambda case: case["query"])
def test_vector(case: dict[str, Any]) -> None:
    pattern, rows = parse(case["query"]), VECTORS["stream"]
    matches = sorted(map(tuple, case["matches"]))
    assert sorted(detect(pattern, rows)) == matches
    window = None if pattern.window is None else int(pattern.window.amount)
    automaton = build_sra(pattern.expression, window)
    segments = [(first, last) for last in range(len(rows)) for first in range(last + 1)]
    assert [(first, last) for first, last in sorted(segments) if automaton.accepts(rows[first : last + 1])] == matches
    assert sorted(map(tuple, ost.srem(case["query"]).detect(rows)["positions"].to_pylist())) == matches

"""Worked XSeq examples with their right answers, by the declarative evaluator."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ostinato.xseq.plan.check import parse_and_check
from ostinato.xseq.semantics.query import evaluate
from ostinato.xseq.semantics.tree import read_xml
from support import paths

VECTORS = json.loads((paths.VECTORS / "xseq.json").read_text())


@pytest.mark.parametrize("case", VECTORS["cases"], ids=lambda case: case["name"])
def test_vector(case: dict[str, Any]) -> None:
    rows = evaluate(parse_and_check(case["query"]), read_xml(VECTORS["documents"][case["document"]].encode()))
    if "rows" in case:
        assert rows == list(map(tuple, case["rows"]))
    else:
        assert sorted(rows) == sorted(map(tuple, case["rows_any_order"]))

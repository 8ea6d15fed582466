"""Worked XSeq examples with their right answers, by the declarative evaluator."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ostinato.lang.xseq import parse
from ostinato.semantics.xseq import evaluate
from ostinato.tree.document import read_xml

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "xseq.json").read_text())


@pytest.mark.parametrize("case", VECTORS["cases"], ids=lambda case: case["name"])
def test_vector(case: dict[str, Any]) -> None:
    rows = evaluate(parse(case["query"]), read_xml(VECTORS["documents"][case["document"]].encode()))
    if "rows" in case:
        assert rows == list(map(tuple, case["rows"]))
    else:
        assert sorted(rows) == sorted(map(tuple, case["rows_any_order"]))

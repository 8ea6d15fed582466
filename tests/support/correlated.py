"""Patterns that compare events with each other, run in every way there is, against what the semantics says."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import pyarrow as pa

import ostinato as ost
from ostinato.patterns.runtime.engine import Engine
from ostinato.patterns.semantics.cel import evaluate
from ostinato.patterns.syntax.cel.parse import parse

Positions = list[tuple[int, ...]]
PAIR = "(ANY AS x ; ANY AS y) FILTER "
compiled = lru_cache(maxsize=1)(ost.cel)  # one query runs in all ways before the next is looked at


def positions(*tables: pa.Table) -> Positions:
    return sorted(tuple(found) for table in tables for found in table["positions"].to_pylist())


def found(text: str, rows: pa.Table | list[dict[str, Any]]) -> Positions:
    return positions(compiled(text).detect(rows))


def pushed(text: str, rows: pa.Table, cuts: list[int], **options: Any) -> Positions:
    """By batches, with a restart after each."""
    engine = compiled(text).engine(**options)
    answers = []
    for begin, end in zip([0, *cuts], [*cuts, len(rows)], strict=True):
        answers.append(engine.push(rows.slice(begin, end - begin)))
        engine = Engine.restore(engine.snapshot())
    return positions(*answers, engine.flush())


def agrees_at_once(text: str, rows: pa.Table) -> Positions:
    """What the semantics says, after checking that the engine says it too of the whole table."""
    timed = "ts" if "ts" in rows.column_names else None
    expected = sorted(evaluate(parse(text), rows.to_pylist(), time=timed).positions())
    assert found(text, rows) == expected
    return expected


def agrees(text: str, rows: pa.Table) -> Positions:
    """The same, also counted, and in batches."""
    expected = agrees_at_once(text, rows)
    assert compiled(text).count(rows) == len(expected)
    assert pushed(text, rows, [len(rows) // 3, len(rows) // 2]) == expected
    return expected

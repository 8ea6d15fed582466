"""Steps of a program that always come together, as one step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ostinato.sql.kernels import opcodes as p


def fuse(steps: Sequence[tuple[int, Any, Any]]) -> Iterator[tuple[int, Any, Any]]:
    """Loads of two values that are compared become one step."""
    fused = {
        (p.LOAD_INT, p.LOAD_INT, p.COMPARE): p.COMPARE_ROWS,
        (p.LOAD_FLOAT, p.LOAD_FLOAT, p.COMPARE_FLOATS): p.COMPARE_FLOAT_ROWS,
    }
    at = 0
    while at < len(steps):
        together = fused.get(tuple(op for op, *_ in steps[at : at + 3]))  # type: ignore[arg-type]
        if together is None:
            yield steps[at]
            at += 1
        else:
            (_, one, place), (_, other, where), (_, outcomes, _) = steps[at : at + 3]
            columns = one | other << p.PACKED | outcomes << 2 * p.PACKED
            yield together, columns, place + 1 | where + 1 << p.PACKED
            at += 3

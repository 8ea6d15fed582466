"""What tests of XSeq share: documents that come in pieces, and values that are the same."""

from __future__ import annotations

import math

from ostinato.xseq.semantics.values import Value


def padded(document: bytes) -> bytes:
    """With comments in front that are longer than what a source reads at first, so that the rest comes in pieces."""
    declared = document.index(b"?>") + 2 if document.startswith(b"<?xml") else 0
    return document[:declared] + b"<!-- -->" * 512 + document[declared:]


def same(one: Value, other: Value) -> bool:
    """Equal, numbers up to the last bits; a number that is returned as it is written is a text."""
    if isinstance(one, str) and isinstance(other, int | float):
        return float(one) == other
    if isinstance(one, int | float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)
    return one == other

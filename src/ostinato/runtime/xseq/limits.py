"""Bounds on what a query over documents may take; reaching one is a LimitError that names it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class XSeqLimits:
    """`runs`: partial matches open at once; `kept_bytes`: of a document, where parts of it must be kept;
    `matches`: found in one part that is kept; `depth`: of elements in each other; `token`: bytes of one tag or text."""

    runs: int = 20_000_000
    kept_bytes: int = 2 << 30
    matches: int = 10_000_000
    depth: int = 10_000
    token: int = 64 << 20

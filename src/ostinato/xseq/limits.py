"""Bounds on what a query over documents may take; reaching one is a LimitError that names it."""

from __future__ import annotations

from dataclasses import dataclass

from ostinato.core.options import check_limits
from ostinato.core.stopwatch import Stopwatch


@dataclass(frozen=True, kw_only=True)
class XSeqLimits:
    """What a document and a query may take."""

    runs: int = 20_000_000  # partial matches open at once
    kept_bytes: int = 2 << 30  # of a document, where parts of it must be kept
    matches: int = 10_000_000  # found in one part that is kept
    answer_bytes: int = 1 << 30  # of an answer that is given as a whole
    depth: int = 10_000  # of elements in each other
    token: int = 64 << 20  # bytes of one text or attribute, or of a tag
    attributes: int = 10_000  # of one element
    names: int = 1_000_000  # different ones in a document
    seconds: float | None = None  # how long one call may take; of `batches`, one piece

    def __post_init__(self) -> None:
        check_limits(self)

    def clock(self) -> Stopwatch:
        """Started now, for one call."""
        return Stopwatch(self.seconds, "make the path or its conditions stricter", "XSeqLimits")

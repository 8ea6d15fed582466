"""Bounds on what a query over documents may take; reaching one is a LimitError that names it."""

from __future__ import annotations

from dataclasses import dataclass

from ostinato.core.options import check_limits
from ostinato.core.stopwatch import Stopwatch


@dataclass(frozen=True, kw_only=True)
class XSeqLimits:
    """Bounds on a query over documents.

    Attributes
    ----------
    runs
        Partial matches that are open at once.
    kept_bytes
        Bytes of a document, where parts of it must be kept.
    matches
        Matches in one part that is kept.
    answer_bytes
        Bytes of an answer that is given as a whole.
    depth
        How deep elements may be nested.
    token
        Bytes of one text or attribute, or of a tag.
    attributes
        Attributes of one element.
    names
        Different names in a document.
    seconds
        How long one call may take, or one piece of `batches`; None for any time.
    """

    runs: int = 20_000_000
    kept_bytes: int = 2 << 30
    matches: int = 10_000_000
    answer_bytes: int = 1 << 30
    depth: int = 10_000
    token: int = 64 << 20
    attributes: int = 10_000
    names: int = 1_000_000
    seconds: float | None = None

    def __post_init__(self) -> None:
        check_limits(self)

    def clock(self) -> Stopwatch:
        """Started now, for one call."""
        return Stopwatch(self.seconds, "make the path or its conditions stricter", "XSeqLimits")

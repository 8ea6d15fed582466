"""WITHIN, as a query states it: how far apart the events of a match may be. Bounds are computed in window_bounds.py."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from ostinato.core.expressions import NOWHERE
from ostinato.errors import Span


@dataclass(frozen=True)
class Window:
    """WITHIN. kind "events": amount events; "time": amount nanoseconds; "attribute": amount in the attribute's unit."""

    kind: Literal["events", "time", "attribute"]
    amount: int | float
    attribute: str | None = None
    text: str = field(default="", compare=False)
    span: Span = field(default=NOWHERE, compare=False)

"""The options of `detect` for a pattern, as types."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, TypedDict

from ostinato.core.options import OnLate
from ostinato.patterns.limits import Limits


class _Options(TypedDict, total=False):
    time: str | None
    type: str | None
    order_by: Sequence[str]
    events: bool
    identity: bool
    since: Any
    until: Any
    limits: Limits | None


class TableOptions(_Options, total=False):
    """How a table is searched."""

    threads: int | None


class FrameOptions(_Options, total=False):
    """How a Spark DataFrame is searched: see `ostinato.spark.detect`."""

    lateness: str | float | timedelta | None
    on_late: OnLate | None
    buckets: int | None
    parallel: int | None
    metrics: str | None

"""The options of `detect` for rules on Spark, as types, for the verbs that hand them on."""

from __future__ import annotations

from datetime import timedelta
from typing import TypedDict

from ostinato.core.options import OnLate


class FrameOptions(TypedDict, total=False):
    """How rules run over a Spark DataFrame, but for `longest`: see `ostinato.spark.detect_rules`."""

    begin: str | None
    end: str | None
    time: str | None
    type: str | None
    document: str | None
    lateness: str | float | timedelta | None
    on_late: OnLate | None
    buckets: int | None
    metrics: str | None

"""The options of `detect` for rules, as types."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, TypedDict

from ostinato.core.options import OnLate
from ostinato.rules.limits import RuleLimits


class _Options(TypedDict, total=False):
    begin: str | None
    end: str | None
    time: str | None
    type: str | None
    document: str | None


class TableOptions(_Options, total=False):
    """How rules run over a table."""

    limits: RuleLimits | None
    tables: Mapping[str, Any] | None


class FrameOptions(_Options, total=False):
    """How rules run over a Spark DataFrame, but for `longest`: see `ostinato.spark.detect_rules`."""

    lateness: str | float | timedelta | None
    on_late: OnLate | None
    buckets: int | None
    metrics: str | None
    tables: Mapping[str, Any] | None

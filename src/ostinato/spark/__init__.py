"""Ostinato on Apache Spark: the same queries over DataFrames, batch and streaming."""

from __future__ import annotations

from ostinato.spark.detect import detect
from ostinato.spark.session import session

__all__ = ["detect", "session"]

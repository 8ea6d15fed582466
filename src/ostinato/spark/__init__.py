"""Ostinato on Apache Spark: the same queries over DataFrames, batch and streaming."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ostinato.core.options import bad_option
from ostinato.spark.patterns.detect import detect
from ostinato.spark.session import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from ostinato.spark.rules.detect import detect_rules

__all__ = ["detect", "detect_rules", "register", "session"]


def __getattr__(name: str) -> Any:
    """Workers that run no rules need not load what rules are run with."""
    if name == "detect_rules":
        from ostinato.spark.rules.detect import detect_rules

        return detect_rules
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__all__)


def register(spark: SparkSession) -> None:
    """Make the table function `ostinato_detect` known to the SQL of a session.

    Parameters
    ----------
    spark
        The session, such as `ostinato.spark.session()`.

    Examples
    --------
    `SELECT * FROM ostinato_detect(TABLE(events) PARTITION BY farm, query => 'T AS x ; H AS y WITHIN 5 minutes')`
    """
    from ostinato.spark.patterns.table_function import register_functions

    if not hasattr(getattr(spark, "udtf", None), "register"):
        raise bad_option("spark", spark, "a session of Spark, such as ostinato.spark.session()")
    register_functions(spark)

"""What the languages ask of Spark (ostinato.core.backends.Backend), one function per language and verb.

What a language needs is loaded when it is asked for: a job of patterns does not load the machinery of rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ostinato.forecast.forecaster import Forecaster
    from ostinato.forecast.model import ForecastModel
    from ostinato.forecast.score.evaluation import Evaluation
    from ostinato.patterns.funnel.funnel import Funnel
    from ostinato.patterns.funnel.result import FunnelResult
    from ostinato.patterns.query import PatternQuery
    from ostinato.rules.program import RuleProgram
    from ostinato.sql.query import SqlQuery
    from ostinato.xseq.query import XSeqQuery


def detect(queries: PatternQuery | Mapping[str, PatternQuery], frame: DataFrame, /, **options: Any) -> DataFrame:
    from ostinato.spark.patterns.detect import detect

    return detect(queries, frame, **options)


def explain(query: PatternQuery, frame: DataFrame, /, **options: Any) -> str:
    from ostinato.spark.patterns.explain import explain_spark

    return explain_spark(query, frame, **options)


def funnel(funnel: Funnel, frame: DataFrame, /, **options: Any) -> FunnelResult:
    from ostinato.spark.patterns.funnel import follow_funnel

    return follow_funnel(funnel, frame, **options)


def detect_rules(program: RuleProgram, frame: DataFrame, /, **options: Any) -> DataFrame:
    from ostinato.spark.rules.detect import detect_rules

    return detect_rules(program, frame, **options)


def explain_rules(program: RuleProgram, frame: DataFrame, /, **options: Any) -> str:
    from ostinato.spark.rules.explain import explain_rules

    return explain_rules(program, frame, **options)


def detect_xseq(query: XSeqQuery, frame: DataFrame, /, **options: Any) -> DataFrame:
    from ostinato.spark.xseq.detect import detect_xseq

    return detect_xseq(query, frame, **options)


def explain_xseq(query: XSeqQuery, frame: DataFrame, /, **options: Any) -> str:
    from ostinato.spark.xseq.explain import explain_xseq

    return explain_xseq(query, frame, **options)


def detect_sql(query: SqlQuery, data: Any, /, **options: Any) -> DataFrame:
    from ostinato.spark.sql.detect import detect_sql

    return detect_sql(query, data, **options)


def fit(forecaster: Forecaster, history: DataFrame, /) -> ForecastModel:
    from ostinato.spark.forecast.fit import fit

    return fit(forecaster.pattern, forecaster.settings, history)


def forecast(model: ForecastModel, events: DataFrame, /, **options: Any) -> DataFrame:
    from ostinato.spark.forecast.score import score

    return score(model, events, **options)


def evaluate(model: ForecastModel, holdout: DataFrame, /, **options: Any) -> Evaluation:
    from ostinato.spark.forecast.evaluate import evaluate

    return evaluate(model, holdout, **options)

"""The options of a forecaster as Params of pyspark.ml, with the same names and defaults."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import Any

from pyspark.ml.param import Param, Params, TypeConverters

from ostinato.errors import Message, Option, OstinatoError, QueryError, did_you_mean
from ostinato.forecast.learn.suffix_tree import Learning
from ostinato.forecast.pattern import ForecastPattern
from ostinato.forecast.settings import ForecastLimits, Settings
from ostinato.patterns.query import PatternQuery


def _order(value: Any) -> Any:
    return value if value == "auto" else TypeConverters.toInt(value)


def _param(name: str, doc: str, convert: Any) -> Any:
    return Param(Params._dummy(), name, doc, convert)


class ForecastParams(Params):
    """What is forecast, and how it is learned."""

    query = _param("query", "the pattern, as text", TypeConverters.toString)
    language = _param("language", "of the query: cel or srem", TypeConverters.toString)
    features = _param("features", "conditions on one event that the model tells apart", TypeConverters.toListString)
    order = _param("order", 'the longest context; "auto": the one that predicts held-out events best', _order)
    horizon = _param("horizon", "how many events ahead to look", TypeConverters.toInt)
    threshold = _param("threshold", "the probability that intervals promise", TypeConverters.toFloat)
    calibrate = _param("calibrate", "whether intervals are made to cover what they promise", TypeConverters.toBoolean)
    holdout = _param("holdout", "the share of the history, its end, that is held out", TypeConverters.toFloat)
    time = _param("time", "the column of the time; ts unless given", TypeConverters.toString)
    type = _param("type", "the column of the type; type unless given", TypeConverters.toString)
    order_by = _param("order_by", "columns that order events of equal time", TypeConverters.toListString)
    p_min = _param("p_min", "contexts less probable than this are not looked at", TypeConverters.toFloat)
    alpha = _param(
        "alpha", "how far above gamma a symbol must be for its context to be learned", TypeConverters.toFloat
    )
    gamma = _param(
        "gamma", "the least probability of a symbol that makes its context worth learning", TypeConverters.toFloat
    )
    r = _param("r", "by which factor a longer context must differ from the shorter one", TypeConverters.toFloat)
    prior = _param("prior", "how many events the shorter context counts for in a longer one", TypeConverters.toFloat)
    min_count = _param("min_count", "contexts seen less often are not learned", TypeConverters.toFloat)
    max_nodes = _param("max_nodes", "the largest number of contexts", TypeConverters.toInt)
    pattern_states = _param("pattern_states", "the limit of the pattern's states", TypeConverters.toInt)
    states = _param("states", "the limit of states of the pattern with all contexts", TypeConverters.toInt)
    memory = _param("memory", "the limit of bytes of the waiting times", TypeConverters.toInt)

    def _set_defaults(self) -> None:
        known = Settings()
        plain = ("order", "horizon", "threshold", "calibrate", "holdout")
        options = {name: getattr(known, name) for name in plain} | asdict(known.learning) | asdict(known.limits)
        self._setDefault(language="cel", features=[], order_by=[], **options)

    def _set_options(self, query: PatternQuery | str | None, options: dict[str, Any]) -> None:
        """Set these options; a compiled query brings its language along."""
        if isinstance(query, PatternQuery):
            options = options | {"query": query.text, "language": query.language}
        elif query is not None:
            options = options | {"query": query}
        for name in options:
            if not self.hasParam(name):
                known = [param.name for param in self.params]
                raise OstinatoError(f"a forecaster has no option `{name}`", fix=did_you_mean(name, known), option=name)
        self._set(**{name: _plain(value) for name, value in options.items() if value is not None})

    @property
    def pattern(self) -> ForecastPattern:
        """Raises QueryError if there is none, or it cannot be forecast."""
        if not self.isDefined("query"):
            raise QueryError(
                "there is no query to forecast", fix=Message("give it with ", Option("query")), option="query"
            )
        query, features, language = (self.getOrDefault(name) for name in ("query", "features", "language"))
        return ForecastPattern.of(query, features, language)

    @property
    def settings(self) -> Settings:
        limits = ForecastLimits(**{each.name: self.getOrDefault(each.name) for each in fields(ForecastLimits)})
        learning = {each.name: self.getOrDefault(each.name) for each in fields(Learning)}
        plain = ("order", "horizon", "threshold", "calibrate", "holdout", "order_by")
        options = {name: self.getOrDefault(name) for name in plain}
        options |= {name: self.getOrDefault(name) for name in ("time", "type") if self.isDefined(name)}
        return Settings.of(limits=limits, **options, **learning)


def _plain(value: Any) -> Any:
    """pyspark.ml takes only lists, and keeps them as JSON."""
    return list(value) if isinstance(value, Sequence) and not isinstance(value, str) else value

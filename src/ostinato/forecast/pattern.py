"""What is forecast: a pattern, and the conditions that tell its events apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ostinato.core.conditions import Condition
from ostinato.core.options import bad_option
from ostinato.errors import QueryError, Span
from ostinato.patterns.compile import CompiledPattern, compile_query, compile_text
from ostinato.patterns.plan.check import check_schema
from ostinato.patterns.plan.required_columns import required_attributes
from ostinato.patterns.query import CelQuery, PatternQuery, SremQuery
from ostinato.patterns.syntax.nodes import Language

_FEATURE = "ANY AS event FILTER event[{}\n]"  # the line break ends a comment
_PREFIX = _FEATURE.index("{")
_LANGUAGES: dict[str, type[PatternQuery]] = {"cel": CelQuery, "srem": SremQuery}


@dataclass(frozen=True)
class ForecastPattern:
    """A query and the features that refine its symbols without changing its matches."""

    text: str
    language: Language
    features: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, query: PatternQuery | str, features: Sequence[str] = (), language: str | None = None
    ) -> ForecastPattern:
        """Raises QueryError if it cannot be forecast. `language` is that of a text, cel by default."""
        if language is not None and language not in _LANGUAGES:
            raise bad_option("language", language, " or ".join(map(repr, _LANGUAGES)))
        if isinstance(query, str):
            query = _LANGUAGES[language or "cel"](query)
        if not isinstance(query, PatternQuery):
            raise QueryError(
                f"a forecast is of a pattern, not of {type(query).__name__}", fix="give ostinato.cel(…) or srem(…)"
            )
        if language not in (None, query.language):
            raise bad_option("language", language, f"{query.language!r}, which the query is in, or none")
        if isinstance(features, str):
            raise QueryError(
                "features is a list of conditions, not a text", fix=f"give the list [{features!r}]", option="features"
            )
        if not isinstance(features, Iterable):
            raise QueryError(
                f"features is a list of conditions, not {features!r}",
                fix="give a list such as ['speed > 3']",
                option="features",
            )
        pattern = cls(query.text, query.language, tuple(features))
        pattern.check()
        return pattern

    def check(self) -> None:
        query = self.compiled.query
        _ = self.feature_conditions
        if query.timeout is not None:
            raise QueryError(
                "a forecast is of complete matches, and WITH TIMEOUT ROWS asks for others",
                fix="forecast the pattern without it",
            )
        if self.compiled.trailing:
            raise QueryError(
                "a NOT at the end completes when time has passed, not with an event, so it cannot be forecast",
                fix="forecast the pattern without it",
            )
        if query.skip is not None:
            raise QueryError(
                "what AFTER MATCH SKIP leaves out depends on earlier matches, which a forecast does not keep",
                fix="forecast the pattern without it, or with CONSUME BY PARTITION",
            )
        if query.limit is not None:
            raise QueryError(
                "after LIMIT nothing completes any more, and a forecast does not count",
                fix="forecast the pattern without LIMIT",
            )
        if any(t.folds for t in self.compiled.transducer.transitions):
            raise QueryError(
                "a loop whose conditions look back on its rounds cannot be forecast",
                fix="forecast the pattern without prev and aggregates in FILTER",
            )
        if self.compiled.preceding:
            raise QueryError(
                "a NOT at the start looks back by time, which no state of an automaton holds, so it cannot be forecast",
                fix="forecast the pattern without it",
            )
        if self.compiled.delays:
            raise QueryError(
                "NOT … FOR between two parts measures time, which no state of an automaton holds, so it cannot be "
                "forecast",
                fix="forecast the pattern without FOR",
            )
        if query.consume == "ANY" and query.partition_by:
            raise QueryError(
                "with CONSUME BY ANY a match of one partition ends those of all others, which no partition foresees",
                fix="CONSUME BY PARTITION",
            )
        if self.correlated and self.reach is None and query.window is None:
            raise QueryError(
                "a pattern that compares events with each other can be forecast only if its matches are bounded: "
                "otherwise it might have to remember any number of events",
                fix="add WITHIN",
            )

    @cached_property
    def query(self) -> PatternQuery:
        return _LANGUAGES[self.language](self.text)

    @cached_property
    def compiled(self) -> CompiledPattern:
        """Equalities between all events stay comparisons: partitions would split the stream that is forecast."""
        compiled = self.query._compiled
        if compiled.tied_by is None:
            return compiled
        from ostinato.patterns.syntax.cel.parse import parse

        return compile_query(parse(self.text), ties=False)

    @property
    def correlated(self) -> bool:
        return self.compiled.registers is not None

    @cached_property
    def reach(self) -> int | None:
        """The largest number of events from the first of a match to its last: by WITHIN, or because no part of the
        pattern can wait or repeat. None: it is not bounded."""
        window = self.compiled.query.window
        if window is not None:
            return int(window.amount) if window.kind == "events" else None
        transducer = self.compiled.transducer
        moves = [t for t in transducer.transitions if not (t.source == 0 and t.mark is None)]
        longest = [0] * transducer.states  # events read on the way to a state
        for _ in range(transducer.states):
            before = list(longest)
            for t in moves:
                longest[t.target] = max(longest[t.target], longest[t.source] + 1)
            if longest == before:
                return max(longest)
        return None

    @cached_property
    def feature_queries(self) -> tuple[CompiledPattern, ...]:
        return tuple(map(_feature, self.features))

    @property
    def feature_conditions(self) -> tuple[Condition, ...]:
        return tuple(compiled.conditions[0] for compiled in self.feature_queries)

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """Those of the pattern come first."""
        own = self.compiled.transducer.conditions()
        return (*own, *self.feature_conditions)

    @property
    def own_bits(self) -> int:
        """The bits of a minterm that the pattern looks at."""
        return (1 << len(self.compiled.transducer.conditions())) - 1

    def check_schema(self, schema: Mapping[str, str]) -> None:
        """Raises QueryError if the columns (name, kind) do not fit the pattern or a feature."""
        check_schema(self.compiled.query, schema)
        for text, compiled in zip(self.features, self.feature_queries, strict=True):
            try:
                check_schema(compiled.query, schema)
            except QueryError as error:
                raise _of_feature(error, text) from None

    @property
    def partition_by(self) -> tuple[str, ...]:
        return self.compiled.query.partition_by

    @property
    def columns(self) -> set[str]:
        """The attributes that are read, besides time and type."""
        queries = (self.compiled, *self.feature_queries)
        return set().union(*(required_attributes(compiled.query) for compiled in queries)) | set(self.partition_by)


def _feature(text: object) -> CompiledPattern:
    if not isinstance(text, str) or not text.strip():
        raise QueryError(f"a feature is a condition on one event, not {text!r}", fix="such as 'speed > 3'")
    _check_condition(text)
    try:
        compiled = compile_text(_FEATURE.format(text))
    except QueryError as error:
        raise _of_feature(error, text) from None
    if not required_attributes(compiled.query):
        reason = "this feature reads no attribute, so that it holds for every event or for none"
        raise QueryError(reason, text=text, span=Span(0, len(text)), fix="leave it out")
    return compiled


def _check_condition(text: str) -> None:
    """Raises QueryError unless the text is exactly one condition: anything after it could be more of a query."""
    from lark.exceptions import UnexpectedInput

    from ostinato.core.text.grammar import load_parser
    from ostinato.patterns.syntax.cel.messages import syntax_error

    try:
        load_parser("ostinato.patterns.syntax.cel", "expr").parse(text)
    except UnexpectedInput as error:
        found = syntax_error(text, error)
        raise QueryError(f"in a feature: {found.reason}", text=text, span=found.span, fix=found.fix) from None


def _of_feature(error: QueryError, text: str) -> QueryError:
    """The same error, pointing into the feature as it was given."""
    at = error.span
    place = None if at is None else Span(*(min(max(end - _PREFIX, 0), len(text)) for end in (at.start, at.end)))
    return QueryError(f"in a feature: {error.reason}", text=text, span=place, fix=error.fix)

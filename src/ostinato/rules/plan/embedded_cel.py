"""Patterns inside of event rules: faults with their place in the rules' text, what they read, and what a match has."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ostinato.core.events import DEFAULT_TYPE
from ostinato.core.expressions import NOWHERE, Attribute, Call, Expr, Literal, Variable, variables, walk
from ostinato.errors import QueryError, Span, did_you_mean
from ostinato.patterns.plan.required_columns import required_attributes, required_columns
from ostinato.patterns.syntax.cel.parse import parse
from ostinato.patterns.syntax.item_names import ANSWER_COLUMNS
from ostinato.patterns.syntax.nodes import (
    Event,
    Formula,
    Item,
    Query,
    Segment,
    bound,
    event_types,
    everything,
    rebuild,
)
from ostinato.patterns.syntax.srem.nodes import tests
from ostinato.rules.syntax.nodes import Bind, CelPattern, ChildQuery, Element, Optional, PatternLanguage, Position

if TYPE_CHECKING:
    from ostinato.rules.plan.embedded_sql import RowPattern

_NAMES = {"cel": "CEL query", "srem": "SREM", "sql": "SQL query"}


def check_pattern(pattern: CelPattern) -> None:
    """Raise QueryError where the query is wrong, or its term asks for a column that the query does not give."""
    if pattern.language == "sql":
        try:
            columns = _row_pattern(pattern.query).columns
        except QueryError as error:
            raise _locate_error(error, pattern) from None
        _check_columns(pattern, columns)
        return
    from ostinato.patterns.compile import compile_text

    try:
        compiled = compile_text(pattern.query, pattern.language)
    except QueryError as error:
        raise _locate_error(error, pattern) from None
    query = compiled.query
    if query.timeout is not None:
        reason = "WITH TIMEOUT ROWS gives what is no match, and an event of a rule is one"
        raise QueryError(reason, span=pattern.query_span, fix="leave it out")
    if compiled.trailing:
        reason = "the CEL query ends in NOT: its matches are known only after they have ended"
        fix = "leave the NOT out, and say `while i: not …` with a timer on the pattern"
        raise QueryError(reason, span=pattern.query_span, fix=fix)
    if compiled.preceding:
        reason = "the CEL query begins with NOT: it asks for events from before its matches"
        fix = "leave the NOT out, and say `while i: not …` with a timer on the pattern"
        raise QueryError(reason, span=pattern.query_span, fix=fix)
    _check_columns(pattern, match_columns(query))


def _check_columns(pattern: CelPattern, known: Sequence[str]) -> None:
    for child in pattern.term.children:
        label = _label(child)
        if label is not None and label not in known:
            listed = {
                "cel": f"list it: SELECT x.{label} AS {label} WHERE …",
                "srem": f"write PARTITION BY {label}",
                "sql": f"show it: MEASURES A.{label} AS {label}",
            }
            fix = did_you_mean(label, known) or listed[pattern.language]
            raise QueryError(f"the {_NAMES[pattern.language]} gives no column `{label}`", span=child.span, fix=fix)


def parse_pattern(text: str, language: PatternLanguage) -> Query:
    """The query that the text of a CEL or SREM pattern states."""
    from ostinato.patterns.compile import compile_text

    assert language != "sql"
    return parse(text) if language == "cel" else compile_text(text, language).query


def _row_pattern(text: str) -> RowPattern:
    from ostinato.rules.plan.embedded_sql import read_row_pattern  # SQL takes its time to load

    return read_row_pattern(text)


def named_labels(text: str, language: PatternLanguage) -> frozenset[str]:
    """The labels that a pattern names: the event types of a CEL query, what an SREM compares `type` with, the table of
    an SQL query."""
    if language == "sql":
        return frozenset((_row_pattern(text).label,))
    formula = parse_pattern(text, language).formula
    if language == "cel":
        return frozenset(label for label in event_types(formula) if label is not None)
    segments = (part for part in everything(formula) if isinstance(part, Segment))
    return frozenset(label for part in segments for test in tests(part.expression) for label in _compared(test.test))


def _compared(test: Expr) -> Iterator[str]:
    for node in walk(test):
        parts = node.args if isinstance(node, Call) else ()
        if any(isinstance(part, Attribute) and part.name == DEFAULT_TYPE for part in parts):
            yield from (part.value for part in parts if isinstance(part, Literal) and isinstance(part.value, str))


def read_labels(text: str, language: PatternLanguage, derived: Collection[str]) -> tuple[str, ...]:
    """The labels whose events a pattern reads, where it names one that rules derive, or is SQL; else there are none, as
    it reads all that comes in."""
    named = named_labels(text, language)
    return tuple(sorted(named)) if language == "sql" or any(label in derived for label in named) else ()


def read_attributes(text: str, language: PatternLanguage) -> Callable[[str], bool]:
    """Which columns a pattern reads."""
    if language == "sql":
        names = {name.lower() for name in _row_pattern(text).reads}
        return lambda name: name.lower() in names
    required = required_columns(parse_pattern(text, language))
    return lambda name: required is None or name in required


def required_names(text: str, language: PatternLanguage) -> set[str]:
    """The columns that a pattern names."""
    if language == "sql":
        return set(_row_pattern(text).reads)
    return required_attributes(parse_pattern(text, language))


def select_all_variables(text: str) -> str:
    """The query with something of every variable in its SELECT: all events of a match count for when it happened.

    What is added has a name that begins with `#`.
    """
    from ostinato.patterns.syntax.format import to_text

    query = parse(text)
    if query.items is None:
        return text
    bare = iter(range(1, 1_000_000))

    def named(formula: Formula) -> Formula:
        if isinstance(formula, Event) and formula.variable.startswith("#"):
            return replace(formula, variable=f"bare event {next(bare)}")
        return formula

    formula = rebuild(query.formula, named)
    shown = frozenset().union(*(variables(item.expr) for item in query.items))
    added = [Item(Call("count", (Variable(name),)), f"#{name}") for name in sorted(bound(formula) - shown)]
    return to_text(replace(query, formula=formula, items=(*query.items, *added)))


def match_columns(query: Query) -> tuple[str, ...]:
    """What a match is made of: the items of SELECT, or the partition of SELECT *."""
    names = query.partition_by if query.items is None else [item.name for item in query.items]
    return tuple(name for name in names if name not in ANSWER_COLUMNS)


def _label(term: ChildQuery) -> str | None:
    while isinstance(term, Bind | Optional | Position) and term.term is not None:
        term = term.term
    return term.label if isinstance(term, Element) and not term.is_regex else None


def _locate_error(error: QueryError, pattern: CelPattern) -> QueryError:
    """The error with its span in the text of the rules."""
    span = pattern.query_span
    if span == NOWHERE:
        return error
    if error.span is not None:
        span = Span(_offset(pattern, error.span.start), max(_offset(pattern, error.span.end), 1))
    return QueryError(f"in the {_NAMES[pattern.language]}: {error.reason}", span=span, fix=error.fix)


def _offset(pattern: CelPattern, place: int) -> int:
    """A place of the query in the rules' text, where the quotes around it are doubled inside of it."""
    doubled = pattern.query_span.end - pattern.query_span.start - 2 - len(pattern.query)
    quote = next((quote for quote in "\"'" if pattern.query.count(quote) == doubled), "") if doubled else ""
    before = pattern.query.count(quote, 0, place) if quote else 0
    return pattern.query_span.start + 1 + place + before

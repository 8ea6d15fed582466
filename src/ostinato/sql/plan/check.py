"""What is legal text and makes no sense, found before any row is read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from math import factorial

from ostinato.errors import QueryError, Span
from ostinato.sql.syntax import nodes as n
from ostinato.sql.syntax.words import words

_QUERIES = ("SELECT", "WITH", "FROM", "VALUES", "(")
_LENGTH = re.compile(r"(?:INTERVAL\s*)?'?\s*(-?\s*\d+(?:\.\d*)?)(?:\s*'?\s*[A-Za-z]+\s*'?|')?", re.IGNORECASE)
MOST_ORDERS = 1_000_000  # of the parts of a PERMUTE


def check(query: n.Query) -> None:
    """Raise QueryError for the first fault."""
    _check_statement(query.text)
    for clause in query.clauses:
        for rule in RULES:
            try:
                rule(clause.match)
            except QueryError as error:
                raise error.within(query.text) from None


def _check_statement(text: str) -> None:
    found = words(text)
    if found[0].keyword not in _QUERIES:
        reason = f"{found[0].text.upper()} is no query"
        raise QueryError(reason, text=text, span=found[0].span, fix="write SELECT …, and use its rows from there")
    end = next((index for index, word in enumerate(found) if word.type == "SIGN" and word.text == ";"), len(found))
    if end + 1 < len(found):
        reason = "these are several statements"
        raise QueryError(reason, text=text, span=found[end + 1].span, fix="give one query at a time")


def _subsets(match: n.MatchRecognize) -> None:
    """A union variable is a new name for pattern variables."""
    known = n.symbols(match.pattern)
    seen: dict[str, n.Subset] = {}
    for subset in match.subsets:
        if subset.name in known:
            reason = f"SUBSET {subset.name} has the name of a pattern variable"
            raise QueryError(reason, span=subset.span, fix="give the union another name")
        if subset.name in seen:
            raise QueryError(f"SUBSET {subset.name} is given twice", span=subset.span, fix="remove one of the two")
        for member in subset.members:
            if member not in known:
                reason = f"SUBSET {subset.name} is made of {member}, which is a SUBSET itself"
                raise QueryError(reason, span=subset.span, fix=f"list the pattern variables of {member} instead")
        seen[subset.name] = subset


def _definitions(match: n.MatchRecognize) -> None:
    """Each pattern variable has one condition at most, which looks at no row after the current one as mapped."""
    unions = {subset.name for subset in match.subsets}
    seen: set[str] = set()
    for definition in match.definitions:
        name = definition.name
        if name in seen:
            fix = "join the two conditions with AND or OR"
            raise QueryError(f"{name} is defined twice", span=definition.span, fix=fix)
        if name in unions:
            reason = f"{name} is a SUBSET, and takes the rows of its members"
            raise QueryError(reason, span=definition.span, fix="define its members")
        seen.add(name)
        for term in _terms(definition.condition):
            if isinstance(term, n.Navigation | n.Aggregate) and term.mode == "FINAL":
                reason = "a condition cannot be FINAL: the match is not known before it ends"
                raise QueryError(reason, span=term.span, fix="leave FINAL out")


def _rows(match: n.MatchRecognize) -> None:
    """What is shown of a match."""
    if match.rows == "ONE ROW" and not match.measures and not match.partition_by:
        reason = "ONE ROW PER MATCH shows PARTITION BY and MEASURES, and there is neither"
        fix = "add MEASURES, such as MEASURES FIRST(ts) AS since, or ALL ROWS PER MATCH"
        raise QueryError(reason, span=Span(match.span.start, match.span.start + len("MATCH_RECOGNIZE")), fix=fix)
    excluded = next((node for node in n.walk(match.pattern) if isinstance(node, n.Exclude)), None)
    if excluded is not None and match.rows == "ALL ROWS WITH UNMATCHED":
        reason = "WITH UNMATCHED ROWS shows every row, and {- -} leaves rows out"
        raise QueryError(reason, span=excluded.span, fix="remove one of the two")


def _within(match: n.MatchRecognize) -> None:
    """WITHIN counts from the first row on, in the order of time."""
    if match.within is None:
        return
    if not match.order_by:
        fix = "add ORDER BY with the column of the time"
        raise QueryError("WITHIN needs an order in time", span=match.within.span, fix=fix)
    if match.order_by[0].descending:
        reason = "WITHIN needs rows in the order of time, and ORDER BY has the latest first"
        raise QueryError(reason, span=match.order_by[0].span, fix="leave DESC out")
    written = _LENGTH.fullmatch(match.within.render(lambda term: "?").strip())
    if written is not None and float(written[1].replace(" ", "")) <= 0:
        reason = f"WITHIN {written[0]} leaves no time for a match"
        raise QueryError(reason, span=match.within.span, fix="write how long after its first row a match may last")


def _orders(match: n.MatchRecognize) -> None:
    """Parts that may come in any order."""
    for node in n.walk(match.pattern):
        if isinstance(node, n.Permute) and (orders := factorial(min(len(node.parts), 20))) > MOST_ORDERS:
            reason = f"PERMUTE of {len(node.parts)} parts has {orders:,} orders"
            raise QueryError(reason, span=node.span, fix=f"permute fewer parts; the most is {MOST_ORDERS:,} orders")


def _terms(value: n.Sql) -> Iterator[n.Term]:
    """All terms, those inside terms as well."""
    for term in value.terms:
        yield term
        if isinstance(term, n.Navigation):
            yield from _terms(term.value)
        elif isinstance(term, n.Aggregate):
            yield from _terms(term.call)


RULES: tuple[Callable[[n.MatchRecognize], None], ...] = (_subsets, _definitions, _rows, _within, _orders)

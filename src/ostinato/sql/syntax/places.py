"""Where the clauses of a query stand: what each reads from, what its rows replace, and which names it can use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ostinato.errors import QueryError, Span
from ostinato.sql.syntax import nodes as n
from ostinato.sql.syntax.words import CLOSING, Word, closing, words

_JOIN_WORDS = (
    *("JOIN", "ON", "USING", "INNER", "LEFT", "RIGHT", "FULL", "OUTER", "CROSS", "NATURAL", "ASOF", "SEMI", "ANTI"),
    "POSITIONAL",
)
_QUERIES = ("SELECT", "WITH", "FROM", "VALUES")
_BEFORE_INPUT = ("FROM", "JOIN", ",", "LATERAL")


class Place(NamedTuple):
    keyword: int  # the index of MATCH_RECOGNIZE
    close: int  # the index of the bracket that closes the clause
    input: Span
    whole: Span
    scopes: tuple[n.Scope, ...]


def find_places(text: str, found: Sequence[Word]) -> list[Place]:
    """The clauses of a query, each after those that it reads from."""
    _check_quotes(found)
    opened: list[int] = []
    places = []
    for index, word in enumerate(found):
        if word.type in ("SIGN", "EXCLUDE", "END_EXCLUDE") and word.text in CLOSING:
            opened.append(index)
        elif word.type == "SIGN" and word.text in CLOSING.values():
            if not opened:
                reason = f"`{word.text}` closes nothing"
                raise QueryError(reason, span=word.span, fix="remove it, or add the bracket it closes")
            opened.pop()
        elif word.keyword == "MATCH_RECOGNIZE" and found[index - 1].text not in (".", "AS", "as"):
            places.append(_place(found, index, tuple(opened)))
    if not places:
        raise _no_clause(text, found)
    return sorted(places, key=lambda place: place.close)


def _place(found: Sequence[Word], keyword: int, opened: tuple[int, ...]) -> Place:
    if keyword + 1 == len(found) or found[keyword + 1].text != "(":
        fix = "write MATCH_RECOGNIZE (ORDER BY … MEASURES … PATTERN (…) DEFINE …)"
        raise QueryError("MATCH_RECOGNIZE needs its clause in brackets", span=found[keyword].span, fix=fix)
    close = closing(found, keyword + 1)
    first = _input_start(found, keyword)
    if first == keyword:
        reason = "MATCH_RECOGNIZE follows the table that it reads"
        raise QueryError(reason, span=found[keyword].span, fix="write FROM ticks MATCH_RECOGNIZE (…)")
    source = Span(found[first].start, found[keyword - 1].end)
    scopes = tuple(_scopes(found, opened, keyword))
    return Place(keyword, close, source, Span(source.start, found[close].end), scopes)


def _input_start(found: Sequence[Word], keyword: int) -> int:
    """The index of the first word of what the clause reads.

    That is the table right before it; after the condition of a join, which belongs to no table, the whole join.
    """
    depth, index, joined = 0, keyword - 1, False
    while index >= 0:
        word = found[index]
        if word.type == "SIGN" and word.text in CLOSING.values():
            depth += 1
        elif word.type == "SIGN" and word.text in CLOSING:
            if depth == 0:
                break
            depth -= 1
        elif depth == 0:
            if word.keyword in ("ON", "USING"):
                joined = True
            if word.keyword in _BEFORE_INPUT and not (joined and word.keyword == "JOIN"):
                break
        index -= 1
    return index + 1


def _scopes(found: Sequence[Word], opened: tuple[int, ...], at: int) -> Iterator[n.Scope]:
    """The common table expressions that end before a place, of all queries around it."""
    for level in (-1, *opened):
        start = level + 1
        if found[start].keyword != "WITH":
            continue
        recursive = found[start + 1].keyword == "RECURSIVE"
        first = index = start + 1 + recursive
        last = None
        while index < at:
            # name [(columns)] AS [[NOT] MATERIALIZED] (query)
            while index < len(found) and found[index].keyword != "AS":
                index = closing(found, index) + 1 if found[index].text == "(" else index + 1
            while index < len(found) and found[index].text != "(":
                index += 1
            end = closing(found, index) if index < len(found) else at
            if end >= at:
                break
            last, index = end, end + 1
            if found[index].text != ",":
                break
            index += 1
        if last is not None:
            yield n.Scope(Span(found[first].start, found[last].end), recursive)


def table_aliases(text: str) -> list[str]:
    """The names of the tables in a part of FROM: the alias of each, or its own name; none for a subquery without."""
    found = words(text)
    if found[0].text == "(" and closing(found, 0) == len(found) - 1 and found[1].keyword not in _QUERIES:
        return table_aliases(text[found[0].end : found[-1].start])  # a join in brackets
    names = []
    table: list[Word] = []
    depth, in_condition = 0, False
    for word in [*found, Word("WORD", "JOIN", len(text))]:
        if word.type == "SIGN":
            depth += (word.text in CLOSING) - (word.text in CLOSING.values())
        if depth or word.text in CLOSING.values():
            table.append(word)
        elif word.keyword in _JOIN_WORDS:
            if table and not in_condition and (name := _alias(table)) is not None:
                names.append(name)
            table, in_condition = [], word.keyword in ("ON", "USING")
        else:
            table.append(word)
    return names


def _alias(table: list[Word]) -> str | None:
    """Of one table with its alias: `s.ticks`, `ticks AS t`, `(SELECT …) t(a, b)`, `range(3)`."""
    if table[-1].text == ")":
        opening = next(
            index for index, word in enumerate(table) if word.text == "(" and closing(table, index) == len(table) - 1
        )
        table = table[:opening]
    return table[-1].name if table and table[-1].is_name else None


def _check_quotes(found: Sequence[Word]) -> None:
    for word in found:
        if word.type == "SIGN" and word.text in ("'", '"', "`"):
            kind = "string" if word.text == "'" else "name"
            fix = f"end it with {word.text}"
            raise QueryError(f"the {kind} that starts here is never closed", span=word.span, fix=fix)


def _no_clause(text: str, found: Sequence[Word]) -> QueryError:
    if not found:
        fix = "write SELECT … FROM ticks MATCH_RECOGNIZE (…)"
        return QueryError("the query is empty", text=text, span=Span(0, 1), fix=fix)
    fix = "write FROM ticks MATCH_RECOGNIZE (ORDER BY ts MEASURES … PATTERN (A B+) DEFINE …)"
    return QueryError("this query has no MATCH_RECOGNIZE", text=text, span=found[0].span, fix=fix)

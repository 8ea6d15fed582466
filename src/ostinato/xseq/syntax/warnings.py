"""What is legal XSeq and probably not meant: said as warnings, with how to write either."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from ostinato.errors import QueryError
from ostinato.xseq.syntax import nodes as n
from ostinato.xseq.syntax.tokens import FUNCTIONS, Word, words
from ostinato.xseq.syntax.variables import definitions, every_operand, references, repeating_variables, variables

_CLAUSES = {  # of SQL, and what does the same
    ("order", "by"): "rows come in document order: sort the table of the answer",
    ("group", "by"): "return what groups and an aggregate: return $X@a, count($X) from //$X",
    ("having",): "write conditions on one match after where, those on aggregates over all on the answer",
    ("limit",): "take the first rows of the answer; on the command line, --limit N",
}
_XPATH = frozenset(
    ("contains", "starts-with", "ends-with", "string", "number", "name", "local-name", "position", "string-length")
)
_REPEATED = ("NAME", "QUOTED", "VARIABLE", "ANY", "RSQB")
_DIFFERENCE = re.compile(r"(.*[^\W\d](?:-\d+)*)-(\d+)")


def find_warnings(text: str, query: n.Query) -> tuple[str, ...]:
    """What to tell of a query that was read from this text."""
    found = words(text)
    warnings = (*_sql(found), *_differences(found), *_repeated(text, found), *_called(found))
    return tuple(dict.fromkeys((*warnings, *_first_of_all(query), *_without_dollar(query, found))))


def prefer_sql_hint(error: QueryError, text: str) -> QueryError:
    """The error, or what is behind it: a clause of SQL."""
    try:
        found = words(text)
    except QueryError:
        return error
    for clause, first in _sql_clauses(found):
        if error.span is not None and error.span.end > first.start:
            shown = " ".join(clause)
            return QueryError(f"there is no `{shown}` in XSeq", text=text, span=first.span, fix=_CLAUSES[clause])
    return error


def _sql_clauses(found: list[Word]) -> Iterator[tuple[tuple[str, ...], Word]]:
    for index, word in enumerate(found):
        if index == 0 or word.type != "NAME" or found[index - 1].type in ("AXIS", "AT", "LSQB", "LPAR"):
            continue
        for clause in _CLAUSES:
            following = found[index : index + len(clause)]
            if tuple(each.text.lower() for each in following) == clause:
                yield clause, word


def _sql(found: list[Word]) -> Iterator[str]:
    for clause, _ in _sql_clauses(found):
        if len(clause) > 1:  # one word may well be an element
            shown = " ".join(clause)
            reading = "it reads as two steps to later siblings of these names"
            yield f"`{shown}` is not a clause: {reading}; {_CLAUSES[clause]}"


def _differences(found: list[Word]) -> Iterator[str]:
    for before, word in pairwise(found):
        if before.type == "AT" and word.type == "NAME" and (parts := _DIFFERENCE.fullmatch(word.text)):
            yield (
                f"`@{word.text}` is the attribute of that name: a difference has blanks, @{parts[1]} - {parts[2]}, "
                f"and a name may have quotes, @'{word.text}'"
            )


def _repeated(text: str, found: list[Word]) -> Iterator[str]:
    for before, star in pairwise(found):
        if star.type == "KLEENE" and before.type in _REPEATED and before.span.end < star.start:
            if "\n" in (between := text[before.span.end : star.start]) or between.strip():
                between = " "
            shown = "…]" if before.type == "RSQB" else before.text
            yield (
                f"`{shown}{between}*` is `{shown}` any number of times; to repeat, write (…)*, "
                f"and for any later sibling following_sibling::*"
            )


def _called(found: list[Word]) -> Iterator[str]:
    for word, bracket in pairwise(found):
        adjacent = word.type == "NAME" and bracket.type == "LPAR" and word.span.end == bracket.start
        if adjacent and word.text.lower() in {*_XPATH, *FUNCTIONS}:
            yield f"`{word.text}(` is an element `{word.text}` and a bracket after it, not a function"


def _first_of_all(query: n.Query) -> Iterator[str]:
    several = repeating_variables(query)
    for reference in references(query):
        if reference.alias == n.Alias.PREV and reference.within is None and reference.variable not in several:
            name = reference.variable
            yield (
                f"prev(${name}) is never there, as ${name} does not repeat: a condition with it always holds; "
                f"let it repeat, \\${name} (\\${name})*, or compare two variables"
            )


def _without_dollar(query: n.Query, found: list[Word]) -> Iterator[str]:
    known = {*variables(query), *definitions(query)} & {word.text for word in found if word.type == "NAME"}
    paths = [query.path, *(each.path for each in every_operand(query) if isinstance(each, n.Relative))]
    for step in (node for path in paths for node in n.subpaths(path) if isinstance(node, n.Step)):
        name = step.test.name
        if step.test.kind == n.Kind.NAME and step.axis != n.Axis.ATTRIBUTE and name in known:
            yield f"`{name}` is an element of that name; the variable is ${name}"

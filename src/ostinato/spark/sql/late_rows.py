"""Late rows beside the answer of a query over a stream: each comes out of the clause as a row of its own, and must go
through the query around it, which knows nothing of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from ostinato.errors import OstinatoError, QueryError
from ostinato.spark.columns import quote_name
from ostinato.spark.packing import LATE
from ostinato.sql.syntax.words import CLOSING, Word, closing, words

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

HIDDEN = "#late"  # the column of late rows, until the query around the clause is done
_CLAUSES = ("SELECT", "FROM", "WHERE")
_Edits = list[tuple[int, str]]


def let_through(text: str, view: str) -> str:
    """A query that reads a view row by row, so that it hands on the column of late rows, and leaves none of them out.

    Such a query is SELECT, FROM and WHERE, one inside the FROM of the other.
    """
    found = words(text)
    start = end = next(place for place, word in enumerate(found) if word.text == view)
    edits: _Edits = []
    while start >= 0:  # from the view to the brackets around it, and so on
        edits += _name_columns(found, end)
        start, end = _brackets(found, start)
        edits += _edit_select(text, found, start, end)
    for position, more in sorted(edits, reverse=True):
        text = text[:position] + more + text[position:]
    return text


def beside_answer(answer: DataFrame) -> DataFrame:
    """The answer with NULL in the rows of late ones, which stand in the last column."""
    from pyspark.sql import functions as f

    names = answer.columns  # which may be the same
    if LATE in names:
        raise OstinatoError(f"the answer has a column `{LATE}` already", fix="rename it with AS", option="on_late")
    plain = [f"c{place}" for place in range(len(names))]
    late = f.col(plain[names.index(HIDDEN)])
    columns = [
        f.when(late.isNull(), f.col(own)).alias(name) for own, name in zip(plain, names, strict=True) if name != HIDDEN
    ]
    return answer.toDF(*plain).select(*columns, late.alias(LATE))


def _brackets(found: Sequence[Word], at: int) -> tuple[int, int]:
    """Of the query around a word: the index of the bracket before it, -1 for none, and of the one behind it."""
    depth = 0
    for start in range(at - 1, -1, -1):
        sign = found[start].text if found[start].type == "SIGN" else ""
        depth += (sign in CLOSING.values()) - (sign in CLOSING)
        if depth < 0:
            return start, closing(found, start)
    return -1, len(found)


def _outside_brackets(found: Sequence[Word], start: int, end: int) -> Iterator[int]:
    place = start + 1
    while place < end:
        yield place
        place = closing(found, place) + 1 if found[place].type == "SIGN" and found[place].text in CLOSING else place + 1


def _edit_select(text: str, found: Sequence[Word], start: int, end: int) -> _Edits:
    """What one SELECT needs: the column in its list, unless `*` has it, and late rows in its WHERE."""
    begins = [place for place in _outside_brackets(found, start, end) if _is_clause(found, place)]
    clauses = {found[place].keyword: (place, last) for place, last in pairwise([*begins, end])}
    if "SELECT" not in clauses:  # brackets around a table
        return []
    first, last = clauses["SELECT"]
    _check_stars(text, found[first:last])
    edits: _Edits = []
    if not any(_is_star(found, place) for place in _outside_brackets(found, first, last)):
        edits.append((found[last - 1].end, f", {quote_name(HIDDEN)}"))
    if "WHERE" in clauses:
        first, last = clauses["WHERE"]
        edits += [(found[first].end, f" {quote_name(HIDDEN)} IS NOT NULL OR ("), (found[last - 1].end, ")")]
    return edits


def _is_clause(found: Sequence[Word], place: int) -> bool:
    return found[place].keyword in _CLAUSES and found[place - 1].keyword != "DISTINCT"  # of `IS DISTINCT FROM`


def _is_star(found: Sequence[Word], place: int) -> bool:
    """A `*` that stands for columns."""
    return found[place].text == "*" and found[place - 1].keyword in ("SELECT", "ALL", ",", ".", "(")


def _check_stars(text: str, listed: Sequence[Word]) -> None:
    """`struct(*)` would hold the column of late rows, too."""
    inside = set(range(len(listed))) - set(_outside_brackets(listed, 0, len(listed)))
    for place in inside:
        if _is_star(listed, place):
            fix = "name the columns, or count late rows instead"
            reason = "late rows cannot go beside an expression that takes all columns"
            raise QueryError(reason, text=text, span=listed[place].span, fix=fix)


def _name_columns(found: Sequence[Word], at: int) -> _Edits:
    """Behind a table, `AS m(a, b)` names its columns."""
    opening = at + 1
    while opening < len(found) and (found[opening].is_name and found[opening].keyword not in _CLAUSES):
        opening += 1
    if opening in (at + 1, len(found)) or found[opening].text != "(":
        return []
    return [(found[closing(found, opening)].start, f", {quote_name(HIDDEN)}")]

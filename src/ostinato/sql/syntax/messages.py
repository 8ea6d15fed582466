"""What to say about a clause that does not parse: where it stopped, what may come, and the fix of common slips."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from ostinato.core.text.messages import Advice
from ostinato.errors import QueryError, Span
from ostinato.sql.syntax.words import Word

if TYPE_CHECKING:
    from lark.exceptions import UnexpectedInput

_PARTS = {
    *("_PARTITION", "_ORDER", "_MEASURES", "_ONE", "_ALL", "_AFTER", "_PATTERN", "_SUBSET", "_DEFINE", "_WITHIN"),
}
_WORDS = {
    "EXPR": "an expression",
    "NAME": "a name",
    "QUANTIFIER": "a quantifier",
    "_EQUALS": "`=`",
    "_LPAR": "`(`",
    "_RPAR": "`)`",
    "_COMMA": "`,`",
    "_END_EXCLUDE": "`-}`",
}
_OTHER_DIALECTS = {
    "SEEK": "SEEK and INITIAL are for windows; in MATCH_RECOGNIZE the pattern may begin anywhere",
    "INITIAL": "SEEK and INITIAL are for windows; begin the pattern with ^ to match at the first row only",
    "WHERE": "filter the rows in a subquery that the clause reads, or the result after it",
    "GROUP": "aggregate over the result, outside the clause",
    "LIMIT": "write LIMIT after the clause",
    "AFTER": "write AFTER MATCH SKIP PAST LAST ROW, TO NEXT ROW, TO FIRST a or TO LAST a",
}


class _Stop(NamedTuple):
    """Where parsing stopped."""

    found: Word | None  # none at the end
    before: Sequence[Word]
    accepts: frozenset[str]

    @property
    def text(self) -> str:
        return self.found.text if self.found else ""

    def last(self, count: int = 1) -> str:
        return self.before[-count].keyword if len(self.before) >= count else ""

    @property
    def in_pattern(self) -> bool:
        opened: list[str] = []
        for previous, word in pairwise(self.before):
            if word.text == "(":
                opened.append(previous.keyword)
            elif word.text == ")" and opened:
                opened.pop()
        return "PATTERN" in opened

    @property
    def expected(self) -> str:
        if self.in_pattern:
            return "a pattern"
        words = [_WORDS.get(name) or name.strip("_") for name in sorted(self.accepts - _PARTS)]
        if self.accepts >= _PARTS:
            words = [each for each in words if each != "`)`"] + ["the next part of the clause"]
        return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}" if words else "`)`"


def syntax_error(text: str, found: Sequence[Word], error: UnexpectedInput) -> QueryError:
    at: Any = error.pos_in_stream
    index = next((number for number, word in enumerate(found) if word.end > at), len(found) - 1)
    parser: Any = getattr(error, "interactive_parser", None)
    accepts = frozenset(parser.accepts()) if parser is not None else frozenset(getattr(error, "expected", ()))
    stop = _Stop(found[index], found[:index], accepts)
    advice = next((advice for slip in _SLIPS if (advice := slip(stop)) is not None), Advice(_reason(stop)))
    span = advice.span or (stop.found.span if stop.found else Span(len(text), len(text) + 1))
    return QueryError(advice.reason, text=text, span=span, fix=advice.fix)


def _reason(stop: _Stop) -> str:
    return f"expected {stop.expected}, found `{stop.text}`"


def _empty_pattern(stop: _Stop) -> Advice | None:
    if stop.text == ")" and stop.last() == "(" and stop.last(2) == "PATTERN":
        return Advice("the pattern is empty", "name at least one variable: PATTERN (A B+)")
    return None


def _pattern(stop: _Stop) -> Advice | None:
    if not stop.in_pattern:
        return None
    if stop.found is not None and stop.found.type == "QUANTIFIER":
        if stop.before[-1].type == "QUANTIFIER":
            first = stop.before[-1].text
            repeated = stop.before[-2].text if stop.before[-2].type in ("WORD", "QUOTED") else "…"
            fix = f"put the first one in brackets: ({repeated}{first}){stop.text}"
            return Advice(f"two quantifiers, `{first}` and `{stop.text}`", fix)
        return Advice(f"nothing stands before `{stop.text}` to repeat", "write a variable or a group before it: A+")
    if stop.text == "|":
        return Advice("an alternative is empty", "write () for an empty one: (A | ())")
    if stop.text == ",":
        return Advice("variables that follow each other stand without commas", "write PATTERN (A B C)")
    if stop.text in (";", "."):
        return Advice(_reason(stop), "write variables one after the other: PATTERN (A B+ C)")
    if stop.text == "{":
        return Advice("this is no quantifier", "write {3}, {2,5}, {2,} or {,5}")
    if stop.text == ")" and stop.before[-1].text in ("|", "("):
        return Advice(_reason(stop), "write () for a pattern that matches no rows")
    return None


def _measure(stop: _Stop) -> Advice | None:
    if stop.accepts == {"_AS"} and "DEFINE" not in [word.keyword for word in stop.before[-2:]]:
        return Advice("a measure needs a name", "write LAST(A.price) AS last_price")
    return None


def _definition(stop: _Stop) -> Advice | None:
    if stop.accepts == {"_AS"}:
        return Advice(_reason(stop), f"write {stop.before[-1].text} AS and its condition")
    return None


def _list_end(stop: _Stop) -> Advice | None:
    if "EXPR" in stop.accepts and stop.last() == ",":
        return Advice(_reason(stop), "remove the comma before it, or write another item")
    if stop.accepts == {"EXPR"}:
        return Advice(_reason(stop), f"write an expression after {stop.before[-1].text}")
    return None


def _rows(stop: _Stop) -> Advice | None:
    words = [word.keyword for word in stop.before[-3:]]
    if words[:2] == ["SKIP", "TO"] and stop.text.upper() in ("ROW", "MATCH"):
        place = stop.before[-1]
        return Advice(
            f"`{place.text} {stop.text}` is no place to go on at after a match", _OTHER_DIALECTS["AFTER"], place.span
        )
    if {"SKIP", "AFTER"} & {*words} and not stop.accepts & _PARTS:
        return Advice(f"`{stop.text}` is no place to go on at after a match", _OTHER_DIALECTS["AFTER"])
    if "EMPTY_MATCHES" in stop.accepts and stop.text.upper() in ("SHOW", "OMIT", "WITH"):
        fix = "write SHOW EMPTY MATCHES, OMIT EMPTY MATCHES or WITH UNMATCHED ROWS"
        return Advice(f"{stop.text.upper()} stands before other words here", fix)
    if stop.accepts & {"_PER", "_MATCH", "_ROW", "_ROWS"}:
        return Advice(_reason(stop), "write ONE ROW PER MATCH or ALL ROWS PER MATCH")
    if stop.accepts == {"_BY"}:
        return Advice(_reason(stop), f"write {stop.last()} BY {stop.text}")
    return None


def _dialect(stop: _Stop) -> Advice | None:
    keyword = stop.text.upper()
    if keyword in _OTHER_DIALECTS and keyword != "AFTER" and stop.accepts & _PARTS:
        return Advice(f"{keyword} is no part of MATCH_RECOGNIZE", _OTHER_DIALECTS[keyword])
    return None


def _alias(stop: _Stop) -> Advice | None:
    if stop.accepts & _PARTS and stop.last() in (",",):
        return None
    if stop.accepts & _PARTS and stop.found is not None and stop.found.type == "WORD":
        if near := get_close_matches(stop.text.upper(), [name.strip("_") for name in sorted(_PARTS)], 1):
            return Advice(_reason(stop), f"did you mean `{near[0]}`?")
        fix = "the parts are PARTITION BY, ORDER BY, MEASURES, ONE ROW or ALL ROWS PER MATCH, AFTER MATCH SKIP, "
        return Advice(_reason(stop), fix + "PATTERN, WITHIN, SUBSET and DEFINE")
    return None


_SLIPS = (_empty_pattern, _dialect, _pattern, _measure, _definition, _rows, _list_end, _alias)

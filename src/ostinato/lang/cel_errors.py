"""What to say about a CEL text that does not parse: what was found, what was expected, and the fix of common slips."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from ostinato.errors import QueryError, Span, did_you_mean
from ostinato.lang.expr import COMPARISONS, RESERVED

if TYPE_CHECKING:
    from lark.exceptions import UnexpectedInput

_WORD = re.compile(
    r"""--[^\n]*                                            # a comment
    | '(?:[^']|'')*' | "[^"\n]*" | [“”][^“”\n]*[“”]       # strings
    | `[^`]*` | [^\W\d]\w* | [\d.]*\d(?:e[+-]?\d+)?         # names and numbers
    | && | \|\| | == | => | -> | :\+ | <= | >= | <> | != | \S""",
    re.VERBOSE | re.IGNORECASE,
)
_CLAUSES = ("PARTITION", "WITHIN", "CONSUME")
_NEVER_A_NAME = ("FILTER", "WHERE", "FROM", "SELECT", "IN", "IS", "LIKE", "BETWEEN", "AS", *_CLAUSES)
_STRATEGIES = ("ALL", "STRICT", "NXT", "LAST", "MAX")
_JOIN_EVENTS = "write `;` for `and then`, OR for `either`"
_OPENING = {")": "(", "]": "["}
_CLOSING = {"(": ")", "[": "]"}

# Terminals of the grammar that may come next -> how to say so. The first group that fits speaks for all of its words.
_EXPECTED = (
    ({"NUMBER", "STRING"}, "a value such as x.attr, 3 or 'text'"),
    ({"ANY", "_LPAR"}, "an event such as T AS x"),
    ({"ATTRIBUTE"}, "the name of an attribute"),
    ({"COMPARISON"}, "a comparison such as > 3"),
    ({"_AND"}, "AND"),
    ({"_SEMICOLON"}, "`;`"),
    ({"_OR"}, "OR"),
    ({"_FILTER"}, "FILTER"),
    ({"_AS"}, "AS and a name"),
    ({"_RPAR"}, "`)`"),
    ({"_RSQB"}, "`]`"),
    ({"_BY"}, "BY"),
    ({"_FROM"}, "FROM"),
    ({"_WHERE"}, "WHERE"),
    ({"NULL", "NOT"}, "NULL or NOT NULL"),
    ({"_WITHIN"}, "a clause such as WITHIN"),
    ({"$END"}, "the end of the query"),
)
_ONLY = {"NAME": "a name", "NUMBER": "a number", "NONE": "NONE, PARTITION or ANY", "_LPAR": "`(`", "_AND": "AND"}


@dataclass(frozen=True)
class _Place:
    """Where parsing stopped: the words before it, the word found (empty: the end), the next one, what may come."""

    before: tuple[str, ...]
    spans: tuple[Span, ...]  # of the words before
    found: str
    after: str
    open_brackets: tuple[tuple[str, Span], ...]
    filtered: bool  # after FILTER, in the same brackets
    span: Span
    accepts: frozenset[str]

    def last(self, count: int = 1) -> str:
        """The count-th word before the place, in capitals."""
        return self.before[-count].upper() if len(self.before) >= count else ""

    @property
    def in_condition(self) -> bool:
        """After a complete expression, so that AND could follow."""
        return "_AND" in self.accepts

    @property
    def in_formula(self) -> bool:
        """After a complete formula, so that `;` could follow."""
        return "_SEMICOLON" in self.accepts

    @property
    def expected(self) -> str:
        if len(self.accepts) == 1 or "NONE" in self.accepts:
            for terminal in ("NONE", *self.accepts):
                if terminal in self.accepts and terminal in _ONLY:
                    return _ONLY[terminal]
        hidden = {"NULL", "_RPAR"} if "NUMBER" in self.accepts else set()
        words = [words for terminals, words in _EXPECTED if terminals <= self.accepts - hidden] or ["a name"]
        return words[0] if len(words) == 1 else f"{', '.join(words[:-1])}{',' if len(words) > 2 else ''} or {words[-1]}"

    @property
    def reason(self) -> str:
        return f"expected {self.expected}, found {f'`{self.found}`' if self.found else 'the end of the query'}"


class _Advice(NamedTuple):
    reason: str
    fix: str | None = None
    span: Span | None = None  # where it differs from the place


def explain(text: str, error: UnexpectedInput) -> QueryError:
    words = [match for match in _WORD.finditer(text) if not match[0].startswith("--")]
    if not words:
        fix = "write a formula, such as T AS x ; H AS y"
        return QueryError("the query is empty", text=text, span=Span(0, 1), fix=fix)
    place = _place(words, error)
    advice = next((advice for slip in _SLIPS if (advice := slip(place)) is not None), _Advice(place.reason))
    return QueryError(advice.reason, text=text, span=advice.span or place.span, fix=advice.fix)


def _place(words: list[re.Match[str]], error: UnexpectedInput) -> _Place:
    at: Any = error.pos_in_stream
    token = getattr(error, "token", None)
    if token is not None and token.type == "$END":
        at = words[-1].end()
    # A slip such as == is one word here and two for the lexer: the word that covers the place counts.
    index = next((number for number, word in enumerate(words) if word.end() > at), len(words))
    open_brackets: list[tuple[str, Span]] = []
    filtered = [False]
    for word in words[:index]:
        if word[0] in _CLOSING:
            open_brackets.append((word[0], Span(*word.span())))
            filtered.append(False)
        elif word[0] in _OPENING and open_brackets:
            open_brackets.pop()
            filtered.pop()
        elif word[0].upper() in ("FILTER", *_CLAUSES):
            filtered[-1] = word[0].upper() == "FILTER"
    found = words[index] if index < len(words) else None
    parser: Any = getattr(error, "interactive_parser", None)
    return _Place(
        before=tuple(word[0] for word in words[:index]),
        spans=tuple(Span(*word.span()) for word in words[:index]),
        found=found[0] if found else "",
        after=words[index + 1][0] if index + 1 < len(words) else "",
        open_brackets=tuple(open_brackets),
        filtered=filtered[-1],
        span=Span(*found.span()) if found else Span(words[-1].end(), words[-1].end() + 1),
        accepts=frozenset(parser.accepts() if parser is not None else ()) - {"CONSTANTS"},  # a kind of bracket
    )


# Slips: each looks at the place and either knows what was meant or says nothing. The first that knows speaks.


def _unclosed_quote(place: _Place) -> _Advice | None:
    if place.found not in ("'", "`", '"'):
        return None
    kind, quote = ("name", "`") if place.found == "`" else ("string", "'")
    return _Advice(f"the {kind} that starts here is never closed", f"end it with {quote}")


def _double_quotes(place: _Place) -> _Advice | None:
    if place.found[:1] not in ('"', "“", "”"):
        return None
    inner, reason = place.found[1:-1], "double quotes are not used in queries"
    if "STRING" in place.accepts:
        return _Advice(reason, f"use single quotes for text: '{inner}'")
    return _Advice(reason, f"use backticks for names: `{inner}`")


def _foreign_operator(place: _Place) -> _Advice | None:
    conjunction = _JOIN_EVENTS if place.in_formula and not place.in_condition else "write AND"
    fixes = {
        "&&": conjunction,
        "&": conjunction,
        "||": "write OR; to join texts, concat(a, b)" if place.in_condition else "write OR",
        "|": "write OR",
        "==": "write =",
        "=>": "write `;` for `and then`, >= for `at least`",
        "->": "write `;` for `and then`",
        "!": "write NOT",
    }
    if place.found not in fixes:
        return None
    return _Advice(f"`{place.found}` is not an operator of CEL", fixes[place.found])


def _brackets(place: _Place) -> _Advice | None:
    opened, where = place.open_brackets[-1] if place.open_brackets else ("", place.span)
    if place.found in _OPENING and not opened:
        return _Advice(place.reason, f"remove the `{place.found}`, or add the bracket it closes")
    if place.found in _OPENING and _OPENING[place.found] != opened:
        return _Advice(f"`{place.found}` does not close the `{opened}` before it", f"write `{_CLOSING[opened]}`")
    closable = not place.accepts.isdisjoint({"_RPAR", "_RSQB"})
    if opened and closable and not place.found:
        return _Advice("this bracket is never closed", f"add `{_CLOSING[opened]}` at the end", where)
    if opened and closable and place.found.upper() in _CLAUSES:
        fix = f"add `{_CLOSING[opened]}` before {place.found}"
        return _Advice(f"this bracket is not closed before {place.found}", fix, where)
    return None


def _select_list(place: _Place) -> _Advice | None:
    words = [word.upper() for word in place.before]
    if words[:1] != ["SELECT"] or "WHERE" in words:
        return None
    if len(words) == 3 and words[2] == "*" and place.found.upper() in ("WHERE", "FROM"):
        reason = f"unknown selection strategy `{place.before[1]}`"
        return _Advice(reason, did_you_mean(words[1], _STRATEGIES), place.spans[1])
    if words == ["SELECT"]:
        return _Advice(place.reason, "write * for whole matches, or list what to show: SELECT x, y.attr WHERE …")
    if "_WHERE" in place.accepts:
        return _Advice(place.reason, "write WHERE before the formula: SELECT * WHERE T AS x ; H AS y")
    return None


def _within(place: _Place) -> _Advice | None:
    if place.last() == "WITHIN":
        return _Advice(place.reason, "give a number above 0 and a unit: WITHIN 10 seconds, WITHIN 100 EVENTS")
    if place.last(2) == "WITHIN":
        number = place.before[-1]
        fix = f"give a unit: WITHIN {number} EVENTS, WITHIN {number} seconds or WITHIN {number} ON attr"
        return _Advice(f"WITHIN {number} has no unit", fix)
    return None


def _by(place: _Place) -> _Advice | None:
    if place.accepts == {"_BY"}:
        return _Advice(place.reason, f"write {place.last()} BY {place.found}")
    if place.last(2) != "CONSUME":
        return None
    return _Advice(place.reason, did_you_mean(place.found.upper(), ("NONE", "PARTITION", "ANY")))


def _keyword_as_name(place: _Place) -> _Advice | None:
    as_relation = place.after.upper() == "AS" and "ANY" in place.accepts
    as_variable = place.after in (".", *COMPARISONS) and "NUMBER" in place.accepts
    if place.found.lower() not in RESERVED or not (place.accepts == {"NAME"} or as_relation or as_variable):
        return None
    fix = f"choose another name, or put it in backticks: `{place.found}`"
    return _Advice(f"expected a name, found the keyword {place.found.upper()}", fix)


def _where_for_filter(place: _Place) -> _Advice | None:
    if place.found.upper() != "WHERE" or not place.in_formula:
        return None
    return _Advice("conditions on events come after FILTER", "write FILTER instead of WHERE")


def _two_events(place: _Place) -> _Advice | None:
    """A word after a complete event: AS, FILTER or `;` was forgotten."""
    if not place.in_formula or not (place.found[:1].isalpha() or place.found[:1] in "_`") or place.found == "":
        return None
    if place.found.upper() in _NEVER_A_NAME:
        return None
    if place.after in (".", "[", *COMPARISONS):
        return _Advice(place.reason, f"write FILTER before the condition: FILTER {place.found}{place.after}…")
    if "_AS" in place.accepts and place.after.upper() != "AS":
        return _Advice(place.reason, f"name an event with AS: {place.before[-1]} AS {place.found}")
    return _Advice(place.reason, f"put `;` (and then) or OR before {place.found}")


def _joined_events(place: _Place) -> _Advice | None:
    if not place.in_formula:
        return None
    if place.found.upper() == "AND":
        return _Advice("AND joins conditions, not events", _JOIN_EVENTS)
    if place.found == ",":
        return _Advice(place.reason, "write `;` between events that follow each other")
    if place.found in ("*", "?", "{"):
        return _Advice(f"`{place.found}` is not an operator on events", "write + for one or more, OR for alternatives")
    if place.found == ".":
        fix = f"write T AS x for an event and FILTER x.{place.after or 'attr'} … for a condition on it"
        return _Advice("an attribute cannot stand where an event is expected", fix)
    return None


def _after_filter(place: _Place) -> _Advice | None:
    if not place.filtered or place.found.upper() not in (";", ":", ":+", "AS"):
        return None
    reason = f"FILTER tests everything before it in its brackets, so that no `{place.found}` can follow"
    return _Advice(reason, "put brackets around the filtered part: (T AS x FILTER x.v > 3) ; H AS y")


def _repeat_after_filter(place: _Place) -> _Advice | None:
    if place.last() != "+" or "NUMBER" not in place.accepts or place.found not in ("", ")", "]", ";"):
        return None
    return _Advice(place.reason, "to repeat a filtered event, bracket it first: (T AS x FILTER x.v > 3)+")


def _condition_slips(place: _Place) -> _Advice | None:
    if place.found in (*COMPARISONS, "<>") and place.in_condition:
        return _Advice("comparisons cannot be chained", "write x.a BETWEEN 1 AND 5, or x.a > 1 AND x.a < 5")
    if place.found[:1] == "'" and place.in_condition and place.last() in ("DATE", "TIME", "DATETIME"):
        return _Advice(f"there is no {place.last()} literal", f"write TIMESTAMP {place.found}")
    if place.found == "*" and place.last() == "(":
        return _Advice(place.reason, "count(x) counts the events of variable x")
    if place.last() == "IN":
        return _Advice(place.reason, "write a list in brackets: x.a IN (1, 2, 3)")
    return None


def _dangling(place: _Place) -> _Advice | None:
    if place.found in ("", ")", "]") and place.last() in (";", ":", ",", "OR", "AND"):
        return _Advice(place.reason, f"remove the last `{place.before[-1]}`, or complete it")
    return None


def _out_of_order(place: _Place) -> _Advice | None:
    if place.found.upper() not in ("FILTER", "OR", ";", ":", "+", ":+") or place.in_formula or place.in_condition:
        return None
    if "_WITHIN" not in place.accepts:
        return None
    return _Advice(place.reason, f"clauses come last: move `{place.found}` and what follows before them")


_SLIPS: tuple[Callable[[_Place], _Advice | None], ...] = (
    _unclosed_quote,
    _double_quotes,
    _foreign_operator,
    _select_list,
    _brackets,
    _within,
    _by,
    _keyword_as_name,
    _where_for_filter,
    _joined_events,
    _two_events,
    _after_filter,
    _repeat_after_filter,
    _condition_slips,
    _dangling,
    _out_of_order,
)

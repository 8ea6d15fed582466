"""What to say about a text that does not parse, in any language: where it stopped, what may come, and common slips."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from ostinato.core.expressions import COMPARISONS, RESERVED
from ostinato.core.text.grammar import load_parser
from ostinato.core.units import UNITS, VARYING, nanoseconds
from ostinato.errors import QueryError, Span

if TYPE_CHECKING:
    from lark.exceptions import UnexpectedInput

_WORD = re.compile(
    r"""--[^\n]*                                            # a comment
    | '(?:[^']|'')*' | "[^"\n]*" | [“”][^“”\n]*[“”] | [‘’][^‘’\n]*[‘’]   # strings
    | `[^`]*` | [^\W\d]\w* | [\d.]*\d(?:e[+-]?\d+)?         # names and numbers
    | && | \|\| | == | => | -> | :\+ | <= | >= | <> | != | \S""",
    re.VERBOSE | re.IGNORECASE,
)
CLAUSES = ("PARTITION", "WITHIN", "CONSUME", "LIMIT")
_QUOTE = "'"
_RLIKE = ("~", "REGEXP", "MATCHES", "REGEX", "SIMILAR")
OPENING = {")": "(", "]": "[", "}": "{"}
CLOSING = {"(": ")", "[": "]", "{": "}"}


class QueryLanguage(NamedTuple):
    """One of the languages: its name, the package of its grammar, and the rule that a text starts with."""

    name: str
    package: str
    start: str

    def parses(self, text: str) -> bool:
        """Whether the text is of this language, as far as its grammar goes."""
        from lark.exceptions import UnexpectedInput

        try:
            load_parser(self.package, self.start).parse(text)
        except (UnexpectedInput, QueryError):
            return False
        return True


class Wording(NamedTuple):
    """How a language names its terminals in messages. `expected`: words for groups of terminals that may come next;
    `only`: words for a terminal that is the only one possible."""

    expected: tuple[tuple[set[str], str], ...]
    only: dict[str, str]
    example: str  # a complete query
    other: QueryLanguage  # the language that users mistake for this one
    whole: str = "query"
    words: re.Pattern[str] = _WORD
    comments: tuple[str, ...] = ("--",)  # what starts a comment


@dataclass(frozen=True)
class ErrorPlace:
    """Where parsing stopped: the words before it, the word found (empty: the end), the next one, what may come."""

    before: tuple[str, ...]
    spans: tuple[Span, ...]  # of the words before
    found: str
    after: str
    open_brackets: tuple[tuple[str, Span], ...]
    span: Span
    accepts: frozenset[str]
    wording: Wording

    def last(self, count: int = 1) -> str:
        """The count-th word before the place, in capitals."""
        return self.before[-count].upper() if len(self.before) >= count else ""

    @property
    def in_condition(self) -> bool:
        """After a complete expression, so that AND could follow; where `;` could too, it is a formula."""
        return "_AND" in self.accepts and "_SEMICOLON" not in self.accepts

    @property
    def expected(self) -> str:
        if len(self.accepts) == 1 or "NONE" in self.accepts:
            for terminal in ("NONE", *self.accepts):
                if terminal in self.accepts and terminal in self.wording.only:
                    return self.wording.only[terminal]
        hidden = {"NULL", "_RPAR"} if "NUMBER" in self.accepts else set()
        shown = self.accepts - hidden
        words = [words for terminals, words in self.wording.expected if terminals <= shown] or ["a name"]
        return words[0] if len(words) == 1 else f"{', '.join(words[:-1])}{',' if len(words) > 2 else ''} or {words[-1]}"

    @property
    def reason(self) -> str:
        found = f"`{self.found}`" if self.found else f"the end of the {self.wording.whole}"
        return f"expected {self.expected}, found {found}"


class Advice(NamedTuple):
    reason: str
    fix: str | None = None
    span: Span | None = None  # where it differs from the place


Slip = Callable[[ErrorPlace], Advice | None]


def syntax_error(text: str, error: UnexpectedInput, wording: Wording, slips: Iterable[Slip]) -> QueryError:
    words = [match for match in wording.words.finditer(text) if not match[0].startswith(wording.comments)]
    if not words:
        return QueryError(f"the {wording.whole} is empty", text=text, span=Span(0, 1), fix=f"write {wording.example}")
    place = _place(words, error, wording)
    advice = next((advice for slip in slips if (advice := slip(place)) is not None), Advice(place.reason))
    fix = advice.fix
    if len(words) > 1 and wording.other.parses(text):  # a single word fits too many languages
        other = wording.other.name
        fix = f"this looks like {other}: use ost.{other.lower()}(…), or --language {other.lower()} on the command line"
    return QueryError(advice.reason, text=text, span=advice.span or place.span, fix=fix)


def _place(words: list[re.Match[str]], error: UnexpectedInput, wording: Wording) -> ErrorPlace:
    at: Any = error.pos_in_stream
    token = getattr(error, "token", None)
    if token is not None and token.type == "$END":
        at = words[-1].end()
    # A slip such as == is one word here and two for the lexer: the word that covers the place counts.
    index = next((number for number, word in enumerate(words) if word.end() > at), len(words))
    open_brackets: list[tuple[str, Span]] = []
    for word in words[:index]:
        if word[0] in CLOSING:
            open_brackets.append((word[0], Span(*word.span())))
        elif word[0] in OPENING and open_brackets:
            open_brackets.pop()
    found = words[index] if index < len(words) else None
    parser: Any = getattr(error, "interactive_parser", None)
    return ErrorPlace(
        before=tuple(word[0] for word in words[:index]),
        spans=tuple(Span(*word.span()) for word in words[:index]),
        found=found[0] if found else "",
        after=words[index + 1][0] if index + 1 < len(words) else "",
        open_brackets=tuple(open_brackets),
        span=Span(*found.span()) if found else Span(words[-1].end(), words[-1].end() + 1),
        accepts=frozenset(parser.accepts() if parser is not None else ()) - {"CONSTANTS"},  # a kind of bracket
        wording=wording,
    )


# Slips: each looks at the place and returns advice if it knows what was meant. The first advice counts.


def advise_unclosed_quote(place: ErrorPlace) -> Advice | None:
    if place.found not in ("'", "`", '"'):
        return None
    kind, quote = ("name", "`") if place.found == "`" else ("string", "'")
    return Advice(f"the {kind} that starts here is never closed", f"end it with {quote}")


def advise_double_quotes(place: ErrorPlace) -> Advice | None:
    if place.found[:1] not in ('"', "“", "”", "‘", "’"):
        return None
    kind = "curly" if place.found[0] in "‘’" else "double"
    inner, reason = place.found[1:-1], f"{kind} quotes are not used in queries"
    if "STRING" in place.accepts:
        return Advice(reason, f"use single quotes for text: '{inner}'")
    return Advice(reason, f"use backticks for names: `{inner}`")


def advise_brackets(place: ErrorPlace) -> Advice | None:
    opened, where = place.open_brackets[-1] if place.open_brackets else ("", place.span)
    if place.found in OPENING and not opened:
        return Advice(place.reason, f"remove the `{place.found}`, or add the bracket it closes")
    if place.found in OPENING and OPENING[place.found] != opened:
        return Advice(f"`{place.found}` does not close the `{opened}` before it", f"write `{CLOSING[opened]}`")
    closable = not place.accepts.isdisjoint({"_RPAR", "_RSQB", "_RCUR"})
    if opened and closable and not place.found:
        return Advice("this bracket is never closed", f"add `{CLOSING[opened]}` at the end", where)
    if opened and closable and place.found.upper() in CLAUSES:
        fix = f"add `{CLOSING[opened]}` before {place.found}"
        return Advice(f"this bracket is not closed before {place.found}", fix, where)
    return None


def advise_window(place: ErrorPlace) -> Advice | None:
    if place.last() == "WITHIN":
        return Advice(place.reason, "give a number above 0 and a unit: WITHIN 10 seconds, WITHIN 100 EVENTS")
    if place.last(2) == "WITHIN":
        number = place.before[-1]
        fix = f"give a unit: WITHIN {number} EVENTS, WITHIN {number} seconds or WITHIN {number} ON attr"
        return Advice(f"WITHIN {number} has no unit", fix)
    return None


def advise_missing_by(place: ErrorPlace) -> Advice | None:
    if place.accepts == {"_BY"}:
        return Advice(place.reason, f"write {place.last()} BY {place.found}")
    return None


def advise_keyword_as_name(place: ErrorPlace) -> Advice | None:
    as_relation = place.after.upper() == "AS" and "ANY" in place.accepts
    as_variable = place.after in (".", *COMPARISONS) and "NUMBER" in place.accepts
    if place.found.lower() not in RESERVED or not (place.accepts == {"NAME"} or as_relation or as_variable):
        return None
    fix = f"choose another name, or put it in backticks: `{place.found}`"
    return Advice(f"expected a name, found the keyword {place.found.upper()}", fix)


def advise_unit(place: ErrorPlace) -> Advice | None:
    """A number and a word that is nearly a unit of time, or one of no fixed length."""
    if "UNIT" not in place.accepts or not place.found[:1].isalpha():
        return None
    near = get_close_matches(place.found.lower(), UNITS, cutoff=0.8)
    if near or place.found.lower() in VARYING:
        try:
            nanoseconds("1", place.found, place.span)
        except QueryError as error:
            return Advice(error.reason, f"did you mean `{near[0]}`?" if near else error.fix)
    return None


def advise_field(place: ErrorPlace) -> Advice | None:
    """`PARTITION BY s.a`, `WITHIN 5 ON s.a`."""
    clause = next((word.upper() for word in reversed(place.before) if word.upper() in CLAUSES), "")
    if place.found != "." or (clause, place.last(2)) not in (("PARTITION", "BY"), ("PARTITION", ","), ("WITHIN", "ON")):
        return None
    words, owner = (*map(str.upper, place.before),), place.before[-1]
    takes = f"{clause} {'BY' if clause == 'PARTITION' else '… ON'} takes columns"
    if ("AS", owner.upper()) in pairwise(words):
        return Advice(f"{takes}, which all events have", f"leave out the variable: {place.after}")
    return Advice(f"{takes}, not fields of nested ones", f"make {owner}.{place.after} a column of its own")


def advise_condition(place: ErrorPlace) -> Advice | None:
    found = place.found.upper()
    if (advice := _advise_case(place) or _advise_cast(place) or _advise_negation(place)) is not None:
        return advice
    if found in _RLIKE and (place.in_condition or place.last() == "="):
        return Advice(f"`{place.found}` is not an operator", "regular expressions are matched by RLIKE: x.n RLIKE 'a'")
    if found == "ILIKE" and place.in_condition:
        return Advice(f"`{place.found}` is not an operator", "compare in lower case: lower(x.n) LIKE 'a%'")
    if place.found in (*COMPARISONS, "<>") and place.in_condition:
        return Advice("comparisons cannot be chained", "write x.a BETWEEN 1 AND 5, or x.a > 1 AND x.a < 5")
    if place.found[:1] == "'" and place.last() in ("DATE", "TIME", "DATETIME"):
        return Advice(f"there is no {place.last()} literal", f"write TIMESTAMP {place.found}")
    if place.last() == "INTERVAL" and place.found.strip("'")[:1].isdigit():
        fix = f"write {place.found.strip(_QUOTE)} {place.after.lower() or 'minutes'}"
        return Advice("a duration is a number and a unit", fix, place.spans[-1].to(place.span))
    if place.last() == "IN" and place.found not in ("(", ")"):
        return Advice(place.reason, "write a list in brackets: x.a IN (1, 2, 3)")
    if place.found == "[" and place.last(2) == "." and "_AND" in place.accepts:
        return Advice("elements of lists and maps have no names", "make a column of the element that you need")
    return None


def _advise_case(place: ErrorPlace) -> Advice | None:
    words = [word.upper() for word in place.before]
    if "CASE" not in words:
        return None
    if "_WHEN" not in place.accepts and (place.last() == "CASE" or place.found.upper() == "WHEN"):
        return Advice("CASE takes conditions", "write CASE WHEN x.a = 1 THEN … ELSE … END")
    if words.count("CASE") > words.count("END") and "_END_CASE" in place.accepts:
        at = len(words) - 1 - words[::-1].index("CASE")
        return Advice("this CASE never ends", "write END after its last value", place.spans[at])
    return None


def _advise_cast(place: ErrorPlace) -> Advice | None:
    call = open_call(place)
    if call in ("CAST", "TRY_CAST") and "_AS" in place.accepts and (place.found == "," or place.found[:1].isalpha()):
        kind = place.after if place.found == "," else place.found
        return Advice(place.reason, f"write AS before the type: {call}(x.attr AS {kind or 'int'})")
    if (place.found, place.after) == (":", ":") and place.in_condition:
        return Advice("`::` is not an operator", "cast with CAST: CAST(x.a AS int)")
    return None


def _advise_negation(place: ErrorPlace) -> Advice | None:
    """`x.a IS 3`, `x.a IS NOT 3`, `x.a NOT NULL`."""
    is_, not_ = "IS" in (place.last(), place.last(2)), place.last() == "NOT"
    if "NULL" in place.accepts and place.found and (place.last() == "IS" or (is_ and not_)):
        return Advice("IS tests for NULL only", f"write {'!=' if not_ else '='} {place.found}")
    if not_ and not is_ and "_IN" in place.accepts:
        fix = "write IS NOT NULL" if place.found.upper() == "NULL" else "write NOT before the condition: NOT x.a = 1"
        return Advice(f"expected IN, BETWEEN, LIKE or RLIKE after NOT, found `{place.found}`", fix)
    return None


def open_call(place: ErrorPlace) -> str:
    """The word before the innermost open bracket, in capitals."""
    at = place.spans.index(place.open_brackets[-1][1]) if place.open_brackets else 0
    return place.before[at - 1].upper() if at else ""


def advise_operator(place: ErrorPlace, language: str, fixes: Mapping[str, str]) -> Advice | None:
    """For an operator of other languages: what this one writes instead."""
    if place.found not in fixes:
        return None
    return Advice(f"`{place.found}` is not an operator of {language}", fixes[place.found])


def advise_dangling_operator(place: ErrorPlace) -> Advice | None:
    if place.found in ("", ")", "]") and place.last() in (";", ":", ",", "OR", "AND"):
        return Advice(place.reason, f"remove the last `{place.before[-1]}`, or complete it")
    return None

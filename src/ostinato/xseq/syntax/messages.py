"""What to say about an XSeq text that does not parse: what was found and expected, and the fix of common slips."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ostinato.core.text import messages as slips
from ostinato.core.text.messages import CLOSING, Advice, ErrorPlace, Slip, Wording, advise_brackets
from ostinato.errors import Message, Option, QueryError
from ostinato.patterns.syntax.languages import CEL
from ostinato.xseq.syntax.tokens import FUNCTIONS, KEYWORDS, NAME, RAW

if TYPE_CHECKING:
    from lark.exceptions import UnexpectedInput

_COMPARISONS = ("=", "!=", "<>", "<", "<=", ">", ">=", "≠", "≤", "≥", "==")
_OTHERWISE = {  # functions of XPath, and what is written instead
    "position": "there are no positions: /\\ is the first child, \\ the next sibling",
    "name": "write tag($X), or in a predicate tag()",
    "local-name": "write tag($X), or in a predicate tag()",
    "true": "leave it out: a path in brackets asks whether it leads somewhere",
    "false": "write not(…)",
    **dict.fromkeys(
        ("contains", "starts-with", "ends-with", "matches", "substring", "concat", "normalize-space", "string-length"),
        "there are no functions of texts: compare whole texts with = and !=",
    ),
}
_CLAUSES = ("FROM", "WHERE", "PARTITION")
_WORDING = Wording(
    expected=(
        ({"NAME", "NUMBER"}, "a step such as /a or $X, or a value"),
        ({"COMPARISON"}, "a comparison such as = 'x'"),
        ({"_AND"}, "and"),
        ({"_FROM"}, "from"),
        ({"_WHERE"}, "where"),
        ({"_PARTITION"}, "partition by"),
        ({"_COMMA"}, "`,`"),
        ({"_RPAR"}, "`)`"),
        ({"_RSQB"}, "`]`"),
        ({"$END"}, "the end of the query"),
    ),
    only={"NAME": "a name", "_LPAR": "`(`", "_BY": "by", "_COLON": "`:`"},
    example="a path such as //a/b, or return $X@id from //$X",
    other=CEL,
    words=re.compile(rf"\(:(?:[^:]|:(?!\)))*:\) | {RAW.pattern}", re.VERBOSE),
    comments=("(:",),
)


def syntax_error(text: str, error: UnexpectedInput) -> QueryError:
    return slips.syntax_error(text, error, _WORDING, _SLIPS)


def _quote(place: ErrorPlace) -> Advice | None:
    if place.found in ("'", '"'):
        return Advice("the string that starts here is never closed", f"end it with {place.found}")
    if place.found[:1] in ("“", "”", "‘", "’", "`"):
        return Advice(f"`{place.found[:1]}` is not a quotation mark in XSeq", "write '…' or \"…\"")
    return None


def _dollar(place: ErrorPlace) -> Advice | None:
    if place.found != "$":
        return None
    if place.after.startswith("$"):
        return Advice("a variable starts with one $", f"write {place.after}")
    return Advice("this $ has no name", "write the name of a variable right after it: $X")


def _clauses(place: ErrorPlace) -> Advice | None:
    """Clauses that are missing, empty or in the wrong order."""
    found, before = place.found.upper(), [word.upper() for word in place.before]
    if found == "FROM" and place.last() == "RETURN":
        return Advice("return of nothing", "say what to return: return $X@id from //$X, or write the path alone")
    if found in (*_CLAUSES, "") and place.last() in (*_CLAUSES, "RETURN", "BY"):
        example = {"FROM": "//$X", "RETURN": "$X@id", "WHERE": "$X@a > 3"}.get(place.last(), "//a @id")
        return Advice(f"nothing follows {place.before[-1]}", f"write {place.before[-1]} {example}")
    if found in ("WHERE", "PARTITION", "") and "_FROM" in place.accepts:
        return Advice("`from` is missing", "write the path after what is returned: return $X@id from //$X")
    if found == "FROM" and "RETURN" not in before:
        return Advice("`from` stands without `return`", "write return … from …, or the path alone")
    if found == "RETURN":
        return Advice("`return` comes first", "write return … from … where … partition by …")
    if found in before and found in _CLAUSES:
        return Advice(f"a second `{place.found}`", "join conditions with `and`, and paths with `union`")
    if found == "WHERE" and "PARTITION" in before:
        return Advice("`where` comes before `partition by`", "exchange the two")
    if place.last() == "PARTITION":
        return Advice("`by` is missing", f"write {place.before[-1]} by {place.found}…")
    if found == "," and "PARTITION" in before:
        return Advice("a document is partitioned by one attribute", "remove the others")
    if found == "," and "RETURN" not in before:
        return Advice("`,` stands between items of `return` only", "join paths with union or intersect")
    if found == "AS":
        return Advice("`as` names an item of `return`", "write return $X@a as name from …")
    return None


def _operator(place: ErrorPlace) -> Advice | None:
    fixes = {
        "==": "write =",
        "&&": "write and",
        "&": "write and",
        "||": "write or; for paths, union",
        "|": "write union; in conditions, or",
        "!": "write not(…)",
        "~": "there are no patterns of text: compare with = or !=",
        "..": "write parent::*",
        "::": "write the name of an axis before it, such as child::a",
        ":=": "write =",
        "=>": "write >= for `at least`",
        "->": "write / for a child",
        "?": "for once or not at all, write (/a union .)",
        "{": "repeat the path, or write (…)* for any number",
        ";": "remove it",
        "÷": "write div",
        "−": "write -",
        "^": "there are + - * div mod",
    }
    return slips.advise_operator(place, "XSeq", fixes)


def _colon(place: ErrorPlace) -> Advice | None:
    if place.found != ":":
        return None
    if place.after == "*" or place.last() == "*":
        fix = Message(
            "write out the name, svg:path, or * for any element; ",
            Option("namespaces"),
            " says what a prefix stands for",
        )
        return Advice("there is no test for every name with a prefix, nor for a name with every prefix", fix)
    if place.last().startswith("$"):
        variable = place.before[-1]
        return Advice("a path is named inside brackets", f"write ({variable}: /a/b)")
    return Advice(place.reason, "an axis ends with two colons, child::a; a prefix has no blanks, a:b")


def _unclosed(place: ErrorPlace) -> Advice | None:
    """A clause, or the end, where a bracket is still open."""
    if not place.found and place.last() in CLOSING:
        return Advice("this bracket is never closed", f"add `{CLOSING[place.last()]}`", place.spans[-1])
    if place.found.upper() not in _CLAUSES or not place.open_brackets:
        return None
    opened, where = place.open_brackets[-1]
    fix = f"add `{CLOSING[opened]}` before {place.found}; an element of that name has an axis: /{place.found}"
    return Advice(f"this bracket is not closed before {place.found}", fix, where)


def _missing_value(place: ErrorPlace) -> Advice | None:
    before = place.before[-1] if place.before else ""
    ends = place.found in ("", ")", "]", ",", *_COMPARISONS) or place.found.lower() in KEYWORDS - {"not"}
    if before in _COMPARISONS and ends:
        return Advice(f"a value is missing after `{before}`", f"write one: … {before} 3, … {before} 'text'")
    if place.found in _COMPARISONS and place.in_condition:
        return Advice("comparisons cannot be chained", "write $X@a > 1 and $X@a < 5")
    if place.found in _COMPARISONS:
        return Advice(f"a value is missing before `{place.found}`", f"write one: $X@a {place.found} …")
    if before == "+" and ends:
        return Advice("`+` adds two numbers", "for one or more, write the path and its repetition: \\$X (\\$X)*")
    if before in ("/", "//", "\\", "/\\", "@") and ends:
        known = place.found.lower() in KEYWORDS
        return Advice(f"a name is missing after `{before}`", None if known else f"write one: {before}a")
    if ends and (before.lower() in KEYWORDS or before in (",", "-", "*")):
        return Advice(place.reason, f"remove the last `{before}`, or complete it")
    return None


def _function(place: ErrorPlace) -> Advice | None:
    """A function of XPath: a name right before the bracket that was opened last."""
    opened = [span for bracket, span in place.open_brackets if bracket == "("]
    if not opened or place.found not in (",", ")"):
        return None
    at = place.spans.index(opened[-1]) - 1
    if at < 0 or place.spans[at].end != opened[-1].start or not NAME.fullmatch(place.before[at]):
        return None
    name = place.before[at]
    if name.lower() in (*FUNCTIONS, *KEYWORDS) or (at and place.before[at - 1].endswith(("/", "\\", "@", "::"))):
        return None
    fix = _OTHERWISE.get(name.lower(), f"there are {', '.join(FUNCTIONS)}")
    return Advice(f"there is no function `{name}`", fix, place.spans[at])


def _not(place: ErrorPlace) -> Advice | None:
    if place.found.lower() != "not":
        return None
    return Advice("`not` has brackets", "write not($X@a = 3)")


def _predicate(place: ErrorPlace) -> Advice | None:
    if place.found == "]" and place.last() == "[":
        return Advice("this predicate is empty", "write a path or a condition: [@a = 'x']")
    if place.found == ")" and place.last() == "(":
        return Advice("this bracket is empty", "write a path in it, or remove it")
    if place.found == "[" and place.last() in (")", "*"):
        return Advice("a predicate stands on a step", "write it after the last step inside the bracket: (/a[@b])*")
    if place.found == "[" and "NAME" in place.accepts:
        return Advice("a predicate stands on a step", "write * before it for any element: *[@b]")
    return None


def _keyword(place: ErrorPlace) -> Advice | None:
    word = place.found
    if word.lower() not in KEYWORDS or "NAME" not in place.accepts:
        return None
    return Advice(f"`{word}` is a keyword here", f"an element of that name has an axis: /{word}, child::{word}")


_SLIPS: tuple[Slip, ...] = (
    _quote,
    _dollar,
    _operator,
    _colon,
    _function,
    _not,
    _unclosed,
    _clauses,
    _missing_value,
    _predicate,
    advise_brackets,
    _keyword,
)

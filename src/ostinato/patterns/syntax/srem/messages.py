"""What to say about an SREM text that does not parse: what was found and expected, and the fix of common slips."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ostinato.core.expressions import COMPARISONS
from ostinato.core.text import messages
from ostinato.core.text.messages import Advice, ErrorPlace, Slip, Wording
from ostinato.errors import QueryError
from ostinato.patterns.syntax.languages import CEL

if TYPE_CHECKING:
    from lark.exceptions import UnexpectedInput

_WORDING = Wording(
    expected=(
        ({"NUMBER", "STRING"}, "a value such as attr, r.attr, 3 or 'text'"),
        ({"TRUE", "_LSQB"}, "a test such as [type = 'T']"),
        ({"ATTRIBUTE"}, "the name of an attribute"),
        ({"COMPARISON"}, "a comparison such as > 3"),
        ({"_AND"}, "AND"),
        ({"_OR"}, "OR"),
        ({"_ARROW"}, "`-> register`"),
        ({"_BAR"}, "`.`, `|`"),
        ({"_RPAR"}, "`)`"),
        ({"_RSQB"}, "`]`"),
        ({"_BY"}, "BY"),
        ({"NULL", "NOT"}, "NULL or NOT NULL"),
        ({"_WITHIN"}, "a clause such as WITHIN"),
        ({"$END"}, "the end of the query"),
    ),
    only={"NAME": "a name", "NUMBER": "a number", "_LPAR": "`(`", "_AND": "AND"},
    example="tests in their order, such as [type = 'T'] -> r . [id = r.id]",
    other=CEL,
)


def syntax_error(text: str, error: UnexpectedInput) -> QueryError:
    return messages.syntax_error(text, error, _WORDING, _SLIPS)


def _between_tests(place: ErrorPlace) -> bool:
    """After a complete test, so that `|` could follow."""
    return "_BAR" in place.accepts


def _test_expected(place: ErrorPlace) -> bool:
    return {"TRUE", "_LSQB"} <= place.accepts and "NUMBER" not in place.accepts


def _of_cel(place: ErrorPlace) -> Advice | None:
    """Words of CEL; SREM has others for the same."""
    fixes = {
        ";": "write `. true* .` for `and then, skipping anything`",
        ":": "write `.` for `and then, at once`",
        ":+": "write `+`",
        "OR": "write `|`",
        "AS": "store the event in a register: [type = 'T'] -> x",
        "FILTER": "write the condition into the test: [type = 'T' AND value > 3]",
        "WHERE": "write the condition into the test: [type = 'T' AND value > 3]",
        "CONSUME": "leave it out: every (start, end) is reported",
        "LIMIT": "leave it out: every (start, end) is reported",
        "SELECT": "leave it out: every (start, end) is reported",
    }
    if place.found.upper() not in fixes or place.in_condition or not (_between_tests(place) or _test_expected(place)):
        return None
    return Advice(f"`{place.found}` belongs to CEL, not to SREM", fixes[place.found.upper()])


def _negated(place: ErrorPlace) -> Advice | None:
    if place.found.upper() not in ("NOT", "~", "!") or not _test_expected(place):
        return None
    fix = "negate its condition: [NOT a > 1]; for all strings but those of a whole pattern, ~query.automaton"
    return Advice(f"`{place.found}` cannot stand before a test", fix)


def _foreign_operator(place: ErrorPlace) -> Advice | None:
    fixes = {
        "&&": "write AND" if place.in_condition else "write `.` for `and then`",
        "&": "write AND" if place.in_condition else "write `.` for `and then`",
        "||": "write OR; to join texts, concat(a, b)" if place.in_condition else "write `|`",
        "|": "write OR inside of a test",
        "==": "write =",
        "=>": "write `->` to store, >= for `at least`",
        "!": "write NOT",
        "~": "an attribute of the current event has no owner: write attr, not ~.attr",
        "↓": "write `->`",
        "{": "close it: {3}, {2,5} or {2,}",
    }
    return messages.advise_operator(place, "SREM", fixes)


def _stored_where(place: ErrorPlace) -> Advice | None:
    if (place.found, place.after) == ("-", ">") and "_ARROW" in place.accepts:
        return Advice(place.reason, "write -> without a space")
    if place.found == "->" and _between_tests(place):
        return Advice("only a test can be stored", "write `->` right after the test: ([a > 3] -> r)+")
    if place.found == "->" and (place.in_condition or "NUMBER" in place.accepts):
        return Advice("the event is stored after its test", "close the test first: [a > 3] -> r")
    if place.last() == "->":
        return Advice(place.reason, "name the register that stores the event: -> r")
    return None


def _bare_condition(place: ErrorPlace) -> Advice | None:
    """A word where a test is expected: its brackets were forgotten."""
    if not place.found[:1].isalnum() and place.found[:1] not in ("_", "`", "'"):
        return None
    if place.last() == "]" or (_between_tests(place) and place.last() in ("TRUE", ")")):
        return Advice(place.reason, "put `.` between tests that follow each other")
    if not _test_expected(place) or place.found.upper() in messages.CLAUSES:
        return None
    if place.after.upper() == "AS":
        return Advice(place.reason, f"write a test, and store its event in a register: [type = '{place.found}'] -> x")
    shown = f"{place.found} {place.after} …" if place.after in (*COMPARISONS, "<>") else f"type = '{place.found}'"
    return Advice(place.reason, f"write a condition in brackets: [{shown}]")


def _dangling(place: ErrorPlace) -> Advice | None:
    words = (".", "|", ",", "OR", "AND")
    if place.found in ("", ")", "]", *messages.CLAUSES) and place.last() in words:
        return Advice(place.reason, f"remove the last `{place.before[-1]}`, or complete it")
    if place.found in ("*", "+", "?") and _test_expected(place):
        return Advice(f"`{place.found}` repeats what stands before it", f"write a test first: true{place.found}")
    if place.found == "[" and _between_tests(place):
        return Advice(place.reason, "put `.` between tests that follow each other")
    if place.found == "]" and place.last() == "[":
        return Advice("this test is empty", "write a condition, such as [type = 'T'], or true for any event")
    return None


def _out_of_order(place: ErrorPlace) -> Advice | None:
    if place.found not in (".", "|", "*", "+", "?", "->", "[", "(") or "_WITHIN" not in place.accepts:
        return None
    return Advice(place.reason, f"clauses come last: move `{place.found}` and what follows before them")


_SLIPS: tuple[Slip, ...] = (
    messages.advise_unclosed_quote,
    messages.advise_double_quotes,
    messages.advise_keyword_as_name,
    _of_cel,
    _stored_where,
    _negated,
    _foreign_operator,
    messages.advise_brackets,
    messages.advise_unit,
    messages.advise_field,
    messages.advise_window,
    messages.advise_missing_by,
    _bare_condition,
    messages.advise_condition,
    _dangling,
    _out_of_order,
)

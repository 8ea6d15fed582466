"""What to say about a CEL text that does not parse: what was found, what was expected, and the fix of common slips."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ostinato.core.expressions import COMPARISONS
from ostinato.core.text import messages
from ostinato.core.text.messages import Advice, ErrorPlace, Slip, Wording
from ostinato.errors import QueryError, did_you_mean
from ostinato.patterns.syntax.cel.foreign_words import (
    SKIP_FORMS,
    advise_condition_of_event,
    advise_counted_event,
    advise_foreign_word,
    advise_select,
)
from ostinato.patterns.syntax.languages import SREM

if TYPE_CHECKING:
    from lark.exceptions import UnexpectedInput

_NEVER_A_NAME = ("FILTER", "WHERE", "FROM", "SELECT", "IN", "IS", "LIKE", "BETWEEN", "AS", *messages.CLAUSES)
_STRATEGIES = ("ALL", "STRICT", "NXT", "LAST", "MAX", "FIRST")
_CLAUSES = (*messages.CLAUSES, "AFTER", "WITH")
_JOIN_EVENTS = "write `;` for `and then`, AND for `both`, OR for `either`"
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
_WORDING = Wording(_EXPECTED, _ONLY, example="a formula, such as T AS x ; H AS y", other=SREM)


def syntax_error(text: str, error: UnexpectedInput) -> QueryError:
    return messages.syntax_error(text, error, _WORDING, _SLIPS)


def _in_formula(place: ErrorPlace) -> bool:
    """After a complete formula, so that `;` could follow."""
    return "_SEMICOLON" in place.accepts


def _filtered(place: ErrorPlace) -> bool:
    """After FILTER, in the same brackets."""
    filtered = [False]
    for word in place.before:
        if word in messages.CLOSING:
            filtered.append(False)
        elif word in messages.OPENING and len(filtered) > 1:
            filtered.pop()
        elif word.upper() in ("FILTER", *messages.CLAUSES):
            filtered[-1] = word.upper() == "FILTER"
    return filtered[-1]


# Slips: each looks at the place and returns advice if it knows what was meant. The first advice counts.


def _foreign_operator(place: ErrorPlace) -> Advice | None:
    conjunction = _JOIN_EVENTS if _in_formula(place) and not place.in_condition else "write AND"
    fixes = {
        "&&": conjunction,
        "&": conjunction,
        "||": "write OR; to join texts, concat(a, b)" if place.in_condition else "write OR",
        "|": "write OR",
        "==": "write =",
        "=>": "write `;` for `and then`, >= for `at least`",
        "!": "write NOT",
    }
    return messages.advise_operator(place, "CEL", fixes)


def _select_list(place: ErrorPlace) -> Advice | None:
    words = [word.upper() for word in place.before]
    if words[:1] != ["SELECT"] or "WHERE" in words:
        return None
    if words[1:] in (["DISTINCT"], ["DISTINCT", "*"]):
        return Advice("every row of an answer is distinct already", "remove DISTINCT", place.spans[1])
    if len(words) > 3 and words[1] in _STRATEGIES and words[2:4] == ["FIRST", "*"]:
        return Advice("FIRST comes before the strategy", f"write SELECT FIRST {words[1]} *", place.spans[2])
    if len(words) == 3 and words[2] == "*" and place.found.upper() in ("WHERE", "FROM"):
        reason = f"unknown selection strategy `{place.before[1]}`"
        return Advice(reason, did_you_mean(words[1], _STRATEGIES), place.spans[1])
    if len(words) > 1 and words[1] in ("TOP", "FIRST") and (count := [*words[2:], place.found][0]).isdigit():
        reason = "LIMIT says how many matches are given"
        return Advice(reason, f"write LIMIT {count} at the end: SELECT * WHERE … LIMIT {count}", place.spans[1])
    if words == ["SELECT"]:
        return Advice(place.reason, "write * for whole matches, or list what to show: SELECT x, y.attr WHERE …")
    if "_WHERE" in place.accepts:
        return Advice(place.reason, "write WHERE before the formula: SELECT * WHERE T AS x ; H AS y")
    return None


def _consume_mode(place: ErrorPlace) -> Advice | None:
    if place.last(2) != "CONSUME":
        return None
    return Advice(place.reason, did_you_mean(place.found.upper(), ("NONE", "PARTITION", "ANY")))


def _where_to_go_on(place: ErrorPlace) -> Advice | None:
    if " ".join(place.before).upper().split()[-3:] != ["AFTER", "MATCH", "SKIP"]:
        return None
    return Advice("AFTER MATCH SKIP says where later matches may begin", SKIP_FORMS)


def _where_for_filter(place: ErrorPlace) -> Advice | None:
    if place.found.upper() != "WHERE" or not _in_formula(place):
        return None
    return Advice("conditions on events come after FILTER", "write FILTER instead of WHERE")


def _how_long(place: ErrorPlace) -> Advice | None:
    if place.found.upper() != "FOR" or not _in_formula(place) or not place.after[:1].isdigit():
        return None
    fix = "write it after the event of a NOT: NOT B FOR 5 minutes, or NOT (B AS n FILTER n.v > 3) FOR 5 minutes"
    return Advice("FOR says how long an event does not come", fix)


def _two_events(place: ErrorPlace) -> Advice | None:
    """A word after a complete event: AS, FILTER or `;` was forgotten."""
    if not _in_formula(place) or not (place.found[:1].isalpha() or place.found[:1] in "_`") or place.found == "":
        return None
    if place.found.upper() in _NEVER_A_NAME:
        return None
    if place.after in (".", "[", *COMPARISONS):
        return Advice(place.reason, f"write FILTER before the condition: FILTER {place.found}{place.after}…")
    if "_AS" in place.accepts and place.after.upper() != "AS":
        return Advice(place.reason, f"name an event with AS: {place.before[-1]} AS {place.found}")
    return Advice(place.reason, f"put `;` (and then) or OR before {place.found}")


def _joined_events(place: ErrorPlace) -> Advice | None:
    if place.found == "," and "_FILTER" in place.accepts and not place.in_condition:
        return Advice(place.reason, "write `;` between events that follow each other")
    if not _in_formula(place):
        return None
    if place.found == "{":
        return Advice("`{` is not closed", "write {3}, {2,5} or {2,}")
    if place.found == ".":
        fix = f"write T AS x for an event and FILTER x.{place.after or 'attr'} … for a condition on it"
        return Advice("an attribute cannot stand where an event is expected", fix)
    return None


def _after_filter(place: ErrorPlace) -> Advice | None:
    if not _filtered(place) or place.found.upper() not in (";", ":", "->", ":+", "AS"):
        return None
    reason = f"FILTER tests everything before it in its brackets, so `{place.found}` cannot follow"
    return Advice(reason, "put brackets around the filtered part: (T AS x FILTER x.v > 3) ; H AS y")


def _repeat_after_filter(place: ErrorPlace) -> Advice | None:
    if place.last() != "+" or "NUMBER" not in place.accepts or place.found not in ("", ")", "]", ";"):
        return None
    return Advice(place.reason, "to repeat a filtered event, bracket it first: (T AS x FILTER x.v > 3)+")


def _count_star(place: ErrorPlace) -> Advice | None:
    if place.found != "*" or place.last() != "(":
        return None
    return Advice(place.reason, "count(x) counts the events of variable x")


def _strategy_at_the_end(place: ErrorPlace) -> Advice | None:
    if not _in_formula(place) or place.found.upper() not in _STRATEGIES or place.after.upper() not in ("", *_CLAUSES):
        return None
    reason = f"the strategy {place.found.upper()} comes first"
    return Advice(reason, f"write SELECT {place.found.upper()} * WHERE, and then the formula")


def _second_until(place: ErrorPlace) -> Advice | None:
    if place.found.upper() == "UNTIL" and _in_formula(place):
        return Advice("a loop has one UNTIL", "name all events that end it in brackets: A+ UNTIL (B OR C)")
    if place.last() == "UNTIL" and place.found.upper() == "NOT":
        fix = "say what it is by a condition: UNTIL (ANY AS n FILTER n.type != 'B')"
        return Advice("UNTIL names the event that ends the loop", fix)
    return None


def _too_few_to_permute(place: ErrorPlace) -> Advice | None:
    within = messages.open_call(place) == "PERMUTE" and place.found == ")"
    if within or (place.last() == "PERMUTE" and _in_formula(place)):
        return Advice("PERMUTE takes two parts or more, in brackets", "write PERMUTE(A, B)")
    return None


def _empty_part(place: ErrorPlace) -> Advice | None:
    """`; A`, `A ; ; B`, and a `;` at the very end."""
    if place.found in (";", ":", "->") and "ANY" in place.accepts and place.last() in ("", ";", ":", "->", "("):
        return Advice(place.reason, f"remove this `{place.found}`, or write an event before it")
    if place.found == ";" and not place.after and "$END" in place.accepts:
        return Advice(place.reason, "remove the last `;`")
    return None


def _named_twice(place: ErrorPlace) -> Advice | None:
    if place.found.upper() == "AS" and place.last(2) == "AS" and _in_formula(place):
        return Advice("an event has one name", "keep one of the two")
    return None


def _out_of_order(place: ErrorPlace) -> Advice | None:
    if (
        place.found.upper() not in ("FILTER", "OR", "AND", ";", ":", "->", "+", ":+")
        or _in_formula(place)
        or place.in_condition
    ):
        return None
    if "_WITHIN" not in place.accepts:
        return None
    return Advice(place.reason, f"clauses come last: move `{place.found}` and what follows before them")


_SLIPS: tuple[Slip, ...] = (
    messages.advise_unclosed_quote,
    messages.advise_double_quotes,
    _foreign_operator,
    messages.advise_unit,
    messages.advise_condition,
    advise_select,
    _select_list,
    advise_counted_event,
    messages.advise_brackets,
    messages.advise_field,
    messages.advise_window,
    messages.advise_missing_by,
    _consume_mode,
    _where_to_go_on,
    messages.advise_keyword_as_name,
    advise_foreign_word,
    _where_for_filter,
    advise_condition_of_event,
    _second_until,
    _too_few_to_permute,
    _empty_part,
    _named_twice,
    _strategy_at_the_end,
    _joined_events,
    _how_long,
    _two_events,
    _after_filter,
    _repeat_after_filter,
    _count_star,
    messages.advise_dangling_operator,
    _out_of_order,
)

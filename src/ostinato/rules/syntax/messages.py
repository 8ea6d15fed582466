"""What to say about event rules that do not parse: what was found and expected, and the fix of common slips."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING

from ostinato.core.expressions import ARITHMETIC, COMPARISONS
from ostinato.core.text import messages as slips
from ostinato.core.text.messages import Advice, ErrorPlace, Slip, Wording, advise_brackets, advise_condition
from ostinato.errors import QueryError, Span
from ostinato.patterns.syntax.languages import CEL

if TYPE_CHECKING:
    from lark.exceptions import UnexpectedInput

_WORD = re.compile(
    r"""--[^\n]* | \#[^\n]* | /\*(?:[^*]|\*(?!/))*\*/                 # comments
    | '(?:[^']|'')*' | "(?:[^"]|"")*" | `[^`]*`                     # strings and names
    | @?[^\W\d]\w*(?:[.-]\w+)* | [\d.]*\d(?:e[+-]?\d+)?             # labels, words and numbers
    | && | \|\| | == | => | -> | <= | >= | <> | != | \S""",
    re.VERBOSE | re.IGNORECASE,
)
_PATTERNS = ["cel", "srem", "sql"]
_WORDING = Wording(
    expected=(
        ({"_DETECT"}, "DETECT"),
        ({"_KEY"}, "KEY"),
        ({"_TO"}, "to"),
        ({"_ON"}, "ON"),
        ({"_PER"}, "per"),
        ({"_MOST"}, "most"),
        ({"_WHILE"}, "a query: event i: …, while i: …, at i: …, and { … } or or { … }"),
        ({"_TIMER"}, 'label {{ … }}, timer:from-end [ … ] cel "…", srem "…" or sql "…"'),
        ({"NOT", "_COLLECT"}, "not or collect"),
        ({"_DESC"}, 'a term such as label {{ … }}, var X or "text"'),
        ({"_ALL", "LABEL"}, "an element such as label { … }, `all`"),
        ({"NUMBER", "FUNCTION"}, "a value such as var X, 3 or 'text'"),
        ({"ATTRIBUTE"}, "the name of a variable"),
        ({"KIND"}, "a timer such as from-end"),
        ({"RELATION"}, "a relation such as before or within"),
        ({"COMPARISON"}, "a comparison such as > 3"),
        ({"_GROUP"}, "group by"),
        ({"_ORDER"}, "order by"),
        ({"_BY"}, "by"),
        ({"_ARROW"}, "`->`"),
        ({"_COLON"}, "`:`"),
        ({"_COMMA"}, "`,`"),
        ({"_LCUR", "_LSQB"}, "brackets such as {{ … }}"),
        ({"_RPAR"}, "`)`"),
        ({"_RSQB"}, "`]`"),
        ({"_RCUR"}, "`}`"),
        ({"_WHERE"}, "where { … }"),
        ({"_END"}, "END"),
        ({"$END"}, "the end of the program"),
    ),
    only={
        **{"NAME": "a name", "LABEL": "a label", "NUMBER": "a number", "STRING": "a text"},
        **{"_LPAR": "`(`", "_LCUR": "`{`", "_LSQB": "`[`", "_AND": "and", "_VAR": "var"},
        "SIDE": "a time such as begin(i)",
    },
    example="a rule: DETECT alarm { area { var A } } ON event s: smoke {{ area {{ var A }} }} END",
    other=CEL,
    whole="program",
    words=_WORD,
    comments=("--", "#", "/*"),
)
# The keyword that a terminal stands for, as it is written.
_KEYWORDS = {
    **{"_DETECT": "DETECT", "_ON": "ON", "_END": "END", "_EVENT": "event", "_WHILE": "while", "_AND": "and"},
    **{"_OR": "or", "NOT": "not", "_COLLECT": "collect", "COLLECT_ALONE": "collect", "_WHERE": "where", "_VAR": "var"},
    **{"_FROM": "from", "_TO": "to"},
    **{"_TIMER": "timer:", "CEL": "cel", "SREM": "srem", "SQL": "sql", "_ALL": "all", "_GROUP": "group by"},
    **{"_ORDER": "order by", "_BY": "by"},
    **{"PRIVATE": "PRIVATE", "_AT": "at", "_TABLE": "TABLE", "_KEY": "KEY", "_MOST": "most", "_PER": "per"},
    **{"ASC": "asc", "DESC": "desc", "_IN": "in", "_LIKE": "like", "_BETWEEN": "between"},
}


def syntax_error(text: str, error: UnexpectedInput) -> QueryError:
    return slips.syntax_error(text, error, _WORDING, _SLIPS)


def _in_head(place: ErrorPlace) -> bool:
    """After DETECT and before its ON."""
    words = [word.upper() for word in reversed(place.before)]
    return next((word for word in words if word in ("DETECT", "ON")), "") == "DETECT"


def _after_label(place: ErrorPlace) -> bool:
    return place.accepts == {"_LCUR", "_LSQB"} and bool(place.before)


def _is_word(text: str) -> bool:
    return bool(re.match(r"[@`]?[^\W\d]", text))


def _close(word: str, known: list[str]) -> str | None:
    found = difflib.get_close_matches(word.lower(), [each.lower() for each in known], n=1, cutoff=0.6)
    return next((each for each in known if found and each.lower() == found[0]), None)


# Slips: each looks at the place and either knows what was meant or says nothing. The first that knows speaks.


def _unclosed(place: ErrorPlace) -> Advice | None:
    if (place.found, place.after) == ("/", "*"):
        start = place.span.start
        return Advice("the comment that starts here is never closed", "end it with */", Span(start, start + 2))
    if place.found not in ("'", '"', "`"):
        return None
    kind = "name" if place.found == "`" else "text"
    return Advice(f"the {kind} that starts here is never closed", f"end it with {place.found}")


def _misspelt(place: ErrorPlace) -> Advice | None:
    """A word that is nearly one of those that may stand here."""
    keyword = _close(place.found, [word for name, word in _KEYWORDS.items() if name in place.accepts])
    if not _is_word(place.found) or keyword is None or keyword.lower() == place.found.lower():
        return None
    return Advice(place.reason, f"did you mean `{keyword}`?")


def _misspelt_before(place: ErrorPlace) -> Advice | None:
    """A word that was read as a label, but what follows shows that it was to be a keyword."""
    if not _after_label(place):
        return None
    word = place.before[-1]
    if place.found == ":":
        timer = _close(word, ["timer"]) is not None
        fix = "did you mean `timer:`?" if timer else f"put a label with a colon in backticks: `{word}:{place.after}`"
        return Advice(f"expected brackets after the label `{word}`, found `:`", fix, place.spans[-1])
    if place.found[:1] in ('"', "'") and word.lower() in _PATTERNS:
        event = f"event p: {word.lower()} {place.found} {{{{ … }}}}"
        fix = f"derive its matches by a rule of their own, DETECT m {{ … }} ON {event} END"
        return Advice("a pattern stands only as an event", f"{fix}, and write m {{{{ … }}}} here", place.spans[-1])
    if place.found[:1] in ('"', "'") and (language := _close(word, _PATTERNS)):
        return Advice(
            f"expected brackets after the label `{word}`, found a text", f"did you mean `{language}`?", place.spans[-1]
        )
    known = ["var", "all"] if _in_head(place) else ["var", "desc", "optional", "event"]
    if place.last(4) == "WHILE":
        known = ["collect", "not", "event", "var"]
    if _is_word(place.found) and (keyword := _close(word, known)) is not None:
        if keyword == word.lower():
            fix = "begin with the label of the events, and write it inside the brackets: event i: label {{ desc … }}"
            return Advice(f"`{keyword}` cannot stand here", fix, place.spans[-1])
        reason = f"expected brackets after the label `{word}`, found `{place.found}`"
        return Advice(reason, f"did you mean `{keyword}`?", place.spans[-1])
    return None


def _named_negation(place: ErrorPlace) -> Advice | None:
    """`while i: not event n: temp {{ … }}`."""
    if not _after_label(place) or place.last() not in ("EVENT", "VAR") or place.last(2) != "NOT":
        return None
    reason = "an event that does not come has no name and binds no variable"
    return Advice(reason, "write while i: not label {{ … }}", place.spans[-1])


def _unbounded(place: ErrorPlace) -> Advice | None:
    """`event i: not temp {{ … }}`."""
    if not _after_label(place) or place.last() not in ("NOT", "COLLECT") or _in_head(place):
        return None
    word = place.before[-1].lower()
    what = "negation" if word == "not" else "collection"
    fix = (
        f"name a time and use it: event i: timer:from-end [event j, 10 sec], while i: {word} {place.found} {{{{ … }}}}"
    )
    return Advice(f"a {what} needs a time to be bounded by", fix, place.spans[-1])


def _unclosed_rule(place: ErrorPlace) -> Advice | None:
    """END was read as a label, inside of a bracket that should have been closed before it."""
    if not _after_label(place) or place.last() not in ("END", "WHERE", "ON") or not place.open_brackets:
        return None
    opened, where = place.open_brackets[-1]
    word = place.before[-1]
    return Advice(f"this bracket is not closed before {word}", f"add `{slips.CLOSING[opened]}` before {word}", where)


def _condition_in_term(place: ErrorPlace) -> Advice | None:
    if place.found not in (*COMPARISONS, "<>", "==") or _in_head(place):
        return None
    if _after_label(place):
        value = place.after or "40"
        fix = (
            f"for a value write {place.before[-1]} {{{{ {value} }}}}; other conditions stand in where {{ var X > 40 }}"
        )
        return Advice("conditions do not stand in a term", fix)
    if "_ARROW" in place.accepts:
        condition = f"var {place.before[-1]} {place.found} {place.after}"
        return Advice("conditions do not stand in a term", f"write them in where {{ {condition} }}")
    return None


def _bare_label(place: ErrorPlace) -> Advice | None:
    if not _after_label(place):
        return None
    label = place.before[-1]
    shown = f"{label} {{ … }}" if _in_head(place) else f"{label} {{{{ }}}}"
    if place.last(2) == "DETECT" or place.last(2) == ":":
        return Advice(f"expected brackets after the label `{label}`", f"write {shown}", place.spans[-1])
    fix = f'write {shown} for an element, "{label}" for a text, or var {label} for a variable'
    return Advice(f"expected brackets after the label `{label}`", fix, place.spans[-1])


def _double_in_head(place: ErrorPlace) -> Advice | None:
    """`fire {{ … }}` where an event is built."""
    if not _in_head(place):
        return None
    words = [*place.before, place.found]
    spans = [*place.spans, place.span]
    for number in range(len(words) - 1, 1, -1):
        pair = words[number - 1] + words[number]
        if pair in ("{{", "[[") and spans[number - 1].end == spans[number].start:
            reason = "double brackets match a part of an event, and a head builds all of it"
            fix = f"write single brackets: {words[number - 2]} {pair[0]} … {slips.CLOSING[pair[0]]}"
            return Advice(reason, fix, spans[number - 1].to(spans[number]))
    return None


def _no_var(place: ErrorPlace) -> Advice | None:
    if place.accepts != {"RELATION"} or _in_head(place):
        return None
    name = place.before[-1]
    if not name.replace("-", "_").isidentifier():
        return None
    if place.found in (*COMPARISONS, "<>", "==", *ARITHMETIC):
        fix = f"a variable of the data is written with var: var {name} {place.found} …"
    else:
        fix = f"write {name} before j for events, var {name} > 40 for data"
    return Advice(place.reason, fix)


def _event_label(place: ErrorPlace) -> Advice | None:
    """`event e: /temp.*/ {{ … }}`."""
    if place.found not in ("/", "*") or "LABEL" not in place.accepts or "REGEX" in place.accepts or _in_head(place):
        return None
    reason = "the label of an event is a name: rules are put in order by the labels that they read"
    return Advice(reason, "write or { event e: one {{ … }}, event e: other {{ … }} }, or a rule for each label")


def _single_pieces(place: ErrorPlace) -> Advice | None:
    """Where only one thing may come, what it looks like whole."""
    if place.accepts == {"_KEY"}:
        return Advice(place.reason, f"say what tells its rows apart: TABLE {place.before[-1]} KEY id")
    if not place.found and "_DETECT" in place.accepts:
        return Advice(place.reason, "write the rules after the tables: DETECT … ON … END")
    if place.accepts == {"_ON", "_AT", "_FROM"}:
        return Advice(place.reason, "write DETECT … ON … END")
    if place.found == "," and "_END" in place.accepts:
        return Advice(place.reason, "put several queries in and { …, … }")
    if place.accepts == {"_COLON"}:
        return Advice(place.reason, f"write `:` after the name: {place.before[-2]} {place.before[-1]}: …")
    if place.accepts == {"_ARROW"}:
        return Advice(place.reason, f"say what it must look like: var {place.before[-1]} -> label {{{{ … }}}}")
    if place.accepts == {"NAME"} and place.before and place.before[-1][-1:].isdigit():
        reason = place.reason.replace("a name", "a unit of time", 1)
        return Advice(reason, f"write, for example, {place.before[-1]} sec")
    if place.accepts == {"NUMBER"} and place.last() in ("WITHIN", "APART-BY"):
        return Advice(place.reason, f"give a number and a unit of time: {place.before[-1]} 10 sec")
    if place.accepts == {"_LCUR"} and place.last() in ("WHERE", "AND", "OR"):
        return Advice(place.reason, f"write {place.before[-1]} {{ … }}")
    if place.last() == "BY" and place.last(2) in ("GROUP", "ORDER"):
        return Advice(place.reason, f"write {'group by {var X}' if place.last(2) == 'GROUP' else 'order by [var X]'}")
    return None


def _separators(place: ErrorPlace) -> Advice | None:
    if place.found in ("", "}", "]", ")") and place.last() == ",":
        return Advice(place.reason, "remove the last `,`, or complete it")
    if "_COMMA" not in place.accepts:
        return None
    if place.found == ";":
        return Advice(place.reason, "write a comma")
    if place.before[-1:] == ("}",) and place.found.upper() in ("WHERE", "END", "DETECT", ""):
        return None
    if _is_word(place.found) or place.found[:1] in "'\"0123456789":
        return Advice(place.reason, "put a comma between the two")
    return None


def _half_closed(place: ErrorPlace) -> Advice | None:
    """`{{` closed with a single bracket."""
    single = {"}": "_RCUR", "]": "_RSQB"}
    closed = place.last()
    if closed not in single or place.accepts != {single[closed]} or place.found == closed:
        return None
    opening = slips.OPENING[closed]
    return Advice(place.reason, f"what `{opening * 2}` opens, `{closed * 2}` closes: add a `{closed}`")


def _foreign_operator(place: ErrorPlace) -> Advice | None:
    fixes = {"&&": "write and", "&": "write and", "||": "write or", "|": "write or", "==": "write =", "!": "write not"}
    return slips.advise_operator(place, "rules", fixes)


def _no_end(place: ErrorPlace) -> Advice | None:
    if "_END" not in place.accepts or place.found.upper() not in ("", "DETECT"):
        return None
    return Advice(place.reason, "end the rule with END")


def _empty_brackets(place: ErrorPlace) -> Advice | None:
    if place.found != "}" or place.last() != "{" or place.last(2) not in ("AND", "OR", "WHERE"):
        return None
    word = place.before[-2]
    what = "a condition, such as var X > 40" if word.upper() == "WHERE" else "a query, such as event i: label {{ … }}"
    return Advice(place.reason, f"leave `{word} {{ }}` out, or write {what} in it")


_SLIPS: tuple[Slip, ...] = (
    _unclosed,
    _double_in_head,
    _named_negation,
    _unclosed_rule,
    _misspelt_before,
    _unbounded,
    _condition_in_term,
    _bare_label,
    _no_var,
    _foreign_operator,
    _empty_brackets,
    _half_closed,
    _misspelt,
    _event_label,
    _single_pieces,
    _no_end,
    _separators,
    advise_brackets,
    advise_condition,
)

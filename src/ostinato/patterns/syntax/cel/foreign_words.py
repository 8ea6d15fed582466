"""Words of other languages for event patterns, and the CEL for them."""

from __future__ import annotations

from ostinato.core.text.messages import Advice, ErrorPlace

_THEN = "write `->` for the next event that fits: A -> B; `;` for any later one: A ; B"
_ANY_LATER = "write `;` for `and then`, whatever comes between: A ; B"
_DIRECTLY = "write `:` for `directly after`: A : B"
_ROWS = "write the pattern with `:` for `directly after` or `;` for `and then`, conditions after FILTER: "
_RECOGNIZE = f"{_ROWS}(A AS a : B AS b) FILTER b.price > a.price"
SKIP_FORMS = (
    "write AFTER MATCH SKIP and PAST LAST ROW, TO NEXT ROW, TO FIRST x or TO LAST x; without it, matches may overlap"
)
_LOOP = (
    "write + after the event: A+ takes any events that fit, A->+ the next that fits in each round, A:+ the very next"
)

_NOT_LATER = "write NOT between two events: A ; NOT B ; C; or at the end with a time: A ; NOT B FOR 5 minutes"
_NOT_NEXT = "write NOT after `:`: A : NOT B, or A : NOT B ; C"
_TIMEOUT = "write WITH TIMEOUT ROWS for what did not complete in time: A ; B WITHIN 10 minutes WITH TIMEOUT ROWS"
_TIMER = (
    "write WITHIN 5 seconds at the end for how long a match may take, or NOT B FOR 5 seconds for what does not come"
)
_PER_MATCH = "leave it out: each match is a row, and SELECT * … gives the positions of its events"
_EVERY_MATCH = "leave it out: every match is given, as soon as it is known"
_RESULT = "list what to show before the pattern: SELECT a.price WHERE A AS a ; B AS b"
_IN_BRACES = "in braces after the event: A{3}, A{2,5} or A{2,}"

# Where an event could begin, so that they were taken for one, and the error is at the next word.
_PREFIXES = {
    "EVERY": "leave it out: every match is found anyway, and SELECT FIRST * WHERE … gives only the first. CONSUME BY "
    "ANY at the end starts anew after each match",
    "PATTERN": _RECOGNIZE,
    "MATCH_RECOGNIZE": _RECOGNIZE,
    "SEQ": "write `;` between the events, and AS before their names: A AS a ; B AS b",
    "SEQUENCE": "write `;` between the events, and AS before their names: A AS a ; B AS b",
    "NOTFOLLOWEDBY": _NOT_LATER,
    "NOTNEXT": _NOT_NEXT,
    "FOLLOWEDBY": _THEN,
    "FOLLOWEDBYANY": _ANY_LATER,
    "BEGIN": "begin with the type of the first event: A AS a ; B AS b",
}
# After an event.
_INFIXES = {
    "FOLLOWEDBY": _THEN,
    "FOLLOWEDBYANY": _ANY_LATER,
    "FOLLOWED": _THEN,
    "THEN": _ANY_LATER,
    "NEXT": _DIRECTLY,
    "NOTFOLLOWEDBY": _NOT_LATER,
    "NOTNEXT": _NOT_NEXT,
    "ONEORMORE": _LOOP,
    "TIMES": "write {3}, or {2,5}, after the event: A{3}; A->{3} takes the next that fits in each round",
    "TIMESORMORE": "write {2,} after the event: A{2,}",
    "OPTIONAL": "write ? after the event: A?; A* for any number, also none",
    "GREEDY": "write SELECT MAX * WHERE … for the longest matches",
    "CONSECUTIVE": "write :+ for events one after the other: A:+",
    "ALLOWCOMBINATIONS": _LOOP,
    "AFTER": SKIP_FORMS,
    "SKIP": SKIP_FORMS,
    "DEFINE": f"{_ROWS}(A AS a ; B AS b) FILTER b.price > 10",
    "MEASURES": "list what to show before the pattern: SELECT a.price, last(b.price) WHERE A AS a ; B AS b+",
    "GROUP": "write PARTITION BY attr at the end: each value of it is matched separately",
    "ORDER": "events are in order of time, and matches in order of their last event; sort the answer afterwards",
    "HAVING": "write FILTER and a condition: A AS a ; B AS b FILTER a.price < b.price",
    "WHEN": "write FILTER before the condition: A AS a FILTER a.price > 10",
    "ALLOW": "leave it out: matches may overlap; AFTER MATCH SKIP PAST LAST ROW keeps them apart",
    "EMIT": _EVERY_MATCH,
    "OUTPUT": _EVERY_MATCH,
    "INSERT": _EVERY_MATCH,
    "RETURN": _RESULT,
}
_TWO_WORDS = {("ONE", "ROW"), ("ALL", "ROWS")}


def advise_foreign_word(place: ErrorPlace) -> Advice | None:
    if place.found == "." and place.after.upper() in _INFIXES:  # a method, as FlinkCEP has them
        return Advice(f"`{place.after}` is not a word of CEL", _INFIXES[place.after.upper()])
    if "_WITH_TIMEOUT" in place.accepts and place.found.upper() in ("TIMEOUT", "WITH", "SHOW"):
        return Advice(f"`{place.found}` is not a clause of CEL", _TIMEOUT)
    if "_SEMICOLON" not in place.accepts or place.after.upper() == "AS":
        return None
    if (place.found.upper(), place.after.upper()) in _TWO_WORDS:
        return Advice(f"`{place.found} {place.after}` is not a clause of CEL", _PER_MATCH)
    if (place.found.upper(), place.after) == ("TIMER", ":"):
        return Advice(f"`{place.found}` is not a word of CEL", _TIMER)
    if (place.found, place.last(2), place.last(3)) == ("(", ":", "TIMER"):
        return Advice(f"`{place.before[-3]}` is not a word of CEL", _TIMER, place.spans[-3])
    if place.found.upper() in _INFIXES:
        return Advice(f"`{place.found}` is not a word of CEL", _INFIXES[place.found.upper()])
    prefix = place.last()
    if prefix in _PREFIXES and (place.found == "(" or place.found[:1].isalpha()):
        return Advice(f"`{place.before[-1]}` is not a word of CEL", _PREFIXES[prefix], place.spans[-1])
    return None


def advise_select(place: ErrorPlace) -> Advice | None:
    """Languages that begin with FROM, or end with SELECT."""
    if place.found.upper() == "FROM" and not place.before:
        return Advice(f"`{place.found}` cannot begin a query", _RESULT)
    if place.found.upper() == "SELECT" and "_WITHIN" in place.accepts:
        return Advice(f"`{place.found}` comes first", _RESULT)
    return None


def advise_counted_event(place: ErrorPlace) -> Advice | None:
    """Siddhi's `A<2:5>`, Esper's `[2:5] A`."""
    if place.found == "<" and {"_SEMICOLON", "_AS"} <= place.accepts and (place.after.isdigit() or place.after == ":"):
        return Advice("`<` does not count rounds", f"write the number of rounds {_IN_BRACES}")
    if place.last() == "[" and place.found.isdigit() and "ANY" in place.accepts:
        return Advice("a number of rounds comes after what it repeats", f"write it {_IN_BRACES}")
    return None


def advise_condition_of_event(place: ErrorPlace) -> Advice | None:
    """Siddhi's `e1=A[price > 10]`, Esper's `e1=A(price > 10)`."""
    if "_SEMICOLON" not in place.accepts or "_AS" not in place.accepts:
        return None
    if place.found == "=" and place.after[:1].isalpha():
        return Advice("a name comes after its event", f"write {place.after} AS {place.before[-1]}")
    if place.found in ("[", "("):
        fix = "name the event, and bracket it with its condition: (A AS a FILTER a.price > 10) ; B"
        return Advice("conditions on events come after FILTER", fix)
    return None

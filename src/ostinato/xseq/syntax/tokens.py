"""The words of an XSeq text. What a sign means may hang on its neighbours, so the text is read whole before parsing:

- A keyword (`return from where partition union intersect and or not as div mod`, in capitals or not) is a name right
  after an axis or `@`, and nowhere else: `/from`, `@by`, `following_sibling::union`.
- The name of a function is a function before `(`, and a name elsewhere and after an axis: `/last (/a)*` are elements.
- A string right after an axis or `@` is a name, of any letters: `/'a b'`, `@"first name"`. In `where` and `return` one
  that reads as a number divides after `/`; such a name has its axis written out, `child::'2'`.
- A hyphen or a dot belongs to a name when a letter, digit or `_` follows at once: `beta-strand`, `date-2`. It is a
  minus before a blank, `$`, `(` and before a function with its bracket: `@date-prev($T)@date`, `@date - 2`.
- `*` is a name test where a name may stand. After a complete path or value it repeats in paths, and multiplies in
  `where` and `return`. In a predicate it multiplies a number or a string; between two paths it multiplies where they
  are compared (`[@a * @b > 3]`) and repeats where they are not (`[$A* $B]`) or an axis follows (`[(/a)* /b = 3]`).
  `×` always multiplies.
- `/` divides where no path can go on: before a number, and in `where` and `return` before `$`, `(` and functions.
- `.` before a name, a variable or a kind test is the axis `self`; alone it is the node itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ostinato.core.text.grammar import unquote
from ostinato.errors import QueryError, Span

KEYWORDS = frozenset(
    ("return", "from", "where", "partition", "union", "intersect", "and", "or", "not", "as", "div", "mod")
)
AGGREGATES = ("max", "min", "count", "sum", "avg")
ALIASES = ("prev", "first", "last")
FUNCTIONS = (*AGGREGATES, *ALIASES, "tag", "text", "not")

_FUNCTION = rf"(?:{'|'.join(FUNCTIONS)})\("
_PART = rf"[^\W\d](?:\w|\.(?=\w)|-(?=\w)(?!{_FUNCTION}))*"
NAME = re.compile(rf"{_PART}(?::{_PART})?", re.IGNORECASE)
RAW = re.compile(
    rf"""(?P<STRING>'(?:[^']|'')*'|"(?:[^"]|"")*")
    | (?P<VARIABLE>\$[^\W\d]\w*)
    | (?P<KIND>(?:text|node)\s*\(\s*\))
    | (?P<DOC>doc\s*\(\s*\))
    | (?P<NUMBER>(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?(?![\w$]))
    | (?P<AXIS>[^\W\d][\w-]*\s*::|//|/\\|\\)
    | (?P<WORD>(?i:{NAME.pattern}))
    | (?P<COMPARISON><=|>=|<>|!=|=(?!=)|<|>|≠|≤|≥)
    | (?P<OTHER>==|&&|\|\||\.\.|::|:=|=>|->)
    | (?P<SIGN>\S)""",
    re.VERBOSE,
)
_SIGNS = {
    "/": "AXIS",
    "@": "AT",
    ".": "HERE",
    "*": "ANY",
    "(": "LPAR",
    ")": "RPAR",
    "[": "LSQB",
    "]": "RSQB",
    ",": "COMMA",
    ":": "COLON",
    "+": "PLUS",
    "-": "MINUS",
    "%": "MOD",
    "×": "TIMES",
}
_OPENED = {"RPAR": "LPAR", "RSQB": "LSQB"}
# After these a value or a path is complete.
_COMPLETE = ("NAME", "ANY", "VARIABLE", "KIND", "DOC", "HERE", "RPAR", "RSQB", "NUMBER", "STRING", "QUOTED", "KLEENE")
_TEST = ("NAME", "VARIABLE", "KIND")
_VALUE = (*_TEST, "AT", "LPAR", "HERE", "FUNCTION", "DOC")
_BLANK = re.compile(r"\s*")
_NUMBER = re.compile(r"\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*")
_COMMENT = re.compile(r"\(:|:\)")


class Word(NamedTuple):
    type: str  # a terminal of grammar.lark
    text: str
    start: int

    @property
    def span(self) -> Span:
        return Span(self.start, self.start + len(self.text))


def words(text: str) -> list[Word]:
    """The text as terminals of the grammar; what the language does not know is OTHER."""
    found = _classify_words(list(_raw(text)))
    _signs(found)
    return found


def _raw(text: str) -> Iterator[Word]:
    at = 0
    while (at := _skip_blanks(text, at)) < len(text):
        match = RAW.match(text, at)
        assert match is not None and match.lastgroup is not None
        kind = match.lastgroup
        yield Word(_SIGNS.get(match[0], "OTHER") if kind == "SIGN" else kind, match[0], at)
        at = match.end()


def _skip_blanks(text: str, at: int) -> int:
    """Past blanks and comments, which nest as those of XPath."""
    while True:
        blank = _BLANK.match(text, at)
        at = blank.end() if blank else at
        if not text.startswith("(:", at):
            return at
        start, depth = at, 0
        for mark in _COMMENT.finditer(text, at):
            depth += 1 if mark[0] == "(:" else -1
            at = mark.end()
            if depth == 0:
                break
        if depth:
            raise QueryError(
                "the comment that starts here is never closed",
                span=Span(start, start + 2),
                fix="end it with :) — a group starts with `(` and no colon after it",
            )


def _classify_words(raw: list[Word]) -> list[Word]:
    """Words told apart: names, keywords and functions."""
    found: list[Word] = []
    for index, word in enumerate(raw):
        before = found[-1].type if found else ""
        following = raw[index + 1] if index + 1 < len(raw) else Word("", "", 0)
        kind, lower = word.type, word.text.lower()
        if kind == "WORD":
            if before in ("AXIS", "AT"):
                kind = "NAME"
            elif lower in FUNCTIONS and following.type == "LPAR":
                kind = "FUNCTION"
            elif lower in KEYWORDS or (lower == "by" and before == "PARTITION"):
                kind = lower.upper()
            else:
                kind = "NAME"
        elif kind == "STRING" and before in ("AXIS", "AT"):
            kind = "QUOTED"
        found.append(Word(kind, word.text, word.start))
    return found


def _signs(found: list[Word]) -> None:
    """Give `*`, `/` and `.` the meaning of their place."""
    section = "RETURN" if found and found[0].type == "RETURN" else "FROM"
    opened: list[str] = []
    for index, word in enumerate(found):
        before = found[index - 1].type if index else ""
        following = found[index + 1].type if index + 1 < len(found) else ""
        computes = section in ("RETURN", "WHERE") or "LSQB" in opened
        if word.type in ("RETURN", "FROM", "WHERE", "PARTITION"):
            section, opened = word.type, []
        elif word.type in ("LPAR", "LSQB"):
            opened.append(word.type)
        elif word.type in _OPENED and opened:
            opened.pop()
        elif word.text == "*" and before in _COMPLETE:
            times = computes and ("LSQB" not in opened or _multiplies(found, index))
            found[index] = word._replace(type="TIMES" if times else "KLEENE")
            if before == "HERE" and not times:
                found[index - 1] = found[index - 1]._replace(type="AXIS")
                found[index] = word._replace(type="ANY")
        elif word.text == "/" and computes and before in _COMPLETE and _divides(found, index, "LSQB" in opened):
            found[index] = word._replace(type="DIV")
        elif word.type == "HERE" and following in _TEST:
            found[index] = word._replace(type="AXIS")


def _divides(found: list[Word], slash: int, in_predicate: bool) -> bool:
    """Whether no path can go on after the `/` at that index; a function after it is told from an element's name."""
    following, then = (found[index] if index < len(found) else Word("", "", 0) for index in (slash + 1, slash + 2))
    if following.type == "NAME" and following.text.lower() in FUNCTIONS and then.type == "LPAR" and not in_predicate:
        found[slash + 1] = following._replace(type="FUNCTION")
        return True
    if following.type == "QUOTED" and not in_predicate and _NUMBER.fullmatch(unquote(following.text)):
        found[slash + 1] = following._replace(type="STRING")
        return True
    return following.type == "NUMBER" or (not in_predicate and following.type in ("VARIABLE", "LPAR"))


def _multiplies(found: list[Word], star: int) -> bool:
    """Whether the `*` at that index, after a complete path or value in a predicate, is a multiplication."""
    ahead = [word.type for word in found[star + 1 :]]
    before, following = found[star - 1].type, ahead[0] if ahead else ""
    if following == "LPAR" and next((kind for kind in ahead if kind != "LPAR"), "") == "AXIS":
        return False
    if before in ("NUMBER", "STRING") or following in ("NUMBER", "STRING", "MINUS"):
        return True
    return following in _VALUE and any(
        word.type == "COMPARISON" for step in (1, -1) for word in _part(found, star, step)
    )


def _part(found: list[Word], start: int, step: int) -> Iterator[Word]:
    """The words of one side of a place, to the next `and`, `or` or end of the predicate; nested predicates left out."""
    depth, inwards = 0, "LSQB" if step > 0 else "RSQB"
    for index in range(start + step, len(found) if step > 0 else -1, step):
        kind = found[index].type
        if kind in ("LSQB", "RSQB"):
            depth += 1 if kind == inwards else -1
            if depth < 0:
                return
        elif depth == 0 and kind in ("AND", "OR"):
            return
        elif depth == 0:
            yield found[index]

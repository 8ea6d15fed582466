"""The words of a SQL query, and those of the row patterns in it, where signs mean something else.

Only what must be told apart is: the query around a clause, and most of the expressions in it, stay text of the engine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ostinato.errors import QueryError, Span

RAW = re.compile(
    r"""(?P<COMMENT>--[^\n]*|/\*(?s:.*?)\*/)
    | (?P<STRING>(?:[eE](?='))?'(?:[^']|'')*'|\$(?P<tag>\w*)\$(?s:.*?)\$(?P=tag)\$)
    | (?P<OPEN>/\*|\$\w*\$)
    | (?P<QUOTED>"(?:[^"]|"")*"|`[^`]+`)
    | (?P<WORD>[^\W\d]\w*)
    | (?P<NUMBER>(?:\d[\d_]*(?:\.[\d_]*)?|\.\d+)(?:[eE][+-]?\d+)?)
    | (?P<SIGN>::|->>|->|=>|:=|<=|>=|<>|!=|==|\|\||\S)""",
    re.VERBOSE,
)
_IN_PATTERN = re.compile(
    r"""(?P<COMMENT>--[^\n]*|/\*(?s:.*?)\*/)
    | (?P<OPEN>/\*)
    | (?P<QUOTED>"(?:[^"]|"")*"|`[^`]+`)
    | (?P<WORD>[^\W\d]\w*)
    | (?P<EXCLUDE>\{-)
    | (?P<END_EXCLUDE>-\})
    | (?P<QUANTIFIER>(?:[*+?]|\{\s*\d*\s*(?:,\s*\d*\s*)?\})(?:\s*\?)?)
    | (?P<SIGN>\S)""",
    re.VERBOSE,
)
_BLANK = re.compile(r"\s*")
CLOSING = {"(": ")", "[": "]", "{": "}"}


class Word(NamedTuple):
    type: str  # WORD, QUOTED, STRING, NUMBER, SIGN; in patterns also QUANTIFIER, EXCLUDE, END_EXCLUDE
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def span(self) -> Span:
        return Span(self.start, self.end)

    @property
    def keyword(self) -> str:
        """The word in capitals; a sign as it is; nothing for quoted names and strings."""
        return self.text.upper() if self.type in ("WORD", "SIGN") else ""

    @property
    def is_name(self) -> bool:
        return self.type in ("WORD", "QUOTED")

    @property
    def name(self) -> str:
        """Without quotes."""
        if self.type != "QUOTED":
            return self.text
        quote = self.text[0]
        return self.text[1:-1].replace(quote * 2, quote)


def words(text: str) -> list[Word]:
    """The words of the text without comments."""
    return list(_words(text))


def _words(text: str) -> Iterator[Word]:
    opened: list[str] = []  # what each open bracket belongs to: PATTERN, MATCH_RECOGNIZE or nothing
    before = ""
    at = 0
    while True:
        blank = _BLANK.match(text, at)
        at = blank.end() if blank else at
        if at == len(text):
            return
        found = (_IN_PATTERN if "PATTERN" in opened else RAW).match(text, at)
        assert found is not None and found.lastgroup is not None
        at = found.end()
        kind = "STRING" if found.lastgroup == "tag" else found.lastgroup
        if kind == "COMMENT":
            continue
        if kind == "OPEN":  # also since each would be searched to the end of the text
            what, end = ("comment", "*/") if found[0] == "/*" else ("string", found[0])
            span = Span(*found.span())
            raise QueryError(f"the {what} that starts here is never closed", span=span, fix=f"end it with {end}")
        word = Word(kind, found[0], found.start())
        if word.text == "(":
            within = "MATCH_RECOGNIZE" in opened
            opened.append(before if before == "MATCH_RECOGNIZE" or (before == "PATTERN" and within) else "")
        elif word.text == ")" and opened:
            opened.pop()
        before = word.keyword
        yield word


def closing(found: Sequence[Word], opening: int) -> int:
    """The index of the bracket that closes the one at `opening`."""
    expected: list[tuple[str, Word]] = []
    for index in range(opening, len(found)):
        word = found[index]
        if word.type != "SIGN":
            continue
        if word.text in CLOSING:
            expected.append((CLOSING[word.text], word))
        elif word.text in CLOSING.values():
            if word.text != expected[-1][0]:
                opener = expected[-1][1]
                reason = f"`{word.text}` does not close the `{opener.text}` before it"
                raise QueryError(reason, span=word.span, fix=f"write `{expected[-1][0]}`")
            expected.pop()
            if not expected:
                return index
    bracket = found[opening]
    fix = f"add `{CLOSING[bracket.text]}` where it ends"
    raise QueryError("this bracket is never closed", span=bracket.span, fix=fix)


def split(found: Sequence[Word], separator: str = ",") -> list[Sequence[Word]]:
    """The parts between separators outside all brackets; none where there are no words."""
    parts: list[Sequence[Word]] = []
    depth, start = 0, 0
    for index, word in enumerate(found):
        if word.type == "SIGN":
            depth += (word.text in CLOSING) - (word.text in CLOSING.values())
        if depth == 0 and word.keyword == separator:
            parts.append(found[start:index])
            start = index + 1
    return [*parts, found[start:]] if found else []

"""The words of one clause as terminals of grammar.lark. What a word is depends on the part of the clause it stands in.

- An expression runs to the `,` that ends it, to a word that can only follow it (AS in MEASURES, ASC, DESC and NULLS in
  ORDER BY), to the next part of the clause, or to the bracket that closes the clause.
- The parts of a clause may come in any order, and the words that they begin with are names everywhere else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ostinato.core.text.grammar import MAX_DEPTH, nesting_error
from ostinato.sql.syntax.words import CLOSING, Word

# What a part begins with; `(` stands for itself.
_PARTS = (
    *(("PARTITION", "BY"), ("ORDER", "BY"), ("MEASURES",), ("ONE", "ROW"), ("ALL", "ROWS"), ("AFTER", "MATCH")),
    *(("PATTERN", "("), ("SUBSET",), ("DEFINE",), ("DEFINES",), ("WITHIN",)),
)
_SILENT = frozenset(
    (
        *("MATCH_RECOGNIZE", "PARTITION", "BY", "ORDER", "MEASURES", "ONE", "ROW", "ALL", "ROWS", "PER", "MATCH"),
        *("AFTER", "SKIP", "PAST", "LAST", "TO", "NEXT", "PATTERN", "SUBSET", "DEFINE", "WITHIN"),
    )
)
_SIGNS = {"(": "_LPAR", ")": "_RPAR", ",": "_COMMA", "=": "_EQUALS"}
_PATTERN_SIGNS = {**_SIGNS, "|": "_BAR", "^": "ANCHOR", "$": "ANCHOR"}
_EMPTY_MATCHES = (("SHOW", "EMPTY", "MATCHES"), ("OMIT", "EMPTY", "MATCHES"), ("WITH", "UNMATCHED", "ROWS"))
# Nothing is complete after these, so that no part can begin there.
_OPERATORS = frozenset(("+", "-", "*", "/", "%", "=", "<", ">", "<=", ">=", "<>", "!=", "||", "::", ".", ","))
_EXPRESSIONS = ("PARTITION", "ORDER", "MEASURES", "DEFINE", "WITHIN")

Terminal = tuple[str, Word]


def terminals(text: str, found: Sequence[Word]) -> Iterator[Terminal]:
    """The terminals of a clause, given its words from MATCH_RECOGNIZE to the bracket that closes it."""
    return _Clause(text, found).read()


class _Clause:
    def __init__(self, text: str, found: Sequence[Word]) -> None:
        self.text = text
        self.found = found
        self.at = 0

    def read(self) -> Iterator[Terminal]:
        yield "_MATCH_RECOGNIZE", self._take()
        yield "_LPAR", self._take()
        part = ""
        while self.at < len(self.found) - 1:
            if (begins := self._part()) is not None:
                part = begins
                yield from self._words(1 if part in ("SUBSET", "DEFINE", "MEASURES", "WITHIN") else 2, part)
                yield from self._rest(part)
            elif part in _EXPRESSIONS and self._word().text == ",":
                yield "_COMMA", self._take()
                yield from self._item(part)
            else:
                yield _terminal(self._take())
        yield "_RPAR", self._take()

    def _rest(self, part: str) -> Iterator[Terminal]:
        """What follows the words that a part begins with."""
        if part in _EXPRESSIONS:
            yield from self._item(part)
        elif part == "PATTERN":
            yield from self._pattern()
        elif part == "ALL":
            yield from self._keywords("PER", "MATCH")
            if any(self._ahead(*words) for words in _EMPTY_MATCHES):
                yield "EMPTY_MATCHES", self._join(3)
        elif part == "ONE":
            yield from self._keywords("PER", "MATCH")
        elif part == "AFTER":
            yield from self._keywords("SKIP")
            yield from self._skip()

    def _skip(self) -> Iterator[Terminal]:
        yield from self._keywords("PAST", "LAST", "ROW")
        if self._ahead("TO", "NEXT", "ROW"):
            yield from self._keywords("TO", "NEXT", "ROW")
        elif self._ahead("TO"):
            yield from self._keywords("TO")
            if self._word().keyword in ("FIRST", "LAST") and self._word(1).is_name and self._part(1) is None:
                yield "SKIP_END", self._take()

    def _item(self, part: str) -> Iterator[Terminal]:
        """One item of a list of expressions, or what stands in its place."""
        if part == "DEFINE":
            if self._word().keyword == "AUTO" and self._word(1).keyword != "AS":
                yield "AUTO", self._take()
                return
            if self._word().is_name:
                yield "NAME", self._take()
            if not self._ahead("AS"):
                return
            yield "_AS", self._take()
        run = self._expression(part)
        if run is not None:
            yield "EXPR", run
        if part == "MEASURES" and self._ahead("AS"):
            yield "_AS", self._take()
            if self._word().is_name:
                yield "NAME", self._take()
        elif part == "ORDER":
            if self._word().keyword in ("ASC", "DESC"):
                yield "DIRECTION", self._take()
            if self._ahead("NULLS", "FIRST") or self._ahead("NULLS", "LAST"):
                yield "NULLS", self._join(2)

    def _expression(self, part: str) -> Word | None:
        """The words of an expression as one; None where there is none."""
        ends = {"MEASURES": ("AS",), "ORDER": ("ASC", "DESC", "NULLS")}.get(part, ())
        start, depth = self.at, 0
        while self.at < len(self.found) - 1:
            word = self._word()
            if depth == 0 and (word.text == "," or word.keyword in ends or self._ends_before_part(start)):
                break
            if word.type == "SIGN":
                depth += (word.text in CLOSING) - (word.text in CLOSING.values())
            self.at += 1
        return None if self.at == start else self._joined(start)

    def _ends_before_part(self, start: int) -> bool:
        """Whether an expression from `start` on ends here, where the next part begins."""
        part = self._part()
        if part in ("MEASURES", "SUBSET", "DEFINE", "WITHIN"):  # which may be names of columns
            return self.at > start and self.found[self.at - 1].text not in _OPERATORS
        return part is not None

    def _pattern(self) -> Iterator[Terminal]:
        """Up to the bracket that closes the pattern."""
        depth = 1
        while depth and self.at < len(self.found) - 1:
            word = self._take()
            depth += (word.text in ("(", "{-")) - (word.text in (")", "-}"))
            if depth > MAX_DEPTH:
                raise nesting_error(word.span)
            if word.type in ("EXCLUDE", "END_EXCLUDE"):
                yield f"_{word.type}", word
            elif word.keyword == "PERMUTE" and self._word().text == "(":
                yield "_PERMUTE", word
            elif word.is_name or word.type == "QUANTIFIER":
                yield "NAME" if word.is_name else "QUANTIFIER", word
            else:
                yield _PATTERN_SIGNS.get(word.text, "OTHER"), word

    def _part(self, ahead: int = 0) -> str | None:
        """The part that begins here, by its first word."""
        for words in _PARTS:
            if self._ahead(*words, ahead=ahead):
                return "DEFINE" if words[0] == "DEFINES" else words[0]
        return None

    def _words(self, count: int, part: str) -> Iterator[Terminal]:
        for index in range(count):
            word = self._take()
            yield (f"_{part}", word) if index == 0 else _terminal(word)

    def _keywords(self, *expected: str) -> Iterator[Terminal]:
        """These words, as far as they come."""
        for keyword in expected:
            if not self._ahead(keyword):
                return
            yield f"_{keyword}", self._take()

    def _word(self, ahead: int = 0) -> Word:
        return self.found[min(self.at + ahead, len(self.found) - 1)]

    def _ahead(self, *expected: str, ahead: int = 0) -> bool:
        return all(self._word(ahead + index).keyword == keyword for index, keyword in enumerate(expected))

    def _take(self) -> Word:
        self.at += 1
        return self.found[self.at - 1]

    def _join(self, count: int) -> Word:
        self.at += count
        return self._joined(self.at - count)

    def _joined(self, first: int) -> Word:
        """The words from that one on, up to here, as one."""
        start, end = self.found[first].start, self.found[self.at - 1].end
        return Word("EXPR", self.text[start:end], start)


def _terminal(word: Word) -> Terminal:
    if word.keyword in _SILENT:
        return f"_{word.keyword}", word
    return "NAME" if word.is_name else _SIGNS.get(word.text, "OTHER"), word

"""One walk over the words of an expression: text goes through, terms are taken out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from ostinato.core.text.grammar import MAX_DEPTH, nesting_error
from ostinato.errors import QueryError, Span, did_you_mean
from ostinato.sql.syntax import nodes as n
from ostinato.sql.syntax.words import CLOSING, Word, closing, split


class Variables:
    """The pattern and union variables of a clause, and the query that names them.

    Attributes
    ----------
    text : str
        The query, into which all places point.
    names : Mapping
        Name in small letters -> name as PATTERN or SUBSET writes it first.
    """

    def __init__(self, text: str, names: Mapping[str, str]) -> None:
        self.text = text
        self.names = names

    def find(self, word: Word) -> str | None:
        return self.names.get(word.name.lower()) if word.is_name else None


class Excerpt:
    """Words of an expression that follow each other, and the variables that they may name."""

    def __init__(self, variables: Variables, found: Sequence[Word], hidden: frozenset[str] = frozenset()) -> None:
        self.variables = variables
        self.found = found
        self.hidden = hidden  # names of lambdas, which hide variables

    def closing(self, opening: int) -> int:
        return closing(self.found, opening)

    def arguments(self, opening: int) -> tuple[list[Sequence[Word]], int]:
        """The arguments in the brackets, and the index after them."""
        end = self.closing(opening)
        return split(self.found[opening + 1 : end]), end + 1


class Scan(Excerpt, ABC):
    """One walk over the words, from left to right: text goes through, terms are taken out."""

    def __init__(self, variables: Variables, found: Sequence[Word], hidden: frozenset[str] = frozenset()) -> None:
        super().__init__(variables, found, hidden)
        self.parts: list[str | n.Term] = []
        self.at = 0
        self.written = found[0].start if found else 0

    def read(self) -> n.Sql:
        opened: list[tuple[str, frozenset[str]]] = []
        while self.at < len(self.found):
            word = self.found[self.at]
            if word.type == "SIGN" and word.text in CLOSING:
                if word.text == "(" and self._word(1).keyword in ("SELECT", "WITH", "FROM", "VALUES"):
                    self._subquery()
                    continue
                opened.append((word.text, self.hidden))
                if len(opened) > MAX_DEPTH:
                    raise nesting_error(word.span)
            elif word.type == "SIGN" and word.text in CLOSING.values() and opened:
                self.hidden = opened.pop()[1]
            elif word.text == "," and opened:
                self.hidden = opened[-1][1]  # the body of a lambda ends here
            elif word.keyword == "LAMBDA":
                self._lambda()
            elif word.keyword == "OVER" and self._word(-1).text == ")":
                raise window_error(word)
            elif word.is_name and self._word(-1).text != "." and self._term(word):
                continue
            self.at += 1
        whole = self.found[0].span.to(self.found[-1].span)
        self._flush(whole.end)
        return n.Sql(merged(self.parts), whole)

    @abstractmethod
    def _term(self, word: Word) -> bool:
        """Take out the term that begins here, if one does."""

    def _lambda(self) -> None:
        names = []
        ahead = 1
        while self._word(ahead).is_name or self._word(ahead).text == ",":
            names.append(self._word(ahead).name.lower())
            ahead += 1
        if self._word(ahead).text == ":":
            self.hidden |= frozenset(names)
            self.at += ahead

    def _subquery(self) -> None:
        """The engine's; but it is no part of the match."""
        end = self.closing(self.at)
        for index in range(self.at, end):
            variable = self.variables.find(self.found[index])
            if variable is not None and self.found[index + 1].text == "." and self.found[index - 1].text != ".":
                reason = f"a subquery cannot read the rows of the pattern variable {variable}"
                fix = "use the value outside: compare the subquery's result with it"
                raise QueryError(reason, span=self.found[index].span, fix=fix)
        self.at = end + 1

    def _put(self, term: n.Term, end: int) -> None:
        """The term stands for the words up to the one at `end`."""
        self._flush(self.found[self.at].start)
        self.parts.append(term)
        self.at = end
        self.written = self.found[end - 1].end

    def _flush(self, end: int) -> None:
        self.parts.append(self.variables.text[self.written : end])

    def _word(self, ahead: int) -> Word:
        index = self.at + ahead
        return self.found[index] if 0 <= index < len(self.found) else Word("", "", self.found[-1].end)

    def _qualified(self, word: Word) -> str | None:
        """The variable of `A.price`."""
        if self._word(1).text != "." or word.name.lower() in self.hidden:
            return None
        return self.variables.find(word)

    def _match_number(self) -> None:
        arguments, end = self.arguments(self.at + 1)
        span = self.found[self.at].span.to(self.found[end - 1].span)
        if arguments:
            raise QueryError("MATCH_NUMBER takes no arguments", span=span, fix="write MATCH_NUMBER()")
        self._put(n.MatchNumber(span), end)

    def _classifier(self) -> tuple[str, int, Span]:
        """The variable that a CLASSIFIER names, the index after it, and its place."""
        arguments, end = self.arguments(self.at + 1)
        span = self.found[self.at].span.to(self.found[end - 1].span)
        if not arguments:
            return n.ALL, end, span
        if len(arguments) > 1 or len(arguments[0]) != 1 or not arguments[0][0].is_name:
            fix = "write CLASSIFIER() or CLASSIFIER(variable)"
            raise QueryError("CLASSIFIER takes at most the name of a variable", span=span, fix=fix)
        variable = self.variables.find(arguments[0][0])
        if variable is None:
            raise _unknown_variable(self.variables, arguments[0][0])
        return variable, end, span


def merged(parts: Sequence[str | n.Term]) -> tuple[str | n.Term, ...]:
    """Neighbouring texts as one, so that expressions that say the same are equal."""
    merged: list[str | n.Term] = []
    for part in parts:
        if isinstance(part, str) and merged and isinstance(merged[-1], str):
            merged[-1] += part
        elif part != "":
            merged.append(part)
    return tuple(merged)


def window_error(word: Word) -> QueryError:
    fix = "compute it in a subquery that the clause reads from, or over the result"
    return QueryError("a window function cannot stand in MATCH_RECOGNIZE", span=word.span, fix=fix)


def _unknown_variable(variables: Variables, word: Word) -> QueryError:
    fix = did_you_mean(word.name, variables.names.values())
    return QueryError(f"there is no pattern variable `{word.name}`", span=word.span, fix=fix)

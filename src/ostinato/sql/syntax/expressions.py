"""The expressions of a clause: SQL text of the engine, in which the terms that look at the match are found.

Terms are FIRST, LAST, PREV and NEXT, aggregates, CLASSIFIER, MATCH_NUMBER, and columns that a pattern variable
qualifies. Lambdas, subqueries, casts, intervals and all other functions are the engine's business, and stay text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ostinato.core.text.grammar import MAX_DEPTH, nesting_error
from ostinato.errors import QueryError, Span, did_you_mean
from ostinato.sql.syntax import nodes as n
from ostinato.sql.syntax.aggregates import AGGREGATES
from ostinato.sql.syntax.words import CLOSING, Word, closing, split

_LOGICAL = ("FIRST", "LAST")
_PHYSICAL = ("PREV", "NEXT")
NAVIGATIONS = (*_LOGICAL, *_PHYSICAL)
_MODES = ("RUNNING", "FINAL")
LARGEST_OFFSET = 2**31 - 1


class ExpressionReader:
    """Reads the expressions of one clause.

    Attributes
    ----------
    text : str
        The query, into which all places point.
    variables : Mapping
        The pattern and union variables: name in small letters -> name.
    """

    def __init__(self, text: str, variables: Mapping[str, str]) -> None:
        self.text = text
        self.variables = variables

    def read(self, found: Sequence[Word]) -> n.Sql:
        """An expression of MEASURES or DEFINE."""
        return _Outer(self, found).read()

    def read_row(self, found: Sequence[Word]) -> n.Sql:
        """An expression over the columns of a row, before there is a match: of PARTITION BY and ORDER BY."""
        for index, word in enumerate(found):
            called = index + 1 < len(found) and found[index + 1].text == "("
            if called and word.keyword in (*NAVIGATIONS, "CLASSIFIER", "MATCH_NUMBER"):
                reason = f"{word.keyword} looks at a match, and there is none yet where rows are ordered"
                raise QueryError(reason, span=word.span, fix="use columns of the input")
        return n.Sql((self.text[found[0].start : found[-1].end],), found[0].span.to(found[-1].span))

    def variable(self, word: Word) -> str | None:
        return self.variables.get(word.name.lower()) if word.is_name else None


class _Scan:
    """One walk over the words of an expression, from left to right: text goes through, terms are taken out."""

    def __init__(self, reader: ExpressionReader, found: Sequence[Word], hidden: frozenset[str] = frozenset()) -> None:
        self.reader = reader
        self.found = found
        self.hidden = hidden  # names of lambdas, which hide variables
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
            elif word.is_name and self._word(-1).text != "." and self._term(word):
                continue
            self.at += 1
        whole = self.found[0].span.to(self.found[-1].span)
        self._flush(whole.end)
        return n.Sql(_merged(self.parts), whole)

    def _term(self, word: Word) -> bool:
        """Take out the term that begins here, if one does."""
        raise NotImplementedError

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
        end = self._closing(self.at)
        for index in range(self.at, end):
            variable = self.reader.variable(self.found[index])
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
        self.parts.append(self.reader.text[self.written : end])

    def _word(self, ahead: int) -> Word:
        index = self.at + ahead
        return self.found[index] if 0 <= index < len(self.found) else Word("", "", self.found[-1].end)

    def _closing(self, opening: int) -> int:
        return closing(self.found, opening)

    def _arguments(self, opening: int) -> tuple[list[Sequence[Word]], int]:
        """The arguments in the brackets, and the index after them."""
        end = self._closing(opening)
        return split(self.found[opening + 1 : end]), end + 1

    def _qualified(self, word: Word) -> str | None:
        """The variable of `A.price`."""
        if self._word(1).text != "." or word.name.lower() in self.hidden:
            return None
        return self.reader.variable(word)

    def _match_number(self) -> None:
        arguments, end = self._arguments(self.at + 1)
        span = self.found[self.at].span.to(self.found[end - 1].span)
        if arguments:
            raise QueryError("MATCH_NUMBER takes no arguments", span=span, fix="write MATCH_NUMBER()")
        self._put(n.MatchNumber(span), end)

    def _classifier(self) -> tuple[str, int, Span]:
        """The variable that a CLASSIFIER names, the index after it, and its place."""
        arguments, end = self._arguments(self.at + 1)
        span = self.found[self.at].span.to(self.found[end - 1].span)
        if not arguments:
            return n.ALL, end, span
        if len(arguments) > 1 or len(arguments[0]) != 1 or not arguments[0][0].is_name:
            fix = "write CLASSIFIER() or CLASSIFIER(variable)"
            raise QueryError("CLASSIFIER takes at most the name of a variable", span=span, fix=fix)
        variable = self.reader.variable(arguments[0][0])
        if variable is None:
            raise _unknown_variable(self.reader, arguments[0][0])
        return variable, end, span


class _Outer(_Scan):
    """Outside navigations and aggregates."""

    def _term(self, word: Word) -> bool:
        keyword, called = word.keyword, self._word(1).text == "("
        if keyword in _MODES and self._is_mode():
            self._with_mode(word)
        elif called and keyword in NAVIGATIONS:
            self._put(*_navigation(self, self.at, None))
        elif called and keyword == "CLASSIFIER":
            variable, end, span = self._classifier()
            self._put(n.Navigation(variable, n.Sql((n.Classifier(span),), span), span=span), end)
        elif called and keyword == "MATCH_NUMBER":
            self._match_number()
        elif called and word.name.lower() in AGGREGATES:
            self._put(*_aggregate(self, self.at, None))
        elif (qualifier := self._qualified(word)) is not None:
            column = self._word(2)
            if not column.is_name:
                reason = f"{qualifier}.{column.text} is not a column"
                fix = f"name one, such as {qualifier}.price; count({qualifier}.*) counts rows"
                raise QueryError(reason, span=word.span.to(column.span), fix=fix)
            span = word.span.to(column.span)
            self._put(n.Navigation(qualifier, n.Sql((column.text,), column.span), span=span), self.at + 3)
        else:
            return False
        return True

    def _is_mode(self) -> bool:
        """Whether RUNNING or FINAL is no column here."""
        following, then = self._word(1), self._word(2).text
        if then == "(":
            return following.keyword in (*NAVIGATIONS, "CLASSIFIER") or following.name.lower() in AGGREGATES
        return following.is_name and then == "." and self.reader.variable(following) is not None

    def _with_mode(self, word: Word) -> None:
        mode: n.Mode = "FINAL" if word.keyword == "FINAL" else "RUNNING"
        term: n.Navigation | n.Aggregate
        following = self._word(1)
        if self._word(2).text == "(" and following.keyword in NAVIGATIONS:
            if following.keyword in _PHYSICAL:
                reason = f"{mode} cannot stand before {following.keyword}"
                fix = f"put it inside: {following.keyword}({mode} LAST(…))"
                raise QueryError(reason, span=word.span.to(following.span), fix=fix)
            term, end = _navigation(self, self.at + 1, mode)
        elif self._word(2).text == "(" and following.name.lower() in AGGREGATES:
            term, end = _aggregate(self, self.at + 1, mode)
        else:
            reason = f"{mode} stands before FIRST, LAST and aggregates only"
            fix = f"write {mode} LAST({following.text}{self._word(2).text}…)"
            raise QueryError(reason, span=word.span, fix=fix)
        self._put(replace(term, span=word.span.to(term.span)), end)


class _Inner(_Scan):
    """Inside a navigation or an aggregate: the columns of one row of one variable.

    Attributes
    ----------
    owner : Word
        The function in whose brackets this stands.
    read_by : dict
        The variables that qualify columns here, with the first place of each. ALL stands for a CLASSIFIER().
    """

    def __init__(
        self, reader: ExpressionReader, found: Sequence[Word], hidden: frozenset[str], owner: Word, aggregate: bool
    ) -> None:
        super().__init__(reader, found, hidden)
        self.owner = owner
        self.aggregate = aggregate
        self.read_by: dict[str, Span] = {}

    def _term(self, word: Word) -> bool:
        keyword, called = word.keyword, self._word(1).text == "("
        owner = self.owner.keyword or self.owner.name
        if called and (keyword in NAVIGATIONS or keyword in _MODES):
            if self.aggregate:
                reason = f"{owner} takes the rows of a variable, so {keyword} cannot stand in it"
                raise QueryError(reason, span=word.span, fix=f"aggregate a column: {owner}(A.price)")
            reason = f"{keyword} cannot stand in an expression that {owner} reads at a row"
            fix = "nest them the other way and alone: PREV(FIRST(A.price, 1), 2)"
            raise QueryError(reason, span=word.span, fix=fix)
        if called and keyword == "CLASSIFIER":
            variable, end, span = self._classifier()
            self.read_by.setdefault(variable, span)
            self._put(n.Classifier(span), end)
        elif called and keyword == "MATCH_NUMBER":
            self._match_number()
        elif called and word.name.lower() in AGGREGATES:
            reason = f"the aggregate {word.text} cannot stand in {owner}"
            raise QueryError(reason, span=word.span, fix="aggregate columns of rows; aggregates do not nest")
        elif (qualifier := self._qualified(word)) is not None:
            self.read_by.setdefault(qualifier, word.span)
            # The qualifier goes; what it qualifies is a column of the row.
            self._flush(word.start)
            self.written = self._word(2).start
            self.at += 3
        else:
            return False
        return True

    def owner_variable(self) -> str:
        """The one variable whose rows are read."""
        variables = list(self.read_by)
        if len(variables) > 1:
            first, second = (variable or "the whole match" for variable in variables[:2])
            name = self.owner.keyword or self.owner.name
            reason = f"{name} reads the rows of one variable, and this names {first} and {second}"
            fix = f"use {name} once for each variable, or a SUBSET of them"
            raise QueryError(reason, span=self.read_by[variables[1]], fix=fix)
        return variables[0] if variables else n.ALL


def _merged(parts: Sequence[str | n.Term]) -> tuple[str | n.Term, ...]:
    """Neighbouring texts as one, so that expressions that say the same are equal."""
    merged: list[str | n.Term] = []
    for part in parts:
        if isinstance(part, str) and merged and isinstance(merged[-1], str):
            merged[-1] += part
        elif part != "":
            merged.append(part)
    return tuple(merged)


def _navigation(scan: _Scan, at: int, mode: n.Mode | None) -> tuple[n.Navigation, int]:
    """The navigation whose function is the word at that index, and the index after it."""
    word = scan.found[at]
    arguments, end = scan._arguments(at + 1)
    span = word.span.to(scan.found[end - 1].span)
    if not 1 <= len(arguments) <= 2 or not all(map(len, arguments)):
        fix = f"write {word.keyword}(A.price) or {word.keyword}(A.price, 2)"
        raise QueryError(f"{word.keyword} takes an expression and an offset", span=span, fix=fix)
    if word.keyword in _LOGICAL:
        inner = _read_inner(scan, arguments[0], word)
        value = inner.read()
        skip = _offset(arguments[1], word) if len(arguments) == 2 else 0
        end_of: n.End = "FIRST" if word.keyword == "FIRST" else "LAST"
        return n.Navigation(inner.owner_variable(), value, end_of, skip, 0, mode or "RUNNING", span), end
    step = _offset(arguments[1], word) if len(arguments) == 2 else 1
    step = -step if word.keyword == "PREV" else step
    first = arguments[0]
    inner_mode: n.Mode | None = None
    index = 0
    if first[0].keyword in _MODES and len(first) > 1 and first[1].is_name:
        inner_mode = "FINAL" if first[0].keyword == "FINAL" else "RUNNING"
        index = 1
    if first[index].keyword in _LOGICAL and len(first) > index + 1 and first[index + 1].text == "(":
        nested = _Outer(scan.reader, first, scan.hidden)
        navigation, after = _navigation(nested, index, inner_mode)
        if after == len(first):
            return replace(navigation, step=step, span=span), end
        reason = f"{word.keyword} takes {first[index].keyword}(…) alone, or an expression over one row"
        fix = f"write {word.keyword}({first[index].keyword}(whole expression), {abs(step)})"
        raise QueryError(reason, span=first[after].span, fix=fix)
    inner = _read_inner(scan, first, word)
    value = inner.read()
    return n.Navigation(inner.owner_variable(), value, "LAST", 0, step, "RUNNING", span), end


def _aggregate(scan: _Scan, at: int, mode: n.Mode | None) -> tuple[n.Aggregate, int]:
    """The aggregate whose function is the word at that index, and the index after it and its FILTER."""
    word = scan.found[at]
    arguments, end = scan._arguments(at + 1)
    plain = True
    following = scan.found[end] if end < len(scan.found) else None
    if following is not None and following.keyword == "FILTER" and end + 1 < len(scan.found):
        end, plain = scan._closing(end + 1) + 1, False
    elif following is not None and following.keyword == "WITHIN" and end + 2 < len(scan.found):  # WITHIN GROUP (…)
        end, plain = scan._closing(end + 2) + 1, False
    if end < len(scan.found) and scan.found[end].keyword == "OVER":
        span = word.span.to(scan.found[end].span)
        fix = "compute it in a subquery that the clause reads from, or over the result"
        raise QueryError("a window function cannot stand in MATCH_RECOGNIZE", span=span, fix=fix)
    words = scan.found[at:end]
    # `count(A.*)` is count(*) of A's rows.
    inner = _read_inner(scan, words[1:], word)
    call = inner.read()
    variable = inner.owner_variable()
    plain = plain and not any(
        each.keyword in ("DISTINCT", "ORDER", "ALL") for argument in arguments for each in argument[:1]
    )
    plain = plain and not any(each.keyword == "ORDER" for argument in arguments for each in argument)
    read = tuple(_read_inner(scan, argument, word).read() for argument in arguments) if plain else ()
    if [each.text for argument in arguments for each in argument[-1:]] == ["*"]:
        read = ()
    call = replace(call, parts=_merged((word.text, *call.parts)), span=word.span.to(call.span))
    span = word.span.to(words[-1].span)
    return n.Aggregate(variable, word.name.lower(), call, read, plain, mode or "RUNNING", span), end


def _read_inner(scan: _Scan, found: Sequence[Word], owner: Word) -> _Inner:
    return _Inner(scan.reader, found, scan.hidden, owner, owner.keyword not in NAVIGATIONS)


def _offset(found: Sequence[Word], function: Word) -> int:
    text = "".join(word.text for word in found)
    span = found[0].span.to(found[-1].span)
    if not text.isdecimal():
        reason = f"the offset of {function.keyword} must be a whole number, not negative, written as such"
        fix = f"write {function.keyword}(A.price, 2)"
        if function.keyword in _PHYSICAL and text.startswith("-"):
            fix = f"look the other way: {'NEXT' if function.keyword == 'PREV' else 'PREV'}(…, {text[1:]})"
        raise QueryError(reason, span=span, fix=fix)
    if int(text) > LARGEST_OFFSET:
        raise QueryError("the offset is too large", span=span, fix=f"the largest is {LARGEST_OFFSET}")
    return int(text)


def _unknown_variable(reader: ExpressionReader, word: Word) -> QueryError:
    fix = did_you_mean(word.name, reader.variables.values())
    return QueryError(f"there is no pattern variable `{word.name}`", span=word.span, fix=fix)

"""Navigations and aggregates: the terms of an expression that look at rows of the match."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ostinato.errors import QueryError, Span
from ostinato.sql.syntax import nodes as n
from ostinato.sql.syntax.aggregates import AGGREGATES
from ostinato.sql.syntax.columns import column_names
from ostinato.sql.syntax.scan import Excerpt, Scan, Variables, merged, window_error
from ostinato.sql.syntax.words import Word, closing

LOGICAL = ("FIRST", "LAST")
PHYSICAL = ("PREV", "NEXT")
NAVIGATIONS = (*LOGICAL, *PHYSICAL)
MODES = ("RUNNING", "FINAL")
LARGEST_OFFSET = 2**63 - 1


def read_navigation(excerpt: Excerpt, at: int, mode: n.Mode | None) -> tuple[n.Navigation, int]:
    """The navigation whose function is the word at that index, and the index after it."""
    word = excerpt.found[at]
    arguments, end = excerpt.arguments(at + 1)
    span = word.span.to(excerpt.found[end - 1].span)
    if not 1 <= len(arguments) <= 2 or not all(map(len, arguments)):
        fix = f"write {word.keyword}(A.price) or {word.keyword}(A.price, 2)"
        raise QueryError(f"{word.keyword} takes an expression and an offset", span=span, fix=fix)
    first = arguments[0]
    if word.keyword in LOGICAL:
        skip = _offset(arguments[1], word) if len(arguments) == 2 else 0
        end_of: n.End = "FIRST" if word.keyword == "FIRST" else "LAST"
        if _is_call(first, PHYSICAL):  # FIRST(PREV(x)) is PREV(FIRST(x)): a step from the same row
            stepped, _ = read_navigation(Excerpt(excerpt.variables, first, excerpt.hidden), 0, None)
            if (stepped.end, stepped.skip) == ("LAST", 0):
                return replace(stepped, end=end_of, skip=skip, mode=mode or "RUNNING", span=span), end
        inner = _read_inner(excerpt, first, word)
        value = inner.read()
        return n.Navigation(inner.owner_variable(), value, end_of, skip, 0, mode or "RUNNING", span), end
    step = _offset(arguments[1], word) if len(arguments) == 2 else 1
    step = -step if word.keyword == "PREV" else step
    inner_mode: n.Mode | None = None
    index = 0
    if first[0].keyword in MODES and len(first) > 1 and first[1].is_name:
        inner_mode = "FINAL" if first[0].keyword == "FINAL" else "RUNNING"
        index = 1
    if first[index].keyword in LOGICAL and len(first) > index + 1 and first[index + 1].text == "(":
        nested = Excerpt(excerpt.variables, first, excerpt.hidden)
        navigation, after = read_navigation(nested, index, inner_mode)
        if after == len(first):
            return replace(navigation, step=step, span=span), end
        reason = f"{word.keyword} takes {first[index].keyword}(…) alone, or an expression over one row"
        fix = f"write {word.keyword}({first[index].keyword}(whole expression), {abs(step)})"
        raise QueryError(reason, span=first[after].span, fix=fix)
    inner = _read_inner(excerpt, first, word)
    value = inner.read()
    return n.Navigation(inner.owner_variable(), value, "LAST", 0, step, "RUNNING", span), end


def _is_call(found: Sequence[Word], functions: tuple[str, ...]) -> bool:
    """Whether these words are one call of one of the functions."""
    called = len(found) > 2 and found[0].keyword in functions and found[1].text == "("
    return called and closing(found, 1) == len(found) - 1


def read_aggregate(excerpt: Excerpt, at: int, mode: n.Mode | None) -> tuple[n.Aggregate, int]:
    """The aggregate whose function is the word at that index, and the index after it and its FILTER."""
    word = excerpt.found[at]
    arguments, end = excerpt.arguments(at + 1)
    plain = True
    following = excerpt.found[end] if end < len(excerpt.found) else None
    if following is not None and following.keyword == "FILTER" and end + 1 < len(excerpt.found):
        end, plain = excerpt.closing(end + 1) + 1, False
    elif following is not None and following.keyword == "WITHIN" and end + 2 < len(excerpt.found):  # WITHIN GROUP (…)
        end, plain = excerpt.closing(end + 2) + 1, False
    if end < len(excerpt.found) and excerpt.found[end].keyword == "OVER":
        raise window_error(excerpt.found[end])
    words = excerpt.found[at:end]
    # `count(A.*)` is count(*) of A's rows.
    inner = _read_inner(excerpt, words[1:], word)
    call = inner.read()
    variable = inner.owner_variable()
    plain = plain and not any(
        each.keyword in ("DISTINCT", "ORDER", "ALL") for argument in arguments for each in argument[:1]
    )
    plain = plain and not any(each.keyword == "ORDER" for argument in arguments for each in argument)
    read = tuple(_read_inner(excerpt, argument, word).read() for argument in arguments) if plain else ()
    if [each.text for argument in arguments for each in argument[-1:]] == ["*"]:
        read = ()
    call = replace(call, parts=merged((word.text, *call.parts)), span=word.span.to(call.span))
    span = word.span.to(words[-1].span)
    return n.Aggregate(variable, word.name.lower(), call, read, plain, mode or "RUNNING", span), end


class RowScan(Scan):
    """Inside a navigation or an aggregate: the columns of one row of one variable.

    Attributes
    ----------
    owner : Word
        The function in whose brackets this stands.
    read_by : dict
        The variables that qualify columns here, with the first place of each. ALL stands for a CLASSIFIER().
    """

    def __init__(
        self, variables: Variables, found: Sequence[Word], hidden: frozenset[str], owner: Word, aggregate: bool
    ) -> None:
        super().__init__(variables, found, hidden)
        self.owner = owner
        self.aggregate = aggregate
        self.read_by: dict[str, Span] = {}

    def _term(self, word: Word) -> bool:
        keyword, called = word.keyword, self._word(1).text == "("
        owner = self.owner.keyword or self.owner.name
        if called and (keyword in NAVIGATIONS or keyword in MODES):
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
        variable = variables[0] if variables else n.ALL
        if variable != n.ALL and (other := self._unqualified()) is not None:
            name = self.owner.keyword or self.owner.name
            reason = f"{name} reads the rows of {variable}, and `{other.text}` is a column of any row"
            raise QueryError(reason, span=other.span, fix=f"write {variable}.{other.text}")
        return variable

    def _unqualified(self) -> Word | None:
        """The first column without a variable in front, beside those that have one."""
        candidates: dict[str, Word] = {}
        for index, word in enumerate(self.found):
            before, after = (self.found[at].text if 0 <= at < len(self.found) else "" for at in (index - 1, index + 1))
            if word.is_name and before != "." and after != "(" and not (after == "." and self._is_variable(word)):
                candidates.setdefault(word.name.lower(), word)
        if not candidates:
            return None
        named = [candidates[name] for name in column_names(self.text_without_variables()) if name in candidates]
        return min(named, key=lambda word: word.start, default=None)

    def _is_variable(self, word: Word) -> bool:
        return word.name.lower() not in self.hidden and self.variables.find(word) is not None

    def text_without_variables(self) -> str:
        """The expression with NULL for all that a variable qualifies, and for terms."""
        texts = []
        index = 0
        while index < len(self.found):
            word = self.found[index]
            after = self.found[index + 1].text if index + 1 < len(self.found) else ""
            if word.is_name and after == "." and self._is_variable(word):
                texts.append("NULL" if self.found[index + 2].text != "*" else "*")
                index += 3
                while index + 1 < len(self.found) and self.found[index].text == ".":
                    index += 2
            elif word.keyword in ("CLASSIFIER", "MATCH_NUMBER") and after == "(":
                texts.append("NULL")
                index = closing(self.found, index + 1) + 1
            else:
                texts.append(word.text)
                index += 1
        return " ".join(texts)


def _read_inner(excerpt: Excerpt, found: Sequence[Word], owner: Word) -> RowScan:
    return RowScan(excerpt.variables, found, excerpt.hidden, owner, owner.keyword not in NAVIGATIONS)


def _offset(found: Sequence[Word], function: Word) -> int:
    text = "".join(word.text for word in found)
    span = found[0].span.to(found[-1].span)
    if not text.isdecimal():
        reason = f"the offset of {function.keyword} must be a whole number, not negative, written as such"
        fix = f"write {function.keyword}(A.price, 2)"
        if function.keyword in PHYSICAL and text.startswith("-"):
            fix = f"look the other way: {'NEXT' if function.keyword == 'PREV' else 'PREV'}(…, {text[1:]})"
        raise QueryError(reason, span=span, fix=fix)
    if int(text) > LARGEST_OFFSET:
        raise QueryError("the offset is too large", span=span, fix=f"the largest is {LARGEST_OFFSET}")
    return int(text)

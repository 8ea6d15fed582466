"""The expressions of a clause: SQL text of the engine, in which the terms that look at the match are found.

Terms are FIRST, LAST, PREV and NEXT, aggregates, CLASSIFIER, MATCH_NUMBER, and columns that a pattern variable
qualifies. Lambdas, subqueries, casts, intervals and all other functions are the engine's business, and stay text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ostinato.errors import QueryError
from ostinato.sql.syntax import nodes as n
from ostinato.sql.syntax.aggregates import AGGREGATES
from ostinato.sql.syntax.scan import Scan, Variables
from ostinato.sql.syntax.terms import MODES, NAVIGATIONS, PHYSICAL, read_aggregate, read_navigation
from ostinato.sql.syntax.words import Word, closing


def read_expression(found: Sequence[Word], variables: Variables) -> n.Sql:
    """An expression of MEASURES or DEFINE."""
    return _MatchScan(variables, found).read()


def read_row_expression(found: Sequence[Word], variables: Variables) -> n.Sql:
    """An expression over the columns of a row, before there is a match: of PARTITION BY, ORDER BY and WITHIN."""
    for index, word in enumerate(found):
        called = index + 1 < len(found) and found[index + 1].text == "(" and found[index - 1].text != "."
        if called and word.keyword in (*NAVIGATIONS, "CLASSIFIER", "MATCH_NUMBER"):
            reason = f"{word.keyword} looks at a match, and there is none yet where rows are ordered"
            raise QueryError(reason, span=word.span, fix="use columns of the input")
        if called and word.name.lower() in AGGREGATES:
            reason = f"the aggregate {word.text} cannot stand in PARTITION BY, ORDER BY or WITHIN"
            raise QueryError(reason, span=word.span, fix="compute it in a subquery that the clause reads from")
    return n.Sql((variables.text[found[0].start : found[-1].end],), found[0].span.to(found[-1].span))


class _MatchScan(Scan):
    """Outside navigations and aggregates."""

    def _term(self, word: Word) -> bool:
        keyword, called = word.keyword, self._word(1).text == "("
        if keyword in MODES and self._is_mode():
            self._with_mode(word)
        elif called and keyword in NAVIGATIONS:
            self._put(*read_navigation(self, self.at, None))
        elif called and keyword == "CLASSIFIER":
            variable, end, span = self._classifier()
            self._put(n.Navigation(variable, n.Sql((n.Classifier(span),), span), span=span), end)
        elif called and keyword == "MATCH_NUMBER":
            self._match_number()
        elif called and word.name.lower() in AGGREGATES:
            self._put(*read_aggregate(self, self.at, None))
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
        return following.is_name and then == "." and self.variables.find(following) is not None

    def _with_mode(self, word: Word) -> None:
        mode: n.Mode = "FINAL" if word.keyword == "FINAL" else "RUNNING"
        term: n.Navigation | n.Aggregate
        following = self._word(1)
        if self._word(2).text == "(" and following.keyword in NAVIGATIONS:
            if following.keyword in PHYSICAL:
                reason = f"{mode} cannot stand before {following.keyword}"
                fix = f"put it inside: {following.keyword}({mode} LAST(…))"
                raise QueryError(reason, span=word.span.to(following.span), fix=fix)
            term, end = read_navigation(self, self.at + 1, mode)
        elif self._word(2).text == "(" and following.name.lower() in AGGREGATES:
            term, end = read_aggregate(self, self.at + 1, mode)
        else:
            reason = f"{mode} stands before FIRST, LAST and aggregates only"
            end = closing(self.found, self.at + 2) if self._word(2).text == "(" else self.at + 3
            fix = f"write {mode} LAST({''.join(each.text for each in self.found[self.at + 1 : end + 1])})"
            raise QueryError(reason, span=word.span, fix=fix)
        self._put(replace(term, span=word.span.to(term.span)), end)

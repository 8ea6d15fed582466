"""Builds the nodes of a clause from lark's tree."""

from __future__ import annotations

import bisect
import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, cast

from ostinato.core.text.build import Clause as Setting
from ostinato.core.text.build import merge_clauses
from ostinato.core.text.grammar import MAX_DEPTH, nesting_error, token_span
from ostinato.errors import QueryError, Span, did_you_mean
from ostinato.sql.syntax import nodes as n
from ostinato.sql.syntax.expressions import read_expression, read_row_expression
from ostinato.sql.syntax.scan import Variables
from ostinato.sql.syntax.words import Word

if TYPE_CHECKING:
    from lark import Token, Tree

MAX_REPETITIONS = 2**31 - 1
_EMPTY_MATCHES: dict[str, n.Rows] = {
    "SHOW": "ALL ROWS SHOW EMPTY",
    "OMIT": "ALL ROWS OMIT EMPTY",
    "WITH": "ALL ROWS WITH UNMATCHED",
}


class ClauseBuilder:
    """One method per rule of the grammar, given the rule's span and its built children.

    Patterns and subsets come first, since expressions name their variables.
    """

    def __init__(self, text: str, found: Sequence[Word]) -> None:
        self.text = text
        self.found = found  # the words of the clause
        self.starts = [word.start for word in found]
        self.variables: dict[str, str] = {}  # in small letters -> as PATTERN or SUBSET writes them first
        self.known = Variables(text, self.variables)

    def build(self, tree: Tree[Any]) -> n.MatchRecognize:
        if next(tree.find_data("pattern_clause"), None) is None:
            near = next((word for word in self.found if get_close_matches(word.keyword, ["PATTERN"], cutoff=0.8)), None)
            fix = "did you mean `PATTERN`?" if near else "add PATTERN (…), such as PATTERN (A B+)"
            raise QueryError("MATCH_RECOGNIZE needs a PATTERN", span=(near or self.found[0]).span, fix=fix)
        for rule in ("symbol", "subset"):
            for node in tree.find_data(rule):
                self._declare(cast("Token", node.children[0]))
        built: dict[int, Any] = {}
        depth: dict[int, int] = {}
        for node in tree.iter_subtrees():
            span = Span(node.meta.start_pos, node.meta.end_pos)
            depth[id(node)] = 1 + max((depth.get(id(child), 0) for child in node.children), default=0)
            if depth[id(node)] > MAX_DEPTH:
                raise nesting_error(Span(span.start, span.start + 1))
            parts = [built.get(id(child), child) for child in node.children]
            built[id(node)] = getattr(self, node.data)(span, *parts)
        return cast(n.MatchRecognize, built[id(tree)])

    # The clause and its parts.

    def clause(self, span: Span, *settings: Setting) -> n.MatchRecognize:
        fields = merge_clauses(settings)
        if fields.pop("auto", False):
            fields["definitions"] = tuple(map(_by_column, n.symbols(fields["pattern"])))
        return n.MatchRecognize(span=span, **fields)

    def partition(self, span: Span, *values: Token) -> Setting:
        keys = tuple(n.Key(self._row(value), span=token_span(value)) for value in values)
        return "PARTITION BY", span, {"partition_by": keys}

    def order(self, span: Span, *keys: n.Key) -> Setting:
        return "ORDER BY", span, {"order_by": keys}

    def key(self, span: Span, value: Token, direction: Token | None, nulls: Token | None) -> n.Key:
        end = None if nulls is None else cast(Any, nulls.upper().split()[-1])
        return n.Key(self._row(value), direction is not None and direction.upper() == "DESC", end, span)

    def measures(self, span: Span, *measures: n.Measure) -> Setting:
        names: dict[str, n.Measure] = {}
        for measure in measures:
            if measure.name.lower() in names:
                reason = f"two measures are named `{measure.name}`"
                raise QueryError(reason, span=measure.span, fix="give one of them another name")
            names[measure.name.lower()] = measure
        return "MEASURES", span, {"measures": measures}

    def measure(self, span: Span, value: Token, name: Token) -> n.Measure:
        return n.Measure(_name(name), self._expression(value), span)

    def one_row(self, span: Span) -> Setting:
        return "ROWS PER MATCH", span, {"rows": "ONE ROW"}

    def all_rows(self, span: Span, mode: Token | None) -> Setting:
        rows = _EMPTY_MATCHES["SHOW" if mode is None else mode.split()[0].upper()]
        return "ROWS PER MATCH", span, {"rows": rows}

    def skip_past(self, span: Span) -> Setting:
        return "AFTER MATCH SKIP", span, {"skip": n.Skip("PAST LAST ROW", span=span)}

    def skip_next(self, span: Span) -> Setting:
        return "AFTER MATCH SKIP", span, {"skip": n.Skip("NEXT ROW", span=span)}

    def skip_to(self, span: Span, end: Token | None, variable: Token) -> Setting:
        to: n.End = "FIRST" if end is not None and end.upper() == "FIRST" else "LAST"
        return "AFTER MATCH SKIP", span, {"skip": n.Skip(to, self._variable(variable), span)}

    def pattern_clause(self, span: Span, pattern: n.Pattern) -> Setting:
        return "PATTERN", span, {"pattern": pattern}

    def within(self, span: Span, bound: Token) -> Setting:
        return "WITHIN", span, {"within": self._row(bound)}

    def subsets(self, span: Span, *subsets: n.Subset) -> Setting:
        return "SUBSET", span, {"subsets": subsets}

    def subset(self, span: Span, name: Token, *members: Token) -> n.Subset:
        return n.Subset(self.variables[_name(name).lower()], tuple(map(self._variable, members)), span)

    def definitions(self, span: Span, *definitions: n.Definition) -> Setting:
        return "DEFINE", span, {"definitions": definitions}

    def definition(self, span: Span, name: Token, condition: Token) -> n.Definition:
        return n.Definition(self._variable(name), self._expression(condition), span)

    def define_auto(self, span: Span, _: Token) -> Setting:
        return "DEFINE", span, {"auto": True}

    # Patterns.

    def alternation(self, span: Span, *parts: n.Pattern) -> n.Pattern:
        return parts[0] if len(parts) == 1 else n.Alternation(parts, span)

    def sequence(self, span: Span, *parts: n.Pattern) -> n.Pattern:
        return parts[0] if len(parts) == 1 else n.Sequence(parts, span)

    def repeat(self, span: Span, body: n.Pattern, quantifier: Token) -> n.Pattern:
        text = re.sub(r"\s", "", quantifier)
        greedy = len(text) == 1 or not text.endswith("?")
        sign = text if greedy else text[:-1]
        least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(sign) or _bounds(sign, token_span(quantifier))
        return n.Repeat(body, least, most, greedy, span)

    def symbol(self, span: Span, name: Token) -> n.Pattern:
        return n.Symbol(self.variables[_name(name).lower()], span)

    def anchor(self, span: Span, sign: Token) -> n.Pattern:
        return n.Anchor("^" if sign == "^" else "$", span)

    def empty(self, span: Span) -> n.Pattern:
        return n.Sequence((), span)

    def exclude(self, span: Span, body: n.Pattern) -> n.Pattern:
        return n.Exclude(body, span)

    def permute(self, span: Span, *parts: n.Pattern) -> n.Pattern:
        return parts[0] if len(parts) == 1 else n.Permute(parts, span)

    # Names and expressions.

    def _declare(self, token: Token) -> None:
        name = _name(token)
        shown = name if token[0] in '"`' else name.upper()
        self.variables.setdefault(name.lower(), shown)

    def _variable(self, token: Token) -> str:
        """A variable of PATTERN or SUBSET; what neither has is found by the check, which knows where it stands."""
        name = _name(token)
        if name.lower() not in self.variables:
            fix = did_you_mean(name.upper(), self.variables.values())
            raise QueryError(f"PATTERN has no variable `{name}`", span=token_span(token), fix=fix)
        return self.variables[name.lower()]

    def _expression(self, token: Token) -> n.Sql:
        return read_expression(self._words(token), self.known)

    def _row(self, token: Token) -> n.Sql:
        return read_row_expression(self._words(token), self.known)

    def _words(self, token: Token) -> Sequence[Word]:
        span = token_span(token)
        return self.found[bisect.bisect_left(self.starts, span.start) : bisect.bisect_left(self.starts, span.end)]


def _name(token: Token) -> str:
    return Word("QUOTED" if token[0] in '"`' else "WORD", str(token), 0).name


def _bounds(sign: str, span: Span) -> tuple[int, int | None]:
    """The bounds of `{2,5}`, `{2,}`, `{,5}`, `{,}` or `{2}`."""
    low, comma, high = sign[1:-1].partition(",")
    if not low and not comma:
        raise QueryError("this quantifier says no number", span=span, fix="write {3}, {2,5}, {2,} or {,5}")
    least = int(low or 0)
    most = int(high) if high else (None if comma else least)
    if max(least, most or 0) > MAX_REPETITIONS:
        raise QueryError("the quantifier is too large", span=span, fix=f"the largest is {MAX_REPETITIONS}")
    if most is not None and most < least:
        reason = f"{{{least},{most}}} asks for at least {least} rounds and at most {most}"
        raise QueryError(reason, span=span, fix=f"write {{{most},{least}}}")
    if most == 0:
        raise QueryError("a pattern that is repeated no times says nothing", span=span, fix="remove it")
    return least, most


def _by_column(name: str) -> n.Definition:
    """DEFINE AUTO: a variable takes the rows where the column of its name is true."""
    quoted = '"' + name.replace('"', '""') + '"'
    return n.Definition(name, n.Sql((f"CAST({quoted} AS BOOLEAN)",)))

"""The parts of a condition on the match so far: what reads one row, totals, labels; what they are is said by DuckDB.

Parts that read one row alone are evaluated over all rows, before anything is matched.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import duckdb
import sqlglot
from sqlglot import exp

from ostinato.sql.kernels import opcodes as p
from ostinato.sql.kernels.layout import (
    COUNT,
    DISTINCT_COUNT,
    GREATEST,
    LEAST,
    LIVE_FIRST,
    LIVE_LABEL,
    LIVE_LAST,
    LIVE_START,
    LIVE_TOTAL,
    SUM,
)
from ostinato.sql.plan.row_terms import step_of
from ostinato.sql.runtime.input import plain_text
from ostinato.sql.runtime.kinds import BOOLEAN, Kind, can_be_stored, kind_of
from ostinato.sql.runtime.live_reads import Read
from ostinato.sql.runtime.registers import ALL_ROWS, NOW, Registers
from ostinato.sql.runtime.row_values import RowValues
from ostinato.sql.syntax import nodes as n
from ostinato.sql.syntax.words import words


class Unsupported(Exception):
    """A program cannot hold this."""


TERM = re.compile(r'"#(\d+)"')
_STRICT = (exp.Add, exp.Sub, exp.Mul, exp.Neg, exp.Paren, exp.Literal, exp.Column, exp.Identifier)  # NULL gives NULL
_COLUMN_IN_BRACKETS = re.compile(r"^\(\s*([^\W\d]\w*)\s*\)$")


@dataclass(frozen=True)
class RowPart:
    """A part of an expression that reads one row: its text over that row, its text where there is no such row, and the
    place."""

    text: str
    without: str
    place: int


@dataclass
class ConditionParts:
    """Of a condition of one variable, whose terms are named "#0", "#1" and so on. With `by_column`, nothing is
    evaluated over rows before: parts that read one row are columns of numbers and times alone."""

    match: n.MatchRecognize
    variable: str
    terms: tuple[n.Term, ...]
    values: RowValues
    registers: Registers
    steps: list[tuple[int, Any, Any]] = field(default_factory=list)
    reads: set[Read] = field(default_factory=set)
    parts: dict[str, tuple[RowPart | int, Kind]] = field(default_factory=dict)  # what "@0" and so on stand for
    by_column: bool = False

    @property
    def connection(self) -> duckdb.DuckDBPyConnection:
        return self.values.rows.source.connection

    # Parts that read one row.

    def _without_rows(self, node: exp.Expression) -> exp.Expression:
        """The expression with a name for each largest part that reads one row, and for each total."""
        if self.by_column:
            return self._without_columns(node)
        places = self._places(node)
        if None not in places and len(places) <= 1 and not self._asks_for_row(node):
            return self._row_part(node, places.pop()) if places else node
        if isinstance(node, exp.Column):
            return self._named_term(self._term(node))
        if isinstance(node, exp.Query | exp.Lambda):
            raise Unsupported
        for child in list(node.iter_expressions()):
            child.replace(self._without_rows(child))
        return node

    def _asks_for_row(self, node: exp.Expression) -> bool:
        """`LAST(A.price) IS NULL`: steps ask that of a value which others may load, too."""
        if not (isinstance(node, exp.Is) and isinstance(node.expression, exp.Null)):
            return False
        inner = node.this.unnest()
        term = self._term(inner) if isinstance(inner, exp.Column) else None
        if not isinstance(term, n.Navigation) or self._place(term) in (None, NOW):
            return False
        kind = kind_of(self.values.types([f"({self._inner_text(term)})"])[0])
        return kind is not None and kind.name != "text" and can_be_stored(kind)

    def _without_columns(self, node: exp.Expression) -> exp.Expression:
        """The same where each of these parts is a column."""
        if isinstance(node, exp.Query | exp.Lambda | exp.Star):
            raise Unsupported
        if isinstance(node, exp.Column):
            term = self._term(node)
            place = NOW if term is None else self._place(term)
            step = None if term is None else step_of(self.match, self.variable, term)
            if step:
                place = self.registers.place(ALL_ROWS, False, 0, step)
            if place is None:
                return self._named_term(term)
            if term is None:
                return self._column_at(node, place)
            inner = parsed(term.value) if isinstance(term, n.Navigation) else None
            if inner is None or not all(isinstance(each, _STRICT) for each in inner.walk()):
                raise Unsupported
            columns = [each for each in inner.walk() if isinstance(each, exp.Column)]
            if inner in columns:
                return self._column_at(inner, place)
            for each in columns:
                each.replace(self._column_at(each, place))
            return exp.Paren(this=inner)
        for child in list(node.iter_expressions()):
            child.replace(self._without_columns(child))
        return node

    def _column_at(self, column: exp.Expression, place: int) -> exp.Expression:
        text = column.sql("duckdb")
        kind = self._kind(self.values.types([text])[0])
        if self.values.stored(text, kind.type) is None:
            raise Unsupported
        return self._named(RowPart(text, "NULL", place), kind)

    def _places(self, node: exp.Expression) -> set[int | None]:
        """The rows that an expression reads; None stands for what is no row."""
        found: set[int | None] = set()
        for column in node.find_all(exp.Column, exp.Star):
            term = self._term(column) if isinstance(column, exp.Column) else None
            found.add(NOW if term is None else self._place(term))
        return found

    def _term(self, column: exp.Expression) -> n.Term | None:
        named = TERM.fullmatch(f'"{column.name}"') if not column.args.get("table") else None
        return self.terms[int(named[1])] if named else None

    def _place(self, term: n.Term) -> int | None:
        if step_of(self.match, self.variable, term) is not None:
            return NOW
        if not isinstance(term, n.Navigation) or term.value.terms:
            return None
        return self._navigation(term)

    def _navigation(self, term: n.Navigation) -> int:
        chosen = self.registers.set(self.match.members(term.variable))
        from_first = term.end == "FIRST"
        return self.registers.place(chosen, from_first, term.skip, term.step)

    def _row_part(self, node: exp.Expression, place: int | None) -> exp.Expression:
        assert place is not None
        text = node.sql("duckdb")

        def written(found: re.Match[str]) -> str:
            term = self.terms[int(found[1])]
            if place == NOW:
                return self.values.term(term, self.variable)
            return f"({self._inner_text(term)})"

        def nothing(found: re.Match[str]) -> str:
            return f"CAST(NULL AS {self.values.types([self._inner_text(self.terms[int(found[1])])])[0]})"

        # A term alone is NULL where there is no row.
        without = "NULL" if place == NOW or TERM.fullmatch(text) else TERM.sub(nothing, text)
        part = RowPart(_COLUMN_IN_BRACKETS.sub(r"\1", TERM.sub(written, text)), without, place)
        return self._named(part, self._kind(self.values.types([part.text])[0]))

    def _inner_text(self, term: n.Term) -> str:
        """The expression over one row that a navigation without CLASSIFIER and the like reads."""
        assert isinstance(term, n.Navigation)
        return plain_text(term.value)

    def _named(self, part: RowPart | int, kind: Kind) -> exp.Expression:
        name = f"@{len(self.parts)}"
        self.parts[name] = part, kind
        return exp.Column(this=exp.Identifier(this=name, quoted=True))

    def _named_term(self, term: n.Term | None) -> exp.Expression:
        """A total, a label or the number of the match: something that steps load."""
        if isinstance(term, n.MatchNumber):
            self.reads.add(Read(LIVE_START))
            return self._loaded(p.LOAD_NUMBER, 0, "BIGINT")
        if isinstance(term, n.Navigation) and term.value.parts == (n.Classifier(),):
            place = self._navigation(term)
            self.reads.add(Read(LIVE_LABEL, place))
            if self.registers.places[place][3] > 0:  # it may be a row that is yet to come
                self._read_place(place)
            return self._loaded(p.LOAD_LABEL, place, "VARCHAR")
        if isinstance(term, n.Aggregate) and term.plain and len(term.arguments) < 2:
            return self._total(term)
        if isinstance(term, n.Aggregate) and not term.call.terms:
            return self._total_of_some(term)
        raise Unsupported

    def _loaded(self, op: int, argument: int, type_name: str) -> exp.Expression:
        return self._named(op << 32 | argument, self._kind(type_name))

    def _total(self, term: n.Aggregate) -> exp.Expression:
        chosen = self.registers.set(self.match.members(term.variable))
        if not term.arguments:
            if term.function != "count":
                raise Unsupported
            total = self.registers.total(chosen, COUNT, -1, False)
            self.reads.add(Read(LIVE_TOTAL, total))
            return self._loaded(p.LOAD_COUNT, total, "BIGINT")
        (argument,) = term.arguments
        if argument.terms or term.function not in ("count", "sum", "avg", "mean", "min", "max"):
            raise Unsupported
        text = f"({argument.render(lambda inner: '')})"
        (given,), (result,) = self.values.types([text]), self.values.types([f"{term.function}({text})"])
        kind = self._kind(given)
        if self.by_column:
            text = _COLUMN_IN_BRACKETS.sub(r"\1", text)
            if self.values.stored(text, given) is None:
                raise Unsupported
        if term.function == "count" and self.by_column:
            function, op = COUNT, p.LOAD_COUNT
        elif term.function == "count":
            kind, text, function, op = BOOLEAN, f"CASE WHEN {text} IS NOT NULL THEN true END", COUNT, p.LOAD_COUNT
        elif term.function in ("min", "max"):
            function, op = (LEAST if term.function == "min" else GREATEST), p.LOAD_TOTAL
        else:
            function, op = SUM, p.LOAD_TOTAL if term.function == "sum" else p.LOAD_MEAN
            if kind.name == "single" and not self.by_column:
                kind = self._kind("DOUBLE")
            if kind.name not in ("int", "float") or (op == p.LOAD_MEAN and kind.scale):
                raise Unsupported
        total = self.registers.total(chosen, function, self._column(text, kind), kind.is_float)
        self.reads.add(Read(LIVE_TOTAL, total))
        return self._loaded(op, total, result)

    def _total_of_some(self, term: n.Aggregate) -> exp.Expression:
        """count(DISTINCT x), and aggregates with FILTER: of the values where its condition is TRUE."""
        call, where = parsed(term.call), None
        if isinstance(call, exp.Filter):
            call, where = call.this, call.expression.this
        inner = getattr(call, "this", None)
        distinct = isinstance(inner, exp.Distinct) and len(inner.expressions) == 1 and not inner.args.get("on")
        plain = isinstance(call, exp.Count | exp.Sum | exp.Avg | exp.Min | exp.Max) and not call.args.get("expressions")
        if not plain or (inner is None) or (isinstance(inner, exp.Distinct) and not distinct):
            raise Unsupported
        if distinct and isinstance(call, exp.Sum | exp.Avg):
            raise Unsupported
        value = inner.expressions[0] if distinct else exp.Literal.number(1) if isinstance(inner, exp.Star) else inner
        if value.find(exp.Star, exp.Ordered, exp.Order, exp.Query, exp.Lambda):
            raise Unsupported
        text = value.sql("duckdb")
        if where is not None:
            text = f"CASE WHEN {where.sql('duckdb')} THEN {text} END"
        if not (distinct and isinstance(call, exp.Count)):
            argument = n.Sql((text,), term.call.span)
            return self._total(replace(term, plain=True, function=call.key, arguments=(argument,)))
        text = f"({text})"
        chosen = self.registers.set(self.match.members(term.variable))
        kind = self._kind(self.values.types([text])[0])
        if self.by_column and self.values.stored(text, kind.type) is None:
            raise Unsupported
        total = self.registers.total(chosen, DISTINCT_COUNT, self._column(text, kind), kind.is_float)
        self.reads.add(Read(LIVE_TOTAL, total))
        return self._loaded(p.LOAD_COUNT, total, "BIGINT")

    def _is_volatile(self, text: str) -> bool:
        """Whether an expression may give something else each time."""
        return bool(volatile_functions(self.connection) & {word.text.lower() for word in words(text)})

    def _column(self, text: str, kind: Kind, without: str = "NULL") -> int:
        if not can_be_stored(kind):
            raise Unsupported
        return self.registers.column(text, kind, without)

    def _read_place(self, place: int) -> None:
        chosen, from_first, inwards, _ = self.registers.places[place]
        if chosen == ALL_ROWS:
            if from_first or inwards:
                self.reads.add(Read(LIVE_START))
        else:
            self.reads.add(Read(LIVE_FIRST if from_first else LIVE_LAST, chosen, inwards))

    # Types.

    def _kind(self, type_name: str) -> Kind:
        kind = kind_of(type_name)
        if kind is None:
            raise Unsupported
        return kind

    def _type(self, text: str) -> str:
        """The type that DuckDB gives to an expression over parts."""
        given = ", ".join(f'CAST(NULL AS {kind.type}) AS "{name}"' for name, (_, kind) in self.parts.items())
        source = f" FROM (SELECT {given})" if given else ""
        try:
            return str(self.connection.sql(f"DESCRIBE SELECT {text} AS c{source}").fetchall()[0][1])
        except duckdb.Error:
            raise Unsupported from None

    def _common(self, nodes: Iterable[exp.Expression]) -> Kind:
        """The type in which values are compared."""
        found = self._type("[" + ", ".join(node.sql("duckdb") for node in nodes) + "]")
        return self._kind(found.removesuffix("[]"))


def parsed(value: n.Sql) -> Any:
    try:
        return sqlglot.parse_one(value.render(lambda term: ""), read="duckdb")
    except (sqlglot.errors.SqlglotError, RecursionError):
        raise Unsupported from None


_VOLATILE: set[str] = set()


def volatile_functions(connection: duckdb.DuckDBPyConnection) -> set[str]:
    """Those that give something else each time."""
    if not _VOLATILE:
        query = "SELECT DISTINCT function_name FROM duckdb_functions() WHERE stability = 'VOLATILE'"
        _VOLATILE.update(name for (name,) in connection.execute(query).fetchall())
    return _VOLATILE

"""Conditions and values of rules as SQL expressions, for every dialect that sqlglot writes.

They mean what core.interpret says: division by zero is NULL, halves round away from zero, text compares by code
points. Whole numbers have 64 bits; what needs more is NULL.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import reduce

import pyarrow as pa
from sqlglot import exp

from ostinato.core.expressions import ARITHMETIC, CASE, COMPARISONS, LOGIC, Call, Expr, Literal, UserCall, Variable
from ostinato.core.user_functions import FAMILIES
from ostinato.rules.algebra.time_relations import RELATIONS
from ostinato.rules.relational.dialects import Int64Arithmetic, Moment
from ostinato.rules.relational.head_types import TEXT_FUNCTIONS, case_parts, value_kind
from ostinato.rules.relational.kinds import TERM, Kind, is_list, type_family
from ostinato.rules.syntax.nodes import Combined, Condition, Data, Temporal

Sql = exp.Expr

_COMPARE: dict[str, type[exp.Binary]] = {
    "=": exp.EQ,
    "!=": exp.NEQ,
    "<": exp.LT,
    "<=": exp.LTE,
    ">": exp.GT,
    ">=": exp.GTE,
}
_CALCULATE: dict[str, type[exp.Binary]] = {"+": exp.Add, "-": exp.Sub, "*": exp.Mul}
WHITESPACE = "".join(letter for letter in map(chr, range(0x3001)) if letter.isspace())
_DOUBLE, _WHOLE, _TEXT = (exp.DataType.build(name) for name in ("double", "bigint", "text"))
SQL_TYPES = {int: _WHOLE, float: _DOUBLE, str: _TEXT, bool: exp.DataType.build("boolean")}


def column(name: str, table: str | None = None) -> exp.Column:
    return exp.column(exp.to_identifier(name, quoted=True), table=table)


def table(name: str) -> exp.Table:
    return exp.Table(this=exp.to_identifier(name, quoted=True))


def integer(value: int) -> Sql:
    return exp.Literal.number(value) if value >= 0 else exp.Neg(this=exp.Literal.number(-value))


def compare(op: str, left: Sql, right: Sql) -> Sql:
    return _COMPARE[op](this=left, expression=right)


def conjunction(conditions: Sequence[Sql]) -> Sql | None:
    """AND over all; None where there is none."""
    return exp.and_(*conditions) if conditions else None


def greatest(values: list[Sql]) -> Sql:
    """The greatest of values that are never NULL."""
    return values[0] if len(values) == 1 else exp.Anonymous(this="GREATEST", expressions=values)


def least(values: list[Sql]) -> Sql:
    return values[0] if len(values) == 1 else exp.Anonymous(this="LEAST", expressions=values)


def add_offset(value: Sql, offset: int) -> Sql:
    if not offset:
        return value
    return (exp.Add if offset > 0 else exp.Sub)(this=value, expression=integer(abs(offset)))


class ExpressionSql:
    """Variables stand for columns: `kinds` says what they hold."""

    def __init__(self, kinds: Mapping[str, Kind], of: Callable[[str], Sql]) -> None:
        self.kinds, self.of = kinds, of

    def condition(self, expr: Expr) -> Sql:
        return self._as("boolean", expr)

    def value(self, expr: Expr) -> Sql:
        if isinstance(expr, Literal):
            return constant(expr.value)
        if isinstance(expr, Variable):
            return self.of(expr.name)
        assert isinstance(expr, Call)
        if isinstance(expr, UserCall):
            return self._user_call(expr)
        if expr.op in COMPARISONS:
            if expr.op not in ("=", "!=") and all(self._family(arg) == "unknown" for arg in expr.args):
                return self._compare_terms(expr)
            return compare(expr.op, *self._alike(expr.args))
        if expr.op == "in":
            needle, *among = self._alike(expr.args)
            return exp.In(this=needle, expressions=among)
        if expr.op in ARITHMETIC:
            return exp.Paren(this=self._arithmetic(expr))
        if expr.op in LOGIC:
            parts = [exp.Paren(this=self._as("boolean", arg)) for arg in expr.args]
            return exp.Not(this=parts[0]) if expr.op == "not" else (exp.and_ if expr.op == "and" else exp.or_)(*parts)
        if expr.op == "is_null":
            return exp.Is(this=exp.Paren(this=self.value(expr.args[0])), expression=exp.Null())
        if expr.op == "is_true":
            return exp.Coalesce(this=self._as("boolean", expr.args[0]), expressions=[exp.false()])
        if expr.op == "coalesce":
            first, *rest = self._alike(expr.args)
            return exp.Coalesce(this=first, expressions=rest)
        if expr.op == CASE:
            conditions, values = case_parts(expr)
            *results, otherwise = self._alike(values)
            taken = [exp.If(this=self.condition(each), true=one) for each, one in zip(conditions, results, strict=True)]
            return exp.Paren(this=exp.Case(ifs=taken, default=otherwise))
        return self._function(expr)

    def _arithmetic(self, expr: Call) -> Sql:
        wanted = "number" if all(self._family(arg) in ("number", "unknown", "null") for arg in expr.args) else None
        left, right = (self.value(arg) if wanted is None else self._as(wanted, arg) for arg in expr.args)
        whole = wanted is not None and all(map(self._is_whole, expr.args))
        if expr.op in _CALCULATE:
            if whole:
                return Int64Arithmetic(this=left, op=expr.op, expression=right)
            return _CALCULATE[expr.op](this=left, expression=right)
        divisor = exp.Nullif(this=right, expression=integer(0))
        if expr.op == "%":
            return (
                Int64Arithmetic(this=left, op="%", expression=divisor)
                if whole
                else exp.Mod(this=left, expression=divisor)
            )
        dividend, by = (exp.Cast(this=side, to=_DOUBLE) for side in (left, divisor))
        return exp.Div(this=dividend, expression=by, typed=False, safe=False)

    def _function(self, expr: Call) -> Sql:
        op = expr.op
        if op == "like":
            text, pattern = (self._as("string", arg) for arg in expr.args)
            like = exp.Like(this=text, expression=pattern)
            # Without it Spark takes a backslash as an escape and DuckDB does not.
            return exp.Escape(this=like, expression=exp.Literal.string("\\"))
        wanted = "string" if op in TEXT_FUNCTIONS else "number"
        args = [self._as(wanted, arg) for arg in expr.args]
        if op in ("neg", "abs", "round", "floor", "ceil"):
            return self._number(op, args, whole=self._is_whole(expr.args[0]))
        if op == "sqrt":
            root = exp.Sqrt(this=args[0])
            return exp.Case(ifs=[exp.If(this=compare(">=", args[0].copy(), integer(0)), true=root)])
        if op == "concat":
            return exp.Paren(this=reduce(lambda left, right: exp.DPipe(this=left, expression=right), args))
        if op == "trim":
            return exp.Trim(this=args[0], position="BOTH", expression=exp.Literal.string(WHITESPACE))
        return exp.Anonymous(this=op.upper(), expressions=args)

    def _user_call(self, expr: UserCall) -> Sql:
        """Each argument in the type of the parameter; what does not fit it is NULL."""
        args = []
        for arg, kind in zip(expr.args, expr.function.takes, strict=False):
            value, known = self.value(arg), value_kind(arg, self.kinds)
            value = untag_sql(value, FAMILIES[kind]) if known is TERM else value
            if kind is int and not (known is not TERM and pa.types.is_integer(known)):
                value = exp.Case(
                    ifs=[exp.If(this=compare("=", value, exp.Floor(this=value.copy())), true=_to_whole(value))]
                )
            args.append(exp.Cast(this=value, to=SQL_TYPES[kind]))
        name = exp.to_identifier(user_function_name(expr.op, len(args)), quoted=True)
        return exp.Anonymous(this=name, expressions=args)

    def _number(self, op: str, args: list[Sql], *, whole: bool) -> Sql:
        """Functions that keep whole numbers whole, or make numbers whole."""
        value = args[0]
        called = exp.Anonymous(this=op.upper(), expressions=args)
        if whole and op in ("neg", "abs"):
            negated = Int64Arithmetic(this=integer(0), op="-", expression=exp.Paren(this=value))
            if op == "neg":
                return negated
            return exp.Case(
                ifs=[exp.If(this=compare("<", value.copy(), integer(0)), true=negated)], default=value.copy()
            )
        if whole:
            return exp.Anonymous(this=op.upper(), expressions=[exp.Cast(this=value, to=_WHOLE), *args[1:]])
        if op in ("floor", "ceil"):
            fits = compare("<", exp.Abs(this=value.copy()), constant(2.0**63))
            return exp.Case(ifs=[exp.If(this=fits, true=exp.Cast(this=called, to=_WHOLE))])
        return exp.Paren(this=exp.Neg(this=exp.Paren(this=value))) if op == "neg" else called

    def _is_whole(self, expr: Expr) -> bool:
        kind = value_kind(expr, self.kinds)
        return kind is not TERM and pa.types.is_integer(kind)

    def _compare_terms(self, expr: Call) -> Sql:
        """Two TERMs in order: as numbers where both are, else as texts."""
        tests = [
            compare(expr.op, *(untag_sql(self.value(arg), kind) for arg in expr.args)) for kind in ("number", "string")
        ]
        return exp.Coalesce(this=tests[0], expressions=tests[1:])

    def _alike(self, args: tuple[Expr, ...]) -> list[Sql]:
        """Values to be compared with each other: what is a TERM becomes what the others are."""
        known = self._known(args)
        return [self.value(arg) if known == "unknown" else self._as(known, arg) for arg in args]

    def _known(self, args: tuple[Expr, ...]) -> str:
        """The family of those values whose family is known, or else "unknown"."""
        families = [self._family(arg) for arg in args]
        return next((found for found in families if found not in ("unknown", "null")), "unknown")

    def _as(self, wanted: str, expr: Expr) -> Sql:
        value = self.value(expr)
        if isinstance(expr, Variable) and self.kinds[expr.name] is TERM:
            return untag_sql(value, wanted)
        return value

    def _family(self, expr: Expr) -> str:
        if isinstance(expr, Literal):
            return _family_of(expr.value)
        if isinstance(expr, Variable):
            return type_family(self.kinds[expr.name])
        assert isinstance(expr, Call)
        if isinstance(expr, UserCall):
            return FAMILIES[expr.function.gives]
        if expr.op in (*COMPARISONS, *LOGIC, "in", "like", "is_null", "is_true"):
            return "boolean"
        if expr.op in ARITHMETIC:
            left, right = map(self._family, expr.args)
            return "number" if {left, right} <= {"number", "unknown", "null"} else "duration" if left == right else left
        if expr.op in ("coalesce", CASE):
            return self._known(expr.args if expr.op == "coalesce" else case_parts(expr)[1])
        return "string" if expr.op in TEXT_FUNCTIONS and expr.op != "length" else "number"


def user_function_name(name: str, arguments: int) -> str:
    """What a function of the user is called in a database, which has others of its own."""
    return f"user {name} {arguments}"


def _to_whole(value: Sql) -> Sql:
    return exp.TryCast(this=value.copy(), to=_WHOLE)


def untag_sql(value: Sql, wanted: str) -> Sql:
    """A TERM as a plain value; NULL where it is not one of that kind."""
    if wanted == "number":
        return exp.TryCast(this=value, to=_DOUBLE)
    if wanted == "boolean":
        yes, no = (exp.EQ(this=value.copy(), expression=exp.Literal.string(word)) for word in ("true", "false"))
        return exp.Case(ifs=[exp.If(this=yes, true=exp.true()), exp.If(this=no, true=exp.false())])
    if wanted == "string":
        is_text = exp.EQ(this=_part(value, 1, 1), expression=exp.Literal.string('"'))
        return exp.Case(ifs=[exp.If(this=is_text, true=_part(value, 2))])
    return exp.TryCast(this=_part(value, 2), to=exp.DataType.build("timestamp"))


def moment_sql(ticks: Sql, kind: pa.DataType, ticks_per_second: int) -> Sql:
    """Ticks as a time of this type: a timestamp, or a number of seconds."""
    if pa.types.is_timestamp(kind):
        return Moment(this=ticks, unit=kind.unit, zone=kind.tz is not None)
    # Whole numbers of seconds are whole as floats, too: nothing is lost on the way.
    seconds = exp.Div(this=exp.Cast(this=ticks, to=_DOUBLE), expression=constant(float(ticks_per_second)), typed=False)
    return exp.Cast(this=seconds, to=_WHOLE) if pa.types.is_integer(kind) else seconds


def tag_sql(value: Sql, kind: Kind) -> Sql:
    """A plain text or boolean as a TERM. Numbers are compared as numbers instead: they have many spellings."""
    if kind is TERM:
        return value
    if type_family(kind) == "string":
        return exp.DPipe(this=exp.Literal.string('"'), expression=value)  # unlike CONCAT it is NULL where a part is
    return exp.Cast(this=value, to=_TEXT)


def sort_keys(value: Sql, kind: Kind) -> list[Sql]:
    """What puts values in order: TERMs that are numbers by their value, before all others."""
    return [value] if kind is not TERM else [untag_sql(value, "number"), value.copy()]


def display_text(value: Sql) -> Sql:
    """A TERM as the text that users see."""
    quoted = exp.EQ(this=_part(value, 1, 1), expression=exp.Literal.string('"'))
    return exp.Case(ifs=[exp.If(this=quoted, true=_part(value, 2))], default=value)


def equality(left: Sql, left_kind: Kind, right: Sql, right_kind: Kind) -> Sql:
    """left = right, where one of them may be a TERM."""
    if (left_kind is TERM) == (right_kind is TERM):
        same = exp.EQ(this=left, expression=right)
        if left_kind is TERM or not _loses_digits(left_kind, right_kind):
            return same
        # Engines compare the two as doubles, to which some whole numbers beyond 2^53 are the same.
        whole, double = (left, right) if pa.types.is_integer(left_kind) else (right, left)
        return exp.and_(same, exp.EQ(this=whole.copy(), expression=exp.TryCast(this=double.copy(), to=_WHOLE)))
    if left_kind is TERM:
        return equality(right, right_kind, left, left_kind)
    wanted = type_family(left_kind)
    if wanted in ("string", "boolean"):
        return exp.EQ(this=tag_sql(left, left_kind), expression=right)
    return exp.EQ(this=left, expression=untag_sql(right, wanted))


def _loses_digits(one: Kind, other: Kind) -> bool:
    wide = [kind for kind in (one, other) if pa.types.is_integer(kind) and kind.bit_width == 64]
    return len(wide) == 1 and (pa.types.is_floating(one) or pa.types.is_floating(other))


def _part(value: Sql, start: int, length: int | None = None) -> Sql:
    sizes = [integer(start)] if length is None else [integer(start), integer(length)]
    return exp.Anonymous(this="SUBSTRING", expressions=[value.copy(), *sizes])


def _family_of(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "string"
    return "timestamp" if isinstance(value, datetime) else "number"


def constant(value: object) -> Sql:
    if value is None:
        return exp.Null()
    if isinstance(value, bool):
        return exp.true() if value else exp.false()
    if isinstance(value, str):
        return exp.Literal.string(value)
    if isinstance(value, datetime):
        return exp.Cast(this=exp.Literal.string(value.isoformat(sep=" ")), to=exp.DataType.build("timestamp"))
    if isinstance(value, int):
        return integer(value)
    # An exponent makes it a double: a plain 0.1 would be a decimal.
    return exp.Cast(this=exp.Literal.string(repr(float(str(value)))), to=_DOUBLE)


def condition_sql(
    condition: Condition,
    data: Callable[[Data | Combined], Sql],
    time: Callable[[str, str], Sql],
    ticks: Ticks,
) -> Sql:
    """A condition of where; `data` writes what is said of values, and `time(i, "end")` is the column of that time."""
    if isinstance(condition, Data | Combined):
        return data(condition)
    if isinstance(condition, Temporal):
        return _temporal(condition, time, ticks)
    parts = [exp.Paren(this=condition_sql(part, data, time, ticks)) for part in condition.parts]
    if condition.op == "not":
        return exp.Not(this=parts[0])
    return (exp.and_ if condition.op == "and" else exp.or_)(*parts)


Ticks = Callable[[int], int]  # nanoseconds of a bound to whole ticks


def _temporal(condition: Temporal, time: Callable[[str, str], Sql], ticks: Ticks) -> Sql:
    if condition.relation in RELATIONS:
        left, right = condition.events
        comparisons = [
            compare(op, time(left, one), time(right, other)) for one, op, other in RELATIONS[condition.relation]
        ]
        return exp.and_(*comparisons)
    assert condition.duration is not None
    begins, ends = ([time(event, side) for event in condition.events] for side in ("begin", "end"))
    if condition.relation == "within":
        between = exp.Sub(this=greatest(ends), expression=least(begins))
        return compare("<=", between, integer(ticks(condition.duration.nanoseconds)))
    between = exp.Sub(this=greatest(begins), expression=least(ends))
    return compare(">=", between, integer(-ticks(-condition.duration.nanoseconds)))


def sql_type(kind: Kind) -> exp.DataType:
    """The SQL type of an Arrow type; sqlglot knows how each dialect writes it."""
    if kind is TERM:
        return exp.DataType.build("text")
    if is_list(kind):
        return exp.DataType(this=exp.DType.ARRAY, expressions=[sql_type(kind.value_type)], nested=True)
    if pa.types.is_struct(kind):
        fields = [
            exp.ColumnDef(this=exp.to_identifier(field.name, quoted=True), kind=sql_type(field.type)) for field in kind
        ]
        return exp.DataType(this=exp.DType.STRUCT, expressions=fields, nested=True)
    if pa.types.is_map(kind):
        both = [sql_type(kind.key_type), sql_type(kind.item_type)]
        return exp.DataType(this=exp.DType.MAP, expressions=both, nested=True)
    if pa.types.is_boolean(kind):
        return exp.DataType.build("boolean")
    if pa.types.is_integer(kind):
        return exp.DataType.build("bigint")
    if pa.types.is_decimal(kind):
        return exp.DataType.build(f"decimal({kind.precision}, {kind.scale})")
    if pa.types.is_timestamp(kind):
        return exp.DataType.build("timestamptz" if kind.tz else "timestamp")
    if pa.types.is_date(kind):
        return exp.DataType.build("date")
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return exp.DataType.build("varbinary")
    return exp.DataType.build("double" if type_family(kind) == "number" else "text")

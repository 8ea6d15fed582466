"""Conditions on the match so far as programs of kernels/programs.py.

An expression is parsed as DuckDB's. Its parts that read one row alone are evaluated by DuckDB over all rows, and so are
constants; DuckDB also says the type of every other part. What is left are comparisons, arithmetic and logic over the
values at a few rows of the match. What a program cannot hold raises Unsupported.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import duckdb
import sqlglot
from sqlglot import exp

from ostinato.sql.kernels import opcodes as p
from ostinato.sql.runtime.condition_parts import ConditionParts, RowPart, Unsupported
from ostinato.sql.runtime.fuse_steps import fuse
from ostinato.sql.runtime.kinds import BOOLEAN, Kind, can_be_stored
from ostinato.sql.runtime.registers import NOW, Call, Operand, Text, stored_ints
from ostinato.sql.runtime.row_values import to_bytes

_MOST_OPERANDS = 16  # of a call
_COMPARISONS: dict[type, int] = {
    exp.LT: p.LESS,
    exp.LTE: p.LESS | p.EQUAL,
    exp.EQ: p.EQUAL,
    exp.NEQ: p.LESS | p.GREATER,
    exp.GTE: p.GREATER | p.EQUAL,
    exp.GT: p.GREATER,
}
_WHOLE: dict[type, int] = {
    exp.Add: p.ADD,
    exp.Sub: p.SUBTRACT,
    exp.Mul: p.MULTIPLY,
    exp.Mod: p.REMAINDER,
    exp.IntDiv: p.QUOTIENT,
}
_FLOAT: dict[type, int] = {
    exp.Add: p.ADD_FLOATS,
    exp.Sub: p.SUBTRACT_FLOATS,
    exp.Mul: p.MULTIPLY_FLOATS,
    exp.Mod: p.REMAINDER_FLOATS,
    exp.Pow: p.POWER,
}
# What constants are made of that stay the same; functions may tell the time, queries read tables.
_LASTING = (
    *(exp.Literal, exp.Null, exp.Boolean, exp.Paren, exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Div),
    *(exp.Cast, exp.DataType, exp.DataTypeParam, exp.Interval, exp.Var),
)
_ROUNDING: dict[type, int] = {exp.Floor: p.FLOOR, exp.Ceil: p.CEILING, exp.Sqrt: p.SQUARE_ROOT}
# Of date_diff: units that are counted alike whatever lies between, and where counting begins.
_UNITS = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND")
_EPOCHS = {"TIMESTAMP": "TIMESTAMP '1970-01-01'", "DATE": "DATE '1970-01-01'"}
BIGINT, DOUBLE = Kind("BIGINT", "int"), Kind("DOUBLE", "float")


@dataclass
class ConditionCompiler(ConditionParts):
    """Compiles the conditions of one variable."""

    def compile(self, condition: exp.Expression) -> None:
        """Add the steps of a condition that must be TRUE."""
        outer = self._without_rows(condition.copy())
        self._emit(outer, BOOLEAN)
        self.steps.append((p.REQUIRE, 0, 0))
        self.steps = list(fuse(self.steps))

    # Steps.

    def _emit(self, node: exp.Expression, wanted: Kind) -> None:
        """Steps that leave the value of an expression, as the wanted kind."""
        if isinstance(node, exp.Paren):
            self._emit(node.this, wanted)
        elif isinstance(node, exp.Column) and node.name in self.parts:
            self._emit_part(*self.parts[node.name], wanted)
        elif not list(node.find_all(exp.Column)):
            self._emit_constant(node, wanted)
        else:
            emit = next((each for kind, each in _EMITTERS.items() if isinstance(node, kind)), None)
            before = len(self.steps)
            try:
                if emit is None:
                    raise Unsupported
                emit(self, node, wanted)
            except Unsupported:
                del self.steps[before:]
                self._emit_call(node, wanted)

    def _emit_call(self, node: exp.Expression, wanted: Kind) -> None:
        """A call of DuckDB with what the expression reads as operands."""
        if self.by_column:
            raise Unsupported
        text = node.sql("duckdb")
        result = self._kind(self._type(text))
        names = tuple(dict.fromkeys(column.name for column in node.find_all(exp.Column)))
        if result.name == "text" or not can_be_stored(result) or len(names) > _MOST_OPERANDS or self._is_volatile(text):
            raise Unsupported
        operands = []
        for name in names:
            part, kind = self.parts[name]
            self._emit_part(part, kind, kind)
            operands.append(Operand(kind, *self.steps[-1]))
        self.steps.append((p.CALL_FUNCTION, self.registers.call(Call(text, names, tuple(operands), result)), 0))
        self._convert(result, wanted)

    def _emit_part(self, part: RowPart | int, kind: Kind, wanted: Kind) -> None:
        if isinstance(part, RowPart):
            held = kind if self.by_column else wanted
            column = self._column(part.text, held, part.without)
            if part.place != NOW:
                self._read_place(part.place)
            self.steps.append((p.LOAD_FLOAT if held.is_float else p.LOAD_INT, column, part.place))
            self._convert(held, wanted)
        else:
            self.steps.append((part >> 32, part & 0xFFFFFFFF, 0))
            self._convert(kind, wanted)

    def _emit_constant(self, node: exp.Expression, wanted: Kind) -> None:
        text = node.sql("duckdb")
        self.registers.lasting &= all(isinstance(each, _LASTING) for each in node.walk())
        try:
            table = self.connection.sql(f"SELECT CAST(({text}) AS {wanted.type}) AS c").to_arrow_table()
        except duckdb.Error:
            raise Unsupported from None
        column = table.column(0).chunk(0)
        if column.null_count:
            self.steps.append((p.PUSH_NULL, 0, 0))
        elif wanted.name == "text":
            self.steps.append((p.CONSTANT_INT, Text(column[0].as_py()), 0))
        elif wanted.name == "interval":
            self.steps.append((p.CONSTANT_INT, _microseconds(column[0].as_py()), 0))
        elif wanted.is_float:
            self.steps.append((p.CONSTANT_FLOAT, self.registers.constant(float(column[0].as_py())), 0))
        else:
            stored = to_bytes(column) if wanted.name == "bool" else stored_ints(column)
            self.steps.append((p.CONSTANT_INT, int(stored[0]), 0))

    def _convert(self, kind: Kind, wanted: Kind) -> None:
        if kind == wanted or (kind.name, wanted.name) == ("single", "float"):
            return
        if kind.name == "int" and wanted.name == "int" and wanted.scale >= kind.scale:
            if wanted.scale > kind.scale:
                self.steps.append((p.RESCALE, 10 ** (wanted.scale - kind.scale), 0))
        elif kind.name == "int" and wanted.name == "float":
            self.steps.append((p.TO_FLOAT, 10**kind.scale, 0))
        elif kind.name == "float" and wanted.name == "single":
            self.steps.append((p.TO_SINGLE, 0, 0))
        else:
            raise Unsupported

    # Operators.

    def _emit_logic(self, node: exp.Expression, wanted: Kind) -> None:
        if isinstance(node, exp.Not):
            self._emit(node.this, BOOLEAN)
            self.steps.append((p.NOT, 0, 0))
        else:
            self._emit(node.this, BOOLEAN)
            self._emit(node.expression, BOOLEAN)
            self.steps.append((p.AND if isinstance(node, exp.And) else p.OR, 0, 0))
        self._convert(BOOLEAN, wanted)

    def _emit_comparison(self, node: exp.Expression, wanted: Kind) -> None:
        self._compare(node.this, node.expression, (p.COMPARE, p.COMPARE_FLOATS), _COMPARISONS[type(node)])
        self._convert(BOOLEAN, wanted)

    def _compare(self, left: exp.Expression, right: exp.Expression, ops: tuple[int, int], outcomes: int) -> None:
        kind = self._common((left, right))
        self._emit(left, kind)
        self._emit(right, kind)
        self.steps.append((ops[kind.is_float], outcomes, 0))

    def _emit_distinct(self, node: exp.Expression, wanted: Kind) -> None:
        self._compare(node.this, node.expression, (p.DISTINCT, p.DISTINCT_FLOATS), 0)
        if isinstance(node, exp.NullSafeEQ):
            self.steps.append((p.NOT, 0, 0))
        self._convert(BOOLEAN, wanted)

    def _emit_between(self, node: exp.Expression, wanted: Kind) -> None:
        low, high = node.args["low"], node.args["high"]
        kind = self._common((node.this, low, high))
        for bound, outcomes in ((low, p.GREATER | p.EQUAL), (high, p.LESS | p.EQUAL)):
            self._emit(node.this, kind)
            self._emit(bound, kind)
            self.steps.append((p.COMPARE_FLOATS if kind.is_float else p.COMPARE, outcomes, 0))
        self.steps.append((p.AND, 0, 0))
        self._convert(BOOLEAN, wanted)

    def _emit_in(self, node: exp.Expression, wanted: Kind) -> None:
        listed = node.args.get("expressions")
        if not listed:
            raise Unsupported
        kind = self._common((node.this, *listed))
        for place, each in enumerate(listed):
            self._emit(node.this, kind)
            self._emit(each, kind)
            self.steps.append((p.COMPARE_FLOATS if kind.is_float else p.COMPARE, p.EQUAL, 0))
            if place:
                self.steps.append((p.OR, 0, 0))
        self._convert(BOOLEAN, wanted)

    def _emit_is(self, node: exp.Expression, wanted: Kind) -> None:
        asked = node.expression
        if isinstance(asked, exp.Null):
            self._emit(node.this, self._kind(self._type(node.this.sql("duckdb"))))
            self.steps.append((p.IS_NULL, 0, 0))
        elif isinstance(asked, exp.Boolean):
            self._emit(node.this, BOOLEAN)
            self._emit(asked, BOOLEAN)
            self.steps += [(p.DISTINCT, 0, 0), (p.NOT, 0, 0)]
        else:
            raise Unsupported
        self._convert(BOOLEAN, wanted)

    def _emit_arithmetic(self, node: exp.Expression, wanted: Kind) -> None:
        result = self._kind(self._type(node.sql("duckdb")))
        if result.is_float:
            if type(node) not in _FLOAT:
                raise Unsupported
            self._operands(node, result, result)
            self.steps.append((_FLOAT[type(node)], 0, 0))
            if result.name == "single":
                self.steps.append((p.TO_SINGLE, 0, 0))
        elif result.name == "int" and type(node) in _WHOLE:
            operands = [self._kind(self._type(each.sql("duckdb"))) for each in (node.this, node.expression)]
            if (isinstance(node, exp.Mul) and result.scale) or (
                isinstance(node, exp.Sub) and operands[0].type == operands[1].type == "DATE"
            ):
                self._operands(node, *operands)
            else:
                if any(each.name != "int" for each in operands):
                    raise Unsupported
                self._operands(node, result, result)
            self.steps.append((_WHOLE[type(node)], result.low, result.high))
        elif result.name == "interval" and isinstance(node, exp.Sub):
            left, right = (self._kind(self._type(each.sql("duckdb"))) for each in (node.this, node.expression))
            if left != right or left.type not in ("TIMESTAMP", "TIMESTAMP WITH TIME ZONE"):
                raise Unsupported
            self._operands(node, left, right)
            self.steps.append((p.SUBTRACT, result.low, result.high))
        else:
            raise Unsupported
        self._convert(result, wanted)

    def _operands(self, node: exp.Expression, left: Kind, right: Kind) -> None:
        self._emit(node.this, left)
        self._emit(node.expression, right)

    def _emit_division(self, node: exp.Expression, wanted: Kind) -> None:
        result = self._kind(self._type(node.sql("duckdb")))
        if not result.is_float:
            raise Unsupported
        self._operands(node, result, result)
        self.steps.append((p.DIVIDE_FLOATS, 0, 0))
        if result.name == "single":
            self.steps.append((p.TO_SINGLE, 0, 0))
        self._convert(result, wanted)

    def _emit_sign(self, node: exp.Expression, wanted: Kind) -> None:
        result = self._kind(self._type(node.sql("duckdb")))
        self._emit(node.this, result)
        ops = (p.NEGATE, p.NEGATE_FLOAT) if isinstance(node, exp.Neg) else (p.ABSOLUTE, p.ABSOLUTE_FLOAT)
        if result.name not in ("int", "float", "single"):
            raise Unsupported
        self.steps.append((ops[result.is_float], result.low, 0))
        self._convert(result, wanted)

    def _emit_rounding(self, node: exp.Expression, wanted: Kind) -> None:
        result = self._kind(self._type(node.sql("duckdb")))
        digits = node.args.get("decimals")
        if result.name != "float" or (digits is not None and not (digits.is_int and 0 <= int(digits.name) <= 15)):
            raise Unsupported
        self._emit(node.this, result)
        if isinstance(node, exp.Round):
            scale = self.registers.constant(10.0 ** (0 if digits is None else int(digits.name)))
            self.steps.append((p.ROUND, scale, 0))
        elif digits is not None:
            raise Unsupported
        else:
            self.steps.append((_ROUNDING[type(node)], 0, 0))
        self._convert(result, wanted)

    def _emit_seconds(self, node: exp.Expression, wanted: Kind) -> None:
        kind = self._kind(self._type(node.this.sql("duckdb")))
        if kind.name != "interval":
            raise Unsupported
        self._emit(node.this, kind)
        self.steps.append((p.SECONDS, 0, 0))
        self._convert(DOUBLE, wanted)

    def _emit_extreme(self, node: exp.Expression, wanted: Kind) -> None:
        result = self._kind(self._type(node.sql("duckdb")))
        self._emit(node.this, result)
        for each in node.args.get("expressions") or ():
            self._emit(each, result)
            preferred = p.LESS if isinstance(node, exp.Least) else p.GREATER
            self.steps.append((p.PREFER_FLOATS if result.is_float else p.PREFER, preferred, 0))
        self._convert(result, wanted)

    def _emit_difference(self, node: exp.Expression, wanted: Kind) -> None:
        """How many ends of a unit of time lie between two: the difference of how many there are up to each of them,
        which are parts that read one row."""
        unit = node.args.get("unit")
        kinds = [self._kind(self._type(each.sql("duckdb"))) for each in (node.this, node.expression)]
        if unit is None or unit.name.upper() not in _UNITS or any(kind.type not in _EPOCHS for kind in kinds):
            raise Unsupported
        for each, kind in zip((node.this, node.expression), kinds, strict=True):
            self._emit(self._since_epoch(each, unit.name, kind), BIGINT)
        self.steps.append((p.SUBTRACT, BIGINT.low, BIGINT.high))
        self._convert(BIGINT, wanted)

    def _since_epoch(self, node: exp.Expression, unit: str, kind: Kind) -> Any:
        """A part that reads one row, seen through a function of one operand."""
        inner = node.unnest()
        part, _ = self.parts.get(inner.name, (None, None)) if isinstance(inner, exp.Column) else (None, None)

        def counted(text: str) -> str:
            return f"date_diff('{unit}', {_EPOCHS[kind.type]}, {text})"

        if isinstance(part, RowPart):
            without = "NULL" if part.without == "NULL" else counted(part.without)
            return self._named(RowPart(counted(f"({part.text})"), without, part.place), BIGINT)
        if list(node.find_all(exp.Column)):
            raise Unsupported
        return sqlglot.parse_one(counted(node.sql("duckdb")), read="duckdb")

    def _emit_coalesce(self, node: exp.Expression, wanted: Kind) -> None:
        result = self._kind(self._type(node.sql("duckdb")))
        self._emit(node.this, result)
        for each in node.args.get("expressions") or ():
            self._emit(each, result)
            self.steps.append((p.COALESCE, 0, 0))
        self._convert(result, wanted)

    def _emit_case(self, node: exp.Expression, wanted: Kind) -> None:
        result = self._kind(self._type(node.sql("duckdb")))
        ifs = [node] if isinstance(node, exp.If) else node.args["ifs"]
        default = node.args.get("false") if isinstance(node, exp.If) else node.args.get("default")
        subject = None if isinstance(node, exp.If) else node.this
        for each in ifs:
            if subject is None:
                self._emit(each.this, BOOLEAN)
            else:
                self._compare(subject, each.this, (p.COMPARE, p.COMPARE_FLOATS), p.EQUAL)
            self._emit(each.args["true"], result)
        if default is None:
            self.steps.append((p.PUSH_NULL, 0, 0))
        else:
            self._emit(default, result)
        self.steps += [(p.CHOOSE, 0, 0)] * len(ifs)
        self._convert(result, wanted)

    def _emit_cast(self, node: exp.Expression, wanted: Kind) -> None:
        if isinstance(node, exp.TryCast):
            raise Unsupported
        kind = self._kind(self._type(node.this.sql("duckdb")))
        result = self._kind(self._type(node.sql("duckdb")))
        if kind.name == "int" and result.name == "int" and (result.low > kind.low or result.high < kind.high):
            raise Unsupported
        self._emit(node.this, kind)
        self._convert(kind, result)
        self._convert(result, wanted)


_Emitter = Callable[[ConditionCompiler, exp.Expression, Kind], None]
_EMITTERS: dict[type, _Emitter] = {
    exp.And: ConditionCompiler._emit_logic,
    exp.Or: ConditionCompiler._emit_logic,
    exp.Not: ConditionCompiler._emit_logic,
    **dict.fromkeys(_COMPARISONS, ConditionCompiler._emit_comparison),
    exp.NullSafeEQ: ConditionCompiler._emit_distinct,
    exp.NullSafeNEQ: ConditionCompiler._emit_distinct,
    exp.Between: ConditionCompiler._emit_between,
    exp.In: ConditionCompiler._emit_in,
    exp.Is: ConditionCompiler._emit_is,
    **dict.fromkeys((*_WHOLE, exp.Pow), ConditionCompiler._emit_arithmetic),
    exp.Div: ConditionCompiler._emit_division,
    exp.Neg: ConditionCompiler._emit_sign,
    exp.Abs: ConditionCompiler._emit_sign,
    **dict.fromkeys((exp.Round, *_ROUNDING), ConditionCompiler._emit_rounding),
    **dict.fromkeys((exp.Least, exp.Greatest), ConditionCompiler._emit_extreme),
    exp.TimeToUnix: ConditionCompiler._emit_seconds,
    exp.DateDiff: ConditionCompiler._emit_difference,
    exp.Coalesce: ConditionCompiler._emit_coalesce,
    exp.Case: ConditionCompiler._emit_case,
    exp.If: ConditionCompiler._emit_case,
    exp.Cast: ConditionCompiler._emit_cast,
}


def _microseconds(interval: Any) -> int:
    """As intervals are compared: a month is 30 days."""
    months, days, nanoseconds = interval
    return int((months * 30 + days) * 86_400_000_000 + nanoseconds // 1000)

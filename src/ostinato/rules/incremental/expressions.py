"""Conditions and values of rules as instructions of delta queries.

They mean what relational.expressions writes in SQL. What kernels cannot compute (texts in order, decimals, functions of
texts and of users) is None here, and left to host_expressions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime

import pyarrow as pa

from ostinato.core.expressions import ARITHMETIC, CASE, COMPARISONS, LOGIC, Call, Expr, Literal, UserCall, Variable
from ostinato.rules.algebra.time_relations import RELATIONS
from ostinato.rules.incremental.codes import FLOAT, MOMENT, NOTHING, NUMBERED, TRUTH, WHOLE
from ostinato.rules.incremental.delta_query import DeltaQuery, Operand
from ostinato.rules.kernels import layout as k
from ostinato.rules.relational.head_types import case_parts
from ostinato.rules.relational.kinds import TERM, type_family
from ostinato.rules.syntax.nodes import Combined, Condition, Data, Formula, Temporal

_WHOLE_OPS = {"+": k.ADD_I, "-": k.SUB_I, "*": k.MUL_I, "%": k.MOD_I}
_FLOAT_OPS = {"+": k.ADD_F, "-": k.SUB_F, "*": k.MUL_F, "/": k.DIV_F, "%": k.MOD_F}
_ORDER = {"=": 0, "!=": 1, "<": 2, "<=": 3, ">": 4, ">=": 5}
_PLAIN = {"number": (k.NUMBER, pa.float64()), "boolean": (k.TRUTH, pa.bool_()), "string": (k.TEXT, pa.string())}
_PLAIN |= {"timestamp": (k.MOMENT, pa.timestamp("us")), "date": (k.MOMENT, pa.timestamp("us"))}
_MICRO = 1_000_000
_CODED = {WHOLE: pa.int64(), FLOAT: pa.float64(), TRUTH: pa.bool_(), MOMENT: pa.timestamp("us")}

TimeSlot = Callable[[str, str], int]  # the slot of the begin or the end of an event


class Expressions:
    """Compiles into a delta query. Variables are operands, found by name."""

    def __init__(self, delta: DeltaQuery, variable: Callable[[str], Operand]) -> None:
        self.delta, self.variable = delta, variable

    def value(self, expr: Expr) -> Operand | None:
        """The operand that holds the value; None where kernels cannot compute it."""
        if isinstance(expr, Literal):
            return self._literal(expr.value)
        if isinstance(expr, Variable):
            return self.variable(expr.name)
        assert isinstance(expr, Call)
        if isinstance(expr, UserCall):
            return None
        op = expr.op
        if op in COMPARISONS:
            return self._compare(op, expr.args)
        if op == "in":
            needle, *among = expr.args
            return self._fold(k.OR, [self._compare("=", (needle, each)) for each in among])
        if op in ARITHMETIC:
            return self._arithmetic(op, expr.args)
        if op in LOGIC:
            parts = [self.as_family(self.value(each), "boolean") for each in expr.args]
            if op == "not":
                return None if parts[0] is None else self._made(k.NOT, pa.bool_(), parts[0])
            return self._fold(k.AND if op == "and" else k.OR, parts)
        if op in ("is_null", "is_true"):
            inner = self.value(expr.args[0])
            inner = self.as_family(inner, "boolean") if op == "is_true" else inner
            return None if inner is None else self._made(k.IS_NULL if op == "is_null" else k.IS_TRUE, pa.bool_(), inner)
        if op == "coalesce":
            return self._coalesce(expr.args)
        if op == CASE:
            return self._case(expr)
        return self._number(op, expr.args)

    def condition(self, expr: Expr) -> Operand | None:
        return self.as_family(self.value(expr), "boolean")

    def _made(self, op: int, kind: pa.DataType, one: Operand, other: Operand | None = None) -> Operand:
        return Operand(kind, self.delta.compute(op, one.slot, None if other is None else other.slot))

    def _fold(self, op: int, parts: list[Operand | None]) -> Operand | None:
        first, *rest = parts
        for part in rest:
            if first is None or part is None:
                return None
            first = self._made(op, pa.bool_(), first, part)
        return first

    def _literal(self, value: object) -> Operand | None:
        frame = self.delta.frame
        if value is None:
            return Operand(pa.null(), frame.literal(None, NOTHING))
        if isinstance(value, bool):
            return Operand(pa.bool_(), frame.literal(value, TRUTH))
        if isinstance(value, int) and -(2**63) <= value < 2**63:
            return Operand(pa.int64(), frame.literal(value, WHOLE))
        if isinstance(value, float):
            return Operand(pa.float64(), frame.literal(value, FLOAT))
        if isinstance(value, str):
            return Operand(pa.string(), frame.literal(value, NUMBERED))
        if isinstance(value, datetime):
            return Operand(pa.timestamp("us"), frame.literal(value, MOMENT))
        return None

    def as_family(self, operand: Operand | None, family: str) -> Operand | None:
        """A TERM as what it holds, where that is of the family, else NULL."""
        if operand is None or operand.kind is not TERM:
            return operand
        if family not in _PLAIN:
            return None
        wanted, kind = _PLAIN[family]
        slot = self.delta.frame.slot()
        self.delta.add(k.TERM_PLAIN, slot, operand.slot, wanted)
        return Operand(kind, slot)

    def as_float(self, operand: Operand) -> Operand | None:
        if operand.coded in (FLOAT, NOTHING):
            return operand
        return self._made(k.I_TO_F, pa.float64(), operand) if operand.coded == WHOLE else None

    def alike(self, args: tuple[Expr, ...]) -> list[Operand] | None:
        """Values to be compared, in one code; None where kernels cannot."""
        found = [self.value(arg) for arg in args]
        known = [each for each in found if each is not None]
        if len(known) < len(found):
            return None
        families = [type_family(each.kind) for each in known]
        family = next((each for each in families if each not in ("unknown", "null")), "unknown")
        if family != "unknown":
            plain = [self.as_family(each, family) for each in known]
            known = [each for each in plain if each is not None]
            if len(known) < len(plain):
                return None
        coded = {each.coded for each in known} - {NOTHING}
        if coded == {WHOLE, FLOAT}:
            floats = [self.as_float(each) for each in known]
            return [each for each in floats if each is not None]
        texts = all(each.kind is TERM or pa.types.is_null(each.kind) or _is_text(each.kind) for each in known)
        return known if len(coded) <= 1 and (NUMBERED not in coded or texts) else None

    def _compare(self, op: str, args: tuple[Expr, ...]) -> Operand | None:
        found = self.alike(args)
        if found is None:
            return None
        coded = next((each.coded for each in found if each.coded != NOTHING), NOTHING)
        if coded == NUMBERED and op not in ("=", "!="):
            return None
        return self._made((k.EQ_F if coded == FLOAT else k.EQ_I) + _ORDER[op], pa.bool_(), *found)

    def _coalesce(self, args: tuple[Expr, ...]) -> Operand | None:
        found = self.alike(args)
        if found is None:
            return None
        kind = next((each.kind for each in found if each.coded != NOTHING), pa.null())
        first, *rest = found
        for each in rest:
            first = self._made(k.COALESCE, kind, first, each)
        return Operand(kind, first.slot)

    def _case(self, expr: Call) -> Operand | None:
        """From its ELSE back to its first branch."""
        conditions, values = case_parts(expr)
        found = self.alike(values)
        tests = [self.condition(each) for each in conditions]
        if found is None or any(test is None for test in tests):
            return None
        kind = next((each.kind for each in found if each.coded != NOTHING), pa.null())
        *results, chosen = found
        for test, one in zip(reversed(tests), reversed(results), strict=True):
            assert test is not None
            slot = self.delta.frame.slot()
            self.delta.add(k.CHOOSE, slot, test.slot, one.slot, chosen.slot)
            chosen = Operand(kind, slot)
        return Operand(kind, chosen.slot)

    def moment(self, tick: Operand, kind: pa.DataType, ticks_per_second: int) -> Operand:
        """A tick as a time of this type: a timestamp, which is coded in microseconds, or a number of seconds."""
        constant = self.delta.frame.constant
        if pa.types.is_timestamp(kind):
            if ticks_per_second == _MICRO:
                return Operand(kind, tick.slot)
            op, by = (k.MUL_I, _MICRO // ticks_per_second) if ticks_per_second < _MICRO else (k.DIV_I, 1000)
            return Operand(kind, self.delta.compute(op, tick.slot, constant(by)))
        if pa.types.is_integer(kind):
            return Operand(kind, self.delta.compute(k.DIV_I, tick.slot, constant(ticks_per_second)))
        second = Operand(pa.float64(), self.delta.frame.literal(float(ticks_per_second), FLOAT))
        return self._made(k.DIV_F, kind, self._made(k.I_TO_F, kind, tick), second)

    def _arithmetic(self, op: str, args: tuple[Expr, ...]) -> Operand | None:
        left, right = (self.as_family(self.value(arg), "number") for arg in args)
        if left is None or right is None:
            return None
        if left.coded == right.coded == WHOLE and op in _WHOLE_OPS:
            return self._made(_WHOLE_OPS[op], pa.int64(), left, right)
        left, right = self.as_float(left), self.as_float(right)
        return None if left is None or right is None else self._made(_FLOAT_OPS[op], pa.float64(), left, right)

    def _number(self, op: str, args: tuple[Expr, ...]) -> Operand | None:
        if op not in ("neg", "abs", "round", "floor", "ceil", "sqrt") or len(args) != 1:
            return None
        one = self.as_family(self.value(args[0]), "number")
        if one is None or one.coded not in (WHOLE, FLOAT):
            return None
        if op == "sqrt":
            root = self.as_float(one)
            return None if root is None else self._made(k.SQRT_F, pa.float64(), root)
        if one.coded == WHOLE:
            if op in ("round", "floor", "ceil"):
                return Operand(pa.int64(), one.slot)
            return self._made(k.NEG_I if op == "neg" else k.ABS_I, pa.int64(), one)
        if op in ("floor", "ceil"):
            return self._made(k.FLOOR_F if op == "floor" else k.CEIL_F, pa.int64(), one)
        return self._made({"neg": k.NEG_F, "abs": k.ABS_F, "round": k.ROUND_F}[op], pa.float64(), one)

    def cast(self, operand: Operand, kind: pa.DataType) -> Operand | None:
        """The value in the code of another type, as heads cast it; None where kernels cannot."""
        coded = Operand(kind).coded
        if coded == operand.coded and (coded != NUMBERED or operand.kind == kind or (kind is TERM)):
            return operand
        if operand.coded == NOTHING:
            return operand
        if operand.kind is TERM:
            plain = self.as_family(operand, type_family(kind)) if type_family(kind) != "string" else None
            return plain if plain is None or plain.coded == coded else None
        if {operand.coded, coded} == {WHOLE, FLOAT} and coded == FLOAT:
            return self.as_float(operand)
        return operand if _is_text(operand.kind) and _is_text(kind) else None

    # Conditions

    def where(
        self,
        condition: Condition,
        time: Callable[[str, str], int],
        ticks: Callable[[int], int],
        data: Mapping[int, Operand],
    ) -> Operand:
        """A condition of where. `data` are the conditions on data that were computed elsewhere, by their identity."""
        if isinstance(condition, Data | Combined):
            known = data.get(id(condition)) or self.condition(condition.expr)
            assert known is not None
            return known
        if isinstance(condition, Temporal):
            return Operand(pa.bool_(), self._temporal(condition, time, ticks))
        assert isinstance(condition, Formula)
        parts: list[Operand | None] = [self.where(part, time, ticks, data) for part in condition.parts]
        if condition.op == "not":
            assert parts[0] is not None
            return self._made(k.NOT, pa.bool_(), parts[0])
        found = self._fold(k.AND if condition.op == "and" else k.OR, parts)
        assert found is not None
        return found

    def _temporal(self, condition: Temporal, time: TimeSlot, ticks: Callable[[int], int]) -> int:
        delta = self.delta
        if condition.relation in RELATIONS:
            left, right = condition.events
            tests = [
                delta.compute(k.EQ_I + _ORDER[op], time(left, one), time(right, other))
                for one, op, other in RELATIONS[condition.relation]
            ]
            return self._all(tests)
        assert condition.duration is not None
        begins, ends = ([time(event, side) for event in condition.events] for side in ("begin", "end"))
        if condition.relation == "within":
            between = delta.compute(k.SUB_I, extreme(delta, k.GREATEST, ends), extreme(delta, k.LEAST, begins))
            return delta.compute(k.LE_I, between, delta.frame.constant(ticks(condition.duration.nanoseconds)))
        between = delta.compute(k.SUB_I, extreme(delta, k.GREATEST, begins), extreme(delta, k.LEAST, ends))
        return delta.compute(k.GE_I, between, delta.frame.constant(-ticks(-condition.duration.nanoseconds)))

    def _all(self, tests: list[int]) -> int:
        first, *rest = tests
        for test in rest:
            first = self.delta.compute(k.AND, first, test)
        return first


def extreme(delta: DeltaQuery, op: int, slots: list[int]) -> int:
    """The LEAST or the GREATEST of times."""
    first, *rest = slots
    for slot in rest:
        first = delta.compute(op, first, slot)
    return first


def _is_text(kind: pa.DataType) -> bool:
    return kind is not TERM and bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))

"""What queries ask of an event, shared by all of them: each event has one class per feature.

Predicates that compare an attribute with constants share a feature: all constants in order, and where the attribute's
value lies among them. Any other predicate is a feature of its own, which holds or does not.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Collection, Hashable, Sequence
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from ostinato.core.arrays import Bools, Int32
from ostinato.core.arrow import is_text
from ostinato.core.columns.expressions import ColumnProgram
from ostinato.core.columns.name_matcher import NameMatcher
from ostinato.core.columns.value_classes import compared_constants
from ostinato.core.expressions import COMPARISONS, Attribute, Call, Expr, Literal, attributes

_MOST_KNOWN = 1 << 16  # values whose class is remembered
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}
_COMPARE = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "=": np.equal,
    "!=": np.not_equal,
}


class Feature(ABC):
    """Classes of events; those of one class have the same predicates of the feature."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)  # the attributes it reads

    @property
    @abstractmethod
    def size(self) -> int:
        """How many classes there are."""

    @abstractmethod
    def classify(self, rows: pa.Table) -> Int32:
        """The class of each row."""

    @abstractmethod
    def classify_one(self, values: Sequence[Any]) -> int:
        """The class of one event, by the values of its attributes."""

    @abstractmethod
    def holds(self, predicates: Predicates, place: int, values: Sequence[Any], schema: pa.Schema) -> Bools:
        """Which predicates hold of an event of a class, with these values."""


class Predicates:
    """Predicates of one feature, in a row, that are looked up by class."""

    def __init__(self, exprs: Sequence[Expr]) -> None:
        self.exprs = list(exprs)
        self.program: ColumnProgram | None = None
        self.compared: dict[str, tuple[Int32, Int32]] | None = None

    def evaluate(self, names: Sequence[str], values: Sequence[Any], schema: pa.Schema) -> Bools:
        """By way of Arrow."""
        if self.program is None:
            self.program = ColumnProgram(self.exprs)
        columns = {name: pa.array([value], schema.field(name).type) for name, value in zip(names, values, strict=True)}
        truths = self.program.run(lambda attribute: columns[attribute.name])
        return np.array([_is_true(truth) for truth in truths], np.bool_)


def _is_true(truth: Any) -> bool:
    return (truth if isinstance(truth, pa.Scalar) else truth[0]).as_py() is True


class ComparedFeature(Feature):
    """Where the value of an attribute lies among constants. Most predicates are plain comparisons with one of them."""

    operators: ClassVar[Collection[str]]  # that classes alone decide, between the class of a value and of a constant

    @property
    @abstractmethod
    def compared(self) -> int:
        """How many classes are of values that compare with constants; those of NULL and NaN come after them."""

    @abstractmethod
    def class_of_constant(self, constant: Any) -> int:
        """The class of a value that equals a constant."""

    def holds(self, predicates: Predicates, place: int, values: Sequence[Any], schema: pa.Schema) -> Bools:
        if predicates.compared is None:
            predicates.compared = self._compare(predicates.exprs)
        plain = sum(len(numbers) for numbers, _ in predicates.compared.values())
        if plain < len(predicates.exprs) or place >= self.compared:
            return predicates.evaluate(self.names, values, schema)
        found = np.zeros(len(predicates.exprs), np.bool_)
        for op, (numbers, classes) in predicates.compared.items():
            found[numbers] = _COMPARE[op](place, classes)
        return found

    def _compare(self, exprs: Sequence[Expr]) -> dict[str, tuple[Int32, Int32]]:
        """For each operator, which predicates are comparisons by it, and the class of their constants."""
        found: dict[str, list[tuple[int, int]]] = {}
        for number, expr in enumerate(exprs):
            plain = _comparison(expr)
            if plain is not None and plain[0] in self.operators:
                found.setdefault(plain[0], []).append((number, self.class_of_constant(plain[1])))
        return {op: _columns(pairs) for op, pairs in found.items()}


class NumberFeature(ComparedFeature):
    """Where a number lies among constants: 2k for below the k-th and above the one before, 2k + 1 for the k-th itself;
    then NULL and NaN."""

    operators = _COMPARE

    def __init__(self, name: str, kind: pa.DataType, constants: set[Any]) -> None:
        super().__init__([name])
        bounds = sorted({float(constant) for constant in constants})
        whole = pa.types.is_integer(kind) and all(bound.is_integer() for bound in bounds)
        self.bounds = np.array(bounds, np.int64 if whole else np.float64)
        self._bounds: list[Any] = self.bounds.tolist()

    @property
    def size(self) -> int:
        return 2 * len(self._bounds) + 3

    def classify(self, rows: pa.Table) -> Int32:
        column = rows[self.names[0]]
        valid = np.asarray(column.is_valid().to_numpy(zero_copy_only=False), bool) if column.null_count else None
        values = (column.fill_null(0) if column.null_count else column).to_numpy()
        places = np.searchsorted(self.bounds, values)
        equal = self.bounds[np.minimum(places, len(self.bounds) - 1)] == values
        classes: Int32 = (2 * places + equal).astype(np.int32)
        if values.dtype.kind == "f":
            classes[values != values] = self.size - 1
        if valid is not None:
            classes[~valid] = self.size - 2
        return classes

    def classify_one(self, values: Sequence[Any]) -> int:
        value = values[0]
        if value is None:
            return self.size - 2
        if value != value:
            return self.size - 1
        bounds = self._bounds
        place = bisect_left(bounds, value)
        return 2 * place + (place < len(bounds) and bounds[place] == value)

    @property
    def compared(self) -> int:
        return self.size - 2

    def class_of_constant(self, constant: Any) -> int:
        return 2 * bisect_left(self._bounds, constant) + 1


def _columns(pairs: list[tuple[int, int]]) -> tuple[Int32, Int32]:
    table = np.array(pairs, np.int32)
    return np.ascontiguousarray(table[:, 0]), np.ascontiguousarray(table[:, 1])


def _comparison(expr: Expr) -> tuple[str, Any] | None:
    """The operator and the constant of `attribute op constant`."""
    if not isinstance(expr, Call) or expr.op not in COMPARISONS or len(expr.args) != 2:
        return None
    left, right = expr.args
    if isinstance(left, Attribute) and isinstance(right, Literal):
        return expr.op, right.value
    if isinstance(left, Literal) and isinstance(right, Attribute):
        return _FLIPPED[expr.op], left.value
    return None


class TextFeature(ComparedFeature):
    """Which of some texts a value is: 0 for any other, then each of them, then NULL."""

    operators = ("=", "!=")

    def __init__(self, name: str, constants: set[Any]) -> None:
        super().__init__([name])
        self.constants = sorted(map(str, constants))
        self._places = {text: place for place, text in enumerate(self.constants, 1)}
        self._matcher = NameMatcher(self.constants)

    @property
    def size(self) -> int:
        return len(self.constants) + 2

    def classify(self, rows: pa.Table) -> Int32:
        column = rows[self.names[0]].combine_chunks()
        classes = np.empty(len(column), np.int32)
        self._matcher.match(column, classes)
        if column.null_count:
            classes[np.asarray(column.is_null().to_numpy(zero_copy_only=False), bool)] = self.size - 1
        return classes

    def classify_one(self, values: Sequence[Any]) -> int:
        return self.size - 1 if values[0] is None else self._places.get(values[0], 0)

    @property
    def compared(self) -> int:
        return self.size - 1

    def class_of_constant(self, constant: Any) -> int:
        return self._places[constant]


class TruthFeature(Feature):
    """Whether one predicate holds."""

    def __init__(self, expr: Expr, schema: pa.Schema) -> None:
        super().__init__(list(dict.fromkeys(node.name for node in attributes(expr))))
        self._predicates, self._schema = Predicates([expr]), schema
        self._program = ColumnProgram([expr])
        self._known: dict[Hashable, int] = {}

    @property
    def size(self) -> int:
        return 2

    def classify(self, rows: pa.Table) -> Int32:
        (truth,) = self._program.run(lambda attribute: rows[attribute.name].combine_chunks())
        if isinstance(truth, pa.Scalar):
            return np.full(len(rows), truth.as_py() is True, np.int32)
        return np.asarray(truth.fill_null(False).to_numpy(zero_copy_only=False), np.int32)

    def classify_one(self, values: Sequence[Any]) -> int:
        key = (*values, *map(type, values))
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            found = self._known[key] = int(self._predicates.evaluate(self.names, values, self._schema)[0])
        return found

    def holds(self, predicates: Predicates, place: int, values: Sequence[Any], schema: pa.Schema) -> Bools:
        return np.full(len(predicates.exprs), place == 1, np.bool_)


def shared_attribute(expr: Expr, schema: pa.Schema) -> tuple[str, set[Any]] | None:
    """The attribute of a predicate that only compares it with constants, and these; None for any other predicate."""
    found = compared_constants([expr])
    if len(found) != 1:
        return None
    ((name, constants),) = found.items()
    if not constants or name not in schema.names:
        return None
    kind = schema.field(name).type
    if is_text(kind):
        return (name, constants) if all(isinstance(each, str) for each in constants) else None
    number = pa.types.is_float64(kind) or (pa.types.is_integer(kind) and not pa.types.is_uint64(kind))
    return (name, constants) if number and not any(isinstance(each, str) for each in constants) else None

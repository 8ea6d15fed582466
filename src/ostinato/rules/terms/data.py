"""Data terms: the label and the ordered children that an event carries; a child is a term or a plain value.

Rows, JSON and XML all become terms, so that one kind of query term asks all of them. Values are equal as they are in
conditions: numbers by value (40 is 40.0), a date is its midnight, a time without a zone is in UTC; but a boolean is no
number. None and NaN are no values: what holds them is absent.

The canonical text of a term is `{"label": [child, …]}`, which keeps order and repeated children; equal terms have equal
texts. Whole numbers are written without a fraction. What JSON cannot say is an object with a text instead of a list,
such as `{"timestamp": "2026-11-15T18:00:00+00:00"}`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Generic, TypeGuard, TypeVar

from ostinato.errors import DataError

Scalar = bool | int | float | Decimal | str | date | time | timedelta | bytes

MAX_DEPTH = 200  # of elements in elements: beyond it Python's own stack would end first


T = TypeVar("T")


class _Once(Generic[T]):
    """An attribute computed when it is first asked for. (functools.cached_property takes a lock each time.)"""

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self.compute = compute

    def __get__(self, instance: Any, owner: type) -> T:
        found = instance.__dict__[self.compute.__name__] = self.compute(instance)
        return found


@dataclass(frozen=True, eq=False)
class DataTerm:
    """`label { child, … }`."""

    label: str
    children: tuple[Child, ...] = ()

    @_Once
    def key(self) -> tuple[Any, ...]:
        """Equal for terms that are equal, and hashable."""
        return (self.label, *map(value_key, self.children))

    @_Once
    def by_label(self) -> Mapping[str | None, Sequence[int]]:
        """The positions of the children of each label; those of plain values are under None."""
        found: dict[str | None, list[int]] = {}
        for position, child in enumerate(self.children):
            found.setdefault(child.label if type(child) is DataTerm else None, []).append(position)
        return found

    def __eq__(self, other: object) -> bool:
        return self.key == other.key if isinstance(other, DataTerm) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.key)


Child = DataTerm | Scalar

_OWN_KEY = frozenset((str, int, float))
_PLAIN = frozenset((str, int, bool))  # never absent


def value_key(child: Child) -> Any:
    """What equal values have in common: Python's `==` and `hash` tell such keys apart as terms do values."""
    if type(child) in _OWN_KEY:
        return child
    if isinstance(child, DataTerm):
        return child.key
    if isinstance(child, bool):
        return bool, child
    if isinstance(child, Decimal):
        return _as_float(child)
    return _instant(child) if isinstance(child, date) else child


def is_absent(value: Any) -> bool:
    """NULL and NaN are no values."""
    return value is None or value != value


def sort_key(child: Child | None) -> tuple[Any, ...]:
    """Sorts values in ascending order: booleans, numbers, texts, times, anything else; then terms; NULL is last."""
    if child is None:
        return (9,)
    if isinstance(child, DataTerm):
        return 8, child.label, tuple(map(sort_key, child.children))
    for rank, kind in enumerate((bool, int | float | Decimal, str, date, time, timedelta)):
        if isinstance(child, kind):
            return rank, _instant(child) if isinstance(child, date) else child
    return 7, child


def _as_float(number: Decimal) -> float | Decimal:
    """The float that is written like the number, where there is one: 0.1 is a tenth, although no float is."""
    if number.is_finite() and math.isfinite(near := float(number)):
        return near if Decimal(repr(near)) == number else number
    return float(number) if not number.is_finite() else number


def _instant(moment: date) -> datetime:
    if not isinstance(moment, datetime):
        moment = datetime.combine(moment, time())
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


# From rows and JSON ---------------------------------------------------------------------------------------------------


def from_row(label: str, row: Mapping[str, Any], without: Collection[str] = ("type", "begin", "end")) -> DataTerm:
    """A row as `label { column { value }, … }`, in the order of its columns."""
    return DataTerm(label, tuple(_members(((name, row[name]) for name in row if name not in without), 1)))


def from_json(label: str, value: Any) -> DataTerm:
    """What json.loads or Arrow's to_pylist gives, as a term.

    A key k with the value v is a child `k { v }`; a list under k is one child k for each item; a list in a list has
    its items as children `item`.
    """
    return DataTerm(label, _content(value, 1))


def _content(value: Any, depth: int) -> tuple[Child, ...]:
    if type(value) in _PLAIN:
        return (value,)
    if depth > MAX_DEPTH:
        raise DataError(f"a value is nested more than {MAX_DEPTH} deep", fix="flatten it, or leave it out")
    if isinstance(value, dict):
        return tuple(_members(value.items(), depth))
    if isinstance(value, list | tuple):
        return tuple(DataTerm("item", _content(item, depth + 1)) for item in value if not is_absent(item))
    if is_absent(value):
        return ()
    if is_scalar(value):
        return (value,)
    raise DataError(f"{value!r} is not a value of an event", fix="use numbers, texts, booleans, times or bytes")


def _members(items: Any, depth: int) -> Iterator[DataTerm]:
    for name, value in items:
        if type(value) in _PLAIN:  # nearly all are
            yield DataTerm(name, (value,))
        elif isinstance(value, list | tuple):
            for item in value:
                if not is_absent(item):
                    yield DataTerm(name, _content(item, depth + 1))
        elif not is_absent(value):
            yield DataTerm(name, _content(value, depth + 1))


def is_scalar(value: Any) -> TypeGuard[Scalar]:
    return isinstance(value, Scalar)


# Canonical text -------------------------------------------------------------------------------------------------------


def to_json(child: Child) -> str:
    """The canonical text of a term or value: the same for equal ones."""
    if isinstance(child, DataTerm):
        return f"{{{_quote(child.label)}:[{','.join(map(to_json, child.children))}]}}"
    if isinstance(child, str):
        return _quote(child)
    if isinstance(child, bool):
        return "true" if child else "false"
    if isinstance(child, int | float | Decimal):
        return _number(child)
    kind, text = _tag(child)
    return f'{{"{kind}":{_quote(text)}}}'


def from_canonical(text: str) -> Child:
    """The term or value of a canonical text; a term or value equal to it, where its type is lost (40.0 is 40)."""
    try:
        return _known(json.loads(text, parse_float=_read_fraction, object_pairs_hook=_untag))
    except (ValueError, RecursionError) as error:
        shown = text if len(text) <= 60 else text[:60] + "…"
        raise DataError(f"not the canonical text of a term: {shown}") from error


def _read_fraction(text: str) -> float | Decimal:
    return _as_float(Decimal(text))


def _known(value: Any) -> Child:
    if isinstance(value, DataTerm) or (is_scalar(value) and not is_absent(value)):
        return value
    raise ValueError(value)


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _number(number: int | float | Decimal) -> str:
    if isinstance(number, Decimal):
        number = _as_float(number)
    if isinstance(number, Decimal):
        digits = format(number, "f")  # str and normalize round or use exponents
        return digits.rstrip("0").rstrip(".") if "." in digits else digits
    if isinstance(number, float):
        if not math.isfinite(number):
            return "Infinity" if number > 0 else "-Infinity"
        return str(int(number)) if number.is_integer() else repr(number)
    return str(number)


def _tag(value: date | time | timedelta | bytes) -> tuple[str, str]:
    if isinstance(value, date):
        return "timestamp", _instant(value).isoformat()
    if isinstance(value, time):
        return "time", value.isoformat()
    if isinstance(value, timedelta):
        return "duration", f"{value // timedelta(microseconds=1)}"
    return "bytes", value.hex()


_READ: dict[str, Callable[[str], Scalar]] = {
    "timestamp": datetime.fromisoformat,
    "time": time.fromisoformat,
    "duration": lambda text: timedelta(microseconds=int(text)),
    "bytes": bytes.fromhex,
}


def _untag(pairs: list[tuple[str, Any]]) -> Child:
    ((tag, content),) = pairs  # anything else is a ValueError, as is a value that is not read
    if isinstance(content, list):
        return DataTerm(tag, tuple(map(_known, content)))
    if tag not in _READ or not isinstance(content, str):
        raise ValueError(tag)
    return _READ[tag](content)

"""Functions of users in expressions: typed, of whole numbers, floats, texts and truth values.

NULL goes in as a call that is not made: where an argument is NULL or does not fit, the result is NULL.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from types import NoneType
from typing import Any, get_args, get_type_hints

from ostinato.core.options import bad_option
from ostinato.errors import DataError

# What conditions see of each type.
FAMILIES: Mapping[type, str] = {int: "number", float: "number", str: "string", bool: "boolean"}
_TYPES = "int, float, str or bool"
_MISFIT = object()


@dataclass(frozen=True)
class UserFunction:
    """A function that rules may call, with the types of its arguments and of what it gives.

    Parameters
    ----------
    call
        The function. It should give the same for the same arguments, and may give None for NULL.
    takes
        The types of its arguments: int, float, str or bool.
    gives
        The type of its result.
    """

    call: Callable[..., Any]
    takes: Sequence[type]
    gives: type
    least: int | None = None  # the arguments that a call needs; None: all of them

    def __post_init__(self) -> None:
        if not callable(self.call):
            raise bad_option("call", self.call, "a function")
        if not self.takes:
            raise bad_option("takes", self.takes, "at least one type: a function of nothing is a constant")
        for kind in self.takes:
            if kind not in FAMILIES:
                raise bad_option("takes", kind, f"a list of types, each {_TYPES}")
        if self.gives not in FAMILIES:
            raise bad_option("gives", self.gives, f"a type: {_TYPES}")

    @property
    def arity(self) -> tuple[int, int]:
        """The fewest and the most arguments."""
        return len(self.takes) if self.least is None else self.least, len(self.takes)

    @property
    def signature(self) -> str:
        """`(float, str) -> float`: what snapshots keep of it."""
        return f"({', '.join(kind.__name__ for kind in self.takes)}) -> {self.gives.__name__}"

    def evaluate(self, name: str, args: Sequence[Any]) -> Any:
        """The result for these arguments, None for NULL. `name` is what rules call the function."""
        given = [_as_argument(value, kind) for value, kind in zip(args, self.takes, strict=False)]
        if any(value is None for value in given):
            return None
        try:
            found = self.call(*given)
        except Exception as error:
            shown = ", ".join(map(repr, given))
            raise DataError(
                f"{name}({shown}) failed: {type(error).__name__}: {error}",
                fix="let the function give None for what it cannot do, which is NULL",
            ) from error
        result = _as_result(found, self.gives)
        if result is _MISFIT:
            reason = f"{name} gives {self.gives.__name__}, and gave {found!r}"
            raise DataError(reason, fix=f"let it give {self.gives.__name__}, or None for NULL")
        return result


FunctionLike = UserFunction | Callable[..., Any]  # what users give: types are in annotations, or said


def read_functions(given: Any, known: Sequence[str]) -> dict[str, UserFunction]:
    """Functions by their names in lower case, as expressions have them. `known` are names that are taken."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise bad_option("functions", given, 'functions by name: {"score": score}')
    found: dict[str, UserFunction] = {}
    for name, function in given.items():
        if not isinstance(name, str) or not name.isidentifier():
            raise bad_option("functions", name, "each function a name of letters, digits and _")
        if name.lower() in known:
            raise bad_option("functions", name, f"the function another name: rules have {name.lower()} already")
        if name.lower() in found:
            raise bad_option("functions", name, "each function one name: upper and lower case are the same")
        found[name.lower()] = function if isinstance(function, UserFunction) else _from_annotations(name, function)
    return found


def _from_annotations(name: str, function: Any) -> UserFunction:
    explicit = "a function with annotations, or ostinato.UserFunction(call, takes=[float], gives=float)"
    if not callable(function):
        raise bad_option(f"functions[{name!r}]", function, explicit)
    try:
        parameters = list(inspect.signature(function).parameters.values())
        hints = get_type_hints(function if inspect.isroutine(function) else type(function).__call__)
    except (TypeError, ValueError, NameError):
        raise bad_option(f"functions[{name!r}]", function, explicit) from None
    if not parameters:
        raise bad_option(f"functions[{name!r}]", function, "a function of at least one argument")
    takes: list[type] = []
    for each in parameters:
        kind = hints.get(each.name)
        named = each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
        if kind is None or kind not in FAMILIES or not named:
            accepted = f"every parameter a type ({_TYPES}): `{each}` has none of these; or {explicit}"
            raise bad_option(f"functions[{name!r}]", function, accepted)
        takes.append(kind)
    returned = hints.get("return")
    gives = [kind for kind in get_args(returned) if kind is not NoneType] or [returned]
    if len(gives) > 1 or gives[0] not in FAMILIES:
        raise bad_option(f"functions[{name!r}]", function, f"its result a type: -> {_TYPES}, or {explicit}")
    least = max(1, sum(each.default is each.empty for each in parameters))
    return UserFunction(function, tuple(takes), gives[0], least)


def _as_argument(value: Any, kind: type) -> Any:
    """The value in the type; None where it does not fit."""
    if isinstance(value, bool) or kind in (bool, str):
        return value if isinstance(value, kind) else None
    if not isinstance(value, int | float | Decimal) or value != value:
        return None
    if kind is float:
        return float(value)
    return int(value) if -(2**63) <= value < 2**63 and value == int(value) else None


def _as_result(found: Any, kind: type) -> Any:
    """The value in the type, None for NULL, NaN and what needs more than 64 bits."""
    if found is None or found != found:
        return None
    if hasattr(found, "item") and getattr(found, "ndim", 0) == 0:  # of numpy
        found = found.item()
    if kind in (bool, str) or isinstance(found, bool):
        return found if isinstance(found, kind) and (kind is bool or not isinstance(found, bool)) else _MISFIT
    if kind is float:
        return float(found) if isinstance(found, Real | Decimal) else _MISFIT
    if not isinstance(found, int):
        return _MISFIT
    return found if -(2**63) <= found < 2**63 else None

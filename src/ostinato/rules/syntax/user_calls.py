"""The calls of functions of the user in rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from ostinato.core.expressions import UserCall
from ostinato.core.user_functions import UserFunction


def user_calls(node: Any) -> Iterator[UserCall]:
    """Those in a node of the syntax and below, in the order of the text."""
    if isinstance(node, tuple):
        for each in node:
            yield from user_calls(each)
    elif is_dataclass(node) and not isinstance(node, UserFunction):
        if isinstance(node, UserCall):
            yield node
        for each in fields(node):
            yield from user_calls(getattr(node, each.name))


def called_functions(node: Any) -> Mapping[str, UserFunction]:
    """The functions that are called, by name."""
    return {call.op: call.function for call in user_calls(node)}

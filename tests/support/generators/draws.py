"""Draws that random queries make often."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from hypothesis import strategies as st

Draw = Callable[[st.SearchStrategy[Any]], Any]


@cache
def below(count: int) -> st.SearchStrategy[int]:
    return st.integers(0, count - 1)


def pick(draw: Draw, *options: Any) -> Any:
    """One of the options, shrinking to the first. (st.sampled_from, without building a strategy for each draw.)"""
    return options[draw(below(len(options)))]


def rarely(draw: Draw) -> bool:
    return pick(draw, False, False, False, False, True)

"""Consequences of < and <= constraints between terms."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)


class OrderConstraints(Generic[T]):
    """A graph of edges (left, right, strict): left < right where strict, else left <= right."""

    def __init__(self, edges: Sequence[tuple[T, T, bool]]) -> None:
        self._edges = edges
        self._number = {node: index for index, node in enumerate(dict.fromkeys(n for edge in edges for n in edge[:2]))}
        self._above = [1 << index for index in range(len(self._number))]  # for each node a bit set: what is not less
        for left, right, _ in edges:
            self._above[self._number[left]] |= 1 << self._number[right]
        for through in range(len(self._above)):  # Warshall's closure
            for index, reached in enumerate(self._above):
                if reached >> through & 1:
                    self._above[index] = reached | self._above[through]

    def contradicts_itself(self) -> bool:
        """A strict edge closes a cycle."""
        return any(strict and self._at_most(right, left) for left, right, strict in self._edges)

    def equal(self, left: T, right: T) -> bool:
        return (
            left in self._number and right in self._number and self._at_most(left, right) and self._at_most(right, left)
        )

    def parts(self) -> Iterator[list[T]]:
        """The nodes of each connected part."""
        around = [1 << index for index in range(len(self._number))]
        for left, right, _ in self._edges:
            joined = around[self._number[left]] | around[self._number[right]]
            for index in range(len(around)):
                if joined >> index & 1:
                    around[index] = joined
        for part in dict.fromkeys(around):
            yield [node for node, index in self._number.items() if part >> index & 1]

    def _at_most(self, left: T, right: T) -> bool:
        return bool(self._above[self._number[left]] >> self._number[right] & 1)

"""When queries have something to do without an event of theirs: a heap, so that those that sleep cost nothing."""

from __future__ import annotations

from heapq import heapify, heappop, heappush


class Deadlines:
    """One deadline per name, or none. What the heap holds besides is out of date."""

    def __init__(self) -> None:
        self._of: dict[str, int] = {}
        self._heap: list[tuple[int, str]] = []

    def set(self, name: str, deadline: int | None) -> None:
        if self._of.get(name) == deadline:
            return
        self._of.pop(name, None)
        if deadline is not None:
            self._of[name] = deadline
            heappush(self._heap, (deadline, name))
        if len(self._heap) > 64 + 2 * len(self._of):
            self._heap = [(deadline, name) for name, deadline in self._of.items()]
            heapify(self._heap)

    @property
    def first(self) -> int | None:
        while self._heap and self._of.get(self._heap[0][1]) != self._heap[0][0]:
            heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def take_before(self, end: int) -> list[str]:
        """The names whose deadlines are before `end`, in order; they have none any more."""
        taken: list[str] = []
        while (first := self.first) is not None and first < end:
            taken.append(heappop(self._heap)[1])
            del self._of[taken[-1]]
        return taken

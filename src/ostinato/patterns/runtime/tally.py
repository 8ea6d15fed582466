"""What all ways of counting matches share."""

from __future__ import annotations

from abc import ABC, abstractmethod

from ostinato.patterns.runtime.batches import Events


class Tally(ABC):
    """Matches counted so far."""

    @abstractmethod
    def read(self, events: Events) -> None:
        """The next events, in stream order."""

    @abstractmethod
    def total(self) -> int:
        """The number of matches in all that was read."""

"""How much work a search may do, counted in steps so that the answer does not depend on the machine."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Effort:
    """Steps that are left. One is about the work of trying a value."""

    left: int

    def spend(self, steps: int = 1) -> bool:
        """Take so many steps; False if fewer were left."""
        self.left -= steps
        return self.left >= 0

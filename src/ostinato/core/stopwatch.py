"""How long a call may take. Kernels come back after so many steps, for a look at the clock and at Ctrl-C."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from ostinato.core.threads import stop_if_asked
from ostinato.errors import Limit, LimitError, Message


class Stopwatch:
    """Says when a call has taken long enough, or is to stop with the rest of its work. `fix` says how to do less;
    `limits` is the class that has the limit."""

    def __init__(self, seconds: float | None, fix: str = "read less at a time", limits: str = "Limits") -> None:
        self.seconds, self._fix, self._limits = seconds, fix, limits
        self.restart()

    def restart(self) -> None:
        """Begin anew: what came between was not ours."""
        self.started = monotonic()

    def check(self, where: Callable[[], str] | None = None) -> None:
        """`where` says where the time went, after the reason."""
        stop_if_asked()
        if self.seconds is not None and monotonic() - self.started > self.seconds:
            raise LimitError(
                "seconds",
                self.seconds,
                reason="the call took longer than the limit" + (where() if where is not None else ""),
                fix=Message(f"{self._fix}, or raise ", Limit("seconds", self._limits)),
            )

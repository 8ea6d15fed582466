"""What a forked process has to set up again: it has none of the threads, and perhaps a lock that one of them held."""

from __future__ import annotations

import os
from collections.abc import Callable


def after_fork(action: Callable[[], None]) -> None:
    """Do this in every forked process; some systems have none."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=action)

"""What timers and temporal relations mean, as comparisons of begins and ends (CERA paper, sections 2 and 3.1)."""

from __future__ import annotations

from datetime import UTC, datetime
from fractions import Fraction

SECOND = 1_000_000_000

# Relative timers: begin and end, each as a time of the anchor and a multiple of the duration.
TIMERS = {
    "from-end": (("end", 0), ("end", 1)),
    "from-start": (("begin", 0), ("begin", 1)),
    "from-end-backward": (("end", -1), ("end", 0)),
    "from-start-backward": (("begin", -1), ("begin", 0)),
    "extend": (("begin", 0), ("end", 1)),
    "shorten": (("begin", 0), ("end", -1)),
    "extend-begin": (("begin", -1), ("end", 0)),
    "shorten-begin": (("begin", 1), ("end", 0)),
    "shift-forward": (("begin", 1), ("end", 1)),
    "shift-backward": (("begin", -1), ("end", -1)),
}

# i R j as comparisons of times: side of the left, comparison, side of the right.
RELATIONS = {
    "before": (("end", "<", "begin"),),
    "after": (("begin", ">", "end"),),
    "during": (("begin", ">", "begin"), ("end", "<", "end")),
    "contains": (("begin", "<", "begin"), ("end", ">", "end")),
    "overlaps": (("begin", "<", "begin"), ("end", ">", "begin"), ("end", "<", "end")),
    "overlapped-by": (("begin", ">", "begin"), ("begin", "<", "end"), ("end", ">", "end")),
    "meets": (("end", "=", "begin"),),
    "met-by": (("begin", "=", "end"),),
    "starts": (("begin", "=", "begin"), ("end", "<", "end")),
    "started-by": (("begin", "=", "begin"), ("end", ">", "end")),
    "finishes": (("begin", ">", "begin"), ("end", "=", "end")),
    "finished-by": (("begin", "<", "begin"), ("end", "=", "end")),
    "equals": (("begin", "=", "begin"), ("end", "=", "end")),
}


def absolute_nanoseconds(moment: int | float | str) -> int:
    """A number of seconds, or an ISO text (in UTC unless it says otherwise), from the origin of time."""
    if not isinstance(moment, str):
        return int(Fraction(repr(moment)) * SECOND)
    time = datetime.fromisoformat(moment)
    time = time.replace(tzinfo=UTC) if time.tzinfo is None else time
    since = time - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * SECOND + since.microseconds * 1_000

"""From which tick to which a batch of events goes, and whether they are in order."""

from __future__ import annotations

from ostinato.core.arrays import Int64
from ostinato.core.clock import MAX_TICK, MIN_TICK
from ostinato.core.jit import kernel, view
from ostinato.core.jit.types import boolean, int64, results


@kernel(results(int64, int64, boolean)(view(int64)))
def tick_span(ticks: Int64) -> tuple[int, int, bool]:
    """The least tick, the greatest one, and whether none is below the one before it."""
    least, greatest, last, in_order = MAX_TICK, MIN_TICK, MIN_TICK, True
    for place in range(ticks.size):
        tick = ticks[place]
        least, greatest = min(least, tick), max(greatest, tick)
        in_order &= tick >= last
        last = tick
    return least, greatest, in_order

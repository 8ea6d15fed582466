"""How far each key got along the steps of a funnel."""

from __future__ import annotations

from ostinato.core.arrays import Int64
from ostinato.core.jit import kernel, table, view
from ostinato.core.jit.types import int64, void


@kernel(void(view(int64), view(int64), view(int64), view(int64), table(int64), table(int64)))
def follow_steps(masks: Int64, ticks: Int64, lows: Int64, ends: Int64, chains: Int64, reached: Int64) -> None:
    """Write for each key the events of its furthest chain into `reached`, which holds -1 where there is none.

    Events are sorted by key, and stand in stream order within each: the events of a key end at its entry of `ends`. Bit
    s of a mask says that the event can be step s. It is in the window of a chain that began at tick `lows` or later; no
    `lows`: there is no window.

    `chains` has a row per step: the chain to that step that began last, by its earliest events. A chain that began
    later can do all that an earlier one can, so no other needs to be known.
    """
    steps = chains.shape[0]
    begin = 0
    for key in range(ends.size):
        for step in range(steps):
            chains[step, 0] = -1
        furthest = 0
        for event in range(begin, ends[key]):
            mask = masks[event]
            for step in range(steps - 1, -1, -1):  # from the last, so that an event is one step of a chain, not two
                if not (mask >> step) & 1:
                    continue
                if step == 0:
                    chains[0, 0] = event
                else:
                    start = chains[step - 1, 0]
                    if start <= chains[step, 0] or (lows.size > 0 and ticks[start] < lows[event]):
                        continue
                    for place in range(step):
                        chains[step, place] = chains[step - 1, place]
                    chains[step, step] = event
                if step >= furthest:
                    furthest = step + 1
                    for place in range(furthest):
                        reached[key, place] = chains[step, place]
            if furthest == steps:
                break
        begin = ends[key]

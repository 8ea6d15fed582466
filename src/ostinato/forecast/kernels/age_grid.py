"""Steps along a grid: what an event does to the ages of what its key has begun."""

from __future__ import annotations

from ostinato.core.arrays import Int32, Int64
from ostinato.core.jit import array, kernel, types, view


@kernel(
    types.void(
        view(types.int64),
        view(types.int32),
        view(types.int32),
        types.int64,
        array(types.int64),
        array(types.int32),
        array(types.int64),
        array(types.int64),
    )
)
def walk(
    lines: Int64, keys: Int32, nearest: Int32, usual: int, position: Int64, steps: Int32, before: Int64, after: Int64
) -> None:
    """The step of each event, from the position of its key (-1: none, and the step is `usual`) to its line, and the
    position `before` and `after` it.

    `nearest[d]` is the step for d lines, the last of them that for more than all others. What a step falls short of, or
    goes too far, the next one begins with; the longest ends everything, so there is nothing to make up for after it.
    """
    end = nearest.size - 1
    for event in range(lines.size):
        key, line = keys[event], lines[event]
        if position[key] < 0:
            position[key], steps[event], before[event], after[event] = line, usual, line, line
            continue
        before[event] = position[key]
        ahead = min(max(line - position[key], 0), end)
        steps[event] = nearest[ahead]
        position[key] = line if nearest[ahead] == end else position[key] + nearest[ahead]
        after[event] = position[key]

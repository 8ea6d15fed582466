"""Elements against the elements that may hold them."""

from __future__ import annotations

from typing import Any

from ostinato.kernels.jit import kernel


@kernel()
def first_break(kind: Any, name: Any, start: int, numbers: Any, allowed: Any, stack: Any, depth: Any) -> int:
    """The first token from `start` on that opens an element where it may not be; the number of tokens if there is none.

    -1 - p when the stack is full at token p.
    """
    at = depth[0]
    place = start
    while place < kind.size:
        if kind[place] == 0:
            number = numbers[name[place]]
            if not allowed[stack[at], number]:
                break
            if at + 1 >= stack.size:
                depth[0] = at
                return -1 - place
            at += 1
            stack[at] = number
        elif kind[place] == 3:
            at -= 1
        place += 1
    depth[0] = at
    return place

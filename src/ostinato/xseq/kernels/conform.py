"""Elements against the elements that may hold them, and those that may come before them; attributes and texts."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.core.jit import kernel


class Rules(NamedTuple):
    """A schema in tables. The children of each element are numbered from 1 on; 0 as the one before: none."""

    child: NDArray[np.int32]  # of parent and child: the number of the child there, 0 where it may not be
    begin: NDArray[np.int64]  # of each parent: where its table in `follows` begins
    width: NDArray[np.int32]  # of each parent: one more than it has children
    follows: NDArray[np.uint8]  # of a child and the next one
    attributes: NDArray[np.uint8]  # of element and attribute
    text: NDArray[np.uint8]  # of each element


class Open(NamedTuple):
    """The elements that are open, and the last child in each."""

    name: NDArray[np.int32]
    last: NDArray[np.int32]
    depth: NDArray[np.int64]


@kernel()
def first_break(kind: Any, name: Any, start: int, elements: Any, attributes: Any, rules: Any, opened: Any) -> int:
    """The first token from `start` on that may not be where it is; the number of tokens if there is none.

    -1 - p when there is no room for more open elements at token p.
    """
    at = opened.depth[0]
    place = start
    while place < kind.size:
        parent = opened.name[at]
        if kind[place] == 0:
            number = elements[name[place]]
            child = rules.child[parent, number]
            if child == 0 or not rules.follows[rules.begin[parent] + opened.last[at] * rules.width[parent] + child]:
                break
            if at + 1 >= opened.name.size:
                opened.depth[0] = at
                return -1 - place
            opened.last[at] = child
            at += 1
            opened.name[at] = number
            opened.last[at] = 0
        elif kind[place] == 1:
            if not rules.attributes[parent, attributes[name[place]]]:
                break
        elif kind[place] == 2:
            if not rules.text[parent]:
                break
        else:
            at -= 1
        place += 1
    opened.depth[0] = at
    return place

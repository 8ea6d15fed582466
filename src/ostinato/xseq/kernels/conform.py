"""Elements against the elements that may hold them, and those that may come before them; attributes and texts."""

from __future__ import annotations

import numpy as np

from ostinato.core.arrays import Int32, Int64, UInt8
from ostinato.core.jit import kernel, view
from ostinato.core.jit.array_struct import ArrayStruct, Field
from ostinato.core.jit.types import int32, int64, struct_type, uint8


class Rules(ArrayStruct):
    """A schema in tables, and the elements that are open. The children of each element are numbered from 1 on."""

    element_of = Field[Int32](np.int32, 1, "per name: the element of that name", constant=True)
    attribute_of = Field[Int32](np.int32, 1, "per name: the attribute of that name", constant=True)
    child = Field[Int32](
        np.int32, 2, "per parent and child: the number of the child there, 0 where it may not be", constant=True
    )
    begin = Field[Int64](np.int64, 1, "per parent: where its table in `follows` begins", constant=True)
    width = Field[Int32](np.int32, 1, "per parent: one more than it has children", constant=True)
    follows = Field[UInt8](
        np.uint8, 1, "per child (0: none yet) and the next one: whether that may come after it", constant=True
    )
    attributes = Field[UInt8](np.uint8, 2, "per element and attribute: whether it may have that", constant=True)
    text = Field[UInt8](np.uint8, 1, "per element: whether it may have text", constant=True)
    open_name = Field[Int32](np.int32, 1, "per open element: which it is")
    open_last = Field[Int32](np.int32, 1, "per open element: the number of its last child")
    depth = Field[Int64](np.int64, 1, "one number: how many elements are open")


@kernel(int64(struct_type(Rules), view(uint8), view(int32), int64))
def first_break(rules: Rules, kind: UInt8, name: Int32, start: int) -> int:
    """The first token from `start` on that may not be where it is; the number of tokens if there is none.

    -1 - p when there is no room for more open elements at token p.
    """
    open_name, open_last = rules.open_name, rules.open_last
    at = rules.depth[0]
    place = start
    while place < kind.size:
        parent = open_name[at]
        if kind[place] == 0:
            number = rules.element_of[name[place]]
            child = rules.child[parent, number]
            if child == 0 or not rules.follows[rules.begin[parent] + open_last[at] * rules.width[parent] + child]:
                break
            if at + 1 >= open_name.size:
                rules.depth[0] = at
                return -1 - place
            open_last[at] = child
            at += 1
            open_name[at] = number
            open_last[at] = 0
        elif kind[place] == 1:
            if not rules.attributes[parent, rules.attribute_of[name[place]]]:
                break
        elif kind[place] == 2:
            if not rules.text[parent]:
                break
        else:
            at -= 1
        place += 1
    rules.depth[0] = at
    return place

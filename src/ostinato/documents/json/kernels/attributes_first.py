"""The second pass over tokens of JSON: attributes to the front, needed where a member comes after a child element."""

from __future__ import annotations

from numba import types

from ostinato.core.arrays import UInt8
from ostinato.core.arrow import Ids, Ints
from ostinato.core.jit import array, kernel, view
from ostinato.documents.json.kernels.state import ATTR, CLOSE, OPEN


@kernel(
    types.void(
        types.int64, array(types.int64),
        view(types.uint8), view(types.int32), view(types.int32), view(types.int32),
        array(types.uint8), array(types.int32), array(types.int32), array(types.int32),
    )
)  # fmt: skip
def hoist(
    count: int,
    places: Ints,
    kind: UInt8,
    name: Ids,
    start: Ids,
    end: Ids,
    new_kind: UInt8,
    new_name: Ids,
    new_start: Ids,
    new_end: Ids,
) -> None:
    """Tokens with every attribute directly after its OPEN.

    An OPEN whose attributes do not all stand there yet has minus their number as its end; places[depth] is where the
    next attribute of the element open at that depth goes, or -1 for: to the end, as everything else.
    """
    depth, out = 0, 0
    places[0] = -1
    for token in range(count):
        place, stop = out, end[token]
        if kind[token] == ATTR and places[depth] >= 0:
            place = places[depth]
            places[depth] += 1
        else:
            out += 1
        if kind[token] == OPEN:
            depth += 1
            places[depth] = -1
            if stop < 0:
                places[depth] = out
                out -= stop
                stop = start[token] + 1
        elif kind[token] == CLOSE:
            depth = max(depth - 1, 0)
        new_kind[place], new_name[place], new_start[place], new_end[place] = (
            kind[token],
            name[token],
            start[token],
            stop,
        )

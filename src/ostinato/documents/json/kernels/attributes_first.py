"""The second pass over tokens of JSON: attributes to the front, needed where a member comes after a child element."""

from __future__ import annotations

from ostinato.core.arrays import Int32, Int64, UInt8
from ostinato.core.jit import array, kernel, table, view
from ostinato.core.jit.types import int32, int64, uint8, void
from ostinato.documents.json.kernels.state import NAME, START, STOP
from ostinato.documents.tokens import ATTR, CLOSE, OPEN


@kernel(void(int64, array(int64), view(uint8), table(int32, constant=True), array(uint8), table(int32)))
def hoist(count: int, places: Int64, kind: UInt8, spans: Int32, new_kind: UInt8, new_spans: Int32) -> None:
    """Tokens with every attribute directly after its OPEN.

    An OPEN whose attributes do not all stand there yet has minus their number as its end; places[depth] is where the
    next attribute of the element open at that depth goes, or -1 for: to the end, as everything else.
    """
    depth, out = 0, 0
    places[0] = -1
    for token in range(count):
        place, stop = out, spans[STOP, token]
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
                stop = spans[START, token] + 1
        elif kind[token] == CLOSE:
            depth = max(depth - 1, 0)
        new_kind[place], new_spans[NAME, place] = kind[token], spans[NAME, token]
        new_spans[START, place], new_spans[STOP, place] = spans[START, token], stop

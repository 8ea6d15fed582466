"""Names as they are written to names in their namespaces, as far as the scope at hand tells; the rest is for Python."""

from __future__ import annotations

from typing import Any

import numpy as np

from ostinato.core.arrays import Int64, UInt8
from ostinato.core.jit import kernel
from ostinato.core.jit.array_struct import ArrayStruct, Field, StructField
from ostinato.core.jit.types import int64, struct_type
from ostinato.documents.kernels.names import ENTRY, HANDED_ON, NameArrays
from ostinato.documents.tokens import ATTR, CLOSE, OPEN
from ostinato.documents.xml.kernels.state import NAME, START, STOP, XmlScan

# Places in the state: the next token to look at, where it goes, open elements, the scope at hand and how many elements
# were open when it began, tags so far.
NEXT, PUT, DEPTH, SCOPE, SINCE, TAG = range(6)
NAMESPACES_STATE = 6
# How a run ends: no tokens are left; a tag declares namespaces; a scope has ended; the name of an
# element, or of an attribute, was not met in this scope yet; two attributes are one.
DONE, DECLARES, ENDS, ELEMENT, ATTRIBUTE, TWICE = range(6)


class ResolvedNames(ArrayStruct):
    """What names as they are written are in the scope at hand, as far as that is known."""

    tokens = StructField(XmlScan, "the tokens, whose names are replaced")
    names = StructField(NameArrays, "the names in their namespaces")
    state = Field[Int64](np.int64, 1, "see above")
    declares = Field[UInt8](np.uint8, 1, "per name as written: whether attributes of that name declare a namespace")
    elements = Field[Int64](np.int64, 1, "per name as written: a scope, and what an element's name is in it")
    attributes = Field[Int64](np.int64, 1, "per name as written: a scope, and what an attribute's name is in it")
    seen = Field[Int64](np.int64, 1, "per name: the last tag that had an attribute of that name")


@kernel(int64(struct_type(ResolvedNames), int64))
def resolve(resolved: ResolvedNames, count: int) -> Any:
    """Rename the first `count` tokens in place, leaving out declarations of namespaces; what stopped it.

    A tag that declares namespaces is passed once state[SINCE] says that its scope was made.
    """
    tokens, state = resolved.tokens, resolved.state
    seen, entries = resolved.seen, resolved.names.entries
    kind, spans = tokens.kind, tokens.spans
    name, start, stop = spans[NAME], spans[START], spans[STOP]
    declares, elements, attributes = resolved.declares, resolved.elements, resolved.attributes
    at, put = state[NEXT], state[PUT]
    depth, tag = state[DEPTH], state[TAG]
    scope, since = state[SCOPE], state[SINCE]
    result = DONE
    while at < count:
        written = name[at]
        what = kind[at]
        number = written
        if what == OPEN:
            if since != depth:
                place = at + 1
                while place < count and kind[place] == ATTR and not declares[name[place]]:
                    place += 1
                if place < count and kind[place] == ATTR:
                    result = DECLARES
                    break
            if elements[2 * written] != scope:
                result = ELEMENT
                break
            number = elements[2 * written + 1]
            depth += 1
            tag += 1
        elif what == CLOSE:
            if elements[2 * written] != scope:
                result = ELEMENT
                break
            number = elements[2 * written + 1]
            depth -= 1
        elif what == ATTR:
            if declares[written]:
                at += 1
                continue
            if attributes[2 * written] != scope:
                result = ATTRIBUTE
                break
            number = attributes[2 * written + 1]
            if seen[number] == tag:
                result = TWICE
                break
            seen[number] = tag
            if not entries[number * ENTRY + HANDED_ON]:
                at += 1
                continue
        kind[put], name[put] = what, number
        start[put], stop[put] = start[at], stop[at]
        put += 1
        at += 1
        if what == CLOSE and depth == since:
            result = ENDS
            break
    state[NEXT], state[PUT] = at, put
    state[DEPTH], state[TAG] = depth, tag
    return result

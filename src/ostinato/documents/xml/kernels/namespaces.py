"""Names as they are written to names in their namespaces, as far as the scope at hand tells; the rest is for Python."""

from __future__ import annotations

from typing import Any

from numba import types

from ostinato.core.jit import array, kernel, view
from ostinato.documents.tokens import ATTR, CLOSE, OPEN

# Places in the state: the next token to look at, where it goes, open elements, the scope at hand and how many elements
# were open when it began, tags so far.
NEXT, PUT, DEPTH, SCOPE, SINCE, TAG = range(6)
NAMESPACES_STATE = 6
# How a run ends: no tokens are left; a tag declares namespaces; a scope has ended; the name of an
# element, or of an attribute, was not met in this scope yet; two attributes are one.
DONE, DECLARES, ENDS, ELEMENT, ATTRIBUTE, TWICE = range(6)


@kernel(
    types.int64(
        types.int64, array(types.uint8), array(types.int32), array(types.int32), array(types.int32),
        array(types.int64), view(types.uint8), view(types.int64), view(types.int64), array(types.int64),
        view(types.uint8),
    )
)  # fmt: skip
def resolve(
    count: int, kind: Any, name: Any, start: Any, stop: Any, state: Any, declares: Any, elements: Any,
    attributes: Any, seen: Any, wanted: Any,
) -> Any:  # fmt: skip
    """Rename tokens in place, leaving out declarations of namespaces; what stopped it.

    `elements` and `attributes` have, for a name as written, a scope and what the name is in it, side by side. A tag
    that declares namespaces is passed once state[SINCE] says that its scope was made.
    """
    at, put, depth, tag = state[NEXT], state[PUT], state[DEPTH], state[TAG]
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
            if not wanted[number]:
                at += 1
                continue
        kind[put], name[put], start[put], stop[put] = what, number, start[at], stop[at]
        put += 1
        at += 1
        if what == CLOSE and depth == since:
            result = ENDS
            break
    state[NEXT], state[PUT], state[DEPTH], state[TAG] = at, put, depth, tag
    return result

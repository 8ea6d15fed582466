"""The numbers that the parts of the XML tokeniser share: what a scan left behind, how it ended, what can be wrong."""

from __future__ import annotations

from typing import Any

from ostinato.core.jit import kernel

# Places in the state: how far the document is read, tokens given out, open elements, where resolved bytes end, tags so
# far, whether the root element was met, whether a DOCTYPE is skipped and was met, whether text is asked for, the most
# attributes of an element, and what is wrong where.
AT, COUNT, DEPTH, OUT, TAG, ROOT, DOCTYPE, TEXTS, MOST, FAULT, WHERE = range(11)
STATE_SIZE = 11

# In the state: no root element yet, or it was met.
NO_ROOT, ROOT_MET = 0, 1
# In the state: a DOCTYPE is an error, is skipped, was skipped.
REFUSED, SKIPPED, DOCTYPE_MET = 0, 1, 2

# How a scan ends: more bytes are needed; the arrays of tokens are full; the table of names or the stack is full; the
# document is wrong.
NEEDS_BYTES, FULL, NEEDS_NAMES, NEEDS_STACK, WRONG = range(5)

# What can be wrong.
(
    BAD_CHARACTER, BAD_UTF8, NO_NAME, BAD_NAME, LONG_NAME, NO_SPACE, NO_EQUALS, NO_QUOTE, LESS_IN_VALUE, TWICE,
    MANY_ATTRIBUTES, NO_TAG_END, MISMATCH, NOTHING_OPEN, SECOND_ROOT, OUTSIDE, CDATA_OUTSIDE, BRACKETS, BAD_MARKUP,
    DASHES, BAD_TARGET, XML_TARGET, DOCTYPE_REFUSED, DOCTYPE_MISPLACED, BAD_DOCTYPE, BARE_AND, UNKNOWN_ENTITY,
    BAD_REFERENCE, BAD_CODE,
) = range(29)  # fmt: skip


@kernel()
def wrong(state: Any, fault: Any, where: Any, end: Any) -> Any:
    """End a scan: what is wrong after the end of the bytes may be right when more of them are there."""
    if where >= end:
        return NEEDS_BYTES
    state[FAULT], state[WHERE] = fault, where
    return WRONG

"""The numbers that the parts of the XML tokeniser share: what a scan left behind, how it ended, what can be wrong."""

from __future__ import annotations

from typing import Any

import numpy as np

from ostinato.core.arrays import Int32, Int64, UInt8
from ostinato.core.jit import subroutine
from ostinato.core.jit.array_struct import ArrayStruct, Field, StructField
from ostinato.core.jit.types import int64, struct_type
from ostinato.documents.kernels.names import NameArrays

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
# document is wrong; there is a DOCTYPE, which is not skipped yet, or is now.
NEEDS_BYTES, FULL, NEEDS_NAMES, NEEDS_STACK, WRONG, AT_DOCTYPE, PASSED = range(7)

# What can be wrong.
(
    BAD_CHARACTER, BAD_UTF8, NO_NAME, BAD_NAME, LONG_NAME, NO_SPACE, NO_EQUALS, NO_QUOTE, LESS_IN_VALUE, TWICE,
    MANY_ATTRIBUTES, NO_TAG_END, MISMATCH, NOTHING_OPEN, SECOND_ROOT, OUTSIDE, CDATA_OUTSIDE, BRACKETS, BAD_MARKUP,
    DASHES, BAD_TARGET, XML_TARGET, DOCTYPE_REFUSED, DOCTYPE_MISPLACED, BAD_DOCTYPE, BARE_AND, UNKNOWN_ENTITY,
    BAD_REFERENCE, BAD_CODE,
) = range(29)  # fmt: skip


NAME, START, STOP = range(3)  # rows of spans


class XmlScan(ArrayStruct):
    """A part of a document, and the tokens found in it."""

    buffer = Field[UInt8](np.uint8, 1, "what is read, `PAD` zeros, and then room for as many bytes of resolved values")
    filled = Field[int](np.int64, 0, "where the bytes of the document end")
    state = Field[Int64](np.int64, 1, "see above")
    kind = Field[UInt8](np.uint8, 1, "per token: OPEN, ATTR, TEXT or CLOSE")
    spans = Field[Int32](np.int32, 2, "a row each: the names of tokens (-1 for TEXT), where they start, where they end")
    stack = Field[Int32](np.int32, 1, "the names of the open elements")
    names = StructField(NameArrays, "the names of elements and attributes as they are written")


SCAN = struct_type(XmlScan)


@subroutine(int64(SCAN, int64, int64))
def note_fault(scan: XmlScan, fault: Any, where: Any) -> Any:
    """Note what is wrong, which is -1."""
    scan.state[FAULT], scan.state[WHERE] = fault, where
    return -1


@subroutine(int64(SCAN))
def end_scan(scan: XmlScan) -> Any:
    """How a scan ends: what is wrong after the end of the bytes may be right when more of them are there."""
    return NEEDS_BYTES if scan.state[WHERE] >= scan.filled else WRONG


@subroutine(int64(SCAN, int64, int64))
def wrong(scan: XmlScan, fault: Any, where: Any) -> Any:
    """End a scan for what is wrong."""
    note_fault(scan, fault, where)
    return end_scan(scan)

"""The numbers that the parts of the JSON scanner share: where it is, why it stopped, what can be wrong."""

from __future__ import annotations

import numpy as np

from ostinato.core.arrays import Int32, Int64, UInt8
from ostinato.core.jit.array_struct import ArrayStruct, Field, StructField
from ostinato.core.jit.types import struct_type
from ostinato.documents.kernels.names import NameArrays

LINES, ITEMS, WHOLE = 0, 1, 2  # what a record is

# Why the scanner stopped: the text is read; it ends inside a record or between items; something is wrong; the arrays
# for tokens, names, the log or frames have to grow; the array at the root was closed.
DONE, MORE, FAULT, TOKENS, NAMES, LOG, FRAMES, CLOSED = range(8)

# What is wrong.
CONTROL, BAD_ESCAPE, BAD_HEX, LONE_SURROGATE, BAD_UTF8, BAD_NUMBER, LEADING_ZERO = range(1, 8)
(NO_VALUE, NO_KEY, NO_COLON, NO_COMMA, TRAILING_COMMA, BAD_LITERAL, DUPLICATE, TOO_DEEP, LONG_KEY, EXTRA,
 EMPTY) = range(8, 19)  # fmt: skip

# state: where the scanner is, and what it is asked for: what a record is, the name of items, how deep brackets may
# stand, whether text is wanted. The RECORD_… are those of the start of the record, to go back to.
(AT, COUNT, SPARE, PHASE, DEPTH, SERIAL, LOGGED, LATE, RECORD_AT, RECORD_COUNT, RECORD_SPARE, RECORD_SERIAL,
 FAULT_AT, CODE, ITEMS_SEEN, MODE, ITEM, MAX_DEPTH, TEXTS) = range(19)  # fmt: skip
STATE_SIZE = 19

# Phases: between records; before a value that is an element, before the first one of an array, before a key, before the
# first key of an object; after a value.
RECORD, VALUE, FIRST_VALUE, KEY, FIRST_KEY, AFTER = range(6)

# A frame is what is open. OBJECT and ARRAY are elements; ITEMS_OF is the array of a member, whose items are elements.
OBJECT, ARRAY, ITEMS_OF, NOTHING = 0, 1, 2, 3
(F_KIND, F_NAME, F_ITEM, F_OPEN, F_ATTRS, F_BEHIND, F_SERIAL, F_LOG, F_GUESS) = range(9)
FRAME_SIZE = 16

NAME, START, STOP = range(3)  # rows of spans


class JsonScan(ArrayStruct):
    """A part of a document, and the tokens found in it."""

    data = Field[UInt8](np.uint8, 1, "what is read, zeros, and then room for as many bytes of resolved strings")
    stop = Field[int](np.int64, 0, "how far to read")
    state = Field[Int64](np.int64, 1, "see above")
    frames = Field[Int64](np.int64, 1, "what is open, a frame each")
    log = Field[Int64](np.int64, 1, "keys, and what the last object with each was before: to be restored")
    kind = Field[UInt8](np.uint8, 1, "per token: OPEN, ATTR, TEXT or CLOSE")
    spans = Field[Int32](np.int32, 2, "a row each: the names of tokens (-1 for TEXT), where they start, where they end")
    after = Field[Int32](
        np.int32, 1, "per name: the key that last came after it, and the first of an element so named; from 1"
    )
    names = StructField(NameArrays, "all keys")


SCAN = struct_type(JsonScan)

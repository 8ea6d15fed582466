"""The numbers that the parts of the JSON scanner share: where it is, why it stopped, what can be wrong."""

from __future__ import annotations

OPEN, ATTR, TEXT, CLOSE = 0, 1, 2, 3
LINES, ITEMS, WHOLE = 0, 1, 2  # what a record is

# Why the scanner stopped: the text is read; it ends inside a record or between items; something is wrong; the arrays
# for tokens, names, the log or frames have to grow; the array at the root was closed.
DONE, MORE, FAULT, TOKENS, NAMES, LOG, FRAMES, CLOSED = range(8)

# What is wrong.
CONTROL, BAD_ESCAPE, BAD_HEX, LONE_SURROGATE, BAD_UTF8, BAD_NUMBER, LEADING_ZERO = range(1, 8)
(NO_VALUE, NO_KEY, NO_COLON, NO_COMMA, TRAILING_COMMA, BAD_LITERAL, DUPLICATE, TOO_DEEP, LONG_KEY, EXTRA,
 EMPTY) = range(8, 19)  # fmt: skip

# state: where the scanner is. The RECORD_… are those of the start of the record, to go back to.
(AT, COUNT, SPARE, PHASE, DEPTH, SERIAL, LOGGED, LATE, RECORD_AT, RECORD_COUNT, RECORD_SPARE, RECORD_SERIAL,
 FAULT_AT, CODE, ITEMS_SEEN) = range(15)  # fmt: skip
STATE_SIZE = 15

# Phases: between records; before a value that is an element, before the first one of an array, before a key, before the
# first key of an object; after a value.
RECORD, VALUE, FIRST_VALUE, KEY, FIRST_KEY, AFTER = range(6)

# A frame is what is open. OBJECT and ARRAY are elements; ITEMS_OF is the array of a member, whose items are elements.
OBJECT, ARRAY, ITEMS_OF, NOTHING = 0, 1, 2, 3
(F_KIND, F_NAME, F_ITEM, F_OPEN, F_ATTRS, F_BEHIND, F_SERIAL, F_LOG, F_GUESS) = range(9)
FRAME_SIZE = 16

"""JSON text → tokens: one pass over the bytes, by records, each a value of its own.

Records are the lines of JSON lines, the items of an array at the root, or a whole document. The scanner stops where
something has to grow (`state[PHASE]` and the frames say where it was, and it goes on from there) and where the text
ends inside a record, which it then reads again from its start when there is more of it.

A key is looked for first where it was last time: after the same key, or first in an object of the same name. That
guess is right nearly always where records are alike, and then costs one comparison of words.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ostinato.core.arrays import Int32, UInt8
from ostinato.core.jit import array, kernel, subroutine, table
from ostinato.core.jit.types import int32, int64, uint8, void
from ostinato.documents.json.kernels.state import (
    AFTER,
    ARRAY,
    AT,
    CLOSED,
    CODE,
    COUNT,
    DEPTH,
    DONE,
    DUPLICATE,
    EXTRA,
    F_ATTRS,
    F_BEHIND,
    F_GUESS,
    F_ITEM,
    F_LOG,
    F_NAME,
    F_OPEN,
    F_SERIAL,
    FAULT,
    FAULT_AT,
    FIRST_KEY,
    FIRST_VALUE,
    FRAME_SIZE,
    FRAMES,
    ITEM,
    ITEMS,
    ITEMS_OF,
    ITEMS_SEEN,
    KEY,
    LATE,
    LINES,
    LOG,
    LOGGED,
    LONG_KEY,
    MAX_DEPTH,
    MODE,
    MORE,
    NAME,
    NAMES,
    NO_COLON,
    NO_COMMA,
    NO_KEY,
    NO_VALUE,
    OBJECT,
    PHASE,
    RECORD,
    RECORD_AT,
    RECORD_COUNT,
    RECORD_SERIAL,
    RECORD_SPARE,
    SCAN,
    SERIAL,
    SPARE,
    START,
    STOP,
    TEXTS,
    TOKENS,
    TOO_DEEP,
    TRAILING_COMMA,
    VALUE,
    JsonScan,
)
from ostinato.documents.json.kernels.text import (
    BACKSLASH,
    COLON,
    COMMA,
    LEFT_BRACE,
    LEFT_BRACKET,
    LETTER_F,
    LETTER_N,
    LETTER_T,
    MINUS,
    NINE,
    QUOTE,
    RIGHT_BRACE,
    RIGHT_BRACKET,
    ZERO,
    literal_end,
    number_end,
    resolve,
    skip_blanks,
    string_end,
)
from ostinato.documents.kernels.names import (
    ENTRY,
    HANDED_ON,
    LONGEST,
    MISSING,
    SEEN,
    SIZE,
    add,
    key_of,
    look_up,
    same_name,
)
from ostinato.documents.kernels.utf8 import byte
from ostinato.documents.tokens import ATTR, CLOSE, OPEN, TEXT


@subroutine(void(array(uint8), table(int32), int64, int64, int64, int64, int64), inline=True)
def _put(kinds: UInt8, spans: Int32, count: Any, kind: Any, name: Any, start: Any, stop: Any) -> None:
    place = np.uint64(count)
    kinds[place], spans[NAME, place] = kind, name
    spans[START, place], spans[STOP, place] = start, stop


@kernel(int64(SCAN))
def scan_tokens(scan: JsonScan) -> Any:
    """Tokens of the records in data[state[AT] : stop]; returns why it stopped.

    The entry of a key has the serial number of the last object with it; the log keeps what it was before for objects
    that may still be open, so that a key that comes twice is found at once at any depth.
    """
    data, stop, state = scan.data, scan.stop, scan.state
    frames, log, after = scan.frames, scan.log, scan.after
    names, entries, letters = scan.names, scan.names.entries, scan.names.letters
    kinds, spans = scan.kind, scan.spans
    mode, max_depth, texts = state[MODE], state[MAX_DEPTH], state[TEXTS]
    at, count, spare = state[AT], state[COUNT], state[SPARE]
    phase, depth = state[PHASE], state[DEPTH]
    serial, logged, record_serial = state[SERIAL], state[LOGGED], state[RECORD_SERIAL]
    fault = state[CODE : CODE + 1]
    fault[0] = 0
    status = DONE
    room = scan.kind.size - 8  # one round adds at most four tokens, and the end of the root one more
    lines = mode == LINES
    # The innermost frame is held in variables.
    top = FRAME_SIZE * depth
    shape, owner = frames[top], frames[top + F_NAME]
    item, opened = frames[top + F_ITEM], frames[top + F_OPEN]
    attrs, behind = frames[top + F_ATTRS], frames[top + F_BEHIND]
    own, guess = frames[top + F_SERIAL], frames[top + F_GUESS]
    while True:
        if count > room:
            status = TOKENS
            break
        at = skip_blanks(data, at, lines)
        found = byte(data, at)

        if phase == RECORD:
            if at >= stop:
                at = max(stop, state[AT])  # blanks of a line that is not there yet are left to it
                status = DONE if lines else MORE
                break
            if lines and found == 10:
                at += 1
                continue
            state[RECORD_AT], state[RECORD_COUNT], state[RECORD_SPARE] = at, count, spare
            state[RECORD_SERIAL] = record_serial = serial
            logged = 0
            if mode == ITEMS:
                if found == RIGHT_BRACKET:
                    at += 1
                    status = CLOSED
                    break
                if state[ITEMS_SEEN]:
                    if found != COMMA:
                        fault[0] = NO_COMMA
                        break
                    at += 1
                    at = skip_blanks(data, at, lines)
                    found = byte(data, at)
            phase = VALUE

        if (phase == FIRST_KEY and found == RIGHT_BRACE) or (phase == FIRST_VALUE and found == RIGHT_BRACKET):
            phase = AFTER
        elif phase != AFTER:
            member = (phase == KEY) | (phase == FIRST_KEY)
            element = item
            before = at  # where to begin again when something has to grow
            if member:
                if found != QUOTE:
                    fault[0] = TRAILING_COMMA if found == RIGHT_BRACE else NO_KEY
                    break
                low = at + 1
                element = np.int64(after[guess]) - 1
                fits = False
                if element >= 0:
                    word, size = entries[np.uint64(element * ENTRY)], entries[np.uint64(element * ENTRY + SIZE)]
                    at = low + size
                    fits = same_name(letters, word, size, data, low) and byte(data, at) == QUOTE
                if not fits:
                    at = string_end(data, low, fault)
                    high = at
                    plain = byte(data, at) == QUOTE
                    if not plain and not fault[0]:
                        at, high = resolve(data, low, spare, fault)
                        low = spare
                    if fault[0]:
                        break
                    element = look_up(names, key_of(names, data, low, high), data, low, high)
                    if element == MISSING:
                        if high - low > names.state[LONGEST]:
                            fault[0] = LONG_KEY
                            at = before
                            break
                        element = add(names, data, low, high)
                        if element == MISSING:
                            at = before
                            status = NAMES
                            break
                    if plain:
                        after[guess] = element + 1
                at += 1
                at = skip_blanks(data, at, lines)
                found = byte(data, at)
                if found != COLON:
                    fault[0] = NO_COLON
                    break
                at += 1
                at = skip_blanks(data, at, lines)
                found = byte(data, at)

            nested = (found == LEFT_BRACE) | (found == LEFT_BRACKET)
            if nested:
                if depth >= max_depth:
                    fault[0] = TOO_DEEP
                    break
                if top + 2 * FRAME_SIZE > frames.size:
                    at = before
                    status = FRAMES
                    break

            if member:
                earlier = entries[np.uint64(element * ENTRY + SEEN)]
                if earlier == own:
                    fault[0] = DUPLICATE
                    at = before
                    break
                if earlier > record_serial:
                    if 2 * logged + 2 > log.size:
                        at = before
                        status = LOG
                        break
                    log[2 * logged], log[2 * logged + 1] = element, earlier
                    logged += 1
                entries[np.uint64(element * ENTRY + SEEN)] = own
                guess = 2 * element

            if nested:
                frames[top + F_ATTRS], frames[top + F_BEHIND], frames[top + F_GUESS] = attrs, behind, guess
                depth += 1
                top += FRAME_SIZE
                owner, opened, attrs = element, count, 0
                behind, guess = 0, 2 * element + 1
                if found == LEFT_BRACE:
                    serial += 1
                    shape, own, item = OBJECT, serial, -1
                    phase = FIRST_KEY
                elif member:
                    shape, item = ITEMS_OF, element
                    phase = FIRST_VALUE
                else:
                    shape, item = ARRAY, state[ITEM]
                    phase = FIRST_VALUE
                frames[top], frames[top + F_NAME], frames[top + F_ITEM] = shape, owner, item
                frames[top + F_OPEN], frames[top + F_SERIAL], frames[top + F_LOG] = opened, own, logged
                if shape != ITEMS_OF:
                    _put(kinds, spans, count, OPEN, element, at, at + 1)
                    count += 1
                at += 1
                continue

            first = at
            low, high = at, at
            next_spare = spare
            if found == QUOTE:
                low = at + 1
                high = string_end(data, low, fault)
                at = high
                if byte(data, at) == BACKSLASH and not fault[0]:
                    at, high = resolve(data, low, spare, fault)
                    low = spare
                    next_spare = high
                if fault[0]:
                    break
                at += 1
            elif found == MINUS or ZERO <= found <= NINE:
                at = high = number_end(data, at, fault)
            elif (found == LETTER_T) | (found == LETTER_F) | (found == LETTER_N):
                at = high = literal_end(data, at, fault)
            else:
                fault[0] = TRAILING_COMMA if found == RIGHT_BRACKET and phase == VALUE else NO_VALUE
            if fault[0]:
                break
            if member:
                if found != LETTER_N and entries[np.uint64(element * ENTRY + HANDED_ON)]:
                    behind |= count != opened + 1 + attrs
                    attrs += 1
                    _put(kinds, spans, count, ATTR, element, low, high)
                    count += 1
                    spare = next_spare
            else:
                _put(kinds, spans, count, OPEN, element, first, first)
                count += 1
                if found != LETTER_N and texts and high > low:
                    _put(kinds, spans, count, TEXT, -1, low, high)
                    count += 1
                    spare = next_spare
                _put(kinds, spans, count, CLOSE, element, at, at)
                count += 1
            phase = AFTER
            at = skip_blanks(data, at, lines)
            found = byte(data, at)

        # After a value.
        if found == COMMA and depth:
            at += 1
            phase = KEY if shape == OBJECT else VALUE
        elif depth and found == (RIGHT_BRACE if shape == OBJECT else RIGHT_BRACKET):
            at += 1
            if shape == OBJECT:
                if behind:
                    spans[STOP, opened] = -attrs
                    state[LATE] = 1
                while logged > frames[top + F_LOG]:
                    logged -= 1
                    entries[log[2 * logged] * ENTRY + SEEN] = log[2 * logged + 1]
            if shape != ITEMS_OF:
                _put(kinds, spans, count, CLOSE, owner, at - 1, at)
                count += 1
            depth -= 1
            top -= FRAME_SIZE
            shape, owner = frames[top], frames[top + F_NAME]
            item, opened = frames[top + F_ITEM], frames[top + F_OPEN]
            attrs, behind = frames[top + F_ATTRS], frames[top + F_BEHIND]
            own, guess = frames[top + F_SERIAL], frames[top + F_GUESS]
            phase = AFTER
        elif depth:
            fault[0] = NO_COMMA
            break
        elif mode == ITEMS:
            if at >= stop:  # a number may go on
                status = MORE
                break
            state[ITEMS_SEEN] = 1
            phase = RECORD
        elif at < stop and not (lines and found == 10):
            fault[0] = EXTRA
            break
        else:
            phase = RECORD
            if not lines:
                break
    if fault[0]:
        status = FAULT
        state[FAULT_AT] = at
    state[AT], state[COUNT], state[SPARE] = at, count, spare
    state[PHASE], state[DEPTH] = phase, depth
    state[SERIAL], state[LOGGED] = serial, logged
    frames[top + F_ATTRS], frames[top + F_BEHIND], frames[top + F_GUESS] = attrs, behind, guess
    return status

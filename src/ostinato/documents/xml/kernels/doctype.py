"""Over a DOCTYPE, of which nothing is read."""

from __future__ import annotations

from typing import Any

import numpy as np

from ostinato.core.jit import kernel, subroutine
from ostinato.core.jit.types import int64
from ostinato.documents.kernels.utf8 import (
    CLOSE_BRACKET,
    DASH,
    LESS,
    MARK,
    MORE,
    OPEN_BRACKET,
    QUESTION,
    QUOTE,
    TICK,
    byte,
    is_space,
)
from ostinato.documents.xml.kernels.markup import comment, instruction, literally, step
from ostinato.documents.xml.kernels.state import (
    AT,
    BAD_DOCTYPE,
    DEPTH,
    DOCTYPE,
    DOCTYPE_MET,
    DOCTYPE_MISPLACED,
    DOCTYPE_REFUSED,
    NO_ROOT,
    PASSED,
    REFUSED,
    ROOT,
    SCAN,
    XmlScan,
    end_scan,
    note_fault,
    wrong,
)

_DOCTYPE = np.frombuffer(b"<!DOCTYPE", np.uint8)


@subroutine(int64(SCAN, int64))
def _quoted(scan: XmlScan, at: Any) -> Any:
    quote = byte(scan.buffer, at)
    at += 1
    while byte(scan.buffer, at) != quote:
        at = step(scan, at)
        if at < 0:
            return -1
    return at + 1


@subroutine(int64(SCAN, int64))
def _doctype_end(scan: XmlScan, at: Any) -> Any:
    """From behind `<!DOCTYPE` to its `>`: over quotes, comments, instructions, the internal subset; -1 with a fault."""
    buffer = scan.buffer
    if not is_space(byte(buffer, at)):
        return note_fault(scan, BAD_DOCTYPE, at)
    inside = declared = named = False
    while True:
        found, after = byte(buffer, at), byte(buffer, at + 1)
        if (found == QUOTE) | (found == TICK):
            at = _quoted(scan, at)
        elif found == LESS and after == QUESTION:
            at = instruction(scan, at)
        elif found == LESS and after == MARK and byte(buffer, at + 2) == DASH:
            at = comment(scan, at)
        elif found == LESS:
            if not inside or declared or after != MARK:
                return note_fault(scan, BAD_DOCTYPE, at + 1 if at + 1 >= scan.filled else at)
            declared = True
            at += 2
        elif found == MORE:
            if not declared:
                return at + 1 if named and not inside else note_fault(scan, BAD_DOCTYPE, at)
            declared = False
            at += 1
        elif found == OPEN_BRACKET and not declared:
            if inside or not named:
                return note_fault(scan, BAD_DOCTYPE, at)
            inside = True
            at += 1
        elif found == CLOSE_BRACKET and not declared:
            if not inside:
                return note_fault(scan, BAD_DOCTYPE, at)
            inside = False
            at += 1
        else:
            named = named or not is_space(found)
            at = step(scan, at)
        if at < 0:
            return -1


@kernel(int64(SCAN))
def skip_doctype(scan: XmlScan) -> Any:
    """Go behind the DOCTYPE at state[AT], if there may be one: PASSED; else how the scan ends."""
    state = scan.state
    begin = state[AT]
    at = literally(scan, begin, _DOCTYPE)
    if at < 0:
        return end_scan(scan)
    if state[DOCTYPE] == REFUSED:
        return wrong(scan, DOCTYPE_REFUSED, begin)
    if state[DOCTYPE] == DOCTYPE_MET or state[DEPTH] > 0 or state[ROOT] != NO_ROOT:
        return wrong(scan, DOCTYPE_MISPLACED, begin)
    at = _doctype_end(scan, at)
    if at < 0:
        return end_scan(scan)
    state[AT], state[DOCTYPE] = at, DOCTYPE_MET
    return PASSED

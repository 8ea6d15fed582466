"""What functions of DuckDB give, by their operands: a hash table that programs look into.

A function of several rows of the match takes its operands from the stack. Where its value is not known, the search
comes back for it, with the operands still on the stack.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ostinato.core.arrays import Int64, UInt8
from ostinato.core.jit import kernel, subroutine, view
from ostinato.core.jit.types import boolean, int64, struct_type, uint8, uint64, void
from ostinato.sql.kernels.fingerprints import SEEDS, add_to
from ostinato.sql.kernels.layout import CALL_FLOATS, CALL_OPERANDS, CALL_RESULT_FLOAT, NULL, THERE, Search

SEARCH = struct_type(Search)
_FIRST, _SECOND = SEEDS


@subroutine(uint64(SEARCH, int64, int64, uint64))
def _of_stack(search: Search, call: int, top: int, seed: Any) -> Any:
    """Of a call and its operands, the last of which is at the top."""
    stack, bits, floats = search.stack, search.float_stack_bits, search.calls[call, CALL_FLOATS]
    count = search.calls[call, CALL_OPERANDS]
    found = add_to(seed, call)
    for place in range(count):
        at = top - count + 1 + place
        if stack[at, 0] == NULL:
            found = add_to(add_to(found, NULL), 0)
        else:
            found = add_to(add_to(found, THERE), bits[at] if (floats >> place) & 1 else stack[at, 1])
    return found


@subroutine(uint64(view(int64), view(uint8), int64, int64, int64, uint64))
def _of_operands(operands: Int64, nulls: UInt8, call: int, first: int, count: int, seed: Any) -> Any:
    """The same of operands that lie side by side, from `first` on."""
    found = add_to(seed, call)
    for at in range(first, first + count):
        found = add_to(add_to(found, NULL), 0) if nulls[at] else add_to(add_to(found, THERE), operands[at])
    return found


@subroutine(int64(SEARCH, uint64, uint64))
def _slot(search: Search, one: Any, other: Any) -> int:
    """Where something is in the table, or would be."""
    mask = search.known.shape[0] - 1
    slot = np.int64(one) & mask
    while search.known[slot, 1] != 0 and (search.known[slot, 0] != one or search.known[slot, 1] != other):
        slot = (slot + 1) & mask
    return slot


@subroutine(boolean(SEARCH, int64, int64))
def find_value(search: Search, call: int, top: int) -> bool:
    """Put the value of a call in place of its operands, where it is known."""
    one = _of_stack(search, call, top, np.uint64(_FIRST))
    other = _of_stack(search, call, top, np.uint64(_SECOND)) | np.uint64(1)
    slot = _slot(search, one, other)
    if search.known[slot, 1] == 0:
        return False
    at = top - search.calls[call, CALL_OPERANDS] + 1
    search.stack[at, 0] = search.known_values[slot, 0]
    if search.calls[call, CALL_RESULT_FLOAT]:
        search.float_stack_bits[at] = search.known_values[slot, 1]
    else:
        search.stack[at, 1] = search.known_values[slot, 1]
    return True


@kernel(void(SEARCH, int64, view(int64), view(uint8), view(uint8), view(int64)))
def remember_values(search: Search, call: int, operands: Int64, nulls: UInt8, kinds: UInt8, values: Int64) -> None:
    """Write down what calls give: THERE, NULL or BAD, and the value. There must be room for all of them."""
    count = search.calls[call, CALL_OPERANDS]
    for row in range(values.size):
        one = _of_operands(operands, nulls, call, row * count, count, np.uint64(_FIRST))
        other = _of_operands(operands, nulls, call, row * count, count, np.uint64(_SECOND)) | np.uint64(1)
        slot = _slot(search, one, other)
        if search.known[slot, 1] == 0:
            search.known[slot, 0], search.known[slot, 1] = one, other
            search.counts[1] += 1
        search.known_values[slot, 0], search.known_values[slot, 1] = kinds[row], values[row]


@kernel(void(SEARCH, view(uint64), view(int64)))
def rehash(search: Search, known: Any, values: Int64) -> None:
    """Write down what another table knows; both come as pairs, side by side."""
    for row in range(known.size // 2):
        if known[2 * row + 1] != 0:
            slot = _slot(search, known[2 * row], known[2 * row + 1])
            search.known[slot, 0], search.known[slot, 1] = known[2 * row], known[2 * row + 1]
            search.known_values[slot, 0], search.known_values[slot, 1] = values[2 * row], values[2 * row + 1]

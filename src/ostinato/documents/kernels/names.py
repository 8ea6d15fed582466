"""A table of names, as the XML tokeniser looks them up: each has a small number, in order of appearance.

`table[2 s]` is the key of slot s: the bytes of a name below eight bytes, a hash of a longer one; `table[2 s + 1]` is
its size and its number (all ones: free). Name n is kept in words[first[n]:], eight bytes a word, zeros at the end.
`seeds` are random and odd, so nobody can choose names that share slots.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from ostinato.core.jit import array, kernel, view
from ostinato.documents.kernels.utf8 import bytes_in, load, mask_below, name_ends, name_fault

NAMES, WORDS, SHIFT, WANTED, LONGEST = range(5)  # places in the state of a table
NAMES_STATE = 5
MISSING = -1
FREE = np.uint64(0xFFFFFFFFFFFFFFFF)
_ZERO, _ONE, _HALF, _EIGHT = np.uint64(0), np.uint64(1), np.uint64(32), np.uint64(8)


@kernel()
def mask_of(size: Any) -> Any:
    """All bits of the first `size` bytes of a word, 0 to 8 of them."""
    return FREE if size >= 8 else (_ONE << np.uint64(8 * size)) - _ONE


@kernel()
def _mixed(hashed: Any, word: Any, seeds: Any) -> Any:
    product = (hashed ^ word) * seeds[np.uint64(1)]
    return product ^ (product >> _HALF)


@kernel()
def same_name(buffer: Any, at: Any, size: Any, words: Any, first: Any) -> Any:
    """Whether the bytes from `at` on begin with the name of `size` bytes that is kept from words[first] on."""
    word = np.uint64(first)
    left = size
    while left > 8:
        if load(buffer, at) != words[word]:
            return False
        at += 8
        left -= 8
        word += _ONE
    return (load(buffer, at) ^ words[word]) & mask_of(left) == _ZERO


@kernel()
def _long_key(buffer: Any, at: Any, end: Any, seeds: Any) -> Any:
    hashed = seeds[np.uint64(0)]
    while at < end:
        hashed = _mixed(hashed, load(buffer, at) & mask_of(end - at), seeds)
        at += 8
    return hashed


@kernel()
def name_end(buffer: Any, at: Any) -> Any:
    marks = name_ends(load(buffer, at))
    while marks == _ZERO:
        at += 8
        marks = name_ends(load(buffer, at))
    return at + bytes_in(mask_below(marks))


@kernel()
def look_up(
    buffer: Any, at: Any, end: Any, key: Any, table: Any, words: Any, first: Any, seeds: Any, shift: Any
) -> Any:
    """The number of the name in [at, end), or MISSING."""
    size = np.uint64(end - at)
    mask = np.uint64(table.size // 2 - 1)
    slot = (key * seeds[np.uint64(0)]) >> shift
    while True:
        found = table[slot + slot + _ONE]
        if found == FREE:
            return MISSING
        if table[slot + slot] == key and found >> _HALF == size:
            number = np.int64(found & np.uint64(0xFFFFFFFF))
            if size < _EIGHT or same_name(buffer, at, end - at, words, first[np.uint64(number)]):
                return number
        slot = (slot + _ONE) & mask


@kernel()
def find(buffer: Any, at: Any, table: Any, words: Any, first: Any, seeds: Any, shift: Any) -> Any:
    """The number of the name at `at`, or MISSING, and where it ends. There may be no name: then it ends where it is."""
    word = load(buffer, at)
    marks = name_ends(word)
    if marks != _ZERO:
        mask = mask_below(marks)
        end = at + bytes_in(mask)
        return look_up(buffer, at, end, word & mask, table, words, first, seeds, shift), end
    end = name_end(buffer, at + 8)
    key = _long_key(buffer, at, end, seeds)
    return look_up(buffer, at, end, key, table, words, first, seeds, shift), end


@kernel()
def add(
    buffer: Any, at: Any, end: Any, table: Any, words: Any, first: Any, sizes: Any, wanted: Any, seeds: Any, state: Any
) -> Any:
    """Number a name that is not there yet; MISSING when there is no room for it."""
    number, word, size = state[NAMES], state[WORDS], end - at
    if number >= sizes.size or word + (size + 7) // 8 + 1 > words.size:
        return MISSING
    key = load(buffer, at) & mask_of(size) if size < 8 else _long_key(buffer, at, end, seeds)
    mask = np.uint64(table.size // 2 - 1)
    slot = (key * seeds[np.uint64(0)]) >> np.uint64(state[SHIFT])
    while table[slot + slot + _ONE] != FREE:
        slot = (slot + _ONE) & mask
    table[slot + slot] = key
    table[slot + slot + _ONE] = np.uint64(size) << _HALF | np.uint64(number)
    first[number], sizes[number], wanted[number] = word, size, state[WANTED]
    while at < end:
        words[word] = load(buffer, at) & mask_of(end - at)
        at += 8
        word += 1
    state[NAMES], state[WORDS] = number + 1, word
    return number


_TABLE = [
    array(types.uint64), array(types.uint64), array(types.int64), array(types.int32), array(types.uint8),
    view(types.uint64), array(types.int64),
]  # fmt: skip


@kernel(types.int64(view(types.uint8), types.int64, *_TABLE))
def intern(
    buffer: Any, end: int, table: Any, words: Any, first: Any, sizes: Any, wanted: Any, seeds: Any, state: Any
) -> Any:
    """The number of the name in buffer[:end], even one that XML cannot have; MISSING when there is no room for it."""
    key = load(buffer, 0) & mask_of(end) if end < 8 else _long_key(buffer, 0, end, seeds)
    found = look_up(buffer, 0, end, key, table, words, first, seeds, np.uint64(state[SHIFT]))
    return found if found >= 0 else add(buffer, 0, end, table, words, first, sizes, wanted, seeds, state)


@kernel(types.void(*_TABLE))
def refill(table: Any, words: Any, first: Any, sizes: Any, wanted: Any, seeds: Any, state: Any) -> None:
    """Put all names into an empty table."""
    mask = np.uint64(table.size // 2 - 1)
    for number in range(state[NAMES]):
        size = np.int64(sizes[number])
        key = words[first[number]] & mask_of(size)
        if size >= 8:
            key = seeds[np.uint64(0)]
            for word in range(first[number], first[number] + (size + 7) // 8):
                key = _mixed(key, words[word], seeds)
        slot = (key * seeds[np.uint64(0)]) >> np.uint64(state[SHIFT])
        while table[slot + slot + _ONE] != FREE:
            slot = (slot + _ONE) & mask
        table[slot + slot] = key
        table[slot + slot + _ONE] = np.uint64(size) << _HALF | np.uint64(number)


@kernel(types.int64(view(types.uint8), types.int64))
def bad_name(buffer: Any, end: int) -> Any:
    """Where buffer[:end] stops being a name; -1: it is one."""
    return name_fault(buffer, 0, end)

"""A table of names, as the tokenisers look them up: each has a small number, in order of appearance."""

from __future__ import annotations

from typing import Any

import numpy as np

from ostinato.core.arrays import Int64, UInt8, UInt64
from ostinato.core.jit import array, kernel, subroutine
from ostinato.core.jit.array_struct import ArrayStruct, Field
from ostinato.core.jit.types import boolean, int64, struct_type, uint64, void
from ostinato.documents.kernels.utf8 import BYTES, PAIR, bytes_in, load, mask_below, name_ends

# Places in the state of a table: how many names and words there are, how hashes are cut, whether names are wanted, the
# longest name, and two seeds, which are random and odd, so that nobody can choose names that share slots.
NAMES, WORDS, SHIFT, WANTED, LONGEST, SEED, MIXER = range(7)
NAMES_STATE = 7
# Places in the entry of a name: its first word and its size in bytes, whether attributes of that name are handed on,
# and which was the last element that had one.
FIRST, SIZE, HANDED_ON, SEEN = range(4)
ENTRY = 4
MISSING = -1
_ZERO, _ONE, _HALF, _EIGHT = np.uint64(0), np.uint64(1), np.uint64(32), np.uint64(8)
_NUMBER, _ALL = np.uint64(0xFFFFFFFF), np.uint64(0xFFFFFFFFFFFFFFFF)


class NameArrays(ArrayStruct):
    """A hash table of names, in few arrays: one is made for every document."""

    table = Field[UInt64](
        np.uint64, 1, "per slot: a name below eight bytes, or a hash of it; its size and its number from 1 (0: free)"
    )
    letters = Field[UInt64](np.uint64, 1, "all names, each in words of eight bytes, with zeros at the end")
    entries = Field[Int64](np.int64, 1, "per name: an entry")
    state = Field[Int64](np.int64, 1, "see above")


TABLE = struct_type(NameArrays)


@subroutine(uint64(int64))
def mask_of(size: Any) -> Any:
    """All bits of the first `size` bytes of a word, 0 to 8 of them."""
    return _ALL if size >= 8 else (_ONE << np.uint64(8 * size)) - _ONE


@subroutine(uint64(uint64, uint64, uint64))
def _mixed(hashed: Any, word: Any, mixer: Any) -> Any:
    product = (hashed ^ word) * mixer
    return product ^ (product >> _HALF)


@subroutine(boolean(array(uint64), int64, int64, BYTES, int64))
def same_name(letters: UInt64, first: Any, left: Any, buffer: Any, at: Any) -> Any:
    """Whether the bytes from `at` on begin with the name of `left` bytes whose first word this is."""
    word = np.uint64(first)
    while left > 8:
        if load(buffer, at) != letters[word]:
            return False
        at += 8
        left -= 8
        word += _ONE
    return (load(buffer, at) ^ letters[word]) & mask_of(left) == _ZERO


@subroutine(uint64(TABLE, BYTES, int64, int64))
def key_of(names: NameArrays, buffer: Any, at: Any, end: Any) -> Any:
    """What the name in [at, end) is looked up by."""
    if end - at < 8:
        return load(buffer, at) & mask_of(end - at)
    hashed, mixer = np.uint64(names.state[SEED]), np.uint64(names.state[MIXER])
    while at < end:
        hashed = _mixed(hashed, load(buffer, at) & mask_of(end - at), mixer)
        at += 8
    return hashed


@subroutine(int64(BYTES, int64))
def name_end(buffer: Any, at: Any) -> Any:
    marks = name_ends(load(buffer, at))
    while marks == _ZERO:
        at += 8
        marks = name_ends(load(buffer, at))
    return at + bytes_in(mask_below(marks))


@subroutine(int64(TABLE, uint64, BYTES, int64, int64))
def look_up(names: NameArrays, key: Any, buffer: Any, at: Any, end: Any) -> Any:
    """The number of the name in [at, end), or MISSING."""
    table, size = names.table, np.uint64(end - at)
    mask = np.uint64(table.size // 2 - 1)
    slot = (key * np.uint64(names.state[SEED])) >> np.uint64(names.state[SHIFT])
    while True:
        found = table[slot + slot + _ONE]
        if found == _ZERO:
            return MISSING
        if table[slot + slot] == key and found >> _HALF == size:
            number = np.int64(found & _NUMBER) - 1
            if size < _EIGHT or same_name(names.letters, names.entries[number * ENTRY], np.int64(size), buffer, at):
                return number
        slot = (slot + _ONE) & mask


@subroutine(PAIR(TABLE, BYTES, int64))
def find(names: NameArrays, buffer: Any, at: Any) -> Any:
    """The number of the name at `at`, or MISSING, and where it ends. There may be no name: then it ends where it is."""
    word = load(buffer, at)
    marks = name_ends(word)
    if marks != _ZERO:
        mask = mask_below(marks)
        end, key = at + bytes_in(mask), word & mask
    else:
        end = name_end(buffer, at + 8)
        key = key_of(names, buffer, at, end)
    return look_up(names, key, buffer, at, end), end


@subroutine(void(TABLE, uint64, int64, int64))
def _put(names: NameArrays, key: Any, size: Any, number: Any) -> None:
    """Into a free slot."""
    table = names.table
    mask = np.uint64(table.size // 2 - 1)
    slot = (key * np.uint64(names.state[SEED])) >> np.uint64(names.state[SHIFT])
    while table[slot + slot + _ONE] != _ZERO:
        slot = (slot + _ONE) & mask
    table[slot + slot] = key
    table[slot + slot + _ONE] = np.uint64(size) << _HALF | np.uint64(number + 1)


@subroutine(int64(TABLE, BYTES, int64, int64))
def add(names: NameArrays, buffer: Any, at: Any, end: Any) -> Any:
    """Number the name in [at, end), which is not there yet; MISSING when there is no room for it."""
    letters, entries, state = names.letters, names.entries, names.state
    number, word, size = state[NAMES], state[WORDS], end - at
    entry = number * ENTRY
    if entry >= entries.size or word + (size + 7) // 8 + 1 > letters.size:
        return MISSING
    _put(names, key_of(names, buffer, at, end), size, number)
    entries[entry + FIRST], entries[entry + SIZE], entries[entry + HANDED_ON] = word, size, state[WANTED]
    while at < end:
        letters[word] = load(buffer, at) & mask_of(end - at)
        at += 8
        word += 1
    state[NAMES], state[WORDS] = number + 1, word
    return number


@kernel(int64(TABLE, BYTES, int64))
def intern(names: NameArrays, buffer: UInt8, end: int) -> Any:
    """The number of the name in buffer[:end], even one that XML cannot have; MISSING when there is no room for it."""
    found = look_up(names, key_of(names, buffer, 0, end), buffer, 0, end)
    return found if found >= 0 else add(names, buffer, 0, end)


@kernel(void(TABLE))
def refill(names: NameArrays) -> None:
    """Put all names into an empty table."""
    letters, state = names.letters, names.state
    for number in range(state[NAMES]):
        first, size = names.entries[number * ENTRY + FIRST], names.entries[number * ENTRY + SIZE]
        key = letters[first] & mask_of(size)
        if size >= 8:
            key = np.uint64(state[SEED])
            for word in range(first, first + (size + 7) // 8):
                key = _mixed(key, letters[word], np.uint64(state[MIXER]))
        _put(names, key, size, number)

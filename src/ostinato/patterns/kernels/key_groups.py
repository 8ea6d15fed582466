"""Splits the events of a batch by keys, in one pass over them, and merges the matches of groups of keys again."""

from __future__ import annotations

from ostinato.core.arrays import Int32, Int64, UInt8
from ostinato.core.jit import array, kernel, view
from ostinato.core.jit.types import int32, int64, uint8, void

_CHUNK = (view(int64), view(int64), view(int64))


@kernel(void(view(int32), array(int64)))
def count_keys(keys: Int32, counts: Int64) -> None:
    """How many events each key has."""
    for key in keys:
        counts[key] += 1


@kernel(void(view(int32), array(int64), array(int64)))
def number_in_keys(keys: Int32, counts: Int64, numbers: Int64) -> None:
    """Which event of its key each is, from `counts` on, which go on."""
    for row in range(keys.size):
        key = keys[row]
        numbers[row] = counts[key]
        counts[key] += 1


@kernel(void(view(int32), array(int64), array(int64)))
def order_by_keys(keys: Int32, ends: Int64, order: Int64) -> None:
    """The places of events, those of each key together, in order: `ends` is where each key begins, and then ends."""
    for row in range(keys.size):
        key = keys[row]
        order[ends[key]] = row
        ends[key] += 1


@kernel(void(view(int32), view(int32), int64, view(uint8), array(int64), array(int32), array(int32), array(int64)))
def deal_events(
    codes: Int32, keys: Int32, begin: int, group: UInt8, ends: Int64, own_codes: Int32, own_keys: Int32, places: Int64
) -> None:
    """Write events, of which the first is at `begin`, behind those of their groups: `ends` is how far each is filled.

    No branches: groups are met at random.
    """
    for row in range(codes.size):
        key = keys[row]
        end = ends[group[key]]
        own_codes[end], own_keys[end], places[end] = codes[row], key, begin + row
        ends[group[key]] = end + 1


@kernel(int64(view(int32), int64, int64, array(int64), array(int64)))
def last_of_keys(keys: Int32, before: int, most: int, counts: Int64, places: Int64) -> int:
    """Places of the last events of each key before a place, `most` of each, at the end of `places`; how many.

    `counts` holds a 0 for each key.
    """
    room = places.size
    place = before
    while room and place:
        place -= 1
        if counts[keys[place]] < most:
            counts[keys[place]] += 1
            room -= 1
            places[room] = place
    return places.size - room


@kernel(void(*_CHUNK, *_CHUNK, array(int64), array(int64), array(int64)))
def merge_chunks(
    values: Int64,
    offsets: Int64,
    origins: Int64,
    other_values: Int64,
    other_offsets: Int64,
    other_origins: Int64,
    out_values: Int64,
    out_offsets: Int64,
    out_origins: Int64,
) -> None:
    """Two chunks as one, in the order of the completing events; no event completes matches in both."""
    first = second = used = 0
    out_offsets[0] = 0
    for match in range(out_origins.size):
        if second == other_origins.size or (first < origins.size and origins[first] < other_origins[second]):
            for place in range(offsets[first], offsets[first + 1]):
                out_values[used] = values[place]
                used += 1
            out_origins[match] = origins[first]
            first += 1
        else:
            for place in range(other_offsets[second], other_offsets[second + 1]):
                out_values[used] = other_values[place]
                used += 1
            out_origins[match] = other_origins[second]
            second += 1
        out_offsets[match + 1] = used

"""MAX over complete matches: which of them are not part of a larger one of their group."""

from __future__ import annotations

from ostinato.core.arrays import Int64, UInt8
from ostinato.core.jit import array, kernel, subroutine, view
from ostinato.core.jit.types import boolean, int64, uint8


@subroutine(int64(int64))
def _bit(place: int) -> int:
    return 1 << (place % 61)


@subroutine(boolean(view(int64), int64, int64, int64, int64))
def _is_part(places: Int64, at: int, end: int, other: int, other_end: int) -> bool:
    """Whether the ascending places from `at` to `end` are among those from `other` to `other_end`."""
    while at < end and end - at <= other_end - other:
        if places[other] == places[at]:
            at += 1
        elif places[other] > places[at]:
            return False
        other += 1
    return at == end


@kernel(
    int64(
        *(view(int64), view(int64), view(int64), view(int64)),
        *(int64, int64, array(int64), array(uint8)),
    )
)
def find_maximal(
    numbers: Int64, groups: Int64, offsets: Int64, places: Int64, start: int, steps: int, bits: Int64, kept: UInt8
) -> int:
    """Set `kept` for those of `numbers`, sorted by group, that are not part of a larger one of their group.

    Goes on at `start`, and returns early, with where it is, after about so many steps.
    """
    begin = start
    while begin > 0 and groups[numbers[begin - 1]] == groups[numbers[start]]:
        begin -= 1
    end = -1
    for one in range(start, len(numbers)):
        if one >= end:
            if end >= 0:
                begin = one
            end = one
            while end < len(numbers) and groups[numbers[end]] == groups[numbers[one]]:
                end += 1
            for each in range(begin, end):
                own = 0
                for at in range(offsets[numbers[each]], offsets[numbers[each] + 1]):
                    own |= _bit(places[at])
                bits[each] = own
        first, last = offsets[numbers[one]], offsets[numbers[one] + 1]
        kept[one] = 1
        for other in range(begin, end):
            first_other, last_other = offsets[numbers[other]], offsets[numbers[other] + 1]
            steps -= 1
            if last_other - first_other > last - first and not bits[one] & ~bits[other]:
                steps -= last - first
                if _is_part(places, first, last, first_other, last_other):
                    kept[one] = 0
                    break
        if steps < 0:
            return one + 1
    return len(numbers)

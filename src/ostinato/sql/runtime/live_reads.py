"""What conditions yet to come may read of the match so far, by state: equal there, equal from there on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ostinato.sql.kernels.layout import LIVE_LAST


class Read(NamedTuple):
    """Something that a condition reads: a kind of layout.py, of which set of variables or total, rows inwards."""

    kind: int
    what: int = 0
    inwards: int = 0


def live_reads(
    targets: Sequence[Sequence[int]],
    variable: Sequence[int],
    reads: Mapping[int, frozenset[Read]],
    members: Sequence[frozenset[int]],
) -> list[list[Read]]:
    """By state: what its successors read, and what is read after them. `members` are the variables of each set.

    The last row of a set is not read before a row of the set comes next.
    """
    known = sorted(set().union(*reads.values())) if reads else []
    bits = {read: 1 << place for place, read in enumerate(known)}
    read_by = {name: sum(bits[read] for read in found) for name, found in reads.items()}
    kept = []
    for name in variable:
        hidden = sum(
            bit
            for read, bit in bits.items()
            if read.kind == LIVE_LAST and not read.inwards and name in members[read.what]
        )
        kept.append(~hidden)
    live = [0] * len(targets)
    before: list[list[int]] = [[] for _ in targets]
    for state, found in enumerate(targets):
        for to in found:
            before[to].append(state)
            live[state] |= read_by.get(variable[to], 0) & kept[to]
    waiting = list(range(len(targets))) if known else []
    while waiting:
        state = waiting.pop()
        passed = live[state] & kept[state]
        for earlier in before[state]:
            if passed & ~live[earlier]:
                live[earlier] |= passed
                waiting.append(earlier)
    return [[read for read in known if found & bits[read]] for found in live]

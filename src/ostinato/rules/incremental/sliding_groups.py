"""Groups whose window slides: those of which each row depends on what is collected alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ostinato.rules.incremental.delta_query import DeltaQuery, LookUp
from ostinato.rules.kernels import layout as k


@dataclass(frozen=True)
class SlidingWindow:
    """Slots: the window, and from when on rows are looked up. `begin` is the column of a row's begin in the group."""

    low: int
    high: int
    start: int
    begin: int
    keys: int  # how many values the key has


def sliding_window(delta: DeltaQuery, columns: list[int], after: int) -> SlidingWindow | None:
    """The window of the last group of a delta query, which from now on looks up what it has not seen; None where rows
    depend on more than what is collected, or what comes after the group on what it found last.

    `columns` are the slots of a row, to which its begin may come. The look-up must follow the group at once, and the
    test that what it finds begins in the window must follow that.
    """
    place = max(at for at, each in enumerate(delta.code) if each[0] == k.GROUP)
    look_up, *inside = delta.code[place + 1 : after - 1]
    if look_up[0] != k.LOOKUP or delta.redone_for or len(inside) < 2:
        return None
    found, (compare, test, *others) = look_up[6], inside
    assert isinstance(found, LookUp)
    own = set(found.loads.values())
    begin = compare[2]
    if begin not in own or compare[0] != k.GE_I or compare[3] != look_up[4] or test[0] != k.TEST:
        return None
    known = {*own, *look_up[3], *delta.frame.constants}
    for each in others:
        if each[0] > k.EMIT:
            own.add(each[1])
        if not own.union(known).issuperset(_read(each)):
            return None
    if not own.union(known).issuperset(columns) or any(own.intersection(_read(each)) for each in delta.code[after:]):
        return None
    if begin not in columns:
        columns.append(begin)
    low, look_up[4] = look_up[4], delta.frame.slot()
    return SlidingWindow(low, look_up[5], look_up[4], columns.index(begin), len(look_up[3]))


def _read(instruction: Sequence[Any]) -> Sequence[int]:
    """The slots that an instruction reads; of one that looks something up, a slot that nothing has."""
    op, *operands = instruction
    if op in (k.TEST, k.PRESENT, k.MISSING):
        return operands
    if op == k.EMIT:
        return [*operands[1], operands[2]]
    if op < k.MOVE:
        return [-1]
    return operands[1:2] if op == k.TERM_PLAIN else operands[1:]

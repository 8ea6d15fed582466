"""NOT at the end of a pattern, with a condition that compares the event that must not come with those of the match."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ostinato.kernels.expressions import Program
from ostinato.kernels.numbers import is_number
from ostinato.lang.expr import CURRENT, Attribute, Call, Expr, variables
from ostinato.plan.rewrite import conjuncts

Int64 = npt.NDArray[np.int64]
Bool = npt.NDArray[np.bool_]
Fetch = Callable[[Attribute], pa.Array]  # a column of the events, or of the events that the matches bind

_PAIRS = 1 << 20  # of a match and an event, looked at together


def cancelled(test: Expr, fetch: Fetch, events: Int64, matches: Int64, fits: Callable[[Int64, Int64], Bool]) -> Bool:
    """Which matches some event cancels. `events` and `matches` hold the key of each; `fits(match, event)` says which
    pairs lie in the right order and in one window."""
    found = np.zeros(len(matches), np.bool_)
    left, right = _same_values(test, fetch, events, matches)
    program = Program([test])
    for match, event in _pairs(left, right):
        kept = fits(match, event)
        match, event = match[kept], event[kept]
        (truth,) = program.run(_paired(fetch, pa.array(match), pa.array(event)))
        if isinstance(truth, pa.Scalar):
            found[match] |= truth.as_py() is True
        else:
            found[match[np.asarray(truth.fill_null(False).to_numpy(zero_copy_only=False), bool)]] = True
    return found


def _paired(fetch: Fetch, match: pa.Array, event: pa.Array) -> Fetch:
    return lambda node: fetch(node).take(event if node.variable == CURRENT else match)


def _same_values(test: Expr, fetch: Fetch, events: Int64, matches: Int64) -> tuple[Int64, Int64]:
    """Numbers that are equal wherever keys are, and the two sides of an equality that the test asks for."""
    for part in conjuncts(test):
        if not isinstance(part, Call) or part.op != "=":
            continue
        sides = sorted(part.args, key=lambda side: CURRENT not in variables(side))
        if [variables(side) == {CURRENT} for side in sides] != [True, False] or CURRENT in variables(sides[1]):
            continue
        ours, theirs = Program(sides).run(fetch)
        if not isinstance(ours, pa.Array) or not isinstance(theirs, pa.Array) or len(variables(sides[1])) != 1:
            continue
        if ours.type != theirs.type:
            if not (is_number(ours) and is_number(theirs)):
                continue
            ours, theirs = (side.cast(pa.float64(), safe=False) for side in (ours, theirs))
        coded = pa.concat_arrays([ours, theirs]).dictionary_encode(null_encoding="encode").indices.to_numpy()
        whole = np.concatenate([events, matches]) * (1 + int(coded.max(initial=0))) + coded
        return whole[: len(events)], whole[len(events) :]
    return events, matches


def _pairs(events: Int64, matches: Int64) -> Iterator[tuple[Int64, Int64]]:
    """All pairs of a match and an event with the same number, some at a time."""
    order = np.argsort(events, kind="stable")
    begin, end = (np.searchsorted(events[order], matches, side=side) for side in ("left", "right"))
    ends = np.cumsum(end - begin)
    first = 0
    while first < len(matches):
        before = ends[first - 1] if first else 0
        last = max(first + 1, int(np.searchsorted(ends, before + _PAIRS, side="right")))
        counts = (end - begin)[first:last]
        match = np.repeat(np.arange(first, last), counts)
        offsets = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        yield match, order[np.repeat(begin[first:last], counts) + offsets]
        first = last

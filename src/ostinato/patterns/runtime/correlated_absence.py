"""NOT at the end of a pattern, with a condition that compares the forbidden event with events of the match."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ostinato.core.arrays import Int64
from ostinato.core.columns.expressions import ColumnProgram
from ostinato.core.expressions import CURRENT, Attribute, Call, Expr, conjuncts, variables
from ostinato.patterns.runtime.absence import Wait, WaitingMatches
from ostinato.patterns.runtime.history import History

Bool = npt.NDArray[np.bool_]
Fetch = Callable[[Attribute], pa.Array]  # a column of the events, or of the events that the matches bind

_PAIRS = 1 << 20  # of a match and an event, compared at a time


def forget_cancelled(
    waiting: WaitingMatches,
    wait: Wait,
    history: History,
    test: Expr,
    watched: Mapping[str, int],
    rows: pa.Table,
    events: Int64,
    keys: Int64,
    first: Int64,
    last: Int64,
) -> None:
    """Forget the waiting matches that one of their events, those numbered from `first` to before `last`, cancels.

    `events` are indices into `rows` and `keys`; `watched` are the variables that the test compares an event with, and
    their symbols.
    """
    found, own = rows.take(pa.array(events)), waiting.of(wait)
    matches = waiting.matches.pick(own)
    read = variables(test)
    bound = {name: matches.of_symbols([symbol])[1] for name, symbol in watched.items() if name in read}

    def fetch(node: Attribute) -> pa.Array:
        owner = bound.get(node.variable)
        source = found if owner is None else history.rows(owner, [node.name])
        return source[node.name].combine_chunks()

    cancelled = np.zeros(len(waiting.matches), np.bool_)
    cancelled[own] = find_cancelled(test, fetch, keys[events], matches.keys, first[own], last[own])
    waiting.forget(cancelled)


def find_cancelled(test: Expr, fetch: Fetch, events: Int64, matches: Int64, first: Int64, last: Int64) -> Bool:
    """Which matches some event cancels. `events` and `matches` hold the key of each; the events that come after a match
    and within its window are those numbered from `first` to before `last`."""
    found = np.zeros(len(matches), np.bool_)
    left, right = _same_values(test, fetch, events, matches)
    program = ColumnProgram([test])
    for match, event in _pairs(left, right, first, last):
        (truth,) = program.run(_pair_fetch(fetch, pa.array(match), pa.array(event)))
        if isinstance(truth, pa.Scalar):
            found[match] |= truth.as_py() is True
        else:
            found[match[np.asarray(truth.fill_null(False).to_numpy(zero_copy_only=False), bool)]] = True
    return found


def _pair_fetch(fetch: Fetch, match: pa.Array, event: pa.Array) -> Fetch:
    return lambda node: fetch(node).take(event if node.variable == CURRENT else match)


def _same_values(test: Expr, fetch: Fetch, events: Int64, matches: Int64) -> tuple[Int64, Int64]:
    """Numbers that are equal where the keys are, and where both sides of an equality in the test are."""
    for part in conjuncts(test):
        if not isinstance(part, Call) or part.op != "=":
            continue
        sides = sorted(part.args, key=lambda side: CURRENT not in variables(side))
        if [variables(side) == {CURRENT} for side in sides] != [True, False] or CURRENT in variables(sides[1]):
            continue
        ours, theirs = ColumnProgram(sides).run(fetch)
        if not isinstance(ours, pa.Array) or not isinstance(theirs, pa.Array) or len(variables(sides[1])) != 1:
            continue
        if ours.type != theirs.type:
            continue  # values of different types may still be equal, as 1 and 1.0 are
        both = pa.concat_arrays([ours, theirs])
        if pa.types.is_floating(both.type):
            both = pc.add(both, 0.0)  # -0.0 + 0.0 is 0.0
        coded = both.dictionary_encode(null_encoding="encode").indices.to_numpy()
        whole = np.concatenate([events, matches]) * (1 + int(coded.max(initial=0))) + coded
        return whole[: len(events)], whole[len(events) :]
    return events, matches


def _pairs(events: Int64, matches: Int64, first: Int64, last: Int64) -> Iterator[tuple[Int64, Int64]]:
    """Pairs of a match and an event with the same number, among the events of its window, some at a time."""
    _, groups = np.unique(np.concatenate([events, matches]), return_inverse=True)
    size = len(events) + 1
    order = np.argsort(groups[: len(events)], kind="stable")
    places = groups[order] * size + order
    begin, end = (np.searchsorted(places, groups[len(events) :] * size + bound) for bound in (first, last))
    counts = np.maximum(end - begin, 0)
    ends = np.cumsum(counts)
    start = 0
    while start < len(matches):
        before = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, before + _PAIRS, side="right")))
        each = counts[start:stop]
        offsets = np.arange(each.sum()) - np.repeat(np.cumsum(each) - each, each)
        yield np.repeat(np.arange(start, stop), each), order[np.repeat(begin[start:stop], each) + offsets]
        start = stop

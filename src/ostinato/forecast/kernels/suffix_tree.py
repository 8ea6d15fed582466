"""Which contexts say more about the next symbol than their suffixes: one walk over the counts, sorted by recency.

Row r of the counts says that `symbols[r]` came `weights[r]` times after a context whose most recent symbol is
`recent[r, 0]`. The rows are sorted, so those of one context lie side by side, within those of its suffix.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ostinato.core.jit import array, kernel, table, types, view

BEGIN, END, DEPTH, SUFFIX = range(4)  # of a chosen context: its rows, its length and the number of its suffix
CURSOR, NUMBER = 2, 3  # of a context on the path, beside its rows: the next row, its number once it is chosen

READ = table(types.int32, constant=True)
RECORDS = table(types.int64)
SPREADS = table(types.float64)


@kernel(
    types.int64(
        READ, view(types.int32), view(types.float64), *[types.float64] * 4, RECORDS, SPREADS, array(types.float64),
        RECORDS, array(types.int64),
    )
)  # fmt: skip
def choose_contexts(
    recent: Any,
    symbols: Any,
    weights: Any,
    p_min: Any,
    min_count: Any,
    seldom: Any,
    r: Any,
    path: Any,
    spread: Any,
    support: Any,
    chosen: Any,
    lengths: Any,
) -> Any:
    """Write the chosen contexts with all their suffixes, each after its suffix; returns how many there are.

    Those for which `chosen` has no more room are only counted, in `lengths` by their length. `path`, `spread` and
    `support` are room for one context of each length: where it is, how often each symbol followed, how often any did.
    """
    order = path.shape[0] - 1
    alphabet = spread.shape[1]
    depth, made = 0, 0
    path[0, BEGIN], path[0, END], path[0, CURSOR], path[0, NUMBER] = 0, weights.size, 0, -1
    spread[:] = 0.0
    support[0] = 0.0
    for row in range(weights.size):
        spread[0, symbols[row]] += weights[row]
        support[0] += weights[row]
    fresh = True  # the root is always chosen
    while depth >= 0:
        if fresh:
            for length in range(depth + 1):
                if path[length, NUMBER] < 0:
                    path[length, NUMBER] = made
                    if made < chosen.shape[0]:
                        chosen[made, BEGIN], chosen[made, END] = path[length, BEGIN], path[length, END]
                        chosen[made, DEPTH] = length
                        chosen[made, SUFFIX] = path[length - 1, NUMBER] if length else -1
                    lengths[length] += 1
                    made += 1
            fresh = False
        begin = path[depth, CURSOR]
        if depth == order or begin == path[depth, END]:
            depth -= 1
            continue
        older = recent[begin, depth]
        end, weight = begin, 0.0
        while end < path[depth, END] and recent[end, depth] == older:
            weight += weights[end]
            end += 1
        path[depth, CURSOR] = end
        if older < 0 or weight < min_count or weight / support[0] < p_min:
            continue
        depth += 1
        path[depth, BEGIN], path[depth, END], path[depth, CURSOR], path[depth, NUMBER] = begin, end, begin, -1
        support[depth] = weight
        for symbol in range(alphabet):
            spread[depth, symbol] = 0.0
        for row in range(begin, end):
            spread[depth, symbols[row]] += weights[row]
        for symbol in range(alphabet):
            after = spread[depth, symbol] / weight
            if after > 0.0 and after >= seldom:
                ratio = after / (spread[depth - 1, symbol] / support[depth - 1])
                if ratio >= r or ratio <= 1.0 / r:
                    fresh = True
                    break
    return made


@kernel(
    types.void(RECORDS, view(types.int32), view(types.float64), types.float64, SPREADS, SPREADS, array(types.float64))
)
def estimate(chosen: Any, symbols: Any, weights: Any, prior: Any, probabilities: Any, own: Any, support: Any) -> None:
    """The distribution after each chosen context (see learn/suffix_tree.py); `own`: what no longer one covers."""
    alphabet = probabilities.shape[1]
    for node in range(chosen.shape[0]):
        for row in range(chosen[node, BEGIN], chosen[node, END]):
            own[node, symbols[row]] += weights[row]
            support[node] += weights[row]
        suffix, seen = chosen[node, SUFFIX], 0
        for symbol in range(alphabet):
            seen += own[node, symbol] > 0.0
        drawn = prior * seen if suffix >= 0 else 0.0
        for symbol in range(alphabet):
            number = own[node, symbol]
            if suffix >= 0:
                own[suffix, symbol] = max(own[suffix, symbol] - number, 0.0)
                number += drawn * probabilities[suffix, symbol]
            probabilities[node, symbol] = number / (support[node] + drawn)
    for node in range(chosen.shape[0] - 1, -1, -1):
        total, seen = 0.0, 0
        for symbol in range(alphabet):
            total += own[node, symbol]
            seen += own[node, symbol] > 0.0
        if total > 0.0 and total < support[node]:
            for symbol in range(alphabet):
                number = own[node, symbol] + prior * seen * probabilities[node, symbol]
                probabilities[node, symbol] = number / (total + prior * seen)


@kernel(types.void(READ, READ, table(types.float64, constant=True), types.float64, array(types.float64)))
def gram_losses(grams: Any, children: Any, probabilities: Any, floor: Any, losses: Any) -> None:
    """Per gram -log P(symbol | context), of the longest suffix of the context that is in the tree.

    children[node, symbol] is the node whose context has the symbol before that of `node`; -1 where there is none.
    """
    order = grams.shape[1] - 1
    for row in range(grams.shape[0]):
        node = 0
        for column in range(order - 1, -1, -1):
            older = grams[row, column]
            if older < 0 or older >= children.shape[1] or children[node, older] < 0:
                break
            node = children[node, older]
        symbol = grams[row, order]
        known = probabilities[node, symbol] if symbol < probabilities.shape[1] else 0.0
        losses[row] = -np.log(max(known, floor))

"""Following a stream through an automaton: one table look-up per event."""

from __future__ import annotations

from ostinato.core.arrays import Int32
from ostinato.core.jit import array, kernel, table, types, view

_TABLE = table(types.int32, constant=True)


@kernel(types.int64(_TABLE, view(types.int32), array(types.int32), array(types.int32)))
def follow_one(after: Int32, symbols: Int32, states: Int32, out: Int32) -> int:
    """The state after each event; the number of events, or the place of the first that cannot come."""
    state = states[0]
    for event in range(symbols.size):
        symbol = symbols[event]
        if symbol < 0 or symbol >= after.shape[1] or after[state, symbol] < 0:
            return event
        state = after[state, symbol]
        out[event] = state
    states[0] = state
    return symbols.size


@kernel(types.int64(_TABLE, view(types.int32), view(types.int32), array(types.int32), array(types.int32)))
def follow_keys(after: Int32, symbols: Int32, keys: Int32, states: Int32, out: Int32) -> int:
    """The same with a state per key."""
    for event in range(symbols.size):
        symbol, state = symbols[event], states[keys[event]]
        if symbol < 0 or symbol >= after.shape[1] or after[state, symbol] < 0:
            return event
        state = after[state, symbol]
        states[keys[event]] = state
        out[event] = state
    return symbols.size


@kernel(
    types.void(
        _TABLE, view(types.int32), view(types.int32), view(types.int32), view(types.int32), array(types.int32),
        array(types.int32),
    )
)  # fmt: skip
def follow_ages(
    after: Int32, pattern: Int32, symbols: Int32, keys: Int32, pattern_states: Int32, states: Int32, out: Int32
) -> None:
    """The same if the pattern state after each event is known (-1: one that was never observed).

    If a symbol leads to another state, it was never observed: then only the pattern state is remembered, see
    chain/product.py.
    """
    for event in range(symbols.size):
        state = after[states[keys[event]], symbols[event]]
        if state < 0 or pattern[state] != pattern_states[event]:
            state = max(pattern_states[event], 0)
        states[keys[event]] = state
        out[event] = state

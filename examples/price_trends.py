"""Rallies: prices of one symbol that rise from tick to tick until they are 3 % up. SREM, and what its automata know."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import ostinato as ost

# `low` keeps the first tick, and each tick overwrites `last`. Nothing between the first and the last is skipped.
RALLY = """
true -> low, last
. ([price > last.price AND price <= 1.03 * low.price] -> last)*
. [price > last.price AND price > 1.03 * low.price]
PARTITION BY symbol
WITHIN 12 EVENTS
"""
# CEL can express a fixed number of rises; any number of them needs a register that is overwritten.
THREE_RISES = "true -> r . [price > r.price] -> r . [price > r.price] -> r . [price > r.price] PARTITION BY symbol"
THREE_RISES_CEL = """
ANY AS a : ANY AS b : ANY AS c : ANY AS d
FILTER a.price < b.price AND b.price < c.price AND c.price < d.price
PARTITION BY symbol
"""


def ticks(symbols: int = 50, length: int = 200_000, seed: int = 5) -> pa.Table:
    """A day of prices that walk at random; each symbol has a tick every few seconds."""
    chance = np.random.default_rng(seed)
    symbol = chance.integers(0, symbols, length)
    moves = chance.normal(0, 0.003, length)
    price = np.empty(length)
    for number in range(symbols):
        mine = symbol == number
        price[mine] = np.round(chance.uniform(20, 200) * np.exp(np.cumsum(moves[mine])), 2)
    seconds = np.sort(chance.uniform(9 * 3600, 17 * 3600, length)) * 1_000_000
    at = np.datetime64("2026-03-02", "us") + seconds.astype("timedelta64[us]")
    names = np.array([f"S{number:02}" for number in range(symbols)])
    return pa.table({"ts": at, "symbol": names[symbol], "price": price})


def main() -> None:
    events = ticks()
    rallies = ost.srem(RALLY).detect(events, events=True)
    print(f"{len(events):,} ticks, {len(rallies):,} rallies, such as")
    for match in rallies.slice(0, 3).to_pylist():
        low, high = match["events"]  # the first tick and the last
        print(f"  {match['symbol']}: {low['price']} at {low['ts']:%H:%M:%S}, {high['price']} at {high['ts']:%H:%M:%S}")

    counts = ost.srem(THREE_RISES).count(events), ost.cel(THREE_RISES_CEL).count(events)
    print("three rises in a row: {:,} by SREM, {:,} by CEL".format(*counts))

    rally = ost.srem(RALLY).automaton
    rising = ost.srem("true -> r . ([price > r.price] -> r)+ WITHIN 12 EVENTS").automaton
    print("every rally is a rise:", (rally & ~rising).is_empty())
    print("a rise that is no rally:", (rising & ~rally).witness())


if __name__ == "__main__":
    main()

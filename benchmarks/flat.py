"""Memory of the engine for a correlated query over a long stream: it stays flat, however much was read."""

from __future__ import annotations

import argparse

import numpy as np
import pyarrow as pa

import ostinato as ost

QUERY = "(A AS x ; B AS y ; C AS z) FILTER x.id = y.id AND z.v > x.v AND y.name != z.name WITHIN 1000 EVENTS"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=100_000_000)
    options = parser.parse_args()
    rng = np.random.default_rng(3)
    engine = ost.cel(QUERY).engine()
    batch, read = 500_000, 0
    while read < options.events:
        names = pa.array(np.char.add("name", (read + np.arange(batch) // 2).astype(str)))  # always new
        columns = {"type": pa.array(np.array(list("ABCDE"))[rng.integers(0, 5, batch)]), "name": names}
        columns |= {"id": pa.array(rng.integers(0, 100_000, batch)), "v": pa.array(rng.random(batch))}
        for _ in engine.push_each(pa.table(columns)):
            pass
        read += batch
        if read in (10**6, 10**7) or read >= options.events:
            stats = engine.stats()
            print(f"{read:>12,} events, {stats.matches:>12,} matches, {stats.live:>8,} nodes, {stats.bytes:>12,} bytes")


if __name__ == "__main__":
    main()

"""The same pattern under each selection strategy; and counting more matches than anyone could list."""

from __future__ import annotations

import random

import pyarrow as pa

import ostinato as ost

PATTERN = "SELECT {strategy} * WHERE A ; (B AS b FILTER b.value > 3)+ ; C WITHIN 12 EVENTS"


def letters(length: int, seed: int = 42) -> pa.Table:
    chance = random.Random(seed)
    return pa.table(
        {
            "ts": list(range(length)),
            "type": chance.choices("ABCDE", k=length),
            "value": [chance.randint(0, 9) for _ in range(length)],
        }
    )


def main() -> None:
    short = letters(24)
    print("".join(short["type"].to_pylist()))
    for strategy in ("ALL", "MAX", "NXT", "LAST", "STRICT"):
        found = ost.cel(PATTERN.format(strategy=strategy)).detect(short)
        first = found["positions"].to_pylist()[:3]
        print(f"{strategy:>6}: {len(found):>3} matches, such as {first}")

    # With repetition the number of matches grows exponentially with the window; counting does not list them.
    long = letters(20_000)
    print(f"A ; B+ ; C within 200 events, over {len(long):,} events: ", end="")
    print(f"{ost.cel('A ; B+ ; C WITHIN 200 EVENTS').count(long):,} matches")


if __name__ == "__main__":
    main()

"""What did not happen: an order that is not paid within an hour. Events are pushed as they come, some of them late."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pyarrow as pa

import ostinato as ost

UNPAID = """
SELECT placed.order_id AS order_id, placed.ts AS placed_at
WHERE ORDER AS placed ; NOT PAYMENT AS paid
PARTITION BY order_id
WITHIN 1 hour
"""


def deliveries(seed: int = 4) -> Iterator[pa.Table]:
    """Half an hour of events at a time. Payments travel through another system and arrive up to a minute late."""
    chance = random.Random(seed)
    opening = datetime(2026, 5, 4, 9, tzinfo=UTC)
    arriving: list[tuple[datetime, datetime, str, int]] = []  # arrival, event time, type, order
    for order in range(100, 140):
        placed = opening + timedelta(minutes=chance.uniform(0, 300))
        arriving.append((placed, placed, "ORDER", order))
        if order % 8:  # every eighth is never paid
            paid = placed + timedelta(minutes=chance.uniform(1, 55))
            arriving.append((paid + timedelta(seconds=chance.uniform(0, 60)), paid, "PAYMENT", order))
    arriving.sort()
    for number in range(12):
        until = opening + timedelta(minutes=30 * (number + 1))
        batch = [event for event in arriving if until - timedelta(minutes=30) <= event[0] < until]
        yield pa.table(
            {
                "ts": pa.array([event[1] for event in batch], pa.timestamp("us", tz="UTC")),
                "type": pa.array([event[2] for event in batch], pa.string()),
                "order_id": pa.array([event[3] for event in batch], pa.int64()),
            }
        )


def main() -> None:
    engine = ost.cel(UNPAID).engine(lateness="1 minute")
    for number, batch in enumerate(deliveries(), start=1):
        for match in engine.push(batch).to_pylist():
            print(f"after delivery {number:>2}: order {match['order_id']} of {match['placed_at']:%H:%M} was never paid")
    # The shop is closed: time passes although no event comes.
    closing = engine.advance(datetime(2026, 5, 4, 18, tzinfo=UTC))
    for match in [*closing.to_pylist(), *engine.flush().to_pylist()]:
        print(f"after closing:     order {match['order_id']} of {match['placed_at']:%H:%M} was never paid")
    print(engine.stats())


if __name__ == "__main__":
    main()

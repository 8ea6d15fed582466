"""Where visitors of a shop drop off on their way to the checkout, and how long each step takes."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow.compute as pc

import ostinato as ost

STEPS = ["view", "cart", "address", "pay AS p FILTER p.amount > 0"]
CHANCES = {"desktop": (0.6, 0.7, 0.9), "phone": (0.5, 0.3, 0.8)}  # to go on from each step; the form is hard on a phone


def visits(seed: int = 4) -> list[dict[str, Any]]:
    """A day of two thousand visitors, each of whom goes on to the next step or leaves."""
    chance = random.Random(seed)
    rows = []
    for visitor in range(2000):
        device = chance.choice(("desktop", "phone"))
        at = datetime(2026, 5, 4, tzinfo=UTC) + timedelta(minutes=chance.uniform(0, 1000))
        for step, goes_on in zip(("view", "cart", "address", "pay"), (1, *CHANCES[device]), strict=True):
            if chance.random() > goes_on:
                break
            rows.append({"ts": at, "type": step, "visitor": visitor, "device": device, "amount": 10 * len(step)})
            at += timedelta(minutes=chance.expovariate(1 / 4))
    return sorted(rows, key=lambda row: row["ts"])


def main() -> None:
    events = visits()
    funnel = ost.funnel(STEPS, within="1 hour", by="visitor")
    for device in CHANCES:
        print(device)
        print(funnel.detect([event for event in events if event["device"] == device]), end="\n\n")
    stuck = ost.funnel(STEPS, within="1 hour", by=["device", "visitor"]).detect(events).keys
    lost = stuck.filter(pc.equal(stuck["step"], "cart")).group_by("device").aggregate([("visitor", "count")])
    for row in lost.to_pylist():
        print(f"{row['visitor_count']} visitors on a {row['device']} filled a cart and did not give an address")


if __name__ == "__main__":
    main()

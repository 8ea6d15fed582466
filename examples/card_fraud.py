"""Cloned cards: withdrawals of one card in two cities, growing fast, within ten minutes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import ostinato as ost

# Each condition compares events with each other. The stream has no column `type`: every event is a Withdraw.
CLONED = """
SELECT x.card AS card, x.city AS home, y.city AS elsewhere, y.amount AS amount, z.amount AS then, z.ts AS at
WHERE Withdraw AS x ; Withdraw AS y ; Withdraw AS z
FILTER x.card = y.card AND y.card = z.card AND x.city != y.city AND z.amount > 2 * y.amount
WITHIN 10 minutes
"""
# Any number of withdrawals between a small one and a large one: each round of the + is compared with the first.
EMPTIED = """
SELECT MAX x.card AS card, x.amount AS tried, y.amount AS more, z.amount AS last
WHERE Withdraw AS x ; (Withdraw AS y FILTER y.card = x.card AND y.amount > 5 * x.amount)+ ; Withdraw AS z
FILTER z.card = x.card AND z.amount > 15 * x.amount
WITHIN 10 minutes
"""
CITIES = np.array(["Athens", "Bonn", "Lima", "Oslo", "Rome", "Santiago"])


def withdrawals(length: int = 200_000, cards: int = 20_000, cloned: int = 6, seed: int = 3) -> pa.Table:
    """A week of honest withdrawals, each at home, and some cards that somebody empties far away."""
    chance = np.random.default_rng(seed)
    week = 7 * 24 * 3600
    seconds = [chance.uniform(0, week, length)]
    card = [chance.integers(0, cards, length)]
    amount = [10 * chance.integers(1, 30, length)]
    away = [np.zeros(length, np.int64)]
    for victim in chance.choice(cards, cloned, replace=False):
        begin = chance.uniform(0, week - 600)
        seconds.append(begin + np.array([0, 150, 240, 390]))
        card.append(np.full(4, victim))
        amount.append(np.array([60, 20, 150, 400]))
        away.append(np.array([0, 1, 1, 1]))
    order = np.argsort(np.concatenate(seconds), kind="stable")
    number = np.concatenate(card)[order]
    passed = (np.concatenate(seconds)[order] * 1_000_000).astype("timedelta64[us]")
    return pa.table(
        {
            "ts": np.datetime64("2026-03-02", "us") + passed,
            "card": number,
            "city": CITIES[(number + np.concatenate(away)[order]) % len(CITIES)],
            "amount": np.concatenate(amount)[order],
        }
    )


def main() -> None:
    events = withdrawals()
    query = ost.cel(CLONED)
    found = query.detect(events)
    cards = found["card"].unique()
    print(f"{len(events):,} withdrawals, {len(found)} alerts for {len(cards)} cards, such as")
    for alert in found.slice(0, 4).to_pylist():
        print("  card {card}: {home}, then {elsewhere}, {amount}, then {then} at {at:%a %H:%M}".format(**alert))
    # All events of a match agree on the card, so the compiler matches each card separately.
    print(*(line.strip() for line in query.explain().splitlines() if "tied:" in line))

    for alert in ost.cel(EMPTIED).detect(events).slice(0, 3).to_pylist():
        print("  card {card}: {tried}, then {more}, then {last}".format(**alert))


if __name__ == "__main__":
    main()

"""Card transactions with thefts that announce themselves, and much honest spending that begins the same way.

Most of the time the holder of a card buys this and that: amounts are lognormal around what is usual for the card, more
on holidays, and come by day rather than by night. Now and then there is an episode:

* a **theft**: somebody who has the number probes the card with 5 to 8 amounts that rise from about 1 to about 45. Nine
  of ten then climb a ladder of large amounts, about 160, 350, 720 and 1500, and are gone. The holder knows nothing and
  buys something in between;
* a **plan**, such as a move: amounts rise as well, from about 35 over 65 to the same large ones, seldom to the last;
* a **trial** of a wallet or a new service: 2 to 4 rising amounts like those of a thief, and no more;
* a **spree** of 3 to 5 larger amounts in no order, oftener on paydays and holidays.

So the last few transactions of a theft, up to its large amounts, look like a plan, and its first like a trial. Only a
model that remembers about seven of them can tell them apart.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

# A ladder of large amounts, with at most one transaction in between; after an alarm the card is watched anew.
CARD_PATTERN = """
(txn AS a FILTER a.amount > 100) ; (txn AS b FILTER b.amount > 250) ;
(txn AS c FILTER c.amount > 500) ; (txn AS d FILTER d.amount > 1000)
PARTITION BY card
WITHIN 5 EVENTS
CONSUME BY PARTITION
"""
# What the pattern does not look at, but thieves do: how small the small amounts are.
CARD_FEATURES = ("amount > 5", "amount > 20")

PER_DAY = 7.0  # transactions of a card, on average
_FIRST_DAY = np.datetime64("2022-01-01", "D")
_MERCHANTS = ("groceries", "fuel", "restaurant", "clothes", "electronics", "travel", "online")
_COUNTRIES = ("AT", "DE", "ES", "FR", "GR", "IT", "PT", "SE")
# How busy each hour of a day is, from midnight.
_HOURS = (2, 1, 1, 1, 1, 2, 5, 12, 20, 25, 30, 38, 45, 38, 30, 28, 32, 42, 45, 35, 25, 16, 9, 5)


def transactions(events: int = 1_000_000, *, cards: int = 100, seed: int = 7) -> pa.Table:
    """`ts`, `type` ("txn"), `card`, `amount`, `merchant`, `country`, and `thief`: not known in time."""
    from ostinato.samples.kernels.cards import HOLDER, LADDER, PROBE, buy

    rng = np.random.default_rng(seed)
    share = rng.dirichlet(np.full(cards, 8.0))
    begins = np.concatenate([[0], np.rint(np.cumsum(share) * events)]).astype(np.int64)
    card = np.repeat(np.arange(cards), np.diff(begins))
    usual = np.log(30.0) + 0.25 * rng.standard_normal(cards)
    day, amount = np.empty(events), np.empty(events)
    why, away = np.empty(events, np.int8), np.empty(events, np.bool_)
    drawn = rng.random((events, 2)), rng.standard_normal(events), rng.standard_exponential(events)
    buy(begins, usual, PER_DAY * cards * share, _paydays(), *drawn, day, amount, why, away)

    order = np.argsort(day, kind="stable")
    card, why, away = card[order], why[order], away[order]
    thief = (why == PROBE) | (why == LADDER)
    merchant = np.where(
        thief & (rng.random(events) < 0.7), len(_MERCHANTS) - 1, rng.integers(0, len(_MERCHANTS), events)
    )
    home = rng.integers(0, len(_COUNTRIES), cards)[card]
    abroad = np.where(why == HOLDER, away & (rng.random(events) < 0.8), thief & (rng.random(events) < 0.3))
    country = (home + np.where(abroad, 1 + card % 3, 0)) % len(_COUNTRIES)
    return pa.table(
        {
            "ts": _clock(day[order]),
            "type": _take_names(("txn",), np.zeros(events, np.int64)),
            "card": _take_names([f"card {number:0{len(str(cards - 1))}}" for number in range(cards)], card),
            "amount": np.round(amount[order], 2),
            "merchant": _take_names(_MERCHANTS, merchant),
            "country": _take_names(_COUNTRIES, country),
            "thief": thief,
        }
    )


def _paydays() -> NDArray[np.bool_]:
    """Per day of the calendar, whether it is about the 25th of a month: four years, after which it begins again."""
    days = _FIRST_DAY + np.arange(4 * 365 + 1)
    of_month = (days - days.astype("datetime64[M]").astype("datetime64[D]")).astype(np.int64)
    return np.isin(of_month, (24, 25, 26))


def _clock(day: NDArray[np.float64]) -> NDArray[np.datetime64]:
    """Fractions of days as times of day, more of them in busy hours."""
    passed = np.concatenate([[0], np.cumsum(_HOURS)]) / sum(_HOURS)
    hours = 24 * np.floor(day) + np.interp(day % 1, passed, np.arange(25))
    passed_since = (hours * 3600e6).astype("timedelta64[us]")
    return np.asarray(_FIRST_DAY.astype("datetime64[us]") + passed_since)


def _take_names(names: list[str] | tuple[str, ...], place: NDArray[np.int64]) -> pa.Array:
    return pa.array(names, pa.string()).take(pa.array(place))

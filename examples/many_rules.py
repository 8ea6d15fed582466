"""A thousand detection rules over one log, event by event; one is added and one removed while it runs."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

import numpy as np

import ostinato as ost

KINDS = ("login", "fail", "sudo", "download", "upload", "delete", "mail", "logout")


def rules(count: int = 1000) -> dict[str, Any]:
    """Each watches one host: too many failures before a login, or a download that is uploaded again."""
    found = {}
    for number in range(count // 2):
        host = f"host{number}"
        failing = f"fail AS x ; fail AS y ; login AS z FILTER x[host = '{host}'] AND y[host = '{host}']"
        leaking = f"download AS x ; upload AS y FILTER x[host = '{host}' AND size > 90] AND y[host = '{host}']"
        found[f"guessed on {host}"] = ost.cel(f"{failing} AND z[host = '{host}'] WITHIN 1 minute")
        found[f"leak on {host}"] = ost.cel(f"{leaking} WITHIN 5 minutes")
    return found


def log(length: int = 8_000, seed: int = 4) -> list[dict[str, Any]]:
    chance = np.random.default_rng(seed)
    kinds, hosts = chance.choice(KINDS, length), chance.integers(0, 500, length)
    sizes, gaps = chance.integers(0, 100, length), chance.exponential(0.01, length)
    seconds = np.cumsum(gaps).round(3)
    return [
        {"ts": at, "type": kind, "host": f"host{host}", "size": size}
        for at, kind, host, size in zip(seconds.tolist(), kinds.tolist(), hosts.tolist(), sizes.tolist(), strict=True)
    ]


def main() -> None:
    live = ost.engine(rules(), limits=ost.Limits(matches=1000))
    events = log()
    live.push(events[0])
    found: Counter[str] = Counter()
    begun = time.perf_counter()
    for number, event in enumerate(events[1:], 1):
        if number == 4_000:
            live.add(
                "any deletion after sudo", ost.cel("sudo AS x ; delete AS y FILTER x.host = y.host WITHIN 1 second")
            )
            live.remove("leak on host7")
        for match in live.push(event):
            found[match["query"].split(" on ")[0]] += 1
    each = (time.perf_counter() - begun) / len(events)
    stats = live.stats()
    print(f"{len(live.queries)} rules, {stats.events:,} events, {sum(found.values())} alerts: {dict(found)}")
    busiest = max(stats.queries, key=lambda name: stats.queries[name].events)
    print(f"the busiest rule, {busiest!r}, read {stats.queries[busiest].events} of them")
    print(f"{each * 1e6:.0f} µs per event with all {len(live.queries)} rules")


if __name__ == "__main__":
    main()

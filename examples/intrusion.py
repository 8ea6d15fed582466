"""An intrusion as a chain of rules: a port scan, guessed passwords, a host taken, and the next hosts from there."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

import ostinato as ost

# The events are nested: src { host { … } }, dst { host { … }, port { … } }. Rules read what other rules derive.
INTRUSION = """
-- How many different ports of a host an address tried in the last ten seconds.
DETECT tried { ip { var S }, host { var H }, ports { count(all var P) } }
ON and { event c: connect {{ ip {{ var S }}, dst {{ host {{ var H }} }} }},
         event w: timer:from-end-backward [event c, 10 sec],
         while w: collect connect {{ ip {{ var S }}, dst {{ host {{ var H }}, port {{ var P }} }} }} }
END
DETECT scan { ip { var S }, host { var H }, ports { var N } }
ON event t: tried {{ ip {{ var S }}, host {{ var H }}, ports {{ var N }} }} where { var N >= 15 }
END

-- After a scan: a series of failed logins, which CEL is better at. MAX keeps the longest series that ends in a failure.
DETECT brute_force { ip { var S }, host { var H }, failures { var N } }
ON and { event s: scan {{ ip {{ var S }}, host {{ var H }} }},
         event p: cel "SELECT MAX last(bad).ip AS ip, last(bad).dst AS dst, count(bad) AS failures
                       WHERE (login AS bad FILTER NOT bad.ok)+ PARTITION BY ip WITHIN 1 minute"
                  {{ ip {{ var S }}, dst {{ host {{ var H }} }}, failures {{ var N }} }}
   } where { s before p, {s, p} within 10 min, var N >= 8 }
END

-- The guessing succeeds: the host is taken, and the attacker is inside.
DETECT taken { host { var H }, user { var U }, from { var S } }
ON and { event b: brute_force {{ ip {{ var S }}, host {{ var H }} }},
         event l: login {{ ip {{ var S }}, dst {{ host {{ var H }} }}, user {{ var U }}, ok {{ true }} }}
   } where { b before l, {b, l} within 15 min }
END
-- From a taken host, the same account opens the next one: this rule reads what it derives itself.
DETECT taken { host { var G }, user { var U }, from { var H } }
ON and { event t: taken {{ host {{ var H }}, user {{ var U }} }},
         event l: login {{ src {{ host {{ var H }} }}, dst {{ host {{ var G }} }}, user {{ var U }}, ok {{ true }} }}
   } where { t before l, {t, l} within 30 min }
END
"""
START = datetime(2026, 9, 14, 2, tzinfo=UTC)
SCHEMA = pa.schema(
    {
        "ts": pa.timestamp("ms", tz="UTC"),
        "type": pa.string(),
        "ip": pa.string(),
        "src": pa.struct({"host": pa.string()}),
        "dst": pa.struct({"host": pa.string(), "port": pa.int64()}),
        "user": pa.string(),
        "ok": pa.bool_(),
    }
)


def night(seed: int = 2) -> pa.Table:
    """An hour of a network at night: backups, people who mistype, and one intruder."""
    chance = random.Random(seed)
    hosts = [f"host{number:02}" for number in range(30)]
    users = [f"user{number:02}" for number in range(40) if number != 9]  # he is on leave
    rows = [
        connect(
            chance.uniform(0, 3_600),
            f"10.0.0.{chance.randrange(200)}",
            chance.choice(hosts),
            chance.choice([22, 80, 443]),
        )
        for _ in range(6_000)
    ]
    for _ in range(1_500):
        at, host, user = chance.uniform(0, 3_600), chance.choice(hosts), chance.choice(users)
        rows.append(
            login(at, f"10.0.0.{chance.randrange(200)}", chance.choice(hosts), host, user, chance.random() < 0.9)
        )
    evil = "203.0.113.66"
    rows += [connect(600 + port * 0.3, evil, "host07", port) for port in range(20, 60)]
    rows += [login(700 + 3 * n, evil, None, "host07", f"user{n % 12:02}", False) for n in range(24)]
    rows.append(login(790, evil, None, "host07", "user09", True))
    for at, source, target in ((1_200, "host07", "host12"), (1_900, "host12", "host21"), (2_300, "host21", "host03")):
        rows.append(login(at, "10.0.1.1", source, target, "user09", True))
    return pa.Table.from_pylist(sorted(rows, key=lambda row: row["ts"]), SCHEMA)


def connect(second: float, ip: str, host: str, port: int) -> dict[str, Any]:
    return event(second, "connect", ip) | {"dst": {"host": host, "port": port}}


def login(second: float, ip: str, source: str | None, host: str, user: str, ok: bool) -> dict[str, Any]:
    return event(second, "login", ip) | {"src": {"host": source}, "dst": {"host": host}, "user": user, "ok": ok}


def event(second: float, kind: str, ip: str) -> dict[str, Any]:
    return {"ts": START + timedelta(seconds=second), "type": kind, "ip": ip}


def main() -> None:
    events = night()
    program = ost.rules(INTRUSION)
    print(f"{len(events):,} events; {', '.join(program.derived)} are derived from {', '.join(program.incoming)}")
    found = program.detect(events).to_pylist()
    engine = program.engine()
    live = [engine.push(events.slice(first, 500)) for first in range(0, len(events), 500)] + [engine.flush()]
    print(f"{len(found):,} from the whole night, {sum(map(len, live)):,} as it comes, 500 events at a time")
    for label in ("scan", "brute_force", "taken"):
        mine = [event for event in found if event["type"] == label]
        first: dict[tuple[str | None, ...], dict[str, Any]] = {}
        for each in mine:
            first.setdefault((each["ip"], each["host"], each["user"], each["from"]), each)
        print(f"{label}: {len(mine)} derived, {len(first)} with different values")
        for (ip, host, user, source), each in first.items():
            who = f"{user} from {source}" if label == "taken" else ip
            print(f"  {each['end']:%H:%M:%S}  {host}: {who}, since {each['begin']:%H:%M:%S}")


if __name__ == "__main__":
    main()

"""From order to delivery: which orders are late, who is reminded, and what is escalated to the manager."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import ostinato as ost

# Each rule builds on the one before it: a derived event has an end, and timers can start from there.
SLA = """
DETECT overdue { order { var O }, courier { var C } }
ON and { event p: placed {{ order {{ var O }}, courier {{ var C }} }},
         event sla: timer:from-end [event p, 2 hours],
         while sla: not delivered {{ order {{ var O }} }} }
END

DETECT reminder { order { var O }, courier { var C } }
ON and { event o: overdue {{ order {{ var O }}, courier {{ var C }} }},
         event wait: timer:from-end [event o, 30 min],
         while wait: not delivered {{ order {{ var O }} }},
         while wait: not answered {{ order {{ var O }} }} }
END

DETECT escalated { order { var O }, courier { var C } }
ON and { event r: reminder {{ order {{ var O }}, courier {{ var C }} }},
         event wait: timer:from-end [event r, 30 min],
         while wait: not delivered {{ order {{ var O }} }} }
END

-- At the end of a shift: all orders that were overdue in the last eight hours, by courier.
DETECT bad_shift { courier { var C }, number { count(all var O) }, orders { all order { var O } order by [var O] } }
ON and { event s: shift_end {{ courier {{ var C }} }},
         event shift: timer:from-end-backward [event s, 8 hours],
         while shift: collect overdue {{ order {{ var O }}, courier {{ var C }} }} }
END
"""
OPENING = datetime(2026, 5, 4, 9, tzinfo=UTC)
COURIERS = ("Ada", "Ben", "Cleo")


def day(seed: int = 8) -> list[dict[str, Any]]:
    """Forty orders. Most come in time; Cleo has a bad day."""
    chance = random.Random(seed)
    rows = []
    for order in range(1, 41):
        placed = OPENING + timedelta(minutes=chance.uniform(0, 240))
        courier = COURIERS[order % 3]
        rows.append({"ts": placed, "type": "placed", "order": order, "courier": courier})
        hours = chance.uniform(0.5, 1.9) if courier != "Cleo" or order % 2 else chance.uniform(2.1, 4)
        rows.append({"ts": placed + timedelta(hours=hours), "type": "delivered", "order": order, "courier": courier})
        if hours > 2 and chance.random() < 0.5:
            answer = placed + timedelta(hours=2, minutes=chance.uniform(1, 29))
            rows.append({"ts": answer, "type": "answered", "order": order, "courier": courier})
    for courier in COURIERS:
        rows.append({"ts": OPENING + timedelta(hours=8), "type": "shift_end", "order": None, "courier": courier})
    return sorted(rows, key=lambda row: row["ts"])


def main() -> None:
    program = ost.rules(SLA)
    events = day()
    whole = program.detect(events)

    # The same as a service would run it: events as they come, and a clock that ticks every 15 minutes.
    engine = program.engine()
    found: list[dict[str, Any]] = []
    for quarter in range(1, 41):
        until = OPENING + timedelta(minutes=15 * quarter)
        batch = [event for event in events if until - timedelta(minutes=15) < event["ts"] <= until]
        derived = engine.push(batch).to_pylist() if batch else []
        derived += engine.advance(to=until).to_pylist() if engine.stats().events else []
        for event in derived:
            orders = event["orders"]["order"] if event["type"] == "bad_shift" else event["order"]
            print(f"{until:%H:%M}  {event['type']:<10} {event['courier']:<5} order {orders}")
        found += derived
    print(f"{len(events)} events, {len(found)} derived one by one, {len(whole)} from the whole day at once")
    print(engine.stats())


if __name__ == "__main__":
    main()

"""Patterns over what rules derive: means of each minute, a valley in them (SQL), and alarms without an answer (CEL)."""

from __future__ import annotations

import math
import random

import ostinato as ost

PUMPS = """
-- The mean pressure of each minute, by pump.
PRIVATE DETECT mean { pump { var P }, bar { round(avg(each var B), 2) } } from begin(w)
ON and { event w: timer:tumbling [1 min], while w: collect pressure {{ pump {{ var P }}, bar {{ var B }} }} } END

-- It falls for two minutes at least, and rises again.
DETECT valley { pump { var P }, low { var L } }
ON event p: sql "SELECT * FROM mean MATCH_RECOGNIZE (
                     PARTITION BY pump MEASURES LAST(DOWN.bar) AS low PATTERN (HIGH DOWN{2,} UP)
                     DEFINE DOWN AS bar < PREV(bar), UP AS bar > PREV(bar))"
            {{ pump {{ var P }}, low {{ var L }} }} where { var L < 3 } END

-- Two valleys of a pump within half an hour, and no service between: derived and incoming events in one pattern.
DETECT worn { pump { var P } }
ON event p: cel "SELECT y.pump AS pump WHERE valley AS x ; NOT service AS s ; valley AS y
                 PARTITION BY pump WITHIN 30 minutes" {{ pump {{ var P }} }} END
"""


def readings(minutes: int, seed: int = 5) -> list[dict[str, object]]:
    """Every ten seconds from three pumps; the pressure of two of them swings, and one of these is serviced in time."""
    noise, rows = random.Random(seed), []
    for second in range(0, 60 * minutes, 10):
        for pump, swing in (("north", 0.2), ("south", 2.0), ("west", 2.0)):
            bar = 4 + swing * math.cos(2 * math.pi * second / 600) + noise.uniform(-0.05, 0.05)
            rows.append({"ts": second, "type": "pressure", "pump": pump, "bar": round(bar, 2)})
        if second == 700:
            rows.append({"ts": second, "type": "service", "pump": "west", "bar": None})
    return rows


def main() -> None:
    program, rows = ost.rules(PUMPS), readings(22)
    engine = program.engine()
    alarms = [event for row in rows for event in engine.push([row]).to_pylist()] + engine.flush().to_pylist()
    for event in alarms:
        low = "" if event["low"] is None else f" down to {event['low']} bar"
        print(f"{event['begin'] / 60:4.0f} to {event['end'] / 60:.0f} min: {event['pump']} {event['type']}{low}")
    assert alarms == program.detect(rows).to_pylist(), "event by event and as a table, the same"


if __name__ == "__main__":
    main()

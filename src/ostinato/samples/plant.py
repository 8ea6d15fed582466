"""The plant of the CERA paper as a benchmark: its three rules, and a stream of any length for them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

PROGRAM = """
DETECT fire { area { var A } }
ON and { event s: smoke {{ area {{ var A }} }},
         event t: temp {{ area {{ var A }}, value {{ var T }} }}
   } where { s before t, {s, t} within 1 min, var T > 40 }
END
DETECT burnt_down { sensor { var S } }
ON and { event n: temp {{ sensor {{ var S }}, value {{ var T }} }},
         event i: timer:from-end [event n, 12 sec],
         while i: not temp {{ sensor {{ var S }} }}
   } where { var T > 40 }
END
DETECT avg_temp { sensor { var S }, value { avg(all var T) } }
ON and { event m: temp {{ sensor {{ var S }} }},
         event i: timer:from-start-backward [event m, 1 min],
         while i: collect temp {{ sensor {{ var S }}, value {{ var T }} }} }
END
"""
SENSORS = 1_000  # one in each area
PERIOD = 11.8  # seconds from one report of a sensor to the next, so that 12 seconds of silence are the exception
LONGEST = "1 second"  # that a report takes
_SMOKE = 0.02  # of the events
_HOT = 0.01  # of the temperatures
_START = np.datetime64("2026-01-01", "us")


def plant(events: int, *, first: int = 0, seed: int = 7) -> pa.Table:
    """Events from number `first` on, in order of their end: any part of the stream can be made on its own."""
    rng = np.random.default_rng([seed, first])
    per_second = SENSORS / PERIOD
    # Sensors report in turn, so that what comes when follows from the number of the event; some turns are of smoke.
    number = first + np.arange(events)
    smoke = rng.random(events) < _SMOKE
    end = number / per_second + rng.uniform(0, 0.5 / per_second, events)
    place = np.where(smoke, rng.integers(0, SENSORS, events), number % SENSORS)
    value = np.round(np.where(rng.random(events) < _HOT, rng.uniform(41, 60, events), rng.normal(22, 3, events)), 1)
    ends = _START + (end * 1e6).astype("timedelta64[us]")
    return pa.table(
        {
            "begin": pa.array(ends - np.timedelta64(800, "ms"), pa.timestamp("us")),
            "end": pa.array(ends, pa.timestamp("us")),
            "type": pa.array(np.where(smoke, "smoke", "temp")),
            "area": pa.array(np.char.add("area ", place.astype(str))),
            "sensor": pa.array(np.char.add("sensor ", place.astype(str)), mask=smoke),
            "value": pa.array(value, mask=smoke),
        }
    )

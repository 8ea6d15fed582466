"""Reports of vessels in a bay with ports: some come in, some wait before a port, some turn away.

Each vessel sails from port to port and reports every four minutes, now and then with a gap of up to half an hour. Six
miles before its port it slows down, and again at three and at one, like everybody. But a fifth of the vessels have to
wait at the anchorage three miles out, drifting for one to four hours, after which a third go elsewhere; and nearly a
fifth turn away when they are all but there. A third of the vessels fish: they move slowly to and fro, also near ports.

Speed and distance alone look the same for all of them at first: how long a vessel has been slow, and whether it still
comes nearer, tells more.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

# Speed falls in steps on the way in, and the vessel is at the port within 24 reports, about an hour and a half.
VESSEL_PATTERN = """
SELECT LAST * WHERE
(fix AS under_way FILTER under_way.distance < 10 AND under_way.speed > 9) ;
(fix AS slow FILTER slow.distance < 3 AND slow.speed < 6) ;
(fix AS arrived FILTER arrived.distance < 0.5)
PARTITION BY vessel
WITHIN 24 EVENTS
CONSUME BY PARTITION
"""
# How near, how fast, and whether it still comes nearer.
VESSEL_FEATURES = ("distance < 6", "distance < 1.5", "speed > 2", "closing > 1")

_FIRST_DAY = np.datetime64("2026-03-01", "us")
_WEST, _SOUTH = -5.5, 47.6
# Miles east and north of that corner; the coast runs round the bay and leaves the west open.
_PORTS = ((22, 4), (48, 9), (66, 24), (72, 47), (58, 66), (33, 72), (12, 62))


def reports(events: int = 200_000, *, vessels: int = 40, seed: int = 7) -> pa.Table:
    """`ts`, `type` ("fix"), `vessel`, `lon`, `lat`, `speed` in knots, `heading` in degrees, and of the nearest port:

    `distance` in nautical miles, and `closing`, the knots at which it fell since the last report (NULL in the first).
    """
    from ostinato.samples.kernels.vessels import sail

    rng = np.random.default_rng(seed)
    begins = np.linspace(0, events, vessels + 1).astype(np.int64)
    vessel = np.repeat(np.arange(vessels), np.diff(begins))
    cruise = rng.uniform(10, 16, vessels)
    hours, speed, heading, distance = (np.empty(events) for _ in range(4))
    place = np.empty((events, 2))
    ports = np.array(_PORTS, np.float64)
    drawn = rng.random((events, 3)), rng.standard_normal((events, 2))
    sail(begins, ports, cruise, *drawn, hours, place, speed, heading, distance)

    # What is sent is not quite where the vessel is.
    measured = np.maximum(distance + 0.03 * rng.standard_normal(events), 0)
    closing = np.full(events, np.nan)
    closing[1:] = -np.diff(measured) / np.diff(hours)
    closing[begins[:-1][np.diff(begins) > 0]] = np.nan
    order = np.argsort(hours, kind="stable")
    lat = _SOUTH + place[:, 1] / 60
    lon = _WEST + place[:, 0] / 60 / np.cos(np.radians(_SOUTH))
    names = pa.array([f"2270{number:05}" for number in range(vessels)])
    return pa.table(
        {
            "ts": _FIRST_DAY + (hours[order] * 3600e6).astype("timedelta64[us]"),
            "type": pa.array(["fix"]).take(pa.array(np.zeros(events, np.int64))),
            "vessel": names.take(pa.array(vessel[order])),
            "lon": _round(lon, order, 5),
            "lat": _round(lat, order, 5),
            "speed": _round(np.maximum(speed + 0.1 * rng.standard_normal(events), 0), order, 1),
            "heading": _round(heading, order, 0) % 360,
            "distance": _round(measured, order, 2),
            "closing": pa.array(_round(closing, order, 1), from_pandas=True),
        }
    )


def _round(values: NDArray[np.float64], order: NDArray[np.int64], digits: int) -> NDArray[np.float64]:
    return np.round(values[order], digits)

"""How vessels cross a bay, call at its ports, wait before them, fish or turn away, one report after the other.

`ostinato.samples.vessels` describes the process. Lengths are in nautical miles, speeds in knots, headings in degrees.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ostinato.core.jit import array, kernel, table, view
from ostinato.core.jit.types import float64, int64, void

SAIL, APPROACH, WAIT, MOOR, FISH = range(5)  # what a vessel is doing

_DECIDES = 6.0  # miles from the port where it is known whether the vessel can come in at once
_COMES_IN, _WAITS = 0.62, 0.2  # of vessels bound for a port; the others go elsewhere, after slowing down like them
_LEAVES = 0.35  # of vessels that waited
_ANCHORAGE, _TURNS, _BERTH = 3.0, 2.2, 0.3  # miles from the port: where they wait, turn away, moor
_FISHERS, _FISHES = 0.3, 0.5  # of vessels; of their departures
_LOST, _LONGEST_LOSS = 0.02, 8  # of reports; in reports
_EVERY = 4 / 60  # hours between reports
_TURN = 90.0  # degrees that a vessel under way turns from one report to the next, at most


@kernel(
    void(
        view(int64), table(float64, constant=True), view(float64),
        table(float64, constant=True), table(float64, constant=True),
        array(float64), table(float64), array(float64), array(float64), array(float64),
    )
)  # fmt: skip
def sail(
    begins: NDArray[np.int64],
    ports: NDArray[np.float64],
    cruise: NDArray[np.float64],
    chance: NDArray[np.float64],
    noise: NDArray[np.float64],
    hours: NDArray[np.float64],
    place: NDArray[np.float64],
    speed: NDArray[np.float64],
    heading: NDArray[np.float64],
    distance: NDArray[np.float64],
) -> None:
    """Fill in `hours` since the beginning, `place` (east, north), `speed`, `heading`, `distance` to the nearest port.

    Vessel v has rows begins[v] … begins[v + 1], in order of time. A row has three numbers of `chance` and two of
    `noise` (normal).
    """
    for vessel in range(len(begins) - 1):
        row = begins[vessel]
        if row == begins[vessel + 1]:
            continue
        fisher = vessel < _FISHERS * (len(begins) - 1)
        target = int(chance[row, 0] * len(ports))
        start = (target + 1 + int(chance[row, 1] * (len(ports) - 1))) % len(ports)
        east, north, now = ports[start, 0], ports[start, 1], chance[row, 2] * _EVERY
        mode, left, knots, course, admitted = MOOR, 1 + int(20 * chance[row, 2]), 0.0, 0.0, True
        for row in range(begins[vessel], begins[vessel + 1]):
            first, second, third = chance[row, 0], chance[row, 1], chance[row, 2]
            toward_east, toward_north = ports[target, 0] - east, ports[target, 1] - north
            off = np.hypot(toward_east, toward_north)
            bearing = np.degrees(np.arctan2(toward_east, toward_north))
            left -= 1
            if mode == SAIL and off < _DECIDES:
                if first < _COMES_IN:
                    mode, admitted = APPROACH, True
                elif first < _COMES_IN + _WAITS:
                    mode, left = WAIT, 15 + int(45 * second)
                else:
                    mode, admitted = APPROACH, False
            elif mode == APPROACH and off < _BERTH:
                mode, left = MOOR, 8 + int(25 * first)
            elif (
                (mode == APPROACH and not admitted and off < _TURNS)
                or (mode == WAIT and left <= 0 and first < _LEAVES)
                or (mode == MOOR and left <= 0)
                or (mode == FISH and left <= 0)
            ):
                target = (target + 1 + int(second * (len(ports) - 1))) % len(ports)
                if mode == MOOR and fisher and first < _FISHES:
                    mode, left = FISH, 40 + int(80 * third)
                else:
                    mode = SAIL
                toward_east, toward_north = ports[target, 0] - east, ports[target, 1] - north
                off = np.hypot(toward_east, toward_north)
                bearing = np.degrees(np.arctan2(toward_east, toward_north))
            elif mode == WAIT and left <= 0:
                mode, admitted = APPROACH, True

            wanted, turn = cruise[vessel], _TURN
            if mode == APPROACH:
                wanted = min(cruise[vessel], 8.0 if off > 3 else 4.5 if off > 1 else 2.5)
            elif mode == WAIT and off < _ANCHORAGE:
                wanted, bearing, turn = 0.6, course + 40 * noise[row, 0], 180.0
            elif mode == WAIT:
                wanted = min(cruise[vessel], 8.0)
            elif mode == FISH:
                # A way out to sea, and then to and fro.
                middle = bearing + 60 if left > 30 else course
                wanted, bearing, turn = 3.5, middle + 30 * noise[row, 0], 60.0
            elif mode == MOOR:
                wanted = 0.0
            knots = 0.0 if mode == MOOR else max(0.0, knots + 0.6 * (wanted - knots) + 0.5 * noise[row, 1])
            change = (bearing - course + 180) % 360 - 180
            course = (course + min(max(change, -turn), turn) + 2 * noise[row, 0]) % 360

            passed = _EVERY * (0.9 + 0.2 * second)
            if third < _LOST:
                passed *= 1 + int(_LONGEST_LOSS * third / _LOST)
            # Nobody sails past a berth between two reports.
            miles = min(knots * passed, max(off, _BERTH)) if mode == APPROACH else knots * passed
            east += miles * np.sin(np.radians(course))
            north += miles * np.cos(np.radians(course))
            now += passed
            nearest = np.inf
            for port in range(len(ports)):
                nearest = min(nearest, np.hypot(ports[port, 0] - east, ports[port, 1] - north))
            hours[row], place[row, 0], place[row, 1] = now, east, north
            speed[row], heading[row], distance[row] = knots, course, nearest

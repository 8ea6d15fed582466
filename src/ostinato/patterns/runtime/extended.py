"""Which matches are the beginning of others: those that have the same events, and then one more."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ostinato.core.arrays import Int64
from ostinato.patterns.runtime.matches import Matches

Bool = npt.NDArray[np.bool_]
UInt64 = npt.NDArray[np.uint64]

_SEEDS = (0, 0x5851F42D4C957F2D)


def are_extended(began: Matches, others: Matches, complete: Bool) -> Bool:
    """Whether one of the others has the events of a match and one more; or is complete, and has the same ones.

    Sets of events are told apart by fingerprints of 128 bits, sums over their events.
    """
    whole, without_last = _fingerprints(others)
    wanted = np.concatenate([without_last[:, others.lengths > 1], whole[:, complete]], axis=1)
    own, _ = _fingerprints(began)
    if not wanted.shape[1]:
        return np.zeros(len(began), bool)
    wanted = wanted[:, np.argsort(wanted[0], kind="stable")]
    at = np.minimum(np.searchsorted(wanted[0], own[0]), wanted.shape[1] - 1)
    same: Bool = (wanted[:, at] == own).all(axis=0)
    return same


def _fingerprints(matches: Matches) -> tuple[UInt64, UInt64]:
    """Of the events of each match; and of all but its last one."""
    whole: UInt64 = np.zeros((len(_SEEDS), len(matches)), np.uint64)
    last: UInt64 = np.zeros_like(whole)
    if len(matches):
        for row, seed in enumerate(_SEEDS):
            mixed = _mix(matches.positions, seed)
            whole[row] = np.add.reduceat(mixed, matches.offsets[:-1])
            last[row] = mixed[matches.offsets[1:] - 1]
    return whole, whole - last


def _mix(positions: Int64, seed: int) -> UInt64:
    """Numbers that look random, one for each position (SplitMix64)."""
    mixed = (positions.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(seed)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return mixed ^ (mixed >> np.uint64(31))

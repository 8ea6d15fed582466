"""Fingerprints of several values, as 64-bit numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ostinato.core.columns.intern import mix
from ostinato.core.jit import subroutine
from ostinato.core.jit.types import int64, uint64

SEEDS = (0x243F6A8885A308D3, 0x13198A2E03707344)


@subroutine(uint64(uint64, int64))
def add_to(fingerprint: Any, value: int) -> Any:
    """A fingerprint with one more value in it."""
    return mix(fingerprint ^ np.uint64(value)) * np.uint64(0xD6E8FEB86659FD93) + np.uint64(0x9E3779B97F4A7C15)

"""Arrays that are where an address says, in Python and in compiled code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ostinato.core.jit import kernel
from ostinato.core.jit.memory import address_of, float64_at, int32_at, int64_at, uint8_at
from ostinato.core.jit.types import float64, int64


@kernel(float64(int64, int64))
def add_up(address: int, length: int) -> Any:
    """Where each kind of numbers is, follows from where the first is."""
    total = 0.0
    for number in int64_at(address, length):
        total += number
    for number in int32_at(address, 2 * length):
        total += 1000 * number
    for number in uint8_at(address, 8 * length)[:1]:
        total += number
    return total + float64_at(address, length).size


def test_compiled_code_reads_them() -> None:
    numbers = np.array([3, 4], np.int64)
    assert add_up(address_of(numbers), 2) == 7 + 7000 + 3 + 2
    assert add_up(0, 0) == 0


def test_python_reads_them() -> None:
    numbers = np.array([1.0, -2.5])
    found = float64_at(address_of(numbers), 2)
    assert found.tolist() == [1.0, -2.5]
    assert uint8_at(address_of(numbers), 8).tolist() == list(numbers[:1].tobytes())
    assert int32_at(0, 0).tolist() == []
    with pytest.raises(ValueError, match="read-only"):
        found[0] = 1.0

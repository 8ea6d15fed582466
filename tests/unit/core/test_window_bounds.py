"""The bound of one event's window is the bound that a whole column gives."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ostinato.core.clock import Clock, to_ordered_ints
from ostinato.core.window_bounds import lower_bound_function, lower_bounds

floats = st.floats(allow_nan=False) | st.floats(0, 2e9) | st.integers(0, 2_000_000_000).map(lambda whole: whole / 1000)
amounts = st.integers(0, 10**15) | st.sampled_from([10**8, 10**9, 60 * 10**9, 1])


@pytest.mark.parametrize("attribute", [True, False])
@given(last=floats, amount=amounts)
@example(last=1.8e299, amount=0)  # more nanoseconds than any float
@example(last=-1.8e299, amount=1)
@example(last=-1.2e-39, amount=0)  # less than a nanosecond before zero
@example(last=1.0000000006, amount=0)
def test_floats(attribute: bool, last: float, amount: int) -> None:
    clock = Clock("ts", pa.float64(), attribute)
    tick = int(to_ordered_ints(np.array([last]))[0])
    expected = int(lower_bounds(clock, np.array([tick]), amount)[0])
    assert lower_bound_function(clock, amount)(tick) == expected
    assert math.isinf(last) or lower_bound_function(clock, amount)(tick) <= tick


@given(tick=st.integers(-(2**63), 2**63 - 1), amount=amounts)
def test_whole_numbers(tick: int, amount: int) -> None:
    clock = Clock("ts", pa.int64())
    assert lower_bound_function(clock, amount)(tick) == int(lower_bounds(clock, np.array([tick]), amount)[0])

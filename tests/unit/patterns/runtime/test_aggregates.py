"""Aggregates over the events of a variable."""

from __future__ import annotations

import pytest

import ostinato
from ostinato.errors import DataError


def test_a_sum_may_be_the_least_64_bit_integer() -> None:
    rows = [{"type": "A", "a": -(2**62)}] * 2
    assert ostinato.cel("SELECT MAX sum(x.a) AS s WHERE (A AS x)+").detect(rows)["s"].to_pylist()[-1] == -(2**63)
    with pytest.raises(DataError, match="64-bit"):
        ostinato.cel("SELECT MAX sum(x.a) AS s WHERE (A AS x)+").detect([*rows, {"type": "A", "a": -1}])

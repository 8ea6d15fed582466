"""The container of snapshots."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from ostinato.core.snapshot_format import VERSION, Snapshot
from ostinato.errors import DataError

SAVED = Snapshot(
    {"text": "Zürich", "list": [1, None, 2.5]},
    {"ids": np.arange(6, dtype=np.int32).reshape(2, 3), "none": np.zeros(0, np.uint8)},
    {"rows": pa.table({"v": pa.array([1, None], pa.int8()), "s": pa.array(["a", "b"]).dictionary_encode()})},
).to_bytes()


def test_there_and_back() -> None:
    found = Snapshot.from_bytes(SAVED)
    assert found.meta == {"text": "Zürich", "list": [1, None, 2.5]}
    assert (found.arrays["ids"].tolist(), found.arrays["ids"].dtype.name) == ([[0, 1, 2], [3, 4, 5]], "int32")
    found.arrays["ids"][0, 0] = 7  # arrays are copies that may be written
    assert found.arrays["none"].shape == (0,)
    assert found.tables["rows"].to_pylist() == [{"v": 1, "s": "a"}, {"v": None, "s": "b"}]
    assert found.tables["rows"].schema.field("v").type == pa.int8()


@pytest.mark.parametrize("data", [b"", b"OSTINAT", b"x" * 100, "text", None])
def test_what_is_no_snapshot(data: object) -> None:
    with pytest.raises(DataError, match="not an Ostinato snapshot"):
        Snapshot.from_bytes(data)


@pytest.mark.parametrize("place", [30, len(SAVED) // 2, len(SAVED) - 1])
def test_one_changed_byte_is_found(place: int) -> None:
    damaged = bytearray(SAVED)
    damaged[place] ^= 1
    with pytest.raises(DataError, match="damaged"):
        Snapshot.from_bytes(bytes(damaged))


def test_a_snapshot_that_is_cut_short() -> None:
    with pytest.raises(DataError, match="damaged"):
        Snapshot.from_bytes(SAVED[:-1])


def test_other_versions_are_refused() -> None:
    other = bytearray(SAVED)
    other[8] = VERSION + 1
    with pytest.raises(DataError, match=f"has version {VERSION + 1}, this release reads version {VERSION}"):
        Snapshot.from_bytes(bytes(other))

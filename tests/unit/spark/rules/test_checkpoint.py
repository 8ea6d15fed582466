"""What a bucket of a stream of rules keeps in Spark's state store."""

from __future__ import annotations

import json

import numpy as np
import pytest

from ostinato.core.snapshot_format import Snapshot
from ostinato.errors import DataError
from ostinato.spark.rules.checkpoint import SavedEngine, check_keys


def test_the_snapshot_of_an_engine_is_packed_and_comes_back() -> None:
    saved = SavedEngine(b"DETECT " * 10_000, 5)
    data = saved.dump()
    assert len(data) < 2_000
    assert SavedEngine.load(data) == saved
    assert SavedEngine.load(None) == SavedEngine(None)


def test_other_keys_of_the_same_rules() -> None:
    rules = {"queries": {"rules": {"text": "DETECT …"}}}
    before = json.dumps(rules | {"keys": [{"a": ["k"]}]}).encode()
    check_keys(before, rules | {"keys": [{"a": ["k"]}]})
    check_keys(json.dumps(rules).encode(), rules | {"keys": []})
    with pytest.raises(DataError, match="split the stream by other columns"):
        check_keys(before, rules | {"keys": [{"a": ["k", "v"]}]})


def test_states_that_are_not_packed_are_read() -> None:
    before = Snapshot({"timer": None}, {"engine": np.frombuffer(b"as it was", np.uint8)}, {}).to_bytes()
    assert SavedEngine.load(before) == SavedEngine(b"as it was", None)

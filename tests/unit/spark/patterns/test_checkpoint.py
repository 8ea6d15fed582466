"""What the state of a bucket makes of other queries than it was kept for."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import Any

import pyarrow as pa
import pytest

from ostinato.errors import DataError
from ostinato.patterns.limits import Limits
from ostinato.spark.checkpoint_header import check_header
from ostinato.spark.patterns.checkpoint import BucketState, SplitState, check_keys, checkpoint_header
from ostinato.spark.patterns.shipped_query import ShippedQuery

SCHEMA = pa.schema({"ts": pa.timestamp("us"), "type": pa.string()})
BINDING = {"time": "ts", "type": None, "order_by": ()}
COLUMNS: dict[str, Any] = {"time": None, "type": None, "order_by": []}
LIMITS = Limits(matches=5)


def query(name: str, text: str = "A AS x ; B AS y") -> ShippedQuery:
    return ShippedQuery(name, text, BINDING, True, LIMITS, tuple(SCHEMA.names), SCHEMA)


def test_a_state_is_read_as_it_was_written() -> None:
    state = SplitState(b"some bytes", {"q": "A AS x ; B AS y"}, {"new": 5}, {"big": {"reason": "no", "limits": {}}}, 7)
    bucket = BucketState({"[]": state, "[k]": SplitState(due=3)}, 4, timer=9)
    assert BucketState.load(bucket.dump(), 4) == bucket
    with pytest.raises(DataError, match="begun with buckets=4, now it is 5"):
        BucketState.load(bucket.dump(), 5)


def test_queries_that_go_and_come() -> None:
    stopped = {name: {"reason": "no", "limits": asdict(LIMITS)} for name in ("stopped", "raised", "gone, too")}
    state = SplitState(b"", {"q": "A AS x ; B AS y", "gone": "C AS z"}, {"late": 5, "gone, again": 6}, stopped)
    queries = {name: query(name) for name in ("q", "late", "stopped", "raised", "new")}
    queries["raised"] = replace(queries["raised"], limits=Limits(matches=6))
    now = state.of(queries)
    assert (list(now.running), list(now.begins), list(now.stopped)) == (["q"], ["late"], ["stopped"])
    assert now.new_queries(queries) == ["raised", "new"]


def test_another_query_of_the_same_name() -> None:
    state = SplitState(b"", {"q": "A AS x ; B AS y"})
    assert state.of({"q": query("q", "A  AS x ; -- then\n B AS y")}) == state
    with pytest.raises(DataError, match="another query 'q': A AS x ; B AS y"):
        state.of({"q": query("q", "A AS x ; C AS y")})


def test_a_header_of_before() -> None:
    splits = {"[]": (query("q"),)}
    now = checkpoint_header(4, splits, SCHEMA, late=False, columns=COLUMNS)
    check_header(check_header(None, now), now)
    with pytest.raises(DataError, match="another version of Ostinato"):
        check_header(b'{"buckets": 4, "late": false, "queries": {}}', now)
    columns = COLUMNS | {"order_by": ["v"]}
    with pytest.raises(DataError, match="without order_by, now it is with order_by") as caught:
        check_header(check_header(None, now), checkpoint_header(4, splits, SCHEMA, late=False, columns=columns))
    assert caught.value.option == "order_by"


@pytest.mark.parametrize(
    ("known", "now", "reason"),
    [
        (pa.int32(), pa.int64(), None),
        (pa.float32(), pa.float64(), None),
        (pa.decimal128(5, 2), pa.decimal128(9, 2), "its values were hashed as decimal128"),
        (None, pa.int64(), None),
        (None, pa.int32(), "its values were hashed as int32"),  # by what was there before
    ],
)
def test_keys_stay_in_their_buckets(known: pa.DataType | None, now: pa.DataType, reason: str | None) -> None:
    def header(kind: pa.DataType) -> dict[str, Any]:
        return checkpoint_header(4, {'["k"]': (query("q"),)}, pa.schema({"k": kind}), late=False, columns=COLUMNS)

    before = header(known if known is not None else now)
    if known is None:
        del before["hashed"]
    later = header(now)
    if reason is None:
        check_keys(json.dumps(before).encode(), later, pa.schema({"k": now}))
        return
    with pytest.raises(DataError, match=reason):
        check_keys(json.dumps(before).encode(), later, pa.schema({"k": now}))

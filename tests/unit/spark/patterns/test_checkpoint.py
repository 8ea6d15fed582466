"""The state of a bucket refuses what the header of its checkpoint refuses, in the same words."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from ostinato.errors import DataError
from ostinato.patterns.limits import Limits
from ostinato.spark.patterns.checkpoint import BucketState
from ostinato.spark.patterns.task import ShippedQuery

SCHEMA = pa.schema({"ts": pa.timestamp("us"), "type": pa.string()})
BINDING = {"time": "ts", "type": None, "order_by": ()}


def test_an_answer_with_other_columns() -> None:
    """The tasks of buckets and that of the header run at once, and whichever fails first is told."""
    query = ShippedQuery("q", "A AS x ; B AS y", BINDING, True, Limits(), tuple(SCHEMA.names), pa.schema([]))
    engine = query.engine(lateness=None)
    engine.push(SCHEMA.empty_table())
    state = BucketState({"q": engine.snapshot()}, 4)
    assert state.engine(query, "count").compiled.query.text == query.text
    said = "the answer of 'q' had other columns when the checkpoint was begun: start: "
    with pytest.raises(DataError, match=said) as caught:
        state.engine(replace(query, events=False), "count")
    assert caught.value.option == "events"

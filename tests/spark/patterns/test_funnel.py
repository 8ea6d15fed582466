"""A funnel over a DataFrame counts what it counts over the same rows as a table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

import ostinato as ost


def test_the_same_as_without_spark(spark: Any) -> None:
    chance = np.random.default_rng(7)
    rows = pa.table(
        {
            "ts": pa.array(np.sort(chance.choice(10**6, 400, replace=False)) * 10**6, pa.timestamp("us", "UTC")),
            "type": chance.choice(["view", "cart", "pay", "leave"], 400),
            "user": chance.integers(0, 40, 400),
        }
    )
    funnel = ost.funnel(["view", "cart", "pay"], within="2 days", by="user")
    table, frame = funnel.detect(rows), funnel.detect(spark.createDataFrame(rows).repartition(3))
    assert frame.steps.equals(table.steps) or str(frame.steps.to_pydict()) == str(table.steps.to_pydict())
    got = {row["user"]: (row["reached"], row["step"], list(row["seconds"])) for row in frame.keys.collect()}
    assert got == {row["user"]: (row["reached"], row["step"], row["seconds"]) for row in table.keys.to_pylist()}

"""The unpaid orders on Spark: first over all events at once, then as a stream of files, with the same answer."""

from __future__ import annotations

import os
import random
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import ostinato as ost
from ostinato.spark import register, session

UNPAID = """
SELECT placed.order_id AS order_id, placed.ts AS placed_at
WHERE ORDER AS placed ; NOT PAYMENT AS paid
PARTITION BY order_id
WITHIN 1 hour
"""


def write_events(folder: Path, seed: int = 4) -> None:
    """Five hours of orders and payments in five files. A last event, a day later, shows that time has passed."""
    chance = random.Random(seed)
    opening = datetime(2026, 5, 4, 9, tzinfo=UTC)
    rows: list[dict[str, Any]] = [{"ts": opening + timedelta(days=1), "type": "CLOSED", "order_id": 0}]
    for order in range(100, 140):
        placed = opening + timedelta(minutes=chance.uniform(0, 300))
        rows.append({"ts": placed, "type": "ORDER", "order_id": order})
        if order % 8:  # every eighth is never paid
            rows.append({"ts": placed + timedelta(minutes=chance.uniform(1, 55)), "type": "PAYMENT", "order_id": order})
    rows.sort(key=lambda row: row["ts"])
    folder.mkdir()
    for number in range(5):
        path = folder / f"{number}.parquet"
        part = rows[number * len(rows) // 5 : (number + 1) * len(rows) // 5]
        pq.write_table(pa.Table.from_pylist(part), path, coerce_timestamps="us")
        os.utime(path, (number, number))  # a stream takes files in the order of their age


def main() -> None:
    spark = session("local[2]")
    query = ost.cel(UNPAID)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_events(folder / "events")
        events = spark.read.parquet(str(folder / "events"))
        for order in query.detect(events).orderBy("placed_at").collect():
            print(f"order {order.order_id} of {order.placed_at:%H:%M} was never paid")

        stream = spark.readStream.schema(events.schema).option("maxFilesPerTrigger", 1)
        alerts = query.detect(stream.parquet(str(folder / "events")), lateness="1 hour")
        writing = alerts.writeStream.format("parquet").option("checkpointLocation", str(folder / "state"))
        writing.trigger(availableNow=True).start(str(folder / "alerts")).awaitTermination()
        print("as a stream:", spark.read.parquet(str(folder / "alerts")).count())

        register(spark)
        events.createOrReplaceTempView("events")
        found = spark.sql("SELECT count(*) AS number FROM ostinato_detect(TABLE(events), :query)", {"query": UNPAID})
        print("in SQL:", found.collect()[0]["number"])


if __name__ == "__main__":
    main()

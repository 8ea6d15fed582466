"""What all jobs here detect: a stream of random events, three queries, and the embedded engine's answer."""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import ostinato as ost
from ostinato.patterns.query import PatternQuery

QUERIES = {
    "pair": "A AS x ; B AS y FILTER x[n < 100000] AND y[n < 100000] WITHIN 2 seconds",  # one stream
    "keyed": "A AS x ; (C AS y)+ ; B AS z PARTITION BY key WITHIN 20 seconds",
    "absent": "A AS x ; NOT B PARTITION BY key WITHIN 10 seconds",  # answered by time alone
}
RULES = """
DETECT answered { key { var K }, n { var N } }
ON and { event a: A {{ key {{ var K }}, n {{ var N }} }}, event b: B {{ key {{ var K }} }} }
   where { a before b, {a, b} within 3 sec }
END
DETECT silent { key { var K }, n { var N } }
ON and { event a: A {{ key {{ var K }}, n {{ var N }} }},
         event i: timer:from-end [event a, 10 sec],
         while i: not B {{ key {{ var K }} }} }
END
"""
ROW_PATTERN = """
SELECT key, since, n * 10 AS tenfold FROM events MATCH_RECOGNIZE (
    PARTITION BY key ORDER BY ts, type, n MEASURES FIRST(n) AS since, count(*) AS n, MATCH_NUMBER() AS number
    PATTERN (A X*? B C*) WITHIN INTERVAL 10 SECOND
    DEFINE A AS type = 'A', B AS type = 'B' AND n > A.n, C AS type <> 'D', X AS type <> 'END') WHERE number > 1
"""
PATTERN = "A AS x ; B AS y ; C AS z PARTITION BY key WITHIN 8 EVENTS"  # to forecast
SCHEMA = pa.schema({"ts": pa.timestamp("us", tz="UTC"), "type": pa.string(), "key": pa.int64(), "n": pa.int64()})
SPARK_SCHEMA = "ts timestamp, type string, key long, n long"
LATENESS = "5 seconds"
ORDER = ["type", "key", "n"]  # of events of one time
_BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


def queries() -> dict[str, PatternQuery]:
    return {name: ost.cel(text) for name, text in QUERIES.items()}


def events(count: int, *, keys: int = 12, seed: int = 1) -> pa.Table:
    """Some of equal time, up to 4 seconds out of order; the last one closes the stream."""
    chance = random.Random(seed)
    rows = [
        {
            "ts": _BEGIN + timedelta(milliseconds=200 * (number // 2) - chance.choice((0, 0, 0, 1500, 4000))),
            "type": chance.choice("ABCD"),
            "key": chance.randrange(keys),
            "n": number,
        }
        for number in range(count)
    ]
    rows.append({"ts": _BEGIN + timedelta(days=1), "type": "END", "key": 0, "n": count})
    return pa.Table.from_pylist(rows, SCHEMA)


def write_files(table: pa.Table, folder: Path, files: int) -> None:
    """In the order of the rows. Spark streams files by their age, so each gets one of its own."""
    folder.mkdir(parents=True)
    size = -(-len(table) // files)
    for number in range(files):
        path = folder / f"{number:04}.parquet"
        pq.write_table(table.slice(number * size, size), path)
        os.utime(path, (_BEGIN.timestamp() + number,) * 2)


def expected(table: pa.Table) -> Counter[str]:
    """What the embedded engine answers over the whole table at once."""
    answer = ost.detect_many(queries(), table, events=True, order_by=ORDER)
    return counted(answer.drop_columns(["positions"]).to_pylist())


def counted(rows: Iterable[dict[str, Any]]) -> Counter[str]:
    """Matches as texts that can be compared, whatever their order."""
    return Counter(json.dumps(row, default=_in_utc, sort_keys=True) for row in rows)


def read_back(frame: Any) -> Counter[str]:
    """The same of a Spark DataFrame."""
    return counted(row.asDict(recursive=True) for row in frame.collect())


def _in_utc(time: datetime) -> str:
    return time.astimezone(UTC).isoformat()

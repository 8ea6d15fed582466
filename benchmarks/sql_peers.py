"""MATCH_RECOGNIZE beside Flink SQL, in one run over the same rows: rows per second of CPU time.

    pip download apache-flink-libraries --no-deps -d flink && unzip -q flink/*.whl -d flink
    python benchmarks/sql_peers.py --flink flink/pyflink/lib

Flink reads a CSV file in one task; that file is read first with few rows and then with all, and the difference counts,
so that neither its start nor most of its compiling does. Ours has the same rows as a table, and reads none. The time of
Flink to read the rows without a pattern is measured in the same way and taken away. Both find as many matches.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
import time
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

import ostinato as ost

HERE = Path(__file__).parent
OPEN = [
    f"--add-opens=java.base/{each}=ALL-UNNAMED"
    for each in ("java.lang", "java.util", "java.nio", "java.time", "java.net", "java.util.concurrent")
]
PLAIN = "SELECT ts FROM ticks WHERE q < 0"
QUERIES = {
    "own columns": """PARTITION BY sym ORDER BY ts MEASURES FIRST(A.ts) AS t0, LAST(C.ts) AS t1
        ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN (A B* C)
        DEFINE A AS A.q > 50, B AS B.q < 80, C AS C.q > 90""",
    "falls, then rises": """PARTITION BY sym ORDER BY ts MEASURES S.ts AS t0, LAST(D.price) AS bottom, U.ts AS t1
        ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN (S D+ U)
        DEFINE D AS (LAST(D.price, 1) IS NULL AND D.price < S.price) OR D.price < LAST(D.price, 1),
               U AS U.price > LAST(D.price)""",
    "running sum": """PARTITION BY sym ORDER BY ts MEASURES FIRST(A.ts) AS t0, B.ts AS t1
        ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN (A+ B)
        DEFINE A AS A.q <= 50 AND SUM(A.q) < 300, B AS B.q > 50""",
}


def ticks(rows: int) -> pa.Table:
    random = np.random.default_rng(1)
    begin = np.datetime64(datetime(2026, 1, 1), "us")
    return pa.table({
        "sym": random.integers(0, 100, rows),
        "ts": begin + np.arange(rows) * np.timedelta64(timedelta(milliseconds=1)).astype("timedelta64[us]"),
        "price": np.round(100 + np.cumsum(random.normal(size=rows)), 2),
        "q": random.integers(0, 100, rows),
    })  # fmt: skip


def flink(lib: Path, query: str, files: list[Path]) -> list[tuple[float, int]]:
    """CPU seconds and rows found, file by file."""
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as text:
        text.write(query)
        text.flush()
        jars = [f"{lib}/*", f"{lib.parent}/opt/*"]
        command = [
            "java",
            "-Xmx2g",
            "-XX:+UseSerialGC",
            *OPEN,
            "-cp",
            ":".join(jars),
            str(HERE / "flink/FlinkSql.java"),
        ]
        run = subprocess.run([*command, text.name, *map(str, files)], capture_output=True, text=True, check=False)
    lines = [line.split() for line in run.stdout.splitlines() if line.replace(" ", "").isdigit()]
    if len(lines) != len(files):
        raise SystemExit(run.stderr[-3000:] or run.stdout[-3000:])
    return [(int(nanoseconds) / 1e9, int(found)) for nanoseconds, found in lines]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--flink", type=Path, required=True, help="the folder of Flink's jars")
    parser.add_argument("--rows", type=int, default=500_000)
    options = parser.parse_args()
    table, few = ticks(options.rows), options.rows // 10
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / "few.csv", Path(folder) / "all.csv"]
        for file, size in zip(files, (few, options.rows), strict=True):
            with pyarrow.csv.CSVWriter(
                file, table.schema.set(1, pa.field("ts", pa.string())), write_options=pyarrow.csv.WriteOptions(
                    include_header=False)
            ) as writer:  # fmt: skip
                part = table.slice(0, size)
                writer.write_table(part.set_column(1, "ts", part["ts"].cast(pa.timestamp("ms")).cast(pa.string())))
        lib = options.flink.absolute()
        start, whole = flink(lib, PLAIN, [files[0], *files])[1:]
        reading = whole[0] - start[0]
        for name, clause in QUERIES.items():
            text = f"SELECT * FROM ticks MATCH_RECOGNIZE ({clause})"
            query = ost.sql(text)
            query.detect(table.slice(0, 1000))
            began = time.process_time()
            found = len(query.detect(table))
            ours = time.process_time() - began
            start, whole = flink(lib, text, [files[0], *files])[1:]
            theirs = whole[0] - start[0] - reading
            rate, other = options.rows / ours, (options.rows - few) / theirs
            print(
                f"{name:20} {rate / 1e6:6.2f} million rows/s, Flink {other / 1e3:6.1f} thousand, {rate / other:5.0f} x;"
                f" {found} and {whole[1]} matches"
            )


if __name__ == "__main__":
    main()

"""The counts of a stream on Spark, as Prometheus reads them: a listener adds them up and serves the sums."""

from __future__ import annotations

import tempfile
import threading
import urllib.request
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from pyspark.sql.streaming.listener import QueryProgressEvent, StreamingQueryListener

import ostinato as ost
from ostinato.spark import session

UNPAID = "SELECT o.id AS id WHERE ORDER AS o ; NOT PAID AS p PARTITION BY id WITHIN 1 hour"
ORDERS = """
    SELECT timestamp_seconds(60 * id) AS ts, 'ORDER' AS type, id FROM range(40)
    UNION ALL SELECT timestamp_seconds(60 * id + 900), 'PAID', id FROM range(40) WHERE id % 8 != 0
    UNION ALL SELECT timestamp_seconds(86400), 'CLOSED', -1
"""
ADDED = ("events", "matches", "late")  # the others say how much there is now, in the buckets that a batch woke


class Counts(StreamingQueryListener):
    """What `detect` counts, by query. Spark calls it from a thread of its own."""

    def __init__(self, metrics: str = "ostinato") -> None:
        self.metrics = metrics
        self.sums: Counter[tuple[str, str]] = Counter()
        self.now: dict[tuple[str, str], int] = {}
        self.ended = threading.Event()

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        told = event.progress.observedMetrics.get(self.metrics)
        for key, value in told.asDict().items() if told is not None else ():
            query, _, count = key.rpartition(".")  # "name.events"; of a query that is alone, "query.events"
            if count == "stopped":
                self.now[query, count] = int(value is not None)
            elif value is not None and count in ADDED:  # NULL: no bucket woke
                self.sums[query, count] += value
            elif value is not None:
                self.now[query, count] = value

    def onQueryTerminated(self, event: Any) -> None:
        self.ended.set()

    def onQueryStarted(self, event: Any) -> None: ...

    def onQueryIdle(self, event: Any) -> None: ...

    def exposition(self) -> str:
        """The text that Prometheus scrapes."""
        sums = [(f"ostinato_{count}_total", query, value) for (query, count), value in self.sums.copy().items()]
        now = [(f"ostinato_{count}", query, value) for (query, count), value in self.now.copy().items()]
        return "".join(f'{name}{{query="{query}"}} {value}\n' for name, query, value in sorted(sums + now))


def serve(counts: Counts) -> ThreadingHTTPServer:
    """Answers GET with the counts, at some free port of this machine."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write(counts.exposition().encode())

        def log_message(self, *_: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def main() -> None:
    spark = session("local[2]")
    counts = Counts()
    spark.streams.addListener(counts)
    server = serve(counts)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        spark.sql(ORDERS).coalesce(1).write.parquet(str(folder / "events"))
        stream = spark.readStream.schema("ts timestamp, type string, id long").parquet(str(folder / "events"))
        found = ost.detect_many({"unpaid": ost.cel(UNPAID)}, stream, lateness="1 hour")
        writing = found.writeStream.format("parquet").option("checkpointLocation", str(folder / "state"))
        writing.trigger(availableNow=True).start(str(folder / "alerts")).awaitTermination()
        counts.ended.wait(timeout=60)  # Spark tells listeners of what is over a little later
    spark.streams.removeListener(counts)
    with urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/metrics") as page:
        print(page.read().decode(), end="")
    server.shutdown()


if __name__ == "__main__":
    main()

"""A Kafka topic as a stream of events: JSON objects in the values of its messages."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ostinato.core.events import DEFAULT_TIME, DEFAULT_TYPE
from ostinato.errors import DataError, Message, Option
from ostinato.spark.failures import raised_text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TYPES = {"number": "double", "string": "string", "boolean": "boolean", "timestamp": "timestamp"}  # Spark's, by kind
SKIPPED = "ostinato.skipped"  # the count of messages left out, in the progress of a stream
_SERVER = r"(?:\[[0-9A-Fa-f:.]+]|[\w.-]+):\d{1,5}"
_URL = re.compile(rf"kafka://({_SERVER}(?:,{_SERVER})*)/([\w.-]{{1,249}})", re.ASCII)
_BAD = "ostinato bad"  # where Spark puts the text of a value that it cannot read
_PATIENCE = 10.0  # seconds for a broker to answer; Spark itself would try for minutes


@dataclass(frozen=True)
class Topic:
    servers: tuple[str, ...]
    name: str

    @classmethod
    def parse(cls, url: str) -> Topic:
        """Raises ValueError with the form of a URL."""
        found = _URL.fullmatch(url)
        if found is None:
            raise ValueError(f"{url} is not a topic: write kafka://HOST:PORT[,HOST:PORT]/TOPIC")
        return cls(tuple(found[1].split(",")), found[2])

    def check_reachable(self) -> None:
        """One of the brokers must answer."""
        for server in self.servers:
            host, _, port = server.rpartition(":")
            try:
                socket.create_connection((host.strip("[]"), int(port)), timeout=_PATIENCE).close()
            except (OSError, OverflowError):
                continue
            return
        raise DataError(
            f"no broker answers at {', '.join(self.servers)}", fix="check the address, and whether Kafka runs there"
        )

    def read(self, spark: SparkSession, kinds: Mapping[str, str], time: str, *, skip: bool) -> DataFrame:
        """The events, from the first that the topic still holds. `kinds` are those of all columns.

        A message that is not an event stops the stream, or with `skip` is left out and counted.
        """
        from pyspark.sql import functions as f
        from pyspark.sql.types import StructType

        schema = StructType()
        for name, kind in {**kinds, _BAD: "string"}.items():
            schema.add(name, TYPES[kind])
        source = spark.readStream.format("kafka").option("kafka.bootstrap.servers", ",".join(self.servers))
        messages = source.option("subscribe", self.name).option("startingOffsets", "earliest").load()
        text = f.col("value").cast("string")
        event = f.from_json(text, schema, {"columnNameOfCorruptRecord": _BAD})
        read = messages.select("partition", "offset", text.alias("value"), event.alias("event"))
        unread, at = f.col("event").isNull() | f.col("event")[_BAD].isNotNull(), f.col("event")[time]
        bad = unread | at.isNull()
        if skip:
            read = read.observe(SKIPPED, f.count(f.when(bad, 1)).alias("skipped")).filter(~bad)
        else:
            wanted = ", ".join(f"{name} {kind}" for name, kind in kinds.items())
            why = f.when(unread, f"no JSON object of {wanted}").otherwise(f"no time `{time}`")
            shown = f.regexp_replace(f.substring(f.coalesce("value", f.lit("NULL")), 1, 60), r"\s+", " ")
            place = f.format_string(f"topic {self.name}, partition %d, offset %d", "partition", "offset")
            failure = raised_text(
                place, ": ", why, ": ", shown, fix=Message(Option("on_error", "skip"), " leaves such messages out")
            )
            at = f.when(bad, f.raise_error(failure).cast("timestamp")).otherwise(at)
        return read.select(*((at if name == time else f.col("event")[name]).alias(name) for name in kinds))


def event_columns(
    kinds: Mapping[str, str], wanted: Iterable[str], time: str | None, type: str | None
) -> dict[str, str]:
    """All columns of the messages with their kinds. Raises ValueError if the kind of a `wanted` column is missing."""
    time, type = time or DEFAULT_TIME, type or DEFAULT_TYPE
    if kinds.get(time, "timestamp") != "timestamp":
        kind = Option("kind", f"{time}={kinds[time]}")
        raise ValueError(Message(f"the time `{time}` is always a timestamp; leave out ", kind))
    found = {time: "timestamp", type: "string", **kinds}
    if missing := sorted(set(wanted) - found.keys()):
        names = ", ".join(f"`{name}`" for name in missing)
        kind = Option("kind", f"{missing[0]}=number")
        unknown = f"a topic does not say what its columns hold: give the kind of {names}, such as "
        raise ValueError(Message(unknown, kind))
    return found

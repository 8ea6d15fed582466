"""Events from a Kafka topic, matches to another, with a real broker on this machine."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from ostinato.spark.java import find_java
from spark.jobs.running import python, running
from spark.jobs.workload import events, expected, read_back, write_files
from spark.maven import jars

BROKER = ("org.apache.kafka:kafka_2.13:4.3.1",)
# The newest connector that the registry has. Spark brings all that it needs but these.
CONNECTOR = (
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.1.0-preview1",
    "org.apache.kafka:kafka-clients:3.9.2",
    "org.apache.commons:commons-pool2:2.13.1",
)
SETTINGS = """
process.roles=broker,controller
node.id=1
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{control}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
controller.quorum.voters=1@127.0.0.1:{control}
log.dirs={folder}/topics
num.partitions=2
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
"""


def test_events_from_a_topic_give_matches_in_another(spark: Any, tmp_path: Path) -> None:
    connector = ",".join(map(str, jars(*CONNECTOR, alone=True)))
    table = events(600)
    write_files(table, tmp_path / "events", 1)
    with broker(tmp_path) as server:
        command = python("stream_kafka", server, connector, tmp_path / "events", tmp_path)
        with running(command, tmp_path / "log") as job:
            job.finish()
    assert read_back(spark.read.parquet(str(tmp_path / "matches"))) == expected(table)


@contextmanager
def broker(folder: Path) -> Iterator[str]:
    """The address of a broker that lives as long as the block."""
    port, control = free_port(), free_port()
    settings = folder / "broker.properties"
    settings.write_text(SETTINGS.format(port=port, control=control, folder=folder), encoding="utf-8")
    classes = os.pathsep.join(map(str, jars(*BROKER)))
    java = [str(find_java() / "bin" / "java"), "-Xmx512m", "-XX:+UseSerialGC", "-cp", classes]
    log = folder / "broker.log"
    format_disk = ["kafka.tools.StorageTool", "format", "-t", "b3N0aW5hdG8tdGVzdHMtMQ", "-c", str(settings)]
    with running([*java, *format_disk], log) as tool:
        tool.finish()
    with running([*java, "kafka.Kafka", str(settings)], log) as server:
        server.wait_until(lambda: answers(port))
        yield f"127.0.0.1:{port}"


def free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def answers(port: int) -> bool:
    with closing(socket.socket()) as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0

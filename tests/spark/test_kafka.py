"""Events from a Kafka topic, matches to another, with a real broker on this machine."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import ostinato as ost
from ostinato.spark.java import find_java
from ostinato.spark.kafka import Topic, event_columns
from support.commands import failed, run
from support.spark.jobs.processes import python, start_job
from support.spark.jobs.workload import counted, events, expected, write_files
from support.spark.maven import jars

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


FIRES = "T AS x ; H AS y FILTER x.value > 40 AND y.value < 25 PARTITION BY place WITHIN 10 minutes"
KINDS = ("--kind", "value=number", "--kind", "place=string")


def detect(topic: str, *more: str) -> list[str]:
    stream = ("--engine", "spark", "--stream", "--once", "--input", f"kafka://SERVER/{topic}")
    return ["-q", FIRES, *stream, *KINDS, *more]


NOON = datetime(2026, 7, 6, 12, tzinfo=UTC)
ROWS = [
    {"ts": NOON + timedelta(minutes=number), "type": "TTH"[number % 3], "place": "ab"[number % 2], "value": value}
    for number, value in enumerate(number * 17 % 60 for number in range(60))
]
BAD = {"none": None, "text": "no JSON", "list": "[1]", "kind": '{"ts":"2026-07-06","value":"x"}', "time": "{}"}


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a job that has done all that needs a broker; the connector is given as docs/sources.md says."""
    folder = tmp_path_factory.mktemp("kafka")
    connector = ",".join(map(str, jars(*CONNECTOR, alone=True)))
    write_files(events(600), folder / "events", 1)
    end = {"ts": 1798761600, "type": "END"}  # seconds are a time as well; it closes the stream
    good = [json.dumps(row, default=datetime.isoformat) for row in [*ROWS, end]]
    topics = {"good": good, "mixed": [*good[:30], *BAD.values(), *good[30:]]}
    topics |= {name: [value] for name, value in BAD.items()}
    commands = [detect("good"), detect("mixed", "--on-error", "skip", "--output", str(folder / "found"))]
    commands += [detect("nowhere"), *(detect(name) for name in BAD)]
    (folder / "runs.json").write_text(json.dumps({"topics": topics, "commands": commands}), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch, broker(folder) as server:
        patch.setenv("PYSPARK_SUBMIT_ARGS", f"--jars {connector} pyspark-shell")
        patch.setenv("COLUMNS", "200")
        with start_job(python("kafka", server, folder / "events", folder), folder / "log") as job:
            job.finish()
    return folder


@pytest.mark.own_session
def test_events_from_a_topic_give_matches_in_another(answered: Path) -> None:
    assert counted(pq.read_table(answered / "matches").to_pylist()) == expected(events(600))


@pytest.mark.own_session
def test_the_command_line_reads_a_topic(answered: Path) -> None:
    """With all that may be in a topic besides events."""
    printed, skipped, nowhere, *refused = json.loads((answered / "answers.json").read_text(encoding="utf-8"))
    matches = ost.cel(FIRES).detect(ROWS)
    assert printed[0] == 0 and "step 0: 61 events, " in printed[2], printed
    found = [json.loads(line) for line in printed[1].splitlines()]
    assert sorted(datetime.fromisoformat(match["end"]) for match in found) == sorted(matches["end"].to_pylist())
    assert len(found) > 3
    assert skipped[0] == 0 and skipped[1] == "" and "step 0: 66 events, " in skipped[2], skipped
    assert "0 late, 5 skipped\n" in skipped[2] and pq.read_table(answered / "found").num_rows == len(found)
    assert nowhere[0] == 1 and "there is no such topic\nfix: " in nowhere[2], nowhere
    for name, (code, out, said) in zip(BAD, refused, strict=True):
        assert code == 1 and out == "" and len(said.splitlines()) == 2, said
        why = "no time `ts`" if name == "time" else "no JSON object of ts timestamp, type string, value number, place "
        assert said.startswith(f"error: topic {name}, partition 0, offset 0: {why}"), said
        assert said.endswith("\nfix: --on-error skip leaves such messages out\n")


def test_an_address_of_a_topic() -> None:
    assert Topic.parse("kafka://a:1/t") == Topic(("a:1",), "t")
    assert Topic.parse("kafka://a.b-c:9092,[::1]:9093/x.y_z-1") == Topic(("a.b-c:9092", "[::1]:9093"), "x.y_z-1")


@pytest.mark.parametrize("rest", ["", "a:1", "a:1/", "a/t", "/t", "a:1,/t", "a:1/t/u", "a:1/t?x=1", "a:1/ü", "a:b/t"])
def test_what_is_no_address_of_a_topic(rest: str) -> None:
    with pytest.raises(ValueError, match=r"write kafka://HOST:PORT\[,HOST:PORT\]/TOPIC"):
        Topic.parse(f"kafka://{rest}")


def test_columns_of_a_topic() -> None:
    assert event_columns({}, (), None, None) == {"ts": "timestamp", "type": "string"}
    told = event_columns({"v": "number", "kind": "number"}, {"v", "at"}, "at", "kind")
    assert told == {"at": "timestamp", "kind": "number", "v": "number"}
    assert event_columns({"ts": "timestamp"}, (), None, None)["ts"] == "timestamp"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--input", "kafka://a:1/t"], "is a topic, which only a stream on Spark reads"),
        (["--input", "kafka://a:1/t", "--engine", "spark"], "--engine spark --stream --input kafka://"),
        (
            ["--input", "kafka://a:1/t", "--engine", "spark", "--count"],
            "is a topic, which only a stream on Spark reads",
        ),
        (["--input", "kafka://a/t", "--engine", "spark", "--stream"], "kafka://a/t is not a topic: write kafka://HOST"),
        (
            ["--input", "kafka://a:1/t", "--engine", "spark", "--stream"],
            "give the kind of `place`, `value`, such as --kind ",
        ),
        (["--input", "kafka://a:1/t", "--engine", "spark", "--stream", *KINDS, "--order-by", "n"], "--kind n=number"),
        (
            ["--input", "kafka://a:1/t", "--engine", "spark", "--stream", *KINDS, "--kind", "ts=number"],
            "`ts` is always a timestamp",
        ),
        (["--input", "kafka://a:1/t", "x.csv", "--engine", "spark", "--stream"], "a topic is read alone"),
        (["--input", "kafka://a:1/t", "--input", "kafka://a:1/u", "--engine", "spark", "--stream"], "one at a time"),
        (["--input", "x", "--input", "kafka://a:1/u", "--engine", "spark", "--stream"], "one at a time"),
    ],
)
def test_usage(args: list[str], message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    failed(run("detect", "-q", FIRES, *args), 2, message)


def test_a_broker_that_does_not_answer_is_told_at_once() -> None:
    address = f"127.0.0.1:{free_port()}"
    args = ["--engine", "spark", "--stream", "--input", f"kafka://{address}/t", *KINDS]
    failed(run("detect", "-q", FIRES, *args), 1, f"no broker answers at {address}")


def test_without_the_connector_it_is_told_where_to_get_it(spark: Any) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        address = f"kafka://127.0.0.1:{listening.getsockname()[1]}/t"
        result = run("detect", "-q", FIRES, "--engine", "spark", "--stream", "--input", address, *KINDS)
    failed(
        result, 1, "Kafka connector is not on its class path", "--packages org.apache.spark:spark-sql-kafka-0-10_2.13"
    )
    assert len(result.stderr.splitlines()) == 2


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
    with start_job([*java, *format_disk], log) as tool:
        tool.finish()
    with start_job([*java, "kafka.Kafka", str(settings)], log) as server:
        server.wait_until(lambda: answers(port))
        yield f"127.0.0.1:{port}"


def free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def answers(port: int) -> bool:
    with closing(socket.socket()) as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0

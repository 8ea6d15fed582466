"""python -m support.spark.jobs.cli_kafka SERVER FOLDER: messages to topics, and the command line over them.

FOLDER/runs.json tells the messages, by topic, and the commands; what they answer goes to FOLDER/answers.json.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from ostinato.spark import session
from support.commands import run
from support.spark.jobs.stream_kafka import send


def main(server: str, folder: str) -> None:
    told = json.loads(Path(folder, "runs.json").read_text(encoding="utf-8"))
    spark = session("local[2]", settings={"spark.sql.shuffle.partitions": "2"})
    for topic, values in told["topics"].items():
        rows = spark.createDataFrame([(value, 0) for value in values], "value string, partition int")
        send(rows.coalesce(1).write, server, topic)
    answers = [run("detect", *(part.replace("SERVER", server) for part in command)) for command in told["commands"]]
    said = [(answer.exit_code, answer.stdout, answer.stderr) for answer in answers]
    Path(folder, "answers.json").write_text(json.dumps(said), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])

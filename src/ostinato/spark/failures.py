"""Failures of Spark in a line or two: what is wrong and what to do, without the stack of Java and Python."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ostinato.errors import DataError, LimitError, Message, Option, OstinatoError

if TYPE_CHECKING:
    from pyspark.sql import Column

_NOISE = re.compile(
    r"\n\s*at [\w.$]+\(|\n\n?(?:Driver|JVM) stacktrace|\n=== Streaming Query| If the stream job|\s*SQLSTATE: "
)
_PREFIX = re.compile(
    r"^(?:Query \[id = [^]]*] terminated with exception: |[\w.$]+(?:Exception|Error): |\[[A-Z][\w.]+] )+"
)
_RAISED = re.compile(r"\[USER_RAISED_EXCEPTION] (.*?)\s*SQLSTATE: ", re.DOTALL)
_LOG = r"(?:HDFSMetadata|OffsetSeq|Commit|CompactibleFileStream)Log"  # Spark's own notes of what a stream has done
_CHECKPOINT = re.compile(
    rf"CANNOT_LOAD_STATE_STORE|MALFORMED_LOG_FILE|StreamMetadata\$?\.read|{_LOG}\.(?:deserialize|getExistingBatch)"
    r"|AssertionError: assertion failed(?:\s+at \S+){0,3}\s+at \S+\.initializeExecution"
)
_BOUND = re.compile(r" \(limit (\w+)=([\d,e+]+)\)$")
_FULL = re.compile(r"No space left on device|not enough space on the disk", re.IGNORECASE)
_POISON = re.compile(r"MALFORMED_RECORD|Malformed (?:CSV )?record|Unexpected end-of-input|CANNOT_PARSE|JsonParseExc")


def raised_text(*reason: Column | str, fix: str) -> Column:
    """The text of an error that Spark is to raise with `raise_error`."""
    from pyspark.sql import functions as f

    parts = (f.lit(part) if isinstance(part, str) else part.cast("string") for part in reason)
    return f.concat(*parts, f.lit(str(OstinatoError("", fix=fix))))


def describe_failure(error: Exception, *, checkpoint: Path | None = None, output: Path | None = None) -> OstinatoError:
    """The cause, as an error of ours, of a failed job that keeps its state and its output in these folders."""
    text, trace = str(error), str(getattr(error, "_stackTrace", ""))
    if (java := getattr(error, "java_exception", None)) is not None:
        text = f"{java.toString()}\n{text}"
    everything = f"{text}\n{trace}"
    if raised := _RAISED.search(everything):
        return OstinatoError.parse(raised[1])
    if ours := re.search(r"ostinato\.errors\.\w+: ", text):
        return OstinatoError.parse(_NOISE.split(text[ours.end() :], maxsplit=1)[0].strip())
    if _FULL.search(everything):
        fullest = _fullest(checkpoint, output)
        return OstinatoError(f"no space left on the disk of {fullest}", fix="free some, then run it again")
    if _CHECKPOINT.search(everything):
        if output is not None and "ManifestFileCommitProtocol.commitJob" in everything:
            return _damaged(f"list of files {output / '_spark_metadata'}", "output", text)
        return _damaged(f"checkpoint {checkpoint}" if checkpoint else "checkpoint", "checkpoint", text)
    if "KAFKA_DATA_SOURCE_NOT_ENABLED" in text:
        return OstinatoError("Spark's Kafka connector is not on its class path", fix=_connector())
    if "UnknownTopicOrPartitionException" in everything:
        return OstinatoError("there is no such topic", fix="check its name, or create it")
    reason = _reason(text)
    if _POISON.search(everything):
        fix = Message(
            "run it without Spark to see the file and the line, or leave them out with ", Option("on_error", "skip")
        )
        return OstinatoError(f"rows cannot be read: {reason}", fix=fix)
    return OstinatoError(reason)


def _reason(text: str) -> str:
    """The last cause in what Spark tells of a failed task; else the first line."""
    causes = re.findall(r"(?:Caused by: |most recent failure: .*?: )(?:[\w.$]+(?:Exception|Error): )?(.+)", text)
    line = causes[-1] if causes else text.strip().partition("\n")[0]
    return _PREFIX.sub("", _NOISE.split(line, maxsplit=1)[0]).strip()


def _damaged(what: str, option: str, text: str) -> OstinatoError:
    fix = Message("start with a new ", Option(option, None), ", or restore the folder")
    return OstinatoError(f"the {what} cannot be read: {_reason(text)}", fix=fix)


def _fullest(*folders: Path | None) -> Path:
    """Where the disk is that ran out; Spark also works in the folder for temporary files."""
    there = {}
    for folder in (*folders, Path(tempfile.gettempdir())):
        if folder is not None:
            exists = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
            there[folder] = shutil.disk_usage(exists).free
    return min(there, key=there.__getitem__)


def _connector() -> str:
    import pyspark

    package = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{pyspark.__version__}"
    return f"PYSPARK_SUBMIT_ARGS='--packages {package} pyspark-shell' in the environment fetches it"


@contextmanager
def unwrap_errors() -> Iterator[None]:
    """Raises an error of ours that a task raised as what it is, without the wrapping of Spark."""
    try:
        yield
    except Exception as error:
        ours = re.search(r"ostinato\.errors\.(\w+): ", str(error))
        if ours is None or isinstance(error, OstinatoError):
            raise
        found = describe_failure(error)
        if ours[1] == "LimitError" and (bound := _BOUND.search(found.reason)):
            limit, most = bound[1], int(float(bound[2].replace(",", "")))
            raise LimitError(limit, most, reason=found.reason[: bound.start()], fix=found.fix or "") from None
        raise DataError(re.sub(r"^row \d+: ", "", found.reason), fix=found.fix) from None

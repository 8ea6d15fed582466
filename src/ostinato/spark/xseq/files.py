"""A folder of documents as a DataFrame of files, cut into tasks by their sizes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from fnmatch import fnmatch
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ostinato.core.options import bad_option, check_column_names
from ostinato.documents.formats import EXTENSIONS
from ostinato.errors import DataError, Message, Option
from ostinato.spark.xseq.task import SCHEME, local_path

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DOCUMENTS = tuple(f"*{extension}" for extension in EXTENSIONS)
_OPENING = 64 << 10  # what it takes to open a file, in bytes that could be read instead
_LEAST, _MOST = 4 << 20, 64 << 20  # bytes of small files in one task
_TASKS_PER_CORE = 4
_SCHEMA = pa.schema(
    [("path", pa.string()), ("length", pa.int64()), ("modified", pa.timestamp("us", tz="UTC")), ("task", pa.int32())]
)


def read_documents(
    spark: SparkSession, path: str | os.PathLike[str], *, glob: str | Sequence[str] = DOCUMENTS
) -> DataFrame:
    """List the documents in a folder and the folders below it.

    Files of this machine or mounted ones are only listed: `query.detect(frame, files=True)` opens them in its tasks and
    reads them piece by piece, a large file in a task of its own, small ones together. All workers must see them under
    the same path. Files elsewhere (hdfs:, s3a:, …) are read by Spark, each whole.

    Parameters
    ----------
    spark
        The session.
    path
        A folder, or a single file.
    glob
        What the names of the files must fit, such as "*.xml": one pattern or several.

    Returns
    -------
    DataFrame
        One row for each file: `path`, `length`, `modified`; and `content`, where Spark has read the files.
    """
    if not isinstance(path, str | os.PathLike):
        raise bad_option("path", path, "the path of a folder")
    patterns = check_column_names("glob", glob)
    if not patterns or not all(patterns):
        raise bad_option("glob", glob, "a pattern such as '*.xml'")
    where = os.fspath(path)
    scheme = SCHEME.match(where)
    if scheme is not None and scheme[1].lower() != "file":
        return _read_by_spark(spark, where, patterns)
    return _list_files(spark, local_path(where), patterns)


def _read_by_spark(spark: SparkSession, where: str, patterns: Sequence[str]) -> DataFrame:
    reader = spark.read.format("binaryFile").option("recursiveFileLookup", "true")
    reader = reader.option("pathGlobFilter", patterns[0] if len(patterns) == 1 else f"{{{','.join(patterns)}}}")
    return reader.load(where).selectExpr("path", "length", "modificationTime AS modified", "content")


def _list_files(spark: SparkSession, where: str, patterns: Sequence[str]) -> DataFrame:
    found = sorted(_files(where, patterns))
    if not found:
        shown = " or ".join(patterns)
        raise DataError(
            f"no file in it is named {shown}",
            source=where,
            fix=Message("say which files they are: ", Option("glob", "*.xml")),
        )
    cores = int(spark.conf.get("spark.sql.shuffle.partitions") or 1)
    tasks = assign_tasks([length for _, length, _ in found], cores)
    paths, lengths, times = zip(*found, strict=True)
    listing = pa.table([paths, lengths, times, tasks], schema=_SCHEMA)
    frame = spark.createDataFrame(listing)
    return frame.repartitionById(max(tasks) + 1, "task").drop("task")


def _files(where: str, patterns: Sequence[str]) -> Iterator[tuple[str, int, datetime]]:
    """Hidden files and folders are left out, as Spark does it."""
    where = os.path.abspath(where)
    if os.path.isfile(where):
        yield _file_row(where)
        return

    def fail(error: OSError) -> None:
        raise DataError(f"cannot be read: {error.strerror}", source=error.filename) from error

    for folder, below, files in os.walk(where, onerror=fail):
        below[:] = [each for each in below if not each.startswith((".", "_"))]
        for file in files:
            if not file.startswith((".", "_")) and any(fnmatch(file, pattern) for pattern in patterns):
                yield _file_row(os.path.join(folder, file))


def _file_row(path: str) -> tuple[str, int, datetime]:
    try:
        about: Any = os.stat(path)
    except OSError:  # a link that leads nowhere: the task that opens it says so
        return path, 0, datetime.fromtimestamp(0, UTC)
    return path, about.st_size, datetime.fromtimestamp(about.st_mtime, UTC)


def assign_tasks(lengths: Sequence[int], cores: int) -> list[int]:
    """The number of the task of each file; those with most to read come first, so that none is left to the end."""
    costs = [length + _OPENING for length in lengths]
    room = min(_MOST, max(_LEAST, sum(costs) // (_TASKS_PER_CORE * cores)))
    bins: list[list[int]] = []
    filled = room
    for place, cost in enumerate(costs):
        if cost >= room:
            bins.append([place])
            continue
        if filled + cost > room:
            bins.append([])
            small, filled = bins[-1], 0
        small.append(place)
        filled += cost
    bins.sort(key=lambda places: -sum(costs[place] for place in places))
    task_of = {place: task for task, places in enumerate(bins) for place in places}
    return [task_of[place] for place in range(len(lengths))]

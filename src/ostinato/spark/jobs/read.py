"""Files of events as DataFrames, read whole or as a stream: the format by their names, the types by what they hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ostinato.errors import DataError, Message, Option
from ostinato.spark.kafka import TYPES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

# Spark's name of each format, by the extension of a file.
FORMATS = {"parquet": "parquet", "csv": "csv", "jsonl": "json", "ndjson": "json", "json": "json"}
CSV = {"header": "true", "escape": '"'}  # as everyone else writes it
_MODES = {"raise": "FAILFAST", "skip": "DROPMALFORMED"}


@dataclass(frozen=True)
class EventFiles:
    """Files or folders of events. `kinds` says what columns of text files hold where their values do not tell;
    `check_kinds` is asked whether the files have these columns."""

    files: Sequence[Path]
    kinds: Mapping[str, str] = field(default_factory=dict)
    on_error: str = "raise"
    check_kinds: Callable[[Mapping[str, str], Sequence[str]], None] = lambda kinds, columns: None

    def read(self, spark: SparkSession) -> DataFrame:
        """All files together."""
        format = format_of_files(self.files)
        reader = spark.read.format(format).options(**self._options(format))
        paths = [str(file.absolute()) for file in self.files]
        return (
            reader.schema(self._with_kinds(reader.load(paths).schema)).load(paths) if self.kinds else reader.load(paths)
        )

    def stream(self, spark: SparkSession) -> DataFrame:
        """A folder that is watched for new files. Its columns are those of the files that are there."""
        format, folder = format_of_files(self.files), str(self.files[0].absolute())
        options = self._options(format)
        schema = spark.read.format(format).options(**options).load(folder).schema
        return spark.readStream.format(format).options(**options).schema(self._with_kinds(schema)).load(folder)

    def check_watchable(self) -> None:
        if len(self.files) != 1 or not self.files[0].is_dir():
            raise DataError(
                "a stream is a folder that is watched for files",
                fix=Message("give one folder: ", Option("input", "events/")),
            )

    def _options(self, format: str) -> dict[str, str]:
        if format == "parquet":
            return {}
        infer = {"inferSchema": "true", "inferTimestamp": "true", "enforceSchema": "false", "columnPruning": "false"}
        return CSV | infer | {"mode": _MODES[self.on_error]}

    def _with_kinds(self, schema: StructType) -> StructType:
        from pyspark.sql.types import StructType

        self.check_kinds(self.kinds, schema.names)
        typed = StructType()
        for each in schema.fields:
            typed.add(each.name, TYPES[self.kinds[each.name]] if each.name in self.kinds else each.dataType)
        return typed


def format_of_files(files: Sequence[Path]) -> str:
    """Spark's name of the one format that the names of all files tell; in a folder, those of the files in it."""
    found: dict[str, Path] = {}
    for file in files:
        if not file.exists():
            raise DataError("there is no such file or folder", source=str(file))
        inside = [path for path in sorted(file.rglob("*")) if path.is_file()] if file.is_dir() else [file]
        for path in inside:
            if path.name[0] not in "._":
                found.setdefault(format_of_name(path) or "", path)
    if not found:
        raise DataError(
            "there are no files, which would tell the columns",
            source=str(files[0]),
            fix="put a first file of events there",
        )
    if "" in found:
        raise DataError("the extension tells no format", source=str(found[""]), fix=f"use .{', .'.join(FORMATS)}")
    formats = {FORMATS[name] for name in found}
    if len(formats) > 1:
        raise DataError(f"the files are of several formats: {', '.join(sorted(found))}", fix="read them one by one")
    return formats.pop()


def format_of_name(path: Path) -> str | None:
    """The extension of a file that Spark reads and writes; None for any other."""
    ending = path.name.removesuffix(".gz").rpartition(".")[2].lower()
    return ending if ending in FORMATS else None

"""What a job finds, written into a folder."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from ostinato.errors import OstinatoError
from ostinato.spark.jobs.read import CSV, FORMATS, format_of_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def output_format(output: Path, format: str | None) -> str:
    """Spark's name of a format: the one that is asked for, else the one that the name of the folder tells."""
    return FORMATS[format or format_of_name(output) or "parquet"]


def check_output(output: Path) -> None:
    """Only what a run like this has written may be written over."""
    if output.exists() and not (output / "_SUCCESS").exists():
        raise OstinatoError(
            f"{output} is there already, and holds no matches of an earlier run", fix="name another folder"
        )


def write_folder(rows: DataFrame, output: Path, format: str) -> int:
    """Write into a folder beside `output`, which takes its place when all is written; how many rows that are."""
    from pyspark.sql import Observation
    from pyspark.sql import functions as f

    seen = Observation()
    beside, before = (output.with_name(f".{output.name}.{part}{os.getpid()}") for part in ("new", "old"))
    try:
        with Console(stderr=True).status("Spark detects"):
            found = flatten_for(format, rows.observe(seen, f.count(f.lit(1)).alias("rows")))
            found.write.format(format).options(**CSV).save(str(beside.absolute()))
        if output.exists():
            output.rename(before)
        beside.rename(output)
    finally:
        for folder in (beside, before):
            shutil.rmtree(folder, ignore_errors=True)
    return int(seen.get["rows"])


def flatten_for(format: str, rows: DataFrame) -> DataFrame:
    """CSV holds lists and structs as JSON; other formats hold them as they are."""
    from pyspark.sql import functions as f

    if format != "csv":
        return rows
    nested = [name for name in rows.columns if name not in plain_columns(rows)]
    return rows.withColumns({name: f.to_json(f.col(f"`{name}`")) for name in nested})


def plain_columns(rows: DataFrame) -> list[str]:
    from pyspark.sql.types import ArrayType, MapType, StructType

    return [each.name for each in rows.schema.fields if not isinstance(each.dataType, ArrayType | MapType | StructType)]


def to_json_lines(rows: DataFrame) -> Iterator[str]:
    """Every row as a JSON object, on the driver."""
    from pyspark.sql import functions as f

    for (line,) in rows.select(f.to_json(f.struct("*"))).collect():
        yield line

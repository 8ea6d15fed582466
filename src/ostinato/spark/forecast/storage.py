"""A model saved on any path that Spark can write to, by Hadoop: the same files as `model.save` writes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ostinato.errors import DataError, OstinatoError
from ostinato.forecast.model import ForecastModel
from ostinato.forecast.storage import FILES, SAVED, from_files, to_files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def write_model(model: ForecastModel, path: str, spark: SparkSession) -> None:
    """Into a folder; files of these names must not be there."""
    for name, content in to_files(model).items():
        where, files = _file(spark, path, name)
        stream = files.create(where, False)
        try:
            stream.write(bytearray(content))
        finally:
            stream.close()


def read_model(path: str, spark: SparkSession) -> ForecastModel:
    found: dict[str, bytes] = {}
    for name in FILES:
        where, files = _file(spark, path, name)
        if not files.exists(where):
            raise DataError(f"there is no saved model in {path}", fix=SAVED)
        stream = files.open(where)
        try:
            found[name] = bytes(stream.readAllBytes())
        finally:
            stream.close()
    return from_files(found, source=path)


def file_exists(path: str, name: str, spark: SparkSession) -> bool:
    where, files = _file(spark, path, name)
    return bool(files.exists(where))


def _file(spark: SparkSession, path: str, name: str) -> tuple[Any, Any]:
    """A file in a folder, and the file system that it is on."""
    java: Any = getattr(spark, "_jvm", None)
    if java is None:
        raise OstinatoError(
            "over Spark Connect the files of a model cannot be written or read",
            fix=f"{Path(path).name!r} can be saved and loaded with ostinato.ForecastModel, as model.model.save(…)",
        )
    where = java.org.apache.hadoop.fs.Path(path, name)
    context: Any = spark.sparkContext
    return where, where.getFileSystem(context._jsc.hadoopConfiguration())

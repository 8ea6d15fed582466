"""Writes tables to a file that appears complete or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa

from ostinato.errors import DataError
from ostinato.files.encode import EXTENSIONS, encode_tables


class Writer:
    """Write tables of one schema to a file.

    Everything goes to a temporary file beside it, which replaces it when the `with` block succeeds and is removed when
    it fails.

    Parameters
    ----------
    path
        The file; its extension sets the format.
    schema
        The columns. Without it the first table gives them; with it, a file without rows can be written.
    """

    def __init__(self, path: str | os.PathLike[str], schema: pa.Schema | None = None) -> None:
        self.path = Path(path)
        self.rows = 0
        if self.path.suffix.lower() not in EXTENSIONS:
            raise DataError(
                f"cannot write a `{self.path.suffix or self.path.name}` file",
                source=str(path),
                fix=f"use one of {', '.join(EXTENSIONS)}",
            )
        if not self.path.parent.is_dir():
            raise DataError("there is no such folder", source=str(self.path.parent), fix="create it first")
        if self.path.is_dir():
            raise DataError("this is a folder", source=str(path), fix="name a file in it")
        self._schema = schema
        self._part = self.path.with_name(f"{self.path.name}.{os.getpid()}.part")
        self._sink: Any = None
        self._write: Callable[[pa.Table], None] | None = None
        self._close: Callable[[], None] = lambda: None

    def __enter__(self) -> Writer:
        return self

    def write(self, table: pa.Table) -> None:
        with self._name_the_file():
            if self._write is None:
                self._open(self._schema or table.schema)
            assert self._write is not None
            self._write(table)
        self.rows += table.num_rows

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                with self._name_the_file():
                    self._finish()
        finally:
            with suppress(Exception):  # the error that brought us here is the one to report
                self._close()
            with suppress(Exception):
                self._sink.close()
            self._part.unlink(missing_ok=True)

    def _finish(self) -> None:
        if self._write is None and self._schema is not None:
            self._open(self._schema)
        if self._sink is not None:
            self._close()
            self._sink.close()
            os.replace(self._part, self.path)

    @contextmanager
    def _name_the_file(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise DataError(
                f"cannot be written: {error.strerror or error}",
                source=str(self.path),
                fix="make room there, or write to another place; what was there before is unchanged",
            ) from error

    def _open(self, schema: pa.Schema) -> None:
        self._sink = self._part.open("wb")
        self._write, self._close = encode_tables(self._sink, self.path.suffix.lower(), schema)

"""Reads files of events as one stream of tables."""

from __future__ import annotations

import difflib
import glob
from collections.abc import Callable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Literal

import pyarrow as pa

from ostinato.core.arrow_casts import cast_column
from ostinato.errors import DataError, did_you_mean
from ostinato.files.columnar import ArrowSource, ParquetSource
from ostinato.files.delimited import CsvSource
from ostinato.files.jsonl import JsonLinesSource
from ostinato.files.source import BadRow, EventSource
from ostinato.files.text import bad_row_error

BATCH_ROWS = 1 << 18
_SKIPPED_KEPT = 100  # bad rows remembered with on_error="skip"; all are counted
_FORMATS = {
    ".parquet": "parquet",
    **dict.fromkeys((".csv", ".csv.gz"), "csv"),
    **dict.fromkeys((".jsonl", ".ndjson", ".json", ".jsonl.gz", ".ndjson.gz", ".json.gz"), "json"),
    **dict.fromkeys((".arrow", ".feather", ".ipc", ".arrows"), "arrow"),
}
OnError = Literal["raise", "skip", "collect"]
AnyPath = str | PathLike[str]


def open_events(
    paths: AnyPath | Sequence[AnyPath],
    *,
    columns: Sequence[str] | None = None,
    batch_rows: int = BATCH_ROWS,
    on_error: OnError = "raise",
    kinds: Mapping[str, str] | None = None,
    scanned: Callable[[int], None] = lambda size: None,
) -> EventReader:
    """Open event files as one stream of tables.

    Parameters
    ----------
    paths
        Files, folders and globs. They are read in the order given, the files of a folder by name.
    columns
        Read only these, where they exist.
    batch_rows
        How many rows a table has at most.
    on_error
        What to do with bad rows of CSV and JSON lines: "raise" a DataError, "skip" them, or "collect" them in
        `reader.bad_rows`.
    kinds
        What a column of a text file must hold ("number", "string", "boolean" or "timestamp"), whatever its values look
        like: others are bad rows.
    scanned
        Called with the number of further bytes whenever the search for the types of text files proceeds.
    """
    given = [paths] if isinstance(paths, str | PathLike) else list(paths)
    files = [file for path in given for file in expand_path(Path(path), tuple(_FORMATS), "event files")]
    if not files:
        raise DataError("no input files", fix="name at least one file or folder")
    sources = [_source(file, kinds or {}, scanned, forgiving=on_error != "raise") for file in files]
    return EventReader(sources, None if columns is None else list(columns), batch_rows, on_error)


class EventReader:
    """Iterate for tables of at most `batch_rows` rows, all with `schema`. Each iteration reads the files again."""

    def __init__(
        self, sources: list[EventSource], columns: list[str] | None, batch_rows: int, on_error: OnError
    ) -> None:
        self._sources, self._columns, self._batch_rows, self._on_error = sources, columns, batch_rows, on_error
        self.schema = self._unify([source.schema(columns) for source in sources])
        self.bytes_total = sum(source.path.stat().st_size for source in sources)
        self._reset()

    def _reset(self) -> None:
        self.bytes_read = self.rows_read = self.bad_count = 0
        self.bad_rows: list[BadRow] = []

    def __iter__(self) -> Iterator[pa.Table]:
        self._reset()
        before = 0
        for source in self._sources:
            for piece in source.pieces(self.schema, self._batch_rows):
                self._take_bad(piece.bad)
                self.bytes_read = before + piece.bytes_read
                self.rows_read += piece.rows.num_rows
                if piece.rows.num_rows:
                    yield self._conform(piece.rows, source)
            before += source.path.stat().st_size
        self.bytes_read = self.bytes_total

    def _take_bad(self, bad: list[BadRow]) -> None:
        if bad and self._on_error == "raise":
            raise bad_row_error(bad[0])
        self.bad_count += len(bad)
        room = len(bad) if self._on_error == "collect" else max(0, _SKIPPED_KEPT - len(self.bad_rows))
        self.bad_rows += bad[:room]

    def _unify(self, schemas: list[pa.Schema]) -> pa.Schema:
        """One schema for all files: columns by name, numbers promoted, a column that a file lacks is NULL there."""
        found = schemas[0].remove_metadata()
        for source, schema in zip(self._sources[1:], schemas[1:], strict=True):
            if not schema.equals(found):
                try:
                    found = pa.unify_schemas([_plain(found), _plain(schema)], promote_options="permissive")
                except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
                    reason = str(error).splitlines()[0]
                    raise DataError(
                        f"its columns do not fit those of earlier files: {reason}",
                        source=str(source.path),
                        fix="read it separately, or convert the column",
                    ) from error
        if self._columns is not None:
            found = pa.schema([found.field(name) for name in self._columns if name in found.names])
        return found

    def _conform(self, rows: pa.Table, source: EventSource) -> pa.Table:
        if rows.schema.equals(self.schema):
            return rows
        try:
            return pa.table([cast_column(rows, field) for field in self.schema], schema=self.schema)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise DataError(f"a value does not fit its column: {error}", source=str(source.path)) from error


def _plain(schema: pa.Schema) -> pa.Schema:
    """Dictionary columns as their values: two files may have encoded them differently."""
    return pa.schema(
        [(field.name, field.type.value_type if pa.types.is_dictionary(field.type) else field.type) for field in schema]
    )


def expand_path(path: Path, extensions: tuple[str, ...], what: str) -> list[Path]:
    """The files that a path stands for: itself, the files of a folder with these extensions, or those of a glob."""
    if path.is_dir():
        inside = (file for file in path.rglob("*") if file.is_file() and not _hidden(file.relative_to(path)))
        found = sorted(file for file in inside if file.name.lower().endswith(extensions))
        if not found:
            raise DataError(
                f"the folder has no {what}", source=str(path), fix=f"known extensions are {', '.join(extensions)}"
            )
        return found
    if path.exists():
        return [path]
    found = sorted(Path(name) for name in glob.glob(str(path), recursive=True) if Path(name).is_file())
    if found:
        return found
    if glob.has_magic(str(path)):
        raise DataError(
            "no file matches", source=str(path), fix="check the pattern, and quote it so that the shell leaves it alone"
        )
    near = [file.name for file in path.parent.iterdir() if file.is_file()] if path.parent.is_dir() else []
    alike = [
        name for name in near if difflib.get_close_matches(path.stem, [Path(name).stem])
    ]  # not its extension alone
    close = difflib.get_close_matches(path.name, alike, n=2, cutoff=0.75)
    raise DataError("there is no such file", source=str(path), fix=did_you_mean(path.name, close) or "check the path")


def _hidden(path: Path) -> bool:
    return any(part.startswith((".", "_")) for part in path.parts)


def _format(path: Path) -> str | None:
    name = path.name.lower()
    return next((kind for extension, kind in _FORMATS.items() if name.endswith(extension)), None)


def _source(path: Path, kinds: Mapping[str, str], scanned: Callable[[int], None], *, forgiving: bool) -> EventSource:
    kind = _format(path)
    if kind is None:
        raise DataError(
            f"unknown kind of file: `{path.suffix or path.name}`",
            source=str(path),
            fix=f"known extensions are {', '.join(_FORMATS)}",
        )
    if kind == "csv":
        return CsvSource(path, kinds, scanned, forgiving=forgiving)
    if kind == "json":
        return JsonLinesSource(path, kinds, scanned, forgiving=forgiving)
    if path.stat().st_size == 0:
        raise DataError("the file is empty", source=str(path), fix="check that whatever writes it has finished")
    return ParquetSource(path) if kind == "parquet" else ArrowSource(path)

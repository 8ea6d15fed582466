"""What sources of tokens have in common: opening, reading chunk by chunk, the place of an error, closing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from types import TracebackType
from typing import ClassVar, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from ostinato.documents.byte_source import ByteSource, open_source
from ostinato.documents.encoding import to_utf8
from ostinato.documents.names import NameTable
from ostinato.documents.text_buffer import LARGEST, CountLines, TextBuffer
from ostinato.documents.tokens import Tokens
from ostinato.errors import DataError, Limit, LimitError, Message, OstinatoError

_LARGEST_CHUNK = 1 << 28


@dataclass(frozen=True, kw_only=True)
class SourceLimits:
    """What a document may ask for at most."""

    depth: int = 10_000  # elements, or brackets, in one another
    names: int = 1_000_000  # different ones
    name: int = 64 << 10  # bytes of one


Limits = TypeVar("Limits", bound=SourceLimits)


class ChunkedSource(ABC, Generic[Limits]):
    """A TokenSource whose kernel keeps its state in an array: `_AT` is where it has the offset that it has come to.

    The arrays of a `Tokens` are used again by the next `read`. After `read(keep_from)`, what stood at offset x of the
    buffer before, for keep_from <= x < used, stands at x - `moved`.
    """

    _AT: ClassVar[int]
    _state: NDArray[np.int64]

    def __init__(
        self,
        source: ByteSource,
        count_lines: CountLines,
        limits: Limits,
        *,
        name: str | None,
        encoding: str | None,
        chunk_size: int,
        names: Iterable[bytes],
        attributes: Iterable[bytes] | None,
    ) -> None:
        self.limits = limits
        self.moved = 0
        self._raw, self._name = open_source(source, name)
        self._encoding = encoding
        self._chunk = max(1, min(chunk_size, _LARGEST_CHUNK, (self._raw.size or chunk_size) + 1))
        self._buffer = TextBuffer(count_lines)
        self._begun = False
        self._failure: OstinatoError | None = None
        self.names = NameTable(names, wanted=attributes, most=limits.names, longest=limits.name)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file, if it was opened here. Reading to the end does so too."""
        self._raw.close()

    def read(self, keep_from: int) -> Tokens | None:
        """The next tokens, or None at the end of the document. An error comes after the tokens before it."""
        if self._failure is None:
            try:
                self._drop(min(keep_from, self._at))
                if not self._begun:
                    self._begun = True
                    self._buffer.reader = to_utf8(self._raw, self._encoding, self._name)
                    self._begin()
                tokens = self._next()
                if tokens is not None:
                    return tokens
            except OstinatoError as error:
                self._failure = error
        self.close()
        if self._failure is not None:
            raise self._failure
        return None

    def _begin(self) -> None:
        """Look at the beginning of the document, before the first tokens."""

    @abstractmethod
    def _next(self) -> Tokens | None:
        """The next tokens, if there are any. An error that comes after tokens is left in `_failure`."""

    @property
    def _at(self) -> int:
        return int(self._state[self._AT])

    def _drop(self, count: int) -> None:
        self.moved = count
        self._buffer.drop(count)
        self._state[self._AT] -= count

    def _fill(self, wanted: int) -> int:
        """Read more. Text that goes on is scanned again only when there is twice as much of it, so it is waited for."""
        if self._buffer.filled + wanted > LARGEST:
            raise LimitError(
                "buffer",
                LARGEST,
                reason=self.locate_message("more of the document would have to be kept than fits", self._at),
                fix="ask for smaller elements, or split the document",
            )
        return self._buffer.fill(wanted, waits=wanted > self._chunk)

    def _grow_names(self, table: NameTable, what: str) -> None:
        if table.full:
            raise self._limit("names", what, self._at)
        table.grow()

    def locate_message(self, what: str, at: int) -> str:
        """What is wrong at an offset of the last buffer, with line and column."""
        place = self._buffer.place(at)
        return f"line {place.line}, column {place.column}: {what}"

    def _error(self, at: int, what: str, fix: str | None = None) -> DataError:
        return DataError(self.locate_message(what, at), source=self._name, fix=fix)

    def _limit(self, limit: str, what: str, at: int) -> LimitError:
        reason = self.locate_message(what, at)
        return LimitError(
            limit,
            getattr(self.limits, limit),
            reason=f"{self._name}: {reason}" if self._name else reason,
            fix=Message("raise the limit, ", Limit(limit, "XSeqLimits"), ", if the document is meant to be so"),
        )

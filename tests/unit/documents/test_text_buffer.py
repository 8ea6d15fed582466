"""The part of a document in memory: what is read, dropped and counted."""

from __future__ import annotations

import io

import numpy as np
from numpy.typing import NDArray

from ostinato.documents.kernels.utf8 import PAD
from ostinato.documents.readers import FileReader, MemoryReader
from ostinato.documents.text_buffer import Place, TextBuffer

TEXT = b"one\ntwo\nthree"


def count_lines(data: NDArray[np.uint8], start: int, end: int) -> tuple[int, int]:
    lines = data[start:end].tobytes().split(b"\n")
    return len(lines) - 1, len(lines[-1])


def text_buffer() -> TextBuffer:
    buffer = TextBuffer(count_lines)
    buffer.reader = MemoryReader(np.frombuffer(TEXT, np.uint8))
    return buffer


def test_it_fills_up_and_ends_with_zeros() -> None:
    buffer = text_buffer()
    assert buffer.fill(5, waits=False) == 5
    assert buffer.fill(100, waits=False) == len(TEXT) - 5
    assert buffer.at_end and buffer.fill(1, waits=True) == 0
    assert buffer.data[: buffer.filled].tobytes() == TEXT and not buffer.data[buffer.filled : buffer.room].any()
    assert buffer.room == len(TEXT) + PAD and buffer.data.size >= 2 * len(TEXT) + PAD


def test_places_count_from_the_start_of_the_document() -> None:
    buffer = text_buffer()
    buffer.fill(100, waits=False)
    assert buffer.place(0) == Place(1, 1) and buffer.place(9) == Place(3, 2)
    buffer.drop(5)
    assert buffer.dropped == 5 and buffer.data[: buffer.filled].tobytes() == TEXT[5:]
    assert buffer.place(0) == Place(2, 2) and buffer.place(4) == Place(3, 2)


def test_of_a_pipe_it_takes_what_there_is_unless_it_waits() -> None:
    class Pipe(io.RawIOBase):
        def readable(self) -> bool:
            return True

        def readinto(self, room: memoryview) -> int:  # type: ignore[override]
            room[:2] = b"ab"
            return 2

    buffer = TextBuffer(count_lines)
    buffer.reader = FileReader(Pipe(), None, owned=False)  # type: ignore[arg-type]
    assert buffer.fill(6, waits=False) == 2 and buffer.fill(6, waits=True) == 6

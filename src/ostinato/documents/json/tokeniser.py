"""JSON text and JSON lines as tokens.

The document node has one element, the root. An object is an element: its members with a string, number or boolean value
are attributes, members that are null are absent, a member with an object is a child element of that name, and one with
an array is a child element of that name per item. An item that is an object is an element like any other; a scalar is
an element with a text (none for null and the empty string), an array inside an array an element with children `item`.
The items of an array at the root and the lines of JSON lines are children `item` of the root (option `record`). The
attributes of an element come first, whatever the order of the members.

JSON lines and an array at the root are read piece by piece, any other document whole.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ostinato.core.jit import prefetch
from ostinato.documents.byte_source import ByteSource
from ostinato.documents.chunked_source import ChunkedSource, SourceLimits
from ostinato.documents.json.kernels import state as st
from ostinato.documents.json.kernels.attributes_first import hoist
from ostinato.documents.json.kernels.lines import count_characters, count_lines, line_end, line_start
from ostinato.documents.json.kernels.scan import scan_tokens
from ostinato.documents.json.messages import explain_fault
from ostinato.documents.text_buffer import TextBuffer
from ostinato.documents.tokens import CLOSE, OPEN, Tokens
from ostinato.errors import DataError, LimitError, OstinatoError

_UNKNOWN, _TRAILING = -1, -2  # before the first value, and after the array at the root
_MOST_BAD_LINES = 20  # bad lines that are kept; the others are only counted
_BLANKS = b" \t\r\n"


@dataclass(frozen=True, kw_only=True)
class JsonLimits(SourceLimits):
    """What a JSON document may ask for at most."""

    record: int = 256 << 20  # bytes of a line, of an item of the array at the root, or of any other document


@dataclass(frozen=True)
class BadLine:
    """A line that is no JSON value: bytes [start, end) of the text in UTF-8, without byte order mark and line end."""

    line: int
    column: int
    start: int
    end: int
    reason: str


class JsonSource(ChunkedSource[JsonLimits]):
    """A TokenSource of a JSON document or of JSON lines.

    `text=False` leaves text out, and `attributes` names the only ones to hand on; what is left out is still checked.
    `names` get the first numbers. `name` is what errors call the document. With on_error="skip" a line that is no JSON
    value is left out: `skipped` counts such lines, `bad_lines` keeps the first of them.
    """

    _AT = st.AT

    def __init__(
        self,
        source: ByteSource,
        *,
        lines: bool,
        root: str = "json",
        record: str = "item",
        encoding: str | None = None,
        text: bool = True,
        chunk_size: int = 1 << 20,
        limits: JsonLimits | None = None,
        attributes: Iterable[bytes] | None = None,
        names: Iterable[bytes] = (),
        name: str | None = None,
        on_error: Literal["raise", "skip"] = "raise",
    ) -> None:
        prefetch(scan_tokens)
        super().__init__(
            source, _count_lines, limits or JsonLimits(), name=name, encoding=encoding, chunk_size=chunk_size,
            names=names, attributes=attributes,
        )  # fmt: skip
        self.skipped = 0
        self.bad_lines: list[BadLine] = []
        self._lines, self._skips = lines, on_error == "skip"
        self._root, self._record = self.names.id_of(root.encode()), self.names.id_of(record.encode())
        item = self._record if record == "item" else self.names.id_of(b"item")
        self._mode = _UNKNOWN
        self._finished = False
        self._state = np.zeros(st.STATE_SIZE, np.int64)
        self._state[st.ITEM], self._state[st.MAX_DEPTH], self._state[st.TEXTS] = item, self.limits.depth, text
        self._scan = st.JsonScan(
            data=self._buffer.data,
            stop=0,
            state=self._state,
            frames=np.zeros(64 * st.FRAME_SIZE, np.int64),
            log=np.zeros(256, np.int64),
            kind=np.empty(4096, np.uint8),
            spans=np.empty((3, 4096), np.int32),
            after=np.zeros(2 * self.names.capacity, np.int32),
            names=self.names.arrays,
        )
        self._others: tuple[NDArray[np.uint8], NDArray[np.int32]] | None = None  # where attributes come to their places

    def _next(self) -> Tokens | None:
        self._state[st.COUNT] = self._state[st.LATE] = 0
        if not self._finished:
            try:
                self._advance()
            except OstinatoError as error:
                self._failure = error
        return self._tokens() if self._state[st.COUNT] else None

    def _advance(self) -> None:
        """Read on until there are tokens."""
        state, buffer = self._state, self._buffer
        wanted = self._chunk
        while not state[st.COUNT] and not self._finished:
            fresh = buffer.filled
            if not buffer.at_end:
                self._check_record()
                self._fill(wanted)
            state[st.SPARE] = buffer.room
            wanted = max(self._chunk, buffer.filled - int(state[st.AT]))  # twice as much of a record that goes on
            if self._mode == _UNKNOWN:
                self._start()
            if self._mode == st.LINES:
                self._scan_lines(buffer.filled if buffer.at_end else line_start(buffer.data, fresh, buffer.filled))
            elif self._mode == st.ITEMS:
                self._scan_items()
            elif self._mode == st.WHOLE and buffer.at_end:
                self._scan_whole()
            elif self._mode == _TRAILING:
                self._trail()

    def _check_record(self) -> None:
        if self._buffer.filled - self._at > self.limits.record:
            raise self._limit("record", "a line, item or document is too long", self._at)

    # --- what a document is made of

    def _start(self) -> None:
        """See what the document is, once its first byte is there."""
        state, buffer = self._state, self._buffer
        if self._lines:
            self._mode = st.LINES
            self._put(OPEN, 0, 0)
        else:
            state[st.AT] += _blanks(buffer, int(state[st.AT]))
            at = int(state[st.AT])
            if at == buffer.filled and not buffer.at_end:
                return
            self._mode = st.ITEMS if buffer.data[at] == ord("[") else st.WHOLE
            if self._mode == st.ITEMS:
                self._put(OPEN, at, at + 1)
                state[st.AT] += 1
        state[st.MODE] = self._mode
        self._scan.frames[: st.F_ITEM + 1] = (
            st.NOTHING,
            self._root,
            self._root if self._mode == st.WHOLE else self._record,
        )

    def _scan_lines(self, stop: int) -> None:
        while self._run(stop) == st.FAULT:
            self._skip_line(stop)
        if self._buffer.at_end:
            self._put(CLOSE, stop, stop)
            self._finished = True

    def _scan_items(self) -> None:
        state, buffer = self._state, self._buffer
        status = self._run(buffer.filled)
        if status == st.CLOSED:
            self._put(CLOSE, int(state[st.AT]) - 1, int(state[st.AT]))
            self._mode = _TRAILING
        elif status == st.FAULT and (state[st.FAULT_AT] < buffer.filled or buffer.at_end):
            error = self._fault()
            self._go_back()
            raise error
        elif buffer.at_end:
            self._go_back()
            raise self._wrong(st.NO_COMMA, buffer.filled)
        else:
            self._go_back()

    def _scan_whole(self) -> None:
        tokens = self._buffer.filled // 10
        if tokens > self._scan.kind.size:
            self._scan.update(kind=np.empty(tokens, np.uint8), spans=np.empty((3, tokens), np.int32))
        status = self._run(self._buffer.filled)
        if status != st.DONE:
            self._state[st.COUNT] = 0
            raise self._fault() if status == st.FAULT else self._wrong(st.EMPTY, self._buffer.filled)
        self._finished = True

    def _trail(self) -> None:
        """Nothing but blanks may follow the array at the root."""
        self._state[st.AT] += _blanks(self._buffer, int(self._state[st.AT]))
        if self._state[st.AT] < self._buffer.filled:
            raise self._wrong(st.EXTRA, int(self._state[st.AT]))
        self._finished = self._buffer.at_end

    # --- the scanner

    def _run(self, stop: int) -> int:
        """Scan up to `stop`, growing what is too small."""
        scan = self._scan
        scan.update(data=self._buffer.data, stop=stop)
        while True:
            status = scan_tokens(scan)
            if status == st.TOKENS:
                scan.update(kind=_grown(scan.kind), spans=_grown(scan.spans))
            elif status == st.FRAMES:
                scan.frames = _grown(scan.frames)
            elif status == st.LOG:
                scan.log = _grown(scan.log)
            elif status == st.NAMES:
                self._grow_names(self.names, "the document has too many different keys")
                scan.after = np.zeros(2 * self.names.capacity, np.int32)  # guesses are soon made again
            else:
                return int(status)

    def _go_back(self) -> None:
        """To the start of the record that is not finished, if there is one."""
        state = self._state
        if state[st.PHASE] != st.RECORD:
            state[st.AT], state[st.COUNT], state[st.SPARE] = (
                state[st.RECORD_AT],
                state[st.RECORD_COUNT],
                state[st.RECORD_SPARE],
            )
            state[st.PHASE], state[st.DEPTH] = st.RECORD, 0

    def _put(self, kind: int, start: int, end: int) -> None:
        """Add a token of the root element."""
        count = int(self._state[st.COUNT])
        self._scan.kind[count], self._scan.spans[:, count] = kind, (self._root, start, end)
        self._state[st.COUNT] += 1

    def _tokens(self) -> Tokens:
        self.names.sync()
        count = int(self._state[st.COUNT])
        scan = self._scan
        if self._state[st.LATE]:
            if self._others is None or self._others[0].size < count:
                self._others = np.empty_like(scan.kind), np.empty_like(scan.spans)
            places = np.empty(scan.frames.size // st.FRAME_SIZE + 2, np.int64)
            hoist(count, places, scan.kind, scan.spans, *self._others)
            kind, spans = self._others
            self._others = scan.kind, scan.spans
            scan.update(kind=kind, spans=spans)
        name, start, end = scan.spans[:, :count]
        return Tokens(self._buffer.data, scan.kind[:count], name, start, end, int(self._state[st.AT]))

    # --- what is wrong

    def _skip_line(self, stop: int) -> None:
        """Leave out the line that has a fault, or raise."""
        buffer, state = self._buffer, self._state
        at = int(state[st.RECORD_AT])
        end = line_end(buffer.data, at, stop)
        if not self._skips or self.skipped < _MOST_BAD_LINES:
            error = self._fault()
            start = line_start(buffer.data, 0, at)
            place = buffer.place(int(state[st.FAULT_AT]))
            self.bad_lines.append(BadLine(*place, buffer.dropped + start, buffer.dropped + end, error.reason))
            if not self._skips:
                self._go_back()
                raise error
        self.skipped += 1
        self._go_back()
        state[st.AT] = end

    def _wrong(self, code: int, at: int) -> DataError | LimitError:
        self._state[st.CODE], self._state[st.FAULT_AT] = code, at
        return self._fault()

    def _fault(self) -> DataError | LimitError:
        """What the scanner found."""
        code, at = int(self._state[st.CODE]), int(self._state[st.FAULT_AT])
        if code == st.TOO_DEEP:
            return self._limit("depth", "brackets stand too deep in one another", at)
        if code == st.LONG_KEY:
            return self._limit("name", "a key is too long", at)
        rest = self._buffer.data[at : min(self._buffer.filled, at + 200)].tobytes()
        return self._error(at, *explain_fault(code, rest, self._lines))


def _count_lines(data: NDArray[np.uint8], start: int, end: int) -> tuple[int, int]:
    last = max(start, line_start(data, start, end))
    return count_lines(data, start, last), count_characters(data, last, end)


def _blanks(buffer: TextBuffer, at: int) -> int:
    """How many bytes of white space stand there."""
    rest = buffer.data[at : buffer.filled].tobytes()
    return len(rest) - len(rest.lstrip(_BLANKS))


def _grown(array: Any) -> Any:
    """Twice as long, along its last dimension."""
    grown = np.empty((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)
    grown[..., : array.shape[-1]] = array
    return grown

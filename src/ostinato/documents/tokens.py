"""What a tokeniser hands on: a document as a nested word (XSeq paper, Appendix A) in flat arrays.

A call symbol is an OPEN, a return symbol a CLOSE, internal symbols are ATTR and TEXT. The attributes of an element come
directly after its OPEN. Offsets point into the buffer of the same `Tokens`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

OPEN, ATTR, TEXT, CLOSE = 0, 1, 2, 3


@dataclass
class Tokens:
    """Some tokens of one document, in document order, and the bytes they point into.

    OPEN: [start, end) is the start tag's `<` up to the end of the element's name; CLOSE: start is where the end tag
    begins (for `<a/>`: its `/`), end is just after its `>`: an element is written at buffer[OPEN.start:CLOSE.end].
    ATTR and TEXT: the value in UTF-8 with references resolved and line ends normalised; where that differs from what
    stands in the document, the offsets point behind `used`, where the resolved bytes are.
    """

    buffer: NDArray[np.uint8]
    kind: NDArray[np.uint8]
    name: NDArray[np.int32]  # into Names; -1 for TEXT
    start: NDArray[np.int32]
    end: NDArray[np.int32]
    used: int  # how far the buffer holds the document as it is written


class Names(Protocol):
    """The names of a document, each with a small number; numbers are given in order of appearance and never change."""

    texts: list[bytes]

    def id_of(self, name: bytes) -> int:
        """The number of a name, a new one if it has none yet."""


class TokenSource(Protocol):
    """A document, chunk by chunk. A `Tokens` is good until the next `read`, which uses its arrays again.

    After `read(keep_from)` what stood at offset x >= keep_from of the last buffer stands at x - `moved`.
    """

    moved: int

    @property
    def names(self) -> Names:
        """The names so far."""

    def read(self, keep_from: int) -> Tokens | None:
        """The next tokens, or None at the end of a well-formed document; DataError with line and column otherwise.

        Bytes of the last buffer from offset `keep_from` on (and everything behind `used` of it is dropped) are moved to
        the front of the new buffer, so that what was not finished can still be read there.
        """

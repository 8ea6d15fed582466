"""What is wrong with a document, in words."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.documents.xml.kernels import state
from ostinato.errors import Message, Option

_SHOWN = 40  # characters of a name or of other text shown


class Fault(NamedTuple):
    """Where in the buffer something is wrong, what, and the likely fix."""

    where: int
    what: str
    fix: str | None = None


_NEVER = "nothing that a DOCTYPE declares is ever expanded"
_WORDS: dict[int, tuple[str, str | None]] = {
    state.BAD_CHARACTER: ("the character {here} is not allowed in XML", None),
    state.NO_NAME: ("a name is missing after {before}", "write < as &lt; where no tag is meant"),
    state.BAD_NAME: ("{here} may not stand in a name", None),
    state.NO_SPACE: ("white space is missing before {here}", None),
    state.NO_EQUALS: ("an attribute has no value: `=` is missing before {here}", 'write it as name="value"'),
    state.NO_QUOTE: ("the value of an attribute has no quotes", 'write it as name="value"'),
    state.LESS_IN_VALUE: ("`<` in the value of an attribute", "write it as &lt;, or close the quotes before it"),
    state.TWICE: ("the element has the attribute `{name}` twice", None),
    state.NO_TAG_END: ("`>` is missing before {here}", None),
    state.MISMATCH: ("`</{closing}>` does not close `<{opened}>`", "write </{opened}> first, or correct the name"),
    state.NOTHING_OPEN: ("`</{closing}>` closes nothing: no element is open", None),
    state.SECOND_ROOT: ("a second root element", "a document has one; put the others inside it"),
    state.OUTSIDE: ("{here} stands outside the root element", None),
    state.CDATA_OUTSIDE: ("a CDATA section outside the root element", None),
    state.BRACKETS: ("`]]>` in text", "write it as ]]&gt;"),
    state.BAD_MARKUP: ("`<!` begins neither a comment nor CDATA nor DOCTYPE", "write < as &lt; where it is text"),
    state.DASHES: ("`--` inside a comment", "write - - instead"),
    state.BAD_TARGET: ("a processing instruction must begin with a name", None),
    state.XML_TARGET: (
        "an XML declaration may only stand at the very start of a document",
        "take out what precedes it",
    ),
    state.DOCTYPE_REFUSED: (
        "the document has a DOCTYPE, which is refused since it can declare entities that grow without bound or read "
        "other files",
        Message(Option("doctype", "skip"), f" passes over it; {_NEVER}"),
    ),
    state.DOCTYPE_MISPLACED: ("a DOCTYPE may stand only once, before the root element", None),
    state.BAD_DOCTYPE: ("the DOCTYPE is not correct at {here}", None),
    state.BARE_AND: ("`&` begins no reference", "write it as &amp;"),
    state.BAD_REFERENCE: ("`&#` must be followed by a number and `;`", "as in &#233; or &#xe9;"),
    state.BAD_CODE: ("{reference} is not a character that XML allows", None),
    state.UNKNOWN_ENTITY: (
        "the entity {reference} is not known",
        f"only &lt; &gt; &amp; &quot; &apos; and &#...; can be used; {_NEVER}",
    ),
}


def explain_fault(fault: int, data: NDArray[np.uint8], where: int, opened: bytes | None) -> Fault:
    """A fault that a scan found."""
    after = data[where : where + 200].tobytes()
    foreign = _foreign(data[:1000].tobytes(), after)
    if foreign and fault in (state.BAD_UTF8, state.BAD_CHARACTER, state.OUTSIDE):
        return Fault(where, *foreign)
    what, fix = _WORDS[fault]
    words = {
        "here": _character(after),
        "before": _quoted(data[max(0, where - 1) : where].tobytes()),
        "name": _name(after),
        "closing": _name(after[2:]),
        "opened": _clipped(opened or b""),
        "reference": _quoted(after[: after.find(b";") + 1]),
    }
    return Fault(where, what.format(**words), fix.format(**words) if fix else None)


def explain_truncation(data: NDArray[np.uint8], at: int, depth: int, opened: bytes | None) -> Fault:
    """A document that ends before it should, the last token being unfinished from `at` on."""
    end, rest = data.size, data[at : at + 9].tobytes()
    if opened is None and not rest.strip():
        return Fault(end, "the document is empty" if not data.tobytes().strip() else "there is no root element")
    inside = ""
    for start, what in (
        (b"<!--", "a comment"),
        (b"<![CDATA[", "a CDATA section"),
        (b"<!DOCTYPE", "the DOCTYPE"),
        (b"<?", "a processing instruction"),
        (b"<", "a tag"),
    ):
        if rest.startswith(start):
            inside = f" inside {what}"
            break
    unclosed = f": `<{_clipped(opened)}>` is not closed" if opened else ""
    if depth > 1:
        unclosed += f" ({depth:,} elements are open)"
    return Fault(end, f"the document ends{inside}{unclosed}", "was it cut off?")


def _foreign(head: bytes, here: bytes) -> tuple[str, str | None] | None:
    """What bytes are that cannot be XML: binary, or text in another encoding."""
    if 0 in head or sum(byte < 9 for byte in head) > 8:
        return f"byte 0x{here[0]:02X}: this is binary data, not XML", None
    if "\N{REPLACEMENT CHARACTER}" in here[:4].decode("utf-8", "replace")[:1] and here[:3] != b"\xef\xbf\xbd":
        declared = ', or declare it: <?xml version="1.0" encoding="..."?>'
        fix = Message("say how it is written, as in ", Option("encoding", "latin-1"), declared)
        return f"byte 0x{here[0]:02X} is not UTF-8", fix
    return None


def _character(data: bytes) -> str:
    first = data.decode("utf-8", "replace")[:1]
    return f"`{first}`" if first.isprintable() and first != " " and first else f"U+{ord(first or ' '):04X}"


def _name(data: bytes) -> str:
    end = next((at for at, byte in enumerate(data) if byte <= 32 or byte in b"/<=>"), len(data))
    return _clipped(data[:end])


def _quoted(data: bytes) -> str:
    return f"`{_clipped(data)}`"


def _clipped(data: bytes) -> str:
    text = data[: 4 * _SHOWN].decode("utf-8", "replace")
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"

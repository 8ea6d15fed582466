"""What can be wrong with a JSON text, in words."""

from __future__ import annotations

import re

from ostinato.documents.json.kernels import state as st
from ostinato.errors import Message, Option

_KEY = re.compile(rb'"(?:[^"\\]|\\.)*"')
_ESCAPES = {b"\t": "\\t", b"\n": "\\n", b"\r": "\\r"}
_REASONS: dict[int, tuple[str, str | None]] = {
    st.CONTROL: ("a string holds a control character, {found}", None),
    st.BAD_ESCAPE: ("a backslash in a string is followed by {found}", 'write \\\\ for a backslash, \\" for a quote'),
    st.BAD_HEX: ("\\u needs four hex digits, found {found}", None),
    st.LONE_SURROGATE: ("half of a surrogate pair stands alone", "write both halves, such as \\ud83d\\ude00"),
    st.BAD_UTF8: ("{found} is not UTF-8", Message("say how it is written, as in ", Option("encoding", "latin-1"))),
    st.BAD_NUMBER: ("a number needs a digit here, found {found}", None),
    st.LEADING_ZERO: ("a number does not start with 0 and another digit", "leave out the 0, or quote the number"),
    st.NO_VALUE: ("a value is expected, found {found}", None),
    st.NO_KEY: ("a key in double quotes is expected, found {found}", None),
    st.NO_COLON: ("a colon is expected after the key, found {found}", None),
    st.NO_COMMA: ("a comma or the closing bracket is expected, found {found}", None),
    st.TRAILING_COMMA: ("a comma stands before the closing bracket", "leave out the comma"),
    st.BAD_LITERAL: (
        "only true, false and null can stand without quotes, found {found}",
        "put text in double quotes",
    ),
    st.DUPLICATE: ("the key {key} stands twice in one object", "keep one of them"),
    st.EXTRA: ("more text after the JSON value, found {found}", "write one value per line and read it as JSON lines"),
}


def explain_fault(code: int, rest: bytes, lines: bool) -> tuple[str, str | None]:
    """What is wrong where `rest` begins, and the likely fix."""
    if code == st.EMPTY:
        return "the document is empty", None
    if not rest or (lines and rest[0] == 10):
        return f"the {'line' if lines else 'document'} ends inside a JSON value", "was it cut off?"
    said, fix = _REASONS[code]
    if code == st.CONTROL:
        fix = "write it as " + _ESCAPES.get(rest[:1], f"\\u{rest[0]:04x}")
    return said.format(found=_found(rest), key=_key(rest)), fix


def _found(rest: bytes) -> str:
    return f"`{chr(rest[0])}`" if 32 < rest[0] < 127 else f"byte 0x{rest[0]:02X}"


def _key(rest: bytes) -> str:
    """The key that `rest` begins with, in its quotes."""
    found = _KEY.match(rest)
    return f"{rest[:40].decode(errors='replace')}…" if found is None else found[0].decode(errors="replace")

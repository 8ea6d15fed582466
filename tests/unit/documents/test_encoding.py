"""Documents in other encodings, and sources that cannot be read."""

from __future__ import annotations

from typing import Any

import pytest

from ostinato.documents.tokens import TEXT
from ostinato.errors import DataError
from support.xml_tokens import xml


def text(document: Any, **options: Any) -> str:
    return b"".join(token[2] for token in xml(document, **options) if token[0] == TEXT).decode()


@pytest.mark.parametrize("chunk", [1, 3, 4096])
@pytest.mark.parametrize(
    ("encoding", "declared", "content"),
    [
        ("utf-8", "UTF-8", "é€😀"),
        ("utf-8-sig", "utf-8", "é€😀"),
        ("utf-16", "utf-16", "é€😀"),
        ("utf-16-le", "UTF-16", "é€😀"),
        ("utf-16-be", "utf-16", "é€😀"),
        ("utf-32", "utf-32", "é€😀"),
        ("latin-1", "ISO-8859-1", "é"),
        ("cp1252", "windows-1252", "é€"),
        ("shift_jis", "Shift_JIS", "日本"),
        ("koi8-r", "KOI8-R", "мир"),
        ("ascii", "US-ASCII", "e"),
    ],
)
def test_declared_encodings(encoding: str, declared: str, content: str, chunk: int) -> None:
    document = f"<?xml version='1.0' encoding='{declared}'?><a>{content * 3}</a>".encode(encoding)
    assert text(document, chunk_size=chunk) == content * 3


def test_encodings_that_need_no_declaration() -> None:
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"):
        assert text("<a>é</a>".encode(encoding)) == "é"


def test_an_encoding_that_is_given_wins() -> None:
    assert text("<a>é</a>".encode("latin-1"), encoding="latin-1") == "é"
    assert text("<?xml version='1.0' encoding='utf-16'?><a>é</a>".encode(), encoding="utf-8") == "é"
    for encoding in ("utf-8", "utf-16", "utf-16-le", "utf-32"):
        marked = "<a>é</a>".encode("utf-8-sig" if encoding == "utf-8" else encoding)
        assert text(marked, encoding=encoding) == "é"


@pytest.mark.parametrize(
    ("document", "options", "reason"),
    [
        (b"<?xml version='1.0' encoding='klingon'?><a/>", {}, "the encoding 'klingon' is not known"),
        (b"<?xml version='1.0' encoding='base64'?><a/>", {}, "the encoding 'base64' is not known"),
        (b"<?xml version='1.0' encoding='unicode_escape'?><a/>", {}, "is not known"),
        (b"<?xml version='1.0' encoding='utf-7'?><a/>", {}, "is not known"),
        (b"<a/>", {"encoding": "no such thing\0"}, "is not known"),
        (
            b"<?xml version='1.0' encoding='utf-16'?><a/>",
            {},
            "says encoding='utf-16', but the document is in another encoding",
        ),
        (b"\xef\xbb\xbf<?xml version='1.0' encoding='latin-1'?><a/>", {}, "begins with the mark of utf-8"),
        (b"<a>\x81</a>", {"encoding": "shift_jis"}, "not shift_jis, near byte 3"),
        ("<a>x</a>".encode("utf-16")[:-1], {}, "not utf-16-le, near byte"),
        (b"<?xml version='1.0' encoding='us-ascii'?><a>\xe9</a>", {}, "not ascii, near byte 44"),
    ],
)
def test_encodings_that_are_wrong(document: bytes, options: dict[str, Any], reason: str) -> None:
    with pytest.raises(DataError) as caught:
        xml(document, **options)
    assert reason in str(caught.value)
    assert "fix:" in str(caught.value)

"""XML documents to tokens: what each piece of a document becomes, whole and in chunks of any size."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ostinato
from ostinato.documents.tokens import ATTR, CLOSE, OPEN, TEXT
from ostinato.documents.xml.tokeniser import XmlLimits, XmlSource
from support.xml_tokens import NOTHING, listed, xml

MIXED = (
    b"<?xml version='1.0' encoding='utf-8'?>\n<!-- - --><?p?><a x='1' y=\"a&amp;b\n&#10;\" ><b/>t&lt;<![CDATA[<x>]]>"
    b"u\r\n<longer.than-8 q='' ><?p q?>\xc3\xa9<!---->z</longer.than-8\n></a>\n<!-- end -->"
)


def values(document: bytes, **options: Any) -> list[bytes]:
    return [token[2] for token in xml(document, **options) if token[0] in (ATTR, TEXT)]


def test_tokens_of_a_small_document() -> None:
    assert xml(b"<a x='1'><b/>t</a >") == [
        (OPEN, b"a", 0, 2),
        (ATTR, b"x", b"1"),
        (OPEN, b"b", 9, 11),
        (CLOSE, b"b", 11, 13),
        (TEXT, None, b"t"),
        (CLOSE, b"a", 14, 19),
    ]


@pytest.mark.parametrize("size", [*range(1, 20), 33, 64, 1000])
def test_chunks_of_any_size_give_the_same(size: int) -> None:
    assert xml(MIXED, chunk_size=size) == xml(MIXED)


def test_an_element_is_a_slice_of_the_buffer() -> None:
    document = b"<a>" + b"".join(b"<r n='%d'>text &lt; %d</r>" % (n, n) for n in range(50)) + b"</a>"
    source = XmlSource(document, chunk_size=7)
    found, keep, opened = [], NOTHING, -1
    while (tokens := source.read(keep)) is not None:
        if opened >= 0:
            opened -= source.moved
        for kind, number, start, end in zip(tokens.kind, tokens.name, tokens.start, tokens.end, strict=True):
            if number >= 0 and source.names.texts[number] == b"r":
                if kind == OPEN:
                    opened = int(start)
                elif kind == CLOSE:
                    found.append(tokens.buffer[opened:end].tobytes())
                    opened = -1
        keep = opened if opened >= 0 else tokens.used
    assert found == [b"<r n='%d'>text &lt; %d</r>" % (n, n) for n in range(50)]


def test_everything_can_be_kept() -> None:
    source = XmlSource(MIXED, chunk_size=3)
    while (tokens := source.read(0)) is not None:
        last = tokens
        assert source.moved == 0
    assert last.buffer[: last.used].tobytes() == MIXED[: last.used]


def test_text_and_values_are_resolved() -> None:
    assert values(b"<a>&lt;&gt;&amp;&quot;&apos;&#65;&#x42;&#x1F600;</a>") == ["<>&\"'AB😀".encode()]
    assert values(b"<a>1\r\n2\r3\n4&#13;</a>") == [b"1\n2\n3\n4\r"]
    assert values(b"<a b='1\r\n2\r3\n4\t5&#10;&#9;'/>") == [b"1 2 3 4 5\n\t"]
    assert values(b"<a>x<![CDATA[&lt;\r\n]]]]><![CDATA[>]]>y</a>") == [b"x&lt;\n]]>y"]
    assert values(b"<a>x<!-- -->y<?p?>z</a>") == [b"x", b"y", b"z"]
    assert values(b"<a><![CDATA[]]></a>") == []
    assert values(b"<a b='' c='>\"'>]]&gt; ]] ></a>") == [b"", b'>"', b"]]> ]] >"]


def test_what_is_not_asked_for_is_left_out() -> None:
    assert [token[0] for token in xml(MIXED, text=False)].count(TEXT) == 0
    kept = xml(b"<a x='&lt;' y='2' z='3'><b y='&gt;'/></a>", attributes={b"y"})
    assert [token for token in kept if token[0] == ATTR] == [(ATTR, b"y", b"2"), (ATTR, b"y", b">")]


def test_names_given_first_have_the_first_numbers() -> None:
    source = XmlSource(b"<c b=''><a/></c>", names=[b"a", b"b"])
    assert source.names.id_of(b"z") == 2
    listed(source)
    assert source.names.texts == [b"a", b"b", b"z", b"c"]


def test_a_tag_and_its_attributes_come_together() -> None:
    document = b"<a>" + b"".join(b"<b x='%d' y='' z=''/>" % n for n in range(2000)) + b"</a>"
    source = XmlSource(document, chunk_size=50_000)
    while (tokens := source.read(NOTHING)) is not None:
        assert tokens.kind[0] in (OPEN, CLOSE)


def test_many_attributes_and_names() -> None:
    many = b" ".join(b"name%d='%d'" % (n, n) for n in range(5000))
    assert len(xml(b"<a " + many + b"/>", chunk_size=100)) == 5002
    names = [b"n" * size for size in range(1, 40)]
    nested = b"".join(b"<%s>" % name for name in names) + b"".join(b"</%s>" % name for name in reversed(names))
    assert [token[1] for token in xml(nested)] == names + names[::-1]
    assert len(xml(b"<a" + b"b" * 60_000 + b"/>")) == 2


def test_deep_documents() -> None:
    assert len(xml(b"<a>" * 10_000 + b"</a>" * 10_000)) == 20_000
    deep = XmlLimits(depth=200_000)
    assert len(xml(b"<a>" * 150_000 + b"</a>" * 150_000, limits=deep)) == 300_000


def test_sources(tmp_path: Path) -> None:
    path = tmp_path / "a.xml"
    path.write_bytes(MIXED)
    expected = xml(MIXED)
    with path.open("rb") as file:
        others = (str(path), path, bytearray(MIXED), memoryview(MIXED), np.frombuffer(MIXED, np.uint8), file)
        assert all(xml(other) == expected for other in others)
    assert xml(io.BytesIO(MIXED), chunk_size=10) == expected
    with XmlSource(path) as source:
        source.read(NOTHING)


def test_a_file_that_gives_little_at_a_time() -> None:
    class Slow:
        at = 0

        def read(self, size: int) -> bytes:
            self.at += 1
            return MIXED[self.at - 1 : self.at]

    assert xml(Slow()) == xml(MIXED)


def test_memory_does_not_grow_with_the_document() -> None:
    class Endless:
        left = 3000

        def read(self, size: int) -> bytes:
            self.left -= 1
            start, end = (b"<a>" if self.left == 2999 else b""), (b"</a>" if not self.left else b"")
            return start + b"<b c='d'/>" * 100 + end if self.left >= 0 else b""

    source = XmlSource(Endless(), chunk_size=2000)
    largest = 0
    while (tokens := source.read(NOTHING)) is not None:
        largest = max(largest, tokens.buffer.size)
    assert largest < 20_000


def test_without_compiling() -> None:
    code = (
        "from ostinato.documents.xml.tokeniser import XmlSource\n"
        f"source = XmlSource({MIXED!r}, chunk_size=20)\n"
        "count = 0\n"
        "while (tokens := source.read(1 << 31)) is not None: count += tokens.kind.size\n"
        "print(count)"
    )
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(Path(ostinato.__file__).parents[1])}
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert int(run.stdout) == len(xml(MIXED))

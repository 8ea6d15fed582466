"""Token for token what the standard library's parser gives, on documents that are well-formed and on ones that are not.

Where the two differ on purpose: what a DOCTYPE holds is not checked here, a version is 1.x, a second byte order mark is
a character, and names follow the fifth edition of XML 1.0 where expat follows the fourth.
"""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostinato.documents.xml.tokeniser import XmlSource
from support.expat_tokens import ExpatSource
from support.xml_tokens import or_refused

SEEDS = [
    b"<?xml version='1.0' encoding='utf-8' standalone='yes'?>\n<!-- hi - x --><a x='1' y=\"a&amp;b\n&#10;\" ><b/>t&lt;"
    b"<![CDATA[<x>]] ]]>u\r\n<longlongname12 q=''>\xc3\xa9</longlongname12 ><?pi data?></a>\n<?p?><!---->",
    b"<r><a.b-c:d _e='&#x10FFFF;\t'/>]] > ]]&gt; \xe2\x82\xac\xf0\x9f\x98\x80<e\xc3\xa9 \xc3\xa9='x'/></r >\r",
    b"<t a=\"'\" b='\"' c='>'>\r\r\n&quot;&apos;&#65;<t/><t></t>\n</t>",
    b"<aaaaaaa><aaaaaaaa><aaaaaaaaa b1234567='' b12345678=''/></aaaaaaaa></aaaaaaa>",
]
PIECES = [
    *(bytes([byte]) for byte in b"<>&;\"'/!-?= \n\r\t\0\x01\x7f\x80\xc3ax:.1[]"), b"--", b"]]>", b"<![CDATA[", b"<!--",
    b"-->", b"<?", b"?>", b"\xef\xbf\xbf", b"\xed\xa0\x80", b"\xc0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"&lt;",
    b"&#1;", b"&#xD800;", b"&x;", b"&#9;", b"&#", b"xml", b"<?xml version='1.0'?>", b"</a>", b"<b", b"\xc2\x85",
]  # fmt: skip
CHUNKS = st.sampled_from([1, 2, 3, 5, 7, 8, 9, 16, 31, 64, 1 << 16])
_VERSION = re.compile(rb"<\?xml\s+version\s*=\s*['\"](?!1\.[0-9]+['\"])")


def agree(document: bytes, chunk: int) -> None:
    expected = or_refused(ExpatSource, document)
    assert or_refused(XmlSource, document, chunk_size=chunk) == expected
    if expected is not None:
        assert or_refused(XmlSource, document) == expected


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    document = draw(st.sampled_from(SEEDS))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(document)))
        removed = draw(st.integers(0, 4))
        document = document[:at] + draw(st.sampled_from([b"", *PIECES])) + document[at + removed :]
    return document


@settings(max_examples=120, deadline=None)
@given(mutated(), CHUNKS)
def test_what_is_accepted_and_refused(document: bytes, chunk: int) -> None:
    if not _VERSION.match(document):
        agree(document, chunk)


NAMES = st.sampled_from(["a", "b-1", "long.name_with:parts", "é", "_x", "seven77", "eight888", "n" * 17])
CHARACTERS = st.text(st.sampled_from("ab <>&'\"]\n\r\t\x85é€😀-?/="), max_size=12)


def escaped(text: str) -> str:
    for character, name in (("&", "&amp;"), ("<", "&lt;"), ("]>", "]&gt;"), ('"', "&quot;"), ("\r\n", "\r&#10;")):
        text = text.replace(character, name)
    return text


ATTRIBUTES = st.dictionaries(NAMES, CHARACTERS, max_size=3).map(
    lambda pairs: "".join(f' {name}="{escaped(value)}"' for name, value in pairs.items())
)
LEAVES = st.one_of(
    CHARACTERS.map(escaped),
    CHARACTERS.map(lambda text: f"<![CDATA[{text.replace(']]>', '')}]]>"),
    CHARACTERS.map(lambda text: f"<!--{text.replace('-', '')}-->"),
    CHARACTERS.map(lambda text: f"<?p {text.replace('?>', '')}?>"),
    st.builds(lambda name, pairs: f"<{name}{pairs}/>", NAMES, ATTRIBUTES),
)


def element(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.builds(
        lambda name, pairs, parts: f"<{name}{pairs}>{''.join(parts)}</{name}>",
        NAMES,
        ATTRIBUTES,
        st.lists(inner, max_size=5),
    )


@settings(max_examples=36, deadline=None)
@given(element(st.recursive(LEAVES, element, max_leaves=20)), CHUNKS)
def test_documents_that_are_well_formed(document: str, chunk: int) -> None:
    assert or_refused(XmlSource, document.encode()) is not None
    agree(document.encode(), chunk)


@pytest.mark.parametrize("document", SEEDS)
def test_every_beginning_and_every_chunk_size(document: bytes) -> None:
    for chunk in range(1, 65):
        agree(document, chunk)
    for end in range(len(document)):
        agree(document[:end], 1 << 16)


@pytest.mark.slow
def test_every_byte_in_every_place() -> None:
    document = b"<a b='c'>d<!--e--><?f g?></a>"
    for at in range(len(document)):
        for byte in range(256):
            agree(document[:at] + bytes([byte]) + document[at + 1 :], 1 << 16)


def test_characters_of_names() -> None:
    """Those of the fifth edition; expat knows fewer."""
    inside = [0xC0, 0xF8, 0x37F, 0x200C, 0x2070, 0x2C00, 0x3001, 0xF900, 0xFDF0, 0xFFFD, 0x10000, 0xEFFFF]
    outside = [0xD7, 0xF7, 0x37E, 0x2000, 0x2190, 0x3000, 0xE000, 0xFDD0, 0xF0000]
    later = [0xB7, 0x300, 0x36F, 0x203F, 0x2040]
    for code in [*inside, *outside, *later]:
        assert (or_refused(XmlSource, f"<a{chr(code)}/>".encode()) is not None) == (code not in outside)
        assert (or_refused(XmlSource, f"<{chr(code)}/>".encode()) is not None) == (code in inside)

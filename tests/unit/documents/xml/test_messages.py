"""What is wrong with a document is said in a line, with the place and, where one is likely, a fix."""

from __future__ import annotations

import pytest

from ostinato.documents.xml.tokeniser import XmlLimits, XmlSource
from ostinato.errors import DataError, LimitError
from support.xml_tokens import NOTHING, xml

WRONG = [
    (b"", "line 1, column 1: the document is empty"),
    (b" \n ", "line 2, column 2: the document is empty"),
    (b"<!-- x -->", "line 1, column 11: there is no root element"),
    (b"hello", "line 1, column 1: `h` stands outside the root element"),
    (bytes(range(256)), "line 1, column 1: byte 0x00: this is binary data, not XML"),
    (b"<a><b>text", "line 1, column 11: the document ends: `<b>` is not closed (2 elements are open)"),
    (b"<a><b x='1", "line 1, column 11: the document ends inside a tag: `<a>` is not closed"),
    (b"<a><!-- x", "line 1, column 10: the document ends inside a comment: `<a>` is not closed"),
    (b"<a>\xc3", "the document ends: `<a>` is not closed"),
    (b"<a>\xe9</a>", "line 1, column 4: byte 0xE9 is not UTF-8\nfix: say how it is written"),
    (b"<a>\xef\xbf\xbf</a>", "line 1, column 4: the character U+FFFF is not allowed in XML"),
    (b"<a>\x01</a>", "line 1, column 4: the character U+0001 is not allowed in XML"),
    (b"<a>&foo;</a>", "line 1, column 4: the entity `&foo;` is not known\nfix: only &lt; &gt;"),
    (b"<a>& b</a>", "line 1, column 4: `&` begins no reference\nfix: write it as &amp;"),
    (b"<a>&#0;</a>", "`&#0;` is not a character that XML allows"),
    (b"<a>&#x;</a>", "`&#` must be followed by a number and `;`"),
    (b"<a x=1/>", "line 1, column 6: the value of an attribute has no quotes"),
    (b"<a x/>", "line 1, column 5: an attribute has no value: `=` is missing before `/`"),
    (b"<a x='1'y='2'/>", "line 1, column 9: white space is missing before `y`"),
    (b"<a x='1' y='' x='2'/>", "line 1, column 15: the element has the attribute `x` twice"),
    (b"<a b='<'/>", "line 1, column 7: `<` in the value of an attribute"),
    (b"<a\n>\n\xc3\xa9\xc3\xa9<b></c>", "line 3, column 6: `</c>` does not close `<b>`"),
    (b"<a>\r\r\n\r<b/></c>", "line 4, column 5: `</c>` does not close `<a>`"),
    (b"</a>", "`</a>` closes nothing"),
    (b"<a/><b/>", "line 1, column 5: a second root element"),
    (b"<a/><![CDATA[]]>", "a CDATA section outside the root element"),
    (b"<a>]]></a>", "line 1, column 4: `]]>` in text"),
    (b"<a><!-- -- --></a>", "`--` inside a comment"),
    (b"<a><! x></a>", "`<!` begins neither a comment nor CDATA nor DOCTYPE"),
    (b"<a><? x?></a>", "a processing instruction must begin with a name"),
    (b"\n<?xml version='1.0'?><a/>", "line 2, column 3: an XML declaration may only stand at the very start"),
    (b"<?xml version='2.0'?><a/>", "line 1, column 1: the XML declaration is not correct"),
    (b"<?xml encoding='utf-8' version='1.0'?><a/>", "the XML declaration is not correct"),
    (b"<1a/>", "line 1, column 2: a name is missing after `<`"),
    (b'<a"b/>', 'line 1, column 3: `"` may not stand in a name'),
    (b"<a/ >", "`>` is missing before U+0020"),
    (b"<a></a b>", "`>` is missing before `b`"),
]


@pytest.mark.parametrize(("document", "expected"), WRONG)
@pytest.mark.parametrize("chunk", [1, 4, 1 << 16])
def test_reasons(document: bytes, expected: str, chunk: int) -> None:
    with pytest.raises(DataError) as caught:
        xml(document, chunk_size=chunk)
    assert expected in str(caught.value)


def test_the_document_is_named() -> None:
    with pytest.raises(DataError, match=r"^orders\.xml: line 1, column 4: "):
        xml(b"<a>", name="orders.xml")


def test_tokens_before_the_fault_come_first() -> None:
    source = XmlSource(b"<a><b/></c>")
    tokens = source.read(NOTHING)
    assert tokens is not None
    assert tokens.kind.size == 3
    for _ in range(2):
        with pytest.raises(DataError, match="does not close"):
            source.read(tokens.used)


DECLARED = b"""<!DOCTYPE l [ <!ENTITY a "]>'"> <!-- ]> ' --> <?p ]> ?> <!ENTITY b SYSTEM 'file:///x'> %p; ]>"""


def test_a_doctype_is_refused_or_skipped_never_read() -> None:
    with pytest.raises(DataError, match=r'DOCTYPE, which is refused.*\nfix: doctype="skip"'):
        xml(DECLARED + b"<l/>")
    for chunk in (1, 7, 1000):
        assert len(xml(DECLARED + b"<l/>", doctype="skip", chunk_size=chunk)) == 2
    for reference in (b"&a;", b"&b;"):
        with pytest.raises(DataError, match="is ever expanded"):
            xml(DECLARED + b"<l>" + reference + b"</l>", doctype="skip")
    for document in (b"<!DOCTYPE><a/>", b"<!DOCTYPE a [><a/>", b"<!DOCTYPE a ]><a/>", b"<!DOCTYPE a [<x>]><a/>"):
        with pytest.raises(DataError, match="DOCTYPE"):
            xml(document, doctype="skip")
    for document in (b"<a><!DOCTYPE a></a>", b"<!DOCTYPE a><!DOCTYPE a><a/>", b"<a/><!DOCTYPE a>"):
        with pytest.raises(DataError, match="may stand only once, before the root element"):
            xml(document, doctype="skip")


class Endless:
    """A start, then the same again and again."""

    def __init__(self, start: bytes, more: bytes) -> None:
        self.start, self.more = start, more

    def read(self, size: int) -> bytes:
        start, self.start = self.start, b""
        return start or self.more * (size // len(self.more) + 1)


@pytest.mark.parametrize(
    ("start", "more", "limit"),
    [
        (b"<a>", b"<a>", "depth"),
        (b"<a x='", b"y", "token"),
        (b"<a>", b"text &amp; ", "token"),
        (b"<a><!--", b"x", "token"),
        (b"<a", b"b", "token"),
    ],
)
def test_documents_without_end(start: bytes, more: bytes, limit: str) -> None:
    with pytest.raises(
        LimitError, match=rf"line 1, column \d+: .*limit {limit}=.*\nfix: raise the limit, XSeqLimits\({limit}="
    ):
        xml(Endless(start, more), limits=XmlLimits(token=1 << 20), chunk_size=1 << 16)


def test_limits_of_names_and_attributes() -> None:
    some = b" ".join(b"x%d=''" % n for n in range(11))
    with pytest.raises(LimitError, match="limit attributes=10"):
        xml(b"<a " + some + b"/>", limits=XmlLimits(attributes=10))
    with pytest.raises(LimitError, match="limit names=11"):
        xml(b"<a " + some + b"/>", limits=XmlLimits(names=11))
    assert len(xml(b"<a " + some + b"/>", limits=XmlLimits(names=12, attributes=11))) == 13
    with pytest.raises(LimitError, match="limit name=20"):
        xml(b"<" + b"a" * 21 + b"/>", limits=XmlLimits(name=20))
    assert xml(b"<" + b"a" * 20 + b"/>", limits=XmlLimits(name=20))

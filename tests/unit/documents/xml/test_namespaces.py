"""Names in their namespaces, whatever prefixes a document uses."""

from __future__ import annotations

from typing import Any
from xml.parsers import expat

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostinato.documents.tokens import ATTR, OPEN
from ostinato.errors import DataError, QueryError
from support.xml_tokens import xml

DOCUMENT = (
    b'<a xmlns="u" xmlns:q="v" q:x="1" y="2" xml:lang="en"><q:b/>'
    b'<c xmlns="" xmlns:q="w"><q:b q:z="3"/></c><d/><q:b/></a>'
)


def names(document: bytes, **options: Any) -> list[str]:
    return [token[1].decode() for token in xml(document, **options) if token[0] in (OPEN, ATTR)]


@pytest.mark.parametrize("chunk", [1, 10, 1000])
def test_prefixes_are_those_of_the_query(chunk: int) -> None:
    found = names(DOCUMENT, namespaces={"p": "v", "": "u"}, chunk_size=chunk)
    assert found == ["a", "p:x", "y", "xml:lang", "p:b", "{}c", "{w}b", "{w}z", "d", "p:b"]
    found = names(DOCUMENT, namespaces={"p": "w", "r": "u"}, chunk_size=chunk)
    assert found == ["r:a", "{v}x", "y", "xml:lang", "{v}b", "c", "p:b", "p:z", "r:d", "{v}b"]
    assert names(DOCUMENT, namespaces={}, attributes={b"{w}z"}) == ["{u}a", "{v}b", "c", "{w}b", "{w}z", "{u}d", "{v}b"]


def test_as_written_without_namespaces() -> None:
    assert names(b'<a:b:c xmlns="u" q:x=""/>') == ["a:b:c", "xmlns", "q:x"]


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (b"<r>\n<a:b/></r>", "line 2, column 1: the prefix `a` is not declared"),
        (b"<a b:x=''/>", "the prefix `b` is not declared"),
        (b"<r><a xmlns:b='u'/><b:c/></r>", "the prefix `b` is not declared"),
        (b"<a xmlns:p='u' xmlns:q='u'><b p:x='' q:x=''/></a>", "line 1, column 28: the element has an attribute twice"),
        (b"<a xmlns:xml='u'/>", "reserved"),
        (b"<a xmlns:xmlns='u'/>", "reserved"),
        (b"<a xmlns:b=''/>", "the prefix `b` is declared for no namespace"),
        (b"<a:b:c xmlns:a='u'/>", "`a:b:c` is not a name with a prefix"),
        (b"<a:1 xmlns:a='u'/>", "`1` is not a name"),
    ],
)
def test_what_is_wrong(document: bytes, reason: str) -> None:
    with pytest.raises(DataError) as caught:
        xml(document, namespaces={})
    assert reason in str(caught.value)


def test_a_prefix_stands_for_something() -> None:
    with pytest.raises(QueryError, match="the prefix `p` stands for no namespace"):
        xml(b"<a/>", namespaces={"p": ""})


def test_scopes_without_end() -> None:
    count = 3000
    deep = b"".join(b"<p%d:a xmlns:p%d='u%d'>" % (n, n, n) for n in range(count))
    deep += b"".join(b"</p%d:a>" % n for n in reversed(range(count)))
    assert names(deep, namespaces={}) == [f"{{u{n}}}a" for n in range(count)]


PREFIXES = st.sampled_from(["", "p", "q"])


@st.composite
def documents(draw: st.DrawFn, depth: int = 3) -> str:
    prefix, local = draw(PREFIXES), draw(st.sampled_from("ab"))
    declared = draw(st.dictionaries(PREFIXES, st.sampled_from("uvw"), max_size=2))
    pairs = [f'xmlns{":" if key else ""}{key}="{uri}"' for key, uri in declared.items()]
    keys = draw(st.lists(st.tuples(PREFIXES, st.sampled_from("xy")), max_size=2, unique=True))
    pairs += [f'{key}{":" if key else ""}{name}="1"' for key, name in keys]
    tag = f"{prefix}:{local}" if prefix else local
    inner = "".join(draw(st.lists(documents(depth=depth - 1), max_size=2))) if depth else ""
    return f"<{' '.join([tag, *pairs])}>{inner}</{tag}>"


def by_expat(document: str) -> list[str] | None:
    found: list[str] = []

    def start(name: str, attributes: list[str]) -> None:
        found.extend(f"{{{name.replace(' ', '}')}" if " " in name else name for name in [name, *attributes[::2]])

    parser = expat.ParserCreate(namespace_separator=" ")
    parser.ordered_attributes = True
    parser.StartElementHandler = start
    try:
        parser.Parse(document, True)
    except expat.ExpatError:
        return None
    return found


@settings(max_examples=40, deadline=None)
@given(documents(), st.sampled_from([1, 20, 1000]))
def test_as_expat_does_it(document: str, chunk: int) -> None:
    try:
        found: list[str] | None = names(document.encode(), namespaces={}, chunk_size=chunk)
    except DataError:
        found = None
    assert found == by_expat(document)

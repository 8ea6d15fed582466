"""JSON and XML texts as terms, and what is refused in them."""

from __future__ import annotations

import pytest

from ostinato.errors import DataError
from ostinato.rules.terms.data import to_json
from ostinato.rules.terms.document import parse_document


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (' {"area": "a"}', '{"order":[{"area":["a"]}]}'),
        ("\ufeff{}", '{"order":[]}'),
        ("<temp><area>a</area><value>40</value></temp>", '{"temp":[{"area":["a"]},{"value":[40]}]}'),
        ('<t b="1" a="x&amp;y">z</t>', '{"t":[{"@b":[1]},{"@a":["x&y"]},"z"]}'),
        (
            "<t>\n  <a> true </a>\n  <b>-1.5e1</b> <c>01</c> <d>True</d>\n</t>",
            '{"t":[{"a":[true]},{"b":[-15]},{"c":["01"]},{"d":["True"]}]}',
        ),
        ("<t>one<b/>two</t>", '{"t":["one",{"b":[]},"two"]}'),
        ("<t>4<!-- no -->0</t>", '{"t":[40]}'),
        ("<t><![CDATA[a < b]]></t>", '{"t":["a < b"]}'),
        ('<s:t xmlns:s="urn:s"><s:a>1</s:a></s:t>', '{"s:t":[{"@xmlns:s":["urn:s"]},{"s:a":[1]}]}'),
        ('\n<?xml version="1.0" encoding="latin-1"?><t>é</t>', '{"t":["é"]}'),
        (f"<t>{'9' * 500}</t>", f'{{"t":["{"9" * 500}"]}}'),
    ],
)
def test_documents(text: str, expected: str) -> None:
    assert to_json(parse_document(text, "order")) == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it is empty"),
        ("[1]", "begins with"),
        ('{"a": }', "line 1, column 7"),
        ('{"a":\n "\\ud800"}', "bad JSON"),
        ("{" + '"a":{' * 300 + "}" * 301, "more than 200 deep"),
        ('{"a":' * 100_000, "deep"),
        ("<a>\n <b></a>", "line 2, column 7: mismatched tag"),
        ("<a>\ud800</a>", "bad XML"),
        ("<a>&nbsp;</a>", "line 1, column 4: undefined entity"),
        ('<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', "document type"),
        ('<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>', "document type"),
        ("<a>" * 300 + "</a>" * 300, "line 1, column 601: elements are nested more than 200 deep"),
        ("<a/><b/>", "junk after document element"),
        ("<a", "unclosed token"),
    ],
)
def test_what_is_refused(text: str, reason: str) -> None:
    with pytest.raises(DataError, match=reason):
        parse_document(text, "order")

"""Texts that JSON readers disagree on, as RFC 8259 has them; the standard library, made strict, agrees on each."""

from __future__ import annotations

import pytest

from ostinato.documents.json.tokeniser import JsonSource
from ostinato.errors import OstinatoError
from support import json_reference as reference

ACCEPTED = [
    b"[]", b"{}", b"[[]]", b"[null]", b"true", b"false", b"null", b'""', b"0", b"-0", b"-1", b" [1] ", b"[1\n]",
    b"\t1\r\n", b"[-0]", b"[0e1]", b"[0e+1]", b"[1E22]", b"[1E-2]", b"[1E+2]", b"[123e45]", b"[123.456e78]",
    b"[1e-2]", b"[1e+2]", b"[-0.0]", b"[0.1]", b"[20e1]", b"[1.7976931348623157e309]",
    b"[123456789012345678901234567890]",
    b"[-0.000000000000000000000000000000000000000000000000000000000000000000000000000001]",
    b'["\\u0060\\u012a\\u12AB"]', b'["\\uD801\\udc37"]', b'["\\ud83d\\ude39\\ud83d\\udc8d"]',
    b'["\\"\\\\\\/\\b\\f\\n\\r\\t"]', b'["\\\\u0000"]', b'["\\""]', b'["a/*b*/c/*d//e"]', b'["\\\\a"]', b'["\\\\n"]',
    b'["\\u0012"]', b'["\\uFFFF"]', b'["asd "]', b'["\xf4\x8f\xbf\xbf"]', b'["\xef\xbf\xbf"]', b'[" "]',
    b'["\\uDBFF\\uDFFF"]', b'["new\\u00A0line"]', b'["\\u0000"]', b'["\\u002c"]', b'["\xcf\x80"]',
    b'["\xf0\x9b\xbf\xbf"]', b'["\xe2\x80\xa8\xe2\x80\xa9"]', b'["\x7f"]', b'["\\u200B"]', b'["\\u0061\\u30af"]',
    b'["\\uA66D"]', b'["\\u005C"]', b'["\\u0022"]', b'["\xe2\x8d\x82"]', b'{"":0}', b'{"foo\\u0000bar": 42}',
    b'{"asd":"sdf", "dfg":"fgh"}', b'{"min": -1.0e+28, "max": 1.0e+28}', b'{"a":[]}', b'{\n"a": "b"\n}',
    b'{"a":{"a":{"a":1}},"b":{"a":2}}', b'{"a":1,"A":2}', b'{"a":1,"b":{"a":1},"c":{"a":1}}', b"\xef\xbb\xbf{}",
    b'["\xc2\x80"]', b'["\xed\x9f\xbf"]', b'["\xee\x80\x80"]',
]  # fmt: skip

REFUSED = [
    b"", b" ", b"[1 true]", b"[a\xe5]", b'["": 1]', b'[""],', b"[,1]", b"[1,,2]", b'["x",,]', b'["x"]]', b'["",]',
    b'["x"', b"[x", b"[3[4]]", b"[\xff]", b"[1:2]", b"[,]", b"[-]", b"[   , \"\"]", b'["a",\n4\n,1,', b"[1,]",
    b'["\x0ba"\\f]', b"[*]", b'[""', b"[1,", b"[1,\n1\n,1", b"[{}", b"[fals]", b"[nul]", b"[tru]", b"[++1234]",
    b"[+1]", b"[+Inf]", b"[-01]", b"[-1.0.]", b"[-2.]", b"[-NaN]", b"[.-1]", b"[.2e-3]", b"[0.1.2]", b"[0.3e+]",
    b"[0.3e]", b"[0.e1]", b"[0e+]", b"[0e]", b"[1.0e+]", b"[1.0e-]", b"[1.0e]", b"[1 000.0]", b"[1eE2]", b"[2.e+3]",
    b"[2.e-3]", b"[2.e3]", b"[9.e+]", b"[Inf]", b"[NaN]", b"[\xef\xbc\x91]", b"[1+2]", b"[0x1]", b"[0x42]",
    b"[Infinity]", b"[0e+-1]", b"[-123.123foo]", b"[123\xe5]", b"[1e1\xe5]", b"[0\xe5]\n", b"[-Infinity]", b"[-foo]",
    b"[- 1]", b"[-012]", b"[-.123]", b"[-1x]", b"[1ea]", b"[1.]", b"[.123]", b"[1.2a-3]",
    b"[1.8011670033376514H-308]", b"[012]", b"00", b"01", b"-", b"1.", b"1e", b"+1", b".5", b'["x", truth]', b"{[",
    b'{"x", null}', b'{"x"::"b"}', b"{\xf0\x9f\x87\xa8}", b'{"a":"a" 123}', b"{key: 'value'}", b'{"a" b}', b'{"a":',
    b'{"a"', b"{1:1}", b"{9999E9999:1}", b"{null:null,null:null}", b'{"id":0,,,,,}', b"{'a':0}", b'{"id":0,}',
    b'{"a":"b"}/**/', b'{"a":"b"}//', b'{"a":"b"}/', b'{"a":"b",,"c":"d"}', b"{a: \"b\"}", b'{"a":"a', b"{",
    b'{ "foo" : "bar", "a" }', b'{"a":"b"}#', b'{"a":1 "b":2}', b'["\\uD800\\"]', b'["\\uD800\\u"]',
    b'["\\uD800\\u1"]', b'["\\uD800\\u1x"]', b"[\xc3\xa9]", b'["\\\x00"]', b'["\\x00"]', b'["\\\\\\"]', b'["\\\t"]',
    b'["\\\xf0\x9f\x8c\x80"]', b'["\\"]', b'["\\u00A"]', b'["\\uD834\\uDd"]', b'["\\uD800\\uD800\\x"]',
    b'["\\u\xe5"]', b'["\\a"]', b'["\\uqqqq"]', b'["\\\xe5"]', b"[\\u0020\"asd\"]", b"[\\n]", b'"',
    b"['single quote']", b"abc", b'["\\', b'["a\x00a"]', b'["new\nline"]', b'["\t"]', b'"\\UA66D"', b'""x', b"<.>",
    b"[<null>]", b"[1]x", b"[1]]", b'["asd]', b"a\xc3\xa5", b"[True]", b"1]", b'{"x": true,', b"[][]", b"]",
    b"\xef\xbb{}", b"\xe5", b"[", b"2@", b"{}}", b'{"":', b'{"a":/*comment*/"b"}', b'{"a": true} "x"', b"['", b'["a',
    b"[,", b"[{", b'["a"', b"{]", b"{,", b'{"a', b"{'a'", b'["\\{["\\{["\\{["\\{', b"*", b"[\x0c]",
    b'["a"\xe2\x81\xa0]', b"\xe2\x81\xa0", b"[1\x00]", b"\x00", b"nulll", b"truefalse", b"[1]\x00", b"[\xef\xbb\xbf]",
    # bytes that are not UTF-8, and halves of surrogate pairs
    b'["\xff"]', b'["\xe9"]', b'["\xc0\x80"]', b'["\xc1\xbf"]', b'["\xe0\x80\xaf"]', b'["\xed\xa0\x80"]',
    b'["\xf4\x90\x80\x80"]', b'["\xf0\x80\x80\xaf"]', b'["\xf5\x80\x80\x80"]', b'["\x80"]', b'["\xe2\x82"]',
    b'["\xf0\x9f\x98"]', b'["\xfc\x83\xbf\xbf"]', b'["\\uD800"]', b'["\\udc00"]', b'["\\ud800\\ud800"]',
    b'["\\uDd1e\\uD834"]', b'["\\ud800abc"]', b'["\\uDADA"]', b'{"\\ud800":1}', b'{"\xff":1}', b'["\\uD888\\u1234"]',
    # keys that come twice
    b'{"a":1,"a":1}', b'{"a":1,"\\u0061":2}', b'{"a":null,"a":null}', b'{"a":{"a":1},"a":2}',
    b'{"x":{"a":1,"b":{"a":0},"a":2}}', b'{"a":[{"a":1},{"a":2}],"b":{"a":1},"a":3}', b'[{"":1,"":2}]',
]  # fmt: skip


@pytest.mark.parametrize("text", ACCEPTED)
def test_accepted(text: bytes) -> None:
    expected = reference.document(text)
    for size in (1, 5, 1 << 16):
        assert reference.drain(JsonSource(text, lines=False, chunk_size=size))[0] == expected
    if b"\n" not in text.strip():
        assert reference.drain(JsonSource(text, lines=True))[0] == reference.lines(text)


@pytest.mark.parametrize("text", REFUSED)
def test_refused(text: bytes) -> None:
    with pytest.raises(ValueError):
        reference.document(text)
    for size in (1, 5, 1 << 16):
        with pytest.raises(OstinatoError):
            reference.drain(JsonSource(text, lines=False, chunk_size=size))
    if text.strip():
        with pytest.raises(OstinatoError, match=r"line [123], column"):
            reference.drain(JsonSource(text, lines=True))

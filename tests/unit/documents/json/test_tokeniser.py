"""JSON → tokens: the mapping, streaming, and agreement with the standard library on what is JSON."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from ostinato.documents.json.tokeniser import JsonSource
from ostinato.documents.tokens import ATTR, CLOSE, OPEN
from ostinato.errors import OstinatoError
from support import json_reference as reference

Token = reference.Token


def tokens(source: bytes, *, lines: bool = False, **options: Any) -> list[Token]:
    return reference.drain(JsonSource(source, lines=lines, **options))[0]


def shown(found: list[Token]) -> str:
    """Tokens on one line: <a @b=1 'text' >."""
    words = {
        "open": lambda name, value: f"<{name}",
        "attr": lambda name, value: f"@{name}={value}",
        "text": lambda name, value: repr(value),
        "close": lambda name, value: ">",
    }
    return " ".join(words[kind](name, value) for kind, name, value in found)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a":1,"b":"x","c":true,"d":null}', "<json @a=1 @b=x @c=true >"),
        ('{"a":1.50e+3}', "<json @a=1.50e+3 >"),
        ('{"a":{"b":{"c":""}}}', "<json <a <b @c= > > >"),
        ('{"a":[1,"x",null,"",{"k":2},[],[3,[4]]]}',
         "<json <a '1' > <a 'x' > <a > <a > <a @k=2 > <a > <a <item '3' > <item <item '4' > > > >"),
        ('{"a":[]}', "<json >"),
        ("[]", "<json >"),
        ('[1,{"a":2}]', "<json <item '1' > <item @a=2 > >"),
        ("7", "<json '7' >"),
        ('"é\\u00e9\\ud83d\\ude00\\n"', "<json 'éé😀\\n' >"),
        ("null", "<json >"),
        (' \r\n\t{ "a" : 1 } \n', "<json @a=1 >"),
    ],
)  # fmt: skip
def test_mapping(text: str, expected: str) -> None:
    assert shown(tokens(text.encode())) == expected


def test_attributes_come_first_whatever_the_order_of_members() -> None:
    text = b'{"a":{"x":1},"b":2,"c":[{"p":[1],"q":3,"r":[2],"s":4}],"d":5}'
    expected = "<json @b=2 @d=5 <a @x=1 > <c @q=3 @s=4 <p '1' > <r '2' > > >"
    assert shown(tokens(text)) == expected
    # Only what stands directly after its OPEN tells whose attribute it is, so offsets must be those of the value.
    assert reference.drain(JsonSource(text, lines=False))[1][-1] == text


def test_lines_and_names_of_root_and_record() -> None:
    text = b'\xef\xbb\xbf{"a":1}\r\n\n  \n[2]\n"x"\nnull'
    assert shown(tokens(text, lines=True)) == "<json <item @a=1 > <item <item '2' > > <item 'x' > <item > >"
    named = tokens(text, lines=True, root="r", record="row")
    assert shown(named) == "<r <row @a=1 > <row <item '2' > > <row 'x' > <row > >"
    assert shown(tokens(b"[1,[2]]", root="r", record="row")) == "<r <row '1' > <row <item '2' > > >"
    assert shown(tokens(b"", lines=True)) == "<json >"


def test_elements_as_they_are_written() -> None:
    text = b'{"a": {"b" : [1, "\\u0041", {"c":2} ]}, "d": 3}'
    _, written = reference.drain(JsonSource(text, lines=False))
    assert written == [b"1", b'"\\u0041"', b'{"c":2}', b'{"b" : [1, "\\u0041", {"c":2} ]}', text]


def test_root_keeps_its_text_when_nothing_is_given_up() -> None:
    for text, lines in ((b' [1, {"a": [2]}] ', False), (b'{"a":1}\n{"b":2}\n', True)):
        _, written = reference.drain(JsonSource(text, lines=lines, chunk_size=3), keep=True)
        assert written[-1] == (text if lines else text.strip())


def test_only_what_is_asked_for() -> None:
    text = b'{"a":1,"b":[2],"c":"\\u0041","d":{"a":3,"c":4}}'
    assert shown(tokens(text, text=False)) == "<json @a=1 @c=A <b > <d @a=3 @c=4 > >"
    assert shown(tokens(text, attributes=[b"c"])) == "<json @c=A <b '2' > <d @c=4 > >"
    with pytest.raises(OstinatoError, match="twice"):
        tokens(b'{"a":1,"a":2}', attributes=[])


def test_names_that_are_given_come_first() -> None:
    source = JsonSource(b'{"b":1,"a":2}', lines=False, names=[b"a", b"json"])
    found = source.read(0)
    assert found is not None and source.read(found.used) is None
    assert found.name.tolist() == [1, source.names.id_of(b"b"), 0, 1]
    assert found.kind.tolist() == [OPEN, ATTR, ATTR, CLOSE]


def test_sources(tmp_path: Path) -> None:
    text = b'{"a":1}\n{"a":2}\n'
    path = tmp_path / "some.jsonl"
    path.write_bytes(text)
    expected = reference.lines(text)
    for source in (text, bytearray(text), memoryview(text), path, str(path), io.BytesIO(text)):
        assert reference.drain(JsonSource(source, lines=True))[0] == expected
    assert tokens("é".encode().join([b'"', b'"']).decode().encode("utf-16")) == reference.document('"é"'.encode())
    assert tokens(b'"\xe9"', encoding="latin-1") == reference.document('"é"'.encode())


def test_tokens_before_a_fault_come_first() -> None:
    for text, lines in ((b'{"a":1}\n{"a":2}\n{"a":\n', True), (b'[{"a":1},{"a":2},{"a":]', False)):
        source = JsonSource(text, lines=lines)
        found = source.read(0)
        assert found is not None and found.kind.tolist() == [OPEN, *2 * [OPEN, ATTR, CLOSE]]
        for _ in range(2):
            with pytest.raises(OstinatoError, match="column"):
                source.read(found.used)


CHUNKED = [
    b'{"company":"C0001","price":12.34,"buyer":"b77","date":123}\n{"x":[1,{"y":"\\ud83d\\ude00"}],"z":true}\n\n[1]',
    b'[12345, -0.5e-10 , true,false,null,"ab\\u00e9\xc3\xa9\\n", {"a" : {"b":[ ]} , "c":1}, [[], [1]], 678]  \n',
    b'\xef\xbb\xbf{"a":[1,2,{"b":"\xf0\x9f\x98\x80"}],"c":1.5}',
    b"123456",
    b' "text" ',
]


@pytest.mark.parametrize("text", CHUNKED)
@pytest.mark.parametrize("lines", [False, True])
def test_every_chunk_size(text: bytes, lines: bool) -> None:
    read = reference.lines if lines else reference.document
    try:
        expected = read(text)
    except ValueError:
        expected = None
    for size in range(1, 65):
        for keep in (False, True):
            source = JsonSource(text, lines=lines, chunk_size=size)
            if expected is None:
                with pytest.raises(OstinatoError):
                    reference.drain(source, keep=keep)
            else:
                assert reference.drain(source, keep=keep)[0] == expected


# --- against the standard library

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]))
)
keys = st.sampled_from(["a", "b", "c", "", "a longer key", 'q"\\', "é"]) | st.text(
    st.characters(exclude_categories=["Cs"]), max_size=12
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(keys, inner, max_size=6), max_leaves=30
)


def _dumped(value: Any, style: int) -> bytes:
    indent = None if style < 2 else 1
    separators = (",", ":") if style == 0 else None
    return json.dumps(value, ensure_ascii=style == 1, indent=indent, separators=separators).encode()


@given(values, st.integers(0, 2), st.integers(1, 80))
def test_random_documents(value: Any, style: int, size: int) -> None:
    text = _dumped(value, style)
    assert tokens(text, chunk_size=size) == reference.document(text)


@given(st.lists(values, max_size=4), st.sampled_from([b"\n", b"\r\n", b"\n\n"]), st.integers(1, 80))
def test_random_lines(found: list[Any], end: bytes, size: int) -> None:
    text = end.join(_dumped(value, 0) for value in found)
    assert tokens(text, lines=True, chunk_size=size) == reference.lines(text)


def _agrees(text: bytes, *, lines: bool, size: int = 1 << 16) -> None:
    try:
        expected = (reference.lines if lines else reference.document)(text)
    except (ValueError, RecursionError):
        with pytest.raises(OstinatoError, match="line"):
            tokens(text, lines=lines, chunk_size=size)
    else:
        assert tokens(text, lines=lines, chunk_size=size) == expected


@settings(max_examples=36)
@given(values, st.integers(0, 2), st.data(), st.booleans())
def test_mutations(value: Any, style: int, data: st.DataObject, lines: bool) -> None:
    text = bytearray(_dumped(value, style))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text)))
        byte = data.draw(
            st.sampled_from(b'{}[]:,"\\u019eE+-.tfn \n\r\t\x00\x1f\x7f\x80\xc3\xed\xf0dD') | st.integers(0, 255)
        )
        width = data.draw(st.integers(0, 1))
        text[at : at + width] = data.draw(st.sampled_from([b"", bytes([byte])]))
    if not any(text.startswith(mark) for mark in (b"\xff\xfe", b"\xfe\xff", b"<", b"\0<")):  # other encodings
        _agrees(bytes(text), lines=lines, size=data.draw(st.sampled_from([1, 7, 1 << 16])))


@pytest.mark.parametrize("depth", [1, 2, 3, 61, 62, 63, 64, 65, 127, 128, 129, 300])
def test_attributes_after_children_at_every_depth(depth: int) -> None:
    value: Any = [1]
    for level in range(depth):
        value = {"a": 0, "b": value, "c": level, "d": {"c": 1}}
    for text in (_dumped(value, 0), _dumped([[value], 1], 0)):
        assert tokens(text) == reference.document(text)
        assert tokens(text + b"\n" + text, lines=True) == reference.lines(text + b"\n" + text)


def test_as_many_tokens_as_there_is_room_for() -> None:
    """Around the size that the arrays of tokens begin with."""
    for scalars_first in range(5):
        for arrays in range(814, 823):
            source = JsonSource(b"1\n" * scalars_first + b"[1]\n" * arrays, lines=True)
            found, kept = 0, 0
            while (some := source.read(kept)) is not None:
                found, kept = found + some.kind.size, some.used
            assert found == 2 + 3 * scalars_first + 5 * arrays

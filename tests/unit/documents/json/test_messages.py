"""What is said about bad JSON and where, which lines are left out, and the limits."""

from __future__ import annotations

import time

import numpy as np
import pytest
from numpy.typing import NDArray

from ostinato.documents.json import tokeniser
from ostinato.documents.json.tokeniser import BadLine, JsonLimits, JsonSource
from ostinato.errors import DataError, LimitError, OstinatoError
from support import json_reference as reference


def fault(text: bytes, *, lines: bool = False) -> str:
    messages = set()
    for size in (1, 3, 1 << 16):
        with pytest.raises(OstinatoError) as caught:
            reference.drain(JsonSource(text, lines=lines, chunk_size=size))
        messages.add(str(caught.value))
    assert len(messages) == 1
    return messages.pop()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"", "line 1, column 1: the document is empty"),
        (b'{"a": 1', "line 1, column 8: the document ends inside a JSON value\nfix: was it cut off?"),
        (b'[\n  1,\n  2,\n]', "line 4, column 1: a comma stands before the closing bracket\nfix: leave out the comma"),
        ('{"é": "ü", x}'.encode(), "line 1, column 12: a key in double quotes is expected, found `x`"),
        (b'{"a" 1}', "line 1, column 6: a colon is expected after the key, found `1`"),
        (b"[1 2]", "line 1, column 4: a comma or the closing bracket is expected, found `2`"),
        (b"[NaN]", "line 1, column 2: a value is expected, found `N`"),
        (b"[nan]", "line 1, column 3: only true, false and null can stand without quotes, found `a`\n"
         "fix: put text in double quotes"),
        (b"[1.x]", "line 1, column 4: a number needs a digit here, found `x`"),
        (b"[012]", "line 1, column 2: a number does not start with 0 and another digit\n"
         "fix: leave out the 0, or quote the number"),
        (b'["a\nb"]', "line 1, column 4: a string holds a control character, byte 0x0A\nfix: write it as \\n"),
        (b'["\x01"]', "line 1, column 3: a string holds a control character, byte 0x01\nfix: write it as \\u0001"),
        (b'["\\x"]', 'line 1, column 4: a backslash in a string is followed by `x`\n'
         'fix: write \\\\ for a backslash, \\" for a quote'),
        (b'["\\u12g4"]', "line 1, column 7: \\u needs four hex digits, found `g`"),
        (b'["\\ud800 "]', "line 1, column 9: half of a surrogate pair stands alone\n"
         "fix: write both halves, such as \\ud83d\\ude00"),
        (b'["\xff"]', 'line 1, column 3: byte 0xFF is not UTF-8\nfix: say how it is written, as in encoding="latin-1"'),
        (b'{"k\\"1":1,\n "k\\"1":2}', 'line 2, column 2: the key "k\\"1" stands twice in one object\n'
         "fix: keep one of them"),
        (b"[1] 2", "line 1, column 5: more text after the JSON value, found `2`\n"
         "fix: write one value per line and read it as JSON lines"),
        (b"{} {}", "line 1, column 4: more text after the JSON value, found `{`\n"
         "fix: write one value per line and read it as JSON lines"),
    ],
)  # fmt: skip
def test_place_reason_and_fix(text: bytes, expected: str) -> None:
    assert fault(text) == expected


def test_the_place_is_that_of_the_line() -> None:
    text = b'{"a":1}\n\n{"a":2}\n {"b":}\n{"a":3}'
    assert fault(text, lines=True) == "line 4, column 7: a value is expected, found `}`"
    assert fault(b'1\n{"a":"x\n2', lines=True).startswith("line 2, column 8: the line ends inside a JSON value")


def test_the_document_is_named() -> None:
    with pytest.raises(DataError, match=r"^some\.json: line 1, column 1: a value"):
        reference.drain(JsonSource(b"x", lines=False, name="some.json"))


def test_bad_lines_can_be_left_out() -> None:
    lines = [
        b'{"a":1}',
        b'{"a":',
        b'{"a":{"b":[{"c":1}],"a":2,"a":3}}',
        b" ",
        b'\xff"',
        b'{"b":[2],"a":4}',
        b"  " + b"[" * 99,
        b"nul",
    ]
    text = b"\n".join(lines)
    good = [line for at, line in enumerate(lines) if at in (0, 3, 5)]
    for size in (1, 10, 1 << 16):
        limits = JsonLimits(depth=50)
        source = JsonSource(text, lines=True, chunk_size=size, on_error="skip", limits=limits)
        assert reference.drain(source)[0] == reference.lines(b"\n".join(good))
        assert source.skipped == 5
        assert [text[bad.start : bad.end] for bad in source.bad_lines] == [lines[at] for at in (1, 2, 4, 6, 7)]
        assert source.bad_lines[0] == BadLine(2, 6, 8, 13, source.bad_lines[0].reason)
        assert "ends inside" in source.bad_lines[0].reason and "depth" not in source.bad_lines[0].reason


def test_many_bad_lines_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """And where they stand is found out for the first ones only, so that the text is not gone through for each."""
    text = b'{"a":1}\n{"a"\n' * 200_000
    gone_through = 0

    def count_lines(data: NDArray[np.uint8], start: int, end: int) -> tuple[int, int]:
        nonlocal gone_through
        gone_through += end - start
        return original(data, start, end)

    original = tokeniser._count_lines
    monkeypatch.setattr(tokeniser, "_count_lines", count_lines)
    source = JsonSource(text, lines=True, on_error="skip")
    kept = from_here = 0
    while (found := source.read(from_here)) is not None:
        kept += int((found.kind == 1).sum())
        from_here = found.used
    assert (kept, source.skipped, len(source.bad_lines)) == (200_000, 200_000, 20)
    assert gone_through < 1.1 * len(text)


def test_a_bad_line_is_known_when_it_raises() -> None:
    source = JsonSource(b"1\n2x\n3", lines=True)
    with pytest.raises(DataError):
        reference.drain(source)
    assert [(bad.line, bad.start, bad.end) for bad in source.bad_lines] == [(2, 2, 4)]


# --- limits


def test_depth() -> None:
    for opening, closing in ((b"[", b"]"), (b'{"a":', b"}")):
        deep = opening * 1000 + b"1" + closing * 1000
        assert len(reference.drain(JsonSource(deep, lines=False))[0]) > 1000
        with pytest.raises(LimitError, match="too deep"):
            reference.drain(JsonSource(b"\n" + opening * 1_000_000, lines=False))
    with pytest.raises(LimitError, match=r"line 2, column 4: .*limit depth=3"):
        reference.drain(JsonSource(b"1\n[[[[]]]]", lines=True, limits=JsonLimits(depth=3)))


def test_long_records_names_and_many_names() -> None:
    with pytest.raises(LimitError, match="too long"):
        reference.drain(JsonSource(b'"' + b"x" * 5000, lines=True, chunk_size=100, limits=JsonLimits(record=1000)))
    with pytest.raises(LimitError, match="a key is too long"):
        reference.drain(JsonSource(b'{"' + b"x" * 101 + b'":1}', lines=False, limits=JsonLimits(name=100)))
    many = b"{" + b",".join(b'"k%d":%d' % (at, at) for at in range(3000)) + b"}"
    assert len(reference.drain(JsonSource(many, lines=False))[0]) == 3002
    with pytest.raises(LimitError, match="different keys"):
        reference.drain(JsonSource(many, lines=False, limits=JsonLimits(names=2000)))


def _seconds(text: bytes) -> float:
    best = 9.0
    for _ in range(3):
        begun = time.process_time()
        with pytest.raises(DataError, match="twice"):
            JsonSource(text, lines=False).read(0)
        best = min(best, time.process_time() - begun)
    return best


def test_keys_that_come_twice_are_found_in_linear_time() -> None:
    """Objects in objects, each with many keys that the ones around it have as well, and a late repetition."""

    members = b",".join(b'"k%d":1' % at for at in range(200))
    small, large = _nest(members, 20), _nest(members, 200)
    assert _seconds(large) < 40 * _seconds(small) + 0.5


def _nest(members: bytes, depth: int) -> bytes:
    return b"".join(b'{%s,"d":' % members for _ in range(depth)) + b"1" + b"}" * (depth - 1) + b',"k7":2}'

"""Whole numbers that float64 does not tell apart are compared digit by digit, by all evaluators alike."""

from __future__ import annotations

from itertools import product

import pytest

import ostinato
from ostinato.xseq.plan.check import parse_and_check
from ostinato.xseq.plan.local_tests import compare
from ostinato.xseq.semantics.query import evaluate
from ostinato.xseq.semantics.tree import read_xml

LARGE = 2**53
NUMBERS = [
    *(str(sign * (LARGE + more)) for sign in (1, -1) for more in (-1, 0, 1, 2)),
    f" +00{LARGE + 1} ", "18446744073709551616", "18446744073709551617", "1" + "0" * 400, "2" + "0" * 400, "7",
]  # fmt: skip


def _document() -> str:
    return "<r>" + "".join(f"<a i='{one}' j='{two}'/>" for one, two in product(NUMBERS, NUMBERS)) + "</r>"


@pytest.mark.parametrize("sign", ["=", "!=", "<", "<=", ">", ">="])
@pytest.mark.parametrize(
    "path", ["//a[@i {} @j]/@i", "//a[@i {} @j and parent::r]/@i", "return $X@i from //$X where $X@i {} $X@j"]
)
def test_as_whole_numbers(path: str, sign: str) -> None:
    query, document = path.format(sign), _document()
    expected = [one for one, two in product(NUMBERS, NUMBERS) if compare(sign, one, two)]
    exact = {"=": int.__eq__, "!=": int.__ne__, "<": int.__lt__, "<=": int.__le__, ">": int.__gt__, ">=": int.__ge__}
    assert expected == [one for one, two in product(NUMBERS, NUMBERS) if exact[sign](int(one), int(two))]
    found = ostinato.xseq(query).detect(document)[0].to_pylist()
    assert found == expected == [row[0] for row in evaluate(parse_and_check(query), read_xml(document.encode()))]


def test_constants_and_other_numbers() -> None:
    document = f"<r><a i='{LARGE + 1}'/><a i='{LARGE}'/><a i='{LARGE}.0'/></r>"
    for query, found in ((f"//a[@i = {LARGE + 1}]/@i", [0, 2]), (f"//a[@i = '{LARGE}']/@i", [1, 2])):
        rows = ostinato.xseq(query).detect(document)[0].to_pylist()
        assert rows == [[f"{LARGE + 1}", f"{LARGE}", f"{LARGE}.0"][place] for place in found]
        assert rows == [row[0] for row in evaluate(parse_and_check(query), read_xml(document.encode()))]

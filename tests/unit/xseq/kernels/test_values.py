"""Texts become the numbers that Python reads in them: the nearest float64, to the last bit."""

from __future__ import annotations

import math
import struct
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ostinato as ost
from ostinato.xseq.kernels.values import read_number

finite = st.integers(0, 2**64 - 1).map(lambda bits: struct.unpack("d", struct.pack("Q", bits))[0]).filter(math.isfinite)


def read(text: str) -> float | None:
    data = np.frombuffer(text.encode() + b"<", np.uint8)
    known, value = read_number(data, 0, len(text))
    return value if known else None


def same(text: str) -> bool:
    value = read(text)
    return value is not None and struct.pack("d", value) == struct.pack("d", float(text) + 0.0 * (value == 0))


def decimal(number: Fraction) -> str:
    """All digits of a number whose denominator is a power of two."""
    twos = number.denominator.bit_length() - 1
    return f"{number.numerator * 5**twos}e-{twos}"


@given(finite)
def test_shortest_texts(number: float) -> None:
    assert read(repr(number)) == number


@given(st.integers(0, 10**30), st.integers(-370, 330))
def test_digits_and_exponents(whole: int, power: int) -> None:
    assert same(f"{whole}e{power}")


@given(st.from_regex(r"[0-9]{1,25}\.[0-9]{0,40}(e[-+]?[0-9]{1,3})?", fullmatch=True))
def test_points(text: str) -> None:
    assert same(text)


@given(finite.map(abs), st.sampled_from(["", "0" * 30 + "1"]))
def test_halfway(number: float, more: str) -> None:
    """The number between two neighbours goes to the even one; a little more goes up."""
    after = math.nextafter(number, math.inf)
    if not math.isinf(after):
        digits, power = decimal((Fraction(number) + Fraction(after)) / 2).split("e")
        assert same(f"{digits}.{more}e{power}")


@pytest.mark.parametrize(
    "text",
    [
        "5e-324", "2.4703282292062327e-324", "2.4703282292062328e-324", "2.2250738585072011e-308", "1e23",
        "2.2250738585072014e-308", "1.7976931348623158e308", "1.7976931348623159e308", "1e309", "1e-400", "1e99999999",
        "9007199254740993", "9007199254740993.0", "9007199254740993." + "0" * 40 + "1", "1" + "0" * 400,
        "0." + "0" * 400 + "1", "0." + "0" * 300 + "1" * 1000 + "e290", "4.35e-5", "0", "0.000e5", "00012.500",
    ],
)  # fmt: skip
def test_borders(text: str) -> None:
    assert same(text)


@pytest.mark.parametrize("text", ["", " ", ".", "-", "1e", "1e+", "1.2.3", "0x10", "inf", "nan", "1_000", "e5", "1 2"])
def test_no_numbers(text: str) -> None:
    assert read(text) is None


def test_in_documents() -> None:
    document = b'<r><x v="0.9786701995663244"/><x v="0.9786701995663245"/><x v="1.4823641047713165e+19"/></r>'
    assert ost.xseq("//x[@v = 0.9786701995663245]/@v").detect(document).num_rows == 1
    assert ost.xseq("//x[@v = 1.4823641047713165e+19]/@v").detect(document).num_rows == 1
    document = b'{"x": [{"v": 9007199254740993.0}, {"v": 9007199254740992}]}'
    assert ost.xseq("//x[@v = 9007199254740992]/@v").detect(document).num_rows == 2

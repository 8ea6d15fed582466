"""Documents of any size for XSeq: stock transactions, an auction site, parsed sentences; the same for the same seed.

Each is written to a file piece by piece, out of columns that Arrow joins to text, so that hundreds of megabytes take
seconds and little memory.
"""

from __future__ import annotations

import os
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

COMPANIES = 1_000
DEEPEST = 36  # nested elements, in parsed sentences
SEED = 7
_PIECE = 100_000  # transactions generated at a time
_CENTS = 100_000  # prices are below 1,000.00
_DAY_ONE = np.datetime64("2026-01-05T09:30:00", "s")
_SYLLABLES = ("ba", "co", "de", "fi", "gra", "lo", "mer", "na", "pol", "qui", "ra", "sto", "ti", "vel", "wor", "zen")


# --- stock transactions


def stocks(path: str | os.PathLike[str], size: int, *, seed: int = SEED) -> None:
    """About `size` bytes of `<stocks><transaction company= price= buyer= date=/>…`: each price is a random walk."""
    fields = ('<transaction company="', '" price="', '" buyer="', '" date="', '"/>\n')
    with Path(path).open("wb") as out:
        _write_framed(out, size, b"<stocks>\n", _join(fields, _transactions(seed)), b"</stocks>\n")


def stock_lines(path: str | os.PathLike[str], size: int, *, seed: int = SEED) -> None:
    """The same transactions as JSON lines."""
    fields = ('{"company":"', '","price":', ',"buyer":"', '","date":"', '"}\n')
    with Path(path).open("wb") as out:
        _write_framed(out, size, b"", _join(fields, _transactions(seed)), b"")


def _transactions(seed: int) -> Iterator[list[pa.Array]]:
    """Company, price, buyer and date of an endless stream of transactions, one a second."""
    rng = np.random.default_rng(seed)
    names = _number_texts("C", COMPANIES, 4)
    buyers = _number_texts("B", 10_000, 5)
    prices = pa.array([f"{cents // 100}.{cents % 100:02}" for cents in range(_CENTS)])
    now, stands = 0, rng.integers(1_000, _CENTS, COMPANIES)
    while True:
        company = rng.integers(0, COMPANIES, _PIECE)
        stands, price = _walk_prices(company, rng.integers(-100, 101, _PIECE), stands)
        date = pa.array(_DAY_ONE + np.arange(now, now + _PIECE)).cast(pa.string())
        now += _PIECE
        yield [_take(names, company), _take(prices, price), _take(buyers, rng.integers(0, 10_000, _PIECE)), date]


def _walk_prices(
    company: NDArray[np.int64], steps: NDArray[np.int64], stands: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where each company's walk stands after all steps, and the price at each step, turned back at the ends."""
    order = np.argsort(company, kind="stable")
    total = np.cumsum(steps[order])
    begin = np.searchsorted(company[order], np.arange(len(stands)))
    before = np.concatenate([[0], total])[begin]
    place = np.empty_like(total)
    place[order] = total - before[company[order]] + stands[company[order]]
    stands = stands + np.diff(np.concatenate([before, total[-1:]]))
    turn = 2 * (_CENTS - 100)
    folded = place % turn
    return stands, 100 + np.minimum(folded, turn - 1 - folded)


# --- an auction site

_ANNOTATION = """<annotation>
<author person="person{number}"/>
<description>
{description}</description>
<happiness>5</happiness>
</annotation>
"""
# Sections with their share of the document and a record of theirs: {number} counts, the others are drawn from pools.
_SECTIONS = {
    "regions": (0.4, """<item id="item{number}">
<location>Albany</location>
<quantity>1</quantity>
<name>{name}</name>
<payment>Creditcard</payment>
<description>
{description}</description>
<shipping>Will ship only within country</shipping>
<incategory category="category7"/>
<mailbox>
<mail>
<from>{name}</from>
<to>{name}</to>
<text>{text}</text>
</mail>
</mailbox>
</item>
"""),
    "people": (0.15, """<person id="person{number}">
<name>{name}</name>
<emailaddress>mailto:{name}</emailaddress>
<phone>+1 (555) 0100</phone>
<address>
<street>12 {name} St</street>
<city>Albany</city>
<country>United States</country>
<zipcode>12</zipcode>
</address>
<profile income="{price}">
<interest category="category3"/>
<education>College</education>
<business>No</business>
</profile>
</person>
"""),
    "open_auctions": (0.25, """<open_auction id="open_auction{number}">
<initial>{price}</initial>
{bidders}<itemref item="item{number}"/>
""" + _ANNOTATION + """<quantity>1</quantity>
<type>Regular</type>
</open_auction>
"""),
    "closed_auctions": (0.2, """<closed_auction price="{price}">
<seller person="person{number}"/>
<buyer person="person{number}"/>
<itemref item="item{number}"/>
<date>07/06/2026</date>
<quantity>1</quantity>
<type>Regular</type>
""" + _ANNOTATION + """</closed_auction>
"""),
}  # fmt: skip


def auction(path: str | os.PathLike[str], size: int, *, seed: int = SEED) -> None:
    """About `size` bytes like XMark's: items, people, open and closed auctions; lists lie in lists up to depth 3."""
    words = random.Random(seed)
    rng = np.random.default_rng(seed)
    pools = {
        "name": pa.array([f"{_word(words).title()} {_word(words).title()}" for _ in range(2_000)]),
        "text": pa.array([_text(words) for _ in range(2_000)]),
        "description": pa.array([_description(words) for _ in range(2_000)]),
        "bidders": pa.array([_bidders(words) for _ in range(2_000)]),
        "price": pa.array([f"{words.expovariate(0.02):.2f}" for _ in range(20_000)]),
    }
    with Path(path).open("wb") as out:
        out.write(b"<?xml version='1.0' encoding='UTF-8'?>\n<site>\n")
        for name, (share, record) in _SECTIONS.items():
            records = _records(re.split(r"[{}]", record), pools, rng)
            _write_framed(out, int(size * share), f"<{name}>\n".encode(), records, f"</{name}>\n".encode())
        out.write(b"</site>\n")


def _records(parts: list[str], pools: dict[str, pa.Array], rng: np.random.Generator) -> Iterator[pa.Array]:
    """Records from parts; every second part is the name of a pool."""
    count, done = 2_000, 0
    while True:
        columns: list[Any] = [*parts]
        for place in range(1, len(parts), 2):
            pool = pools.get(parts[place])
            drawn = np.arange(done, done + count) if pool is None else rng.integers(0, len(pool), count)
            columns[place] = pa.array(drawn).cast(pa.string()) if pool is None else _take(pool, drawn)
        done += count
        yield pc.binary_join_element_wise(*columns, "")


def _text(rng: random.Random) -> str:
    """Words, some of them marked; a keyword may stand in an emph."""
    found = []
    for _ in range(rng.randint(10, 60)):
        word, kind = _word(rng), rng.random()
        if kind < 0.02:
            word = f"<emph><keyword>{word} {_word(rng)}</keyword></emph>"
        elif kind < 0.08:
            tag = rng.choice(("keyword", "bold", "emph"))
            word = f"<{tag}>{word} {_word(rng)}</{tag}>"
        found.append(word)
    return " ".join(found)


def _description(rng: random.Random, depth: int = 0) -> str:
    """A text, or a list whose items are texts or lists."""
    if depth == 3 or rng.random() < (0.6, 0.5, 0.7)[depth]:
        return f"<text>{_text(rng)}</text>\n"
    items = (f"<listitem>\n{_description(rng, depth + 1)}</listitem>\n" for _ in range(rng.randint(1, 4)))
    return f"<parlist>\n{''.join(items)}</parlist>\n"


def _bidders(rng: random.Random) -> str:
    return "".join(
        f'<bidder>\n<date>07/06/2026</date>\n<time>11:28:32</time>\n<personref person="person{rng.randint(0, 9_999)}"/>'
        f"\n<increase>{1.5 * rng.randint(1, 20):.2f}</increase>\n</bidder>\n"
        for _ in range(rng.randint(0, 8))
    )


# --- parsed sentences


def treebank(path: str | os.PathLike[str], size: int, *, seed: int = SEED) -> None:
    """About `size` bytes of parsed sentences in `<FILE><EMPTY>…`: phrases in phrases, down to depth 36."""
    words = random.Random(seed)
    rng = np.random.default_rng(seed)
    depths = [DEEPEST] + [min(DEEPEST, 4 + int(words.expovariate(0.12))) for _ in range(3_000)]
    sentences = pa.array([f"<EMPTY>{_sentence(words, depth)}.</EMPTY>\n" for depth in depths])

    def drawn() -> Iterator[pa.Array]:
        yield sentences.slice(0, 1)
        while True:
            yield _take(sentences, rng.integers(0, len(sentences), 1_000))

    with Path(path).open("wb") as out:
        _write_framed(out, size, b"<FILE>\n", drawn(), b"</FILE>\n")


def _sentence(rng: random.Random, deepest: int) -> str:
    """Phrases along one way down to the deepest element, below FILE and EMPTY, each with a short phrase beside it."""
    text = f"<NN>{_word(rng)}</NN>"
    for depth in range(deepest - 1, 2, -1):
        # sentences begin as the queries of the paper have it: S, VP and NP on top, now and then one EMPTY in another
        tags = ("S", "S", "VP", "NP", "EMPTY") if depth == 3 else ("S", "NP", "NP", "VP", "VP", "PP", "SBAR", "ADJP")
        tag = rng.choice(tags)
        kind = "VB" if tag == "VP" else "IN"
        beside = ""
        if depth < deepest - 1 and rng.random() < 0.5:
            beside = f"<NP><DT>{_word(rng)}</DT><JJ>{_word(rng)}</JJ></NP>"
        text = f"<{tag}>{beside}<{kind}>{_word(rng)}</{kind}>{text}</{tag}>"
    return text


# --- text out of columns


def _word(rng: random.Random) -> str:
    return "".join(rng.choices(_SYLLABLES, k=rng.randint(1, 4)))


def _number_texts(letter: str, count: int, digits: int) -> pa.Array:
    return pa.array([f"{letter}{number:0{digits}}" for number in range(count)])


def _take(texts: pa.Array, places: NDArray[np.int64]) -> pa.Array:
    return texts.take(pa.array(places))


def _join(between: tuple[str, ...], columns: Iterator[list[pa.Array]]) -> Iterator[pa.Array]:
    for piece in columns:
        parts = [part for pair in zip(between, piece, strict=False) for part in pair]
        yield pc.binary_join_element_wise(*parts, between[-1], "")


def _write_framed(out: BinaryIO, size: int, head: bytes, pieces: Iterator[pa.Array], tail: bytes) -> None:
    """Whole records between a head and a tail, as many as `size` bytes hold."""
    left = size - len(head) - len(tail)
    out.write(head)
    for piece in pieces:
        _, offsets, data = piece.buffers()
        ends = np.frombuffer(offsets, np.int32)[piece.offset : piece.offset + len(piece) + 1]
        fit = max(0, int(np.searchsorted(ends - ends[0], left, side="right")) - 1)
        out.write(memoryview(data)[int(ends[0]) : int(ends[fit])])
        left -= int(ends[fit] - ends[0])
        if fit < len(piece):
            break
    out.write(tail)


DOCUMENTS: dict[str, tuple[str, Callable[..., None]]] = {
    "stocks": ("xml", stocks),
    "stock lines": ("jsonl", stock_lines),
    "auction": ("xml", auction),
    "treebank": ("xml", treebank),
}


def ensure_document(folder: Path, kind: str, size: int) -> Path:
    """The path of a document of this kind in the folder; it is written if it is not there yet."""
    suffix, write = DOCUMENTS[kind]
    path = folder / f"{kind.replace(' ', '-')}-{size}.{suffix}"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".part")
        write(unfinished, size)
        unfinished.rename(path)
    return path

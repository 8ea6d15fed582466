"""Documents that are made: well-formed, of the size asked for, the same for the same seed, and as deep as they say."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from ostinato.samples.documents import (
    COMPANIES,
    DEEPEST,
    DOCUMENTS,
    auction,
    ensure_document,
    stock_lines,
    stocks,
    treebank,
)


def depth(element: ElementTree.Element) -> int:
    return 1 + max(map(depth, element), default=0)


@pytest.mark.slow
@pytest.mark.parametrize("kind", DOCUMENTS)
def test_documents_have_the_size_asked_for_and_do_not_change(kind: str, tmp_path: Path) -> None:
    path = ensure_document(tmp_path, kind, 200_000)
    before = path.read_bytes()
    assert 180_000 < len(before) <= 200_000 + 100
    assert ensure_document(tmp_path, kind, 200_000) == path and [path] == list(tmp_path.iterdir())
    path.unlink()
    assert ensure_document(tmp_path, kind, 200_000).read_bytes() == before


def test_a_longer_document_begins_like_a_shorter_one(tmp_path: Path) -> None:
    stocks(tmp_path / "short.xml", 10_000)
    stocks(tmp_path / "long.xml", 12_000_000)  # more than one piece
    short, long = (tmp_path / name for name in ("short.xml", "long.xml"))
    assert long.read_bytes().startswith(short.read_bytes().removesuffix(b"</stocks>\n"))


@pytest.mark.slow
def test_prices_walk(tmp_path: Path) -> None:
    stocks(tmp_path / "s.xml", 12_000_000)
    last: dict[str, float] = {}
    for _, element in ElementTree.iterparse(tmp_path / "s.xml"):
        if element.tag == "transaction":
            company, price = element.attrib["company"], float(element.attrib["price"])
            assert 1 <= price < 1000 and abs(price - last.get(company, price)) <= 1.001
            last[company] = price
    assert len(last) == COMPANIES


def test_lines_are_the_same_transactions(tmp_path: Path) -> None:
    stocks(tmp_path / "s.xml", 50_000)
    stock_lines(tmp_path / "s.jsonl", 50_000)
    rows = [element.attrib for element in ElementTree.parse(tmp_path / "s.xml").getroot()]
    lines = [json.loads(line) for line in (tmp_path / "s.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(rows) > 500
    assert [line | {"price": f"{line['price']:.2f}"} for line in lines[: len(rows)]] == rows


def test_sentences_are_deep(tmp_path: Path) -> None:
    treebank(tmp_path / "t.xml", 100_000)
    root = ElementTree.parse(tmp_path / "t.xml").getroot()
    assert root.tag == "FILE" and {child.tag for child in root} == {"EMPTY"} and depth(root) == DEEPEST


def test_the_auction_site_has_what_the_paper_asks_for(tmp_path: Path) -> None:
    auction(tmp_path / "a.xml", 1_000_000)
    root = ElementTree.parse(tmp_path / "a.xml").getroot()
    assert [child.tag for child in root] == ["regions", "people", "open_auctions", "closed_auctions"]
    assert root.find("people/person[@id='person0']/name") is not None
    listed = "annotation/description/parlist/listitem/parlist/listitem"
    assert root.findall(f"closed_auctions/closed_auction/{listed}/text/emph/keyword")
    assert root.findall(".//parlist/listitem/parlist/listitem/parlist")
    assert not root.findall(".//parlist/listitem/parlist/listitem/parlist/listitem/parlist")

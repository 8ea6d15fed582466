"""Stock prices in one document: find those that fall and recover, in one pass, in XML and JSON lines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import ostinato as ost

COMPANIES = ("AAPL", "CSCO", "INTC", "MSFT", "ORCL", "QCOM", "TXN", "YHOO")
FALLING = r"""
return $Z@company as company, $Z@price as high, last($X)@price as low, count($X) as falls
from /stocks/$Z \$X \$X (\$X)*
where tag($Z) = 'transaction' and tag($X) = 'transaction'
  and first($X)@price < $Z@price and $X@price < prev($X)@price
partition by /stocks/transaction@company
"""


def transactions(count: int, seed: int = 5) -> Iterator[dict[str, str]]:
    """Prices that walk at random, each company by itself, in order of time."""
    random = np.random.default_rng(seed)
    prices = random.uniform(20, 120, len(COMPANIES))
    chosen = random.integers(0, len(COMPANIES), count)
    steps = random.normal(0, 0.012, count)
    for date, (company, step) in enumerate(zip(chosen, steps, strict=True)):
        prices[company] *= 1 + step
        yield {"company": COMPANIES[company], "price": f"{prices[company]:.2f}", "date": str(date)}


def main(count: int = 20_000) -> None:
    here = Path(__file__).parent
    data = here / "data"
    data.mkdir(exist_ok=True)
    document, lines = data / "nasdaq.xml", data / "nasdaq.jsonl"
    with document.open("w") as xml, lines.open("w") as jsonl:
        xml.write("<stocks>\n")
        for row in transactions(count):
            xml.write(" <transaction " + " ".join(f'{name}="{value}"' for name, value in row.items()) + "/>\n")
            jsonl.write(json.dumps(row) + "\n")
        xml.write("</stocks>\n")

    # Every fall is a match, and so is each part of it; the longest ones go on as far as they can.
    every, longest = ost.xseq(FALLING), ost.xseq(FALLING, matches="longest")
    print(f"falling: {every.count(document):,} matches, {longest.count(document):,} of them the longest")
    deepest = max(longest.detect(document).to_pylist(), key=lambda row: row["falls"])
    print(f"  {deepest['company']} fell {deepest['falls']} times in a row, from {deepest['high']} to {deepest['low']}")

    text = (here / "v_shape.xseq").read_text(encoding="utf-8")
    shapes = ost.xseq(text, matches="longest").detect(document)
    print(f"V shapes: {len(shapes):,}")
    for row in shapes.slice(0, 3).to_pylist():
        print("  " + ", ".join(f"{name} {value}" for name, value in row.items()))

    # JSON lines: the root and the records get the names that the query uses.
    same = ost.xseq(text, matches="longest").detect(lines, root="stocks", record="transaction")
    print(f"the same from JSON lines: {same.equals(shapes)}")
    print(f"from the command line:\n  ostinato xseq {here / 'v_shape.xseq'} --matches longest --input {document}")


if __name__ == "__main__":
    main()

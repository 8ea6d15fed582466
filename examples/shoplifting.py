"""Tag readings in a shop, as JSON lines: find the items that left without being paid for (the paper's Query 13)."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa

import ostinato as ost

STOLEN = r"""
return $T@item as item, $T@at as taken, $X@at as gone, count($W) as readings_between
from /shop/$T (\$W)* \$X
where tag($T) = 'reading' and tag($W) = 'reading' and tag($X) = 'reading'
  and $T@place = 'shelf' and $W@place != 'register' and $X@place = 'exit'
partition by /shop/reading@item
"""


def readings(items: int, chance: random.Random) -> list[dict[str, Any]]:
    """Each item leaves the shelf, wanders, is paid for or not, and leaves the store."""
    found: list[dict[str, Any]] = []
    for item in range(items):
        at = chance.randrange(10_000)
        way = ["shelf", *["aisle"] * chance.randrange(4), *([] if item % 60 == 7 else ["register"]), "exit"]
        for place in way:
            found.append({"item": f"tag{item:04}", "place": place, "at": at})
            at += chance.randrange(20, 300)
    return sorted(found, key=lambda reading: reading["at"])


def main(items: int = 500, seed: int = 1) -> None:
    data = Path(__file__).parent / "data"
    data.mkdir(exist_ok=True)
    file = data / "shop.jsonl"
    day = readings(items, random.Random(seed))
    file.write_text("".join(json.dumps(reading) + "\n" for reading in day))

    query = ost.xseq(STOLEN)
    print(f"{len(day):,} readings")
    for row in query.detect(file, root="shop", record="reading").to_pylist():
        print(f"  {row['item']} left at {row['gone']}, taken at {row['taken']}, never paid")

    # A column of documents, one per shop. One document is damaged; only its own row is lost.
    shops = [json.dumps(readings(20, random.Random(number))) for number in range(5)]
    shops[3] = shops[3][:100]
    found = query.detect(pa.array(shops), on_error="collect", root="shop", record="reading")
    print("five shops:", {row["row"]: row["item"] or row["error"].splitlines()[0] for row in found.to_pylist()})


if __name__ == "__main__":
    main()

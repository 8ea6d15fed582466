"""Rules: orders joined with what is known of customers at that moment, from a file and from updates in the stream."""

from __future__ import annotations

import csv
import tempfile
from pathlib import Path

import pyarrow.csv

import ostinato as ost

DESK = """
TABLE customers KEY id
TABLE stock KEY item

DETECT shipped { order { var O }, tier { var T }, price { var P * var N } }
ON and { event o: order {{ no { var O }, customer {{ var C }}, item {{ var I }}, count {{ var N }} }},
         at o: customers {{ id {{ var C }}, tier {{ var T }} }},
         at o: stock {{ item {{ var I }}, price {{ var P }}, left {{ var L }} }}
   } where { var L >= var N } END

DETECT refused { order { var O }, why { "customer" } }
ON and { event o: order {{ no { var O }, customer {{ var C }} }},
         at o: not customers {{ id {{ var C }}, tier {{ }} }} } END

DETECT refused { order { var O }, why { "stock" } }
ON and { event o: order {{ no { var O }, item {{ var I }}, count {{ var N }} }},
         at o: stock {{ item {{ var I }}, left {{ var L }} }} } where { var L < var N } END
"""
CUSTOMERS = [("ada", "gold"), ("ben", "silver")]
EVENTS = [
    {"ts": 1, "type": "stock", "item": "pen", "price": 2.0, "left": 100},
    {"ts": 2, "type": "order", "no": 1, "customer": "ada", "item": "pen", "count": 10},
    {"ts": 3, "type": "stock", "item": "pen", "price": 2.5, "left": 5},
    {"ts": 4, "type": "order", "no": 2, "customer": "ben", "item": "pen", "count": 10},
    {"ts": 5, "type": "customers", "id": "ben", "tier": None},  # ben's account is closed
    {"ts": 6, "type": "order", "no": 3, "customer": "ben", "item": "pen", "count": 1},
    {"ts": 7, "type": "order", "no": 4, "customer": "ada", "item": "pen", "count": 2},
]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "customers.csv")
        with file.open("w", newline="") as out:
            csv.writer(out).writerows([("id", "tier"), *CUSTOMERS])
        customers = pyarrow.csv.read_csv(file)
    engine = ost.rules(DESK).engine(tables={"customers": customers})
    for event in EVENTS:
        show(engine.push([event]))
    show(engine.flush())
    kept = engine.stats().kept
    print("kept:", ", ".join(f"{count} {name}" for name, count in kept.items() if name.startswith("rows")))


def show(derived: pyarrow.Table) -> None:
    for event in derived.to_pylist():
        shown = {name: value for name, value in event.items() if value is not None and name not in ("type", "begin")}
        print(event["type"], shown)


if __name__ == "__main__":
    main()

"""Password guessing: three failed logins or more, then a success, on one account from one address, in five minutes."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.csv

import ostinato as ost

# MAX keeps, for each success, the largest set of failures before it; CONSUME starts afresh after each report.
GUESSED = """
SELECT MAX ok.account AS account, 2 + count(more) AS failures, one.ts AS since, ok.ts AS broken_in, ok.address AS origin
WHERE FAIL AS one ; FAIL ; (FAIL AS more)+ ; OK AS ok
PARTITION BY account, address
WITHIN 5 minutes
CONSUME BY PARTITION
"""


def logins(seed: int = 1) -> pa.Table:
    """A morning of logins to forty accounts: some people mistype, two accounts are attacked, one of them falls."""
    chance = random.Random(seed)
    begin = datetime(2026, 3, 2, 8, tzinfo=UTC)
    rows: list[tuple[datetime, str, str, str]] = []
    for number in range(40):
        for _ in range(12):
            at = begin + timedelta(seconds=chance.uniform(0, 4 * 3600))
            home = f"10.0.0.{number}"
            if chance.random() < 0.15:
                rows.append((at - timedelta(seconds=9), "FAIL", f"user{number:02}", home))
            rows.append((at, "OK", f"user{number:02}", home))
    for victim, falls in (("user07", True), ("user23", False)):
        start = begin + timedelta(seconds=chance.uniform(3600, 2 * 3600))
        rows += [(start + timedelta(seconds=8 * n), "FAIL", victim, "203.0.113.9") for n in range(11)]
        if falls:
            rows.append((start + timedelta(seconds=95), "OK", victim, "203.0.113.9"))
    columns = zip(*sorted(rows), strict=True)
    return pa.table(dict(zip(("ts", "type", "account", "address"), map(list, columns), strict=True)))


def main() -> None:
    events = logins()
    found = ost.cel(GUESSED).detect(events)
    print(f"{len(events)} logins, {len(found)} account(s) broken into:")
    for row in found.to_pylist():
        print("  " + ", ".join(f"{name} {value}" for name, value in row.items()))

    data = Path(__file__).parent / "data"
    data.mkdir(exist_ok=True)
    pyarrow.csv.write_csv(events, data / "logins.csv")
    (data / "logins.cel").write_text(GUESSED.lstrip(), encoding="utf-8")
    print(f"the same from the command line:\n  ostinato detect {data / 'logins.cel'} --input {data / 'logins.csv'}")


if __name__ == "__main__":
    main()

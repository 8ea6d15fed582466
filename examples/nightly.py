"""Matches of yesterday, every night: what a scheduler such as cron or Airflow would run, here for a week.

    python examples/nightly.py

Each night reads the file of its day and what of the days before can still matter, and writes one file of matches. A
night may be run again: it writes the same. A query without a window goes on from a snapshot instead.
"""

from __future__ import annotations

import random
import shutil
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import ostinato as ost

FOLDER = Path(__file__).parent / "data" / "nightly"
FIRST, DAYS = date(2026, 7, 1), 7
TICK = timedelta(microseconds=1)

# An order that is paid late in the evening may be shipped the next morning.
SHIPPED = ost.cel("PAID AS p ; SHIPPED AS s PARTITION BY number WITHIN 12 hours")
# Nobody shipped it in time: known half a day after it was paid, so perhaps on the next day.
FORGOTTEN = ost.cel("PAID AS p ; NOT SHIPPED PARTITION BY number WITHIN 12 hours")
# However long ago it was shipped.
RETURNED = ost.cel("SHIPPED AS s ; RETURNED AS r PARTITION BY number")


def events_of(day: date) -> Path:
    return FOLDER / "events" / f"{day}.parquet"


def write_events() -> None:
    chance = random.Random(7)
    rows: list[dict[str, Any]] = []
    for number in range(400):
        moment = datetime.combine(FIRST, datetime.min.time()) + timedelta(minutes=chance.uniform(0, DAYS * 24 * 60))
        for kind, minutes in (("PAID", 0), ("SHIPPED", 1000), ("RETURNED", 5000)):
            moment += timedelta(minutes=chance.uniform(0, minutes))
            rows.append({"ts": moment, "type": kind, "number": number})
    rows.sort(key=lambda row: row["ts"])
    (FOLDER / "events").mkdir(parents=True)
    for day in (FIRST + timedelta(days=place) for place in range(DAYS)):
        of_day = [row for row in rows if row["ts"].date() == day]
        pq.write_table(pa.Table.from_pylist(of_day), events_of(day))


def read_days(*days: date) -> pa.Table:
    return pa.concat_tables([pq.read_table(events_of(day)) for day in days if events_of(day).exists()])


def run_night(day: date) -> None:
    """The matches that became known on a day."""
    begin = datetime.combine(day, datetime.min.time())
    since, until = begin - TICK, begin + timedelta(days=1) - TICK
    near = read_days(day - timedelta(days=2), day - timedelta(days=1), day)
    for name, query in (("shipped", SHIPPED), ("forgotten", FORGOTTEN)):
        write_matches(name, day, query.detect(near, identity=True, since=since, until=until))
    before = FOLDER / "state" / f"{day - timedelta(days=1)}"
    engine = ost.Engine.restore(before.read_bytes()) if before.exists() else RETURNED.engine(identity=True)
    write_matches("returned", day, engine.push(read_days(day)))
    (FOLDER / "state").mkdir(exist_ok=True)
    (FOLDER / "state" / f"{day}").write_bytes(engine.snapshot())


def write_matches(name: str, day: date, matches: pa.Table) -> None:
    (FOLDER / name).mkdir(exist_ok=True)
    pq.write_table(matches, FOLDER / name / f"{day}.parquet")


def main() -> None:
    shutil.rmtree(FOLDER, ignore_errors=True)
    write_events()
    days = [FIRST + timedelta(days=place) for place in range(DAYS)]
    for day in [*days[:3], days[2], *days[3:]]:  # one night is run twice
        run_night(day)
    whole = read_days(*days)
    end = datetime.combine(days[-1], datetime.max.time())
    for name, query in (("shipped", SHIPPED), ("forgotten", FORGOTTEN), ("returned", RETURNED)):
        nights = pq.read_table(FOLDER / name)["match_id"].to_pylist()
        at_once = query.detect(whole, identity=True)
        if "known" in at_once.column_names:
            at_once = at_once.filter(pc.less_equal(at_once["known"], pa.scalar(end)))
        same = sorted(nights) == sorted(at_once["match_id"].to_pylist())
        print(f"{name}: {len(nights)} matches in {DAYS} nights, {'as' if same else 'NOT as'} in one run over all")


if __name__ == "__main__":
    main()

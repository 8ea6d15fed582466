"""Live cases said twice: in CEL or rules, and in EPL as Esper's users would write it.

An interval of Esper ends before the events of that instant, a window of ours after them. Where events come at whole
seconds, EPL therefore says half a second more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from live import stream

from ostinato.samples.plant import LONGEST, PROGRAM, plant

MANY = 1_000
TYPES = 50


@dataclass(frozen=True, kw_only=True)
class Case:
    """`queries` or `rules` on our side. EPL with the parameter `n` is deployed in `copies`, where n counts from 0."""

    name: str
    events: Callable[[int], pa.Table]
    queries: tuple[str, ...] = ()
    rules: str = ""
    epl: str
    copies: int = 0
    options: dict[str, Any] = field(default_factory=dict)  # of our engine
    total: str | None = None  # a column of the answer whose sum must be equal, too
    fill: int = 20_000  # events before the first that is measured
    most: int | None = None  # events of the stream, where one event takes long


def cases() -> list[Case]:
    return [*_single_queries(), *_many_queries(), *_plant_rules(), *_many_rules()]


def _single_queries() -> list[Case]:
    return [
        Case(
            name="query: A ; B ; C, all of 10 s",
            events=stream,
            queries=("A AS x ; B AS y ; C AS z WITHIN 10 seconds",),
            epl="select * from pattern [every x=A -> (every y=B -> every z=C) where timer:within(10.5 sec)]",
        ),
        Case(
            name="query: A -> B -> C, the next of each",
            events=stream,
            queries=("A AS x -> B AS y -> C AS z WITHIN 10 seconds",),
            epl="select * from pattern [every x=A -> (y=B -> z=C) where timer:within(10.5 sec)]",
        ),
        Case(
            name="query: A ; B ; C, equal id",
            events=stream,
            queries=("A AS x ; B AS y ; C AS z FILTER x.id = y.id AND y.id = z.id WITHIN 1000 seconds",),
            epl="""select * from pattern [
                every x=A -> (every y=B(id = x.id) -> every z=C(id = x.id)) where timer:within(1000.5 sec)]""",
        ),
        Case(
            name="query: A, then no B of its id",
            events=stream,
            queries=("A AS x ; NOT (B AS y FILTER y.id = x.id) FOR 300 seconds",),
            epl="select * from pattern [every x=A -> (timer:interval(300.5 sec) and not B(id = x.id))]",
        ),
    ]


def _many_queries() -> list[Case]:
    random = np.random.default_rng(2)
    triples = [random.choice(TYPES, 3, replace=False) for _ in range(MANY)]
    return [
        Case(
            name="1,000 queries: three of 50 types",
            events=fifty_types,
            most=50_000,
            queries=tuple(f"T{a} AS x ; T{b} AS y ; T{c} AS z WITHIN 9 seconds" for a, b, c in triples),
            epl="\n".join(
                f"select * from pattern [every x=T{a} -> (every y=T{b} -> every z=T{c}) where timer:within(9.5 sec)];"
                for a, b, c in triples
            ),
        ),
        Case(
            name="1,000 queries: equal to a constant",
            events=accounts,
            queries=tuple(
                f"E AS x ; E AS y FILTER x.account = {n} AND y.account = {n} WITHIN 1 hour" for n in range(MANY)
            ),
            epl="""select * from pattern [
                every x=E(account = ?:n:int) -> (every y=E(account = ?:n:int)) where timer:within(3600.5 sec)]""",
            copies=MANY,
        ),
        Case(
            name="1,000 queries: above a constant",
            events=accounts,
            most=50_000,
            queries=tuple(f"E AS x ; E AS y FILTER x.v > {n} AND y.v > {n} WITHIN 9 seconds" for n in range(MANY)),
            epl="""select * from pattern [
                every x=E(v > ?:n:int) -> (every y=E(v > ?:n:int)) where timer:within(9.5 sec)]""",
            copies=MANY,
        ),
    ]


FIRE = """select t.area as area from temp(value > 40) as t unidirectional, smoke#time(60 sec) as s
    where s.area = t.area and s.endTime < t.beginTime and t.endTime - s.beginTime <= 60000;"""
# A table keeps the averages; each report reads that of the reports before it, and only then changes it.
AVERAGE = """create table Mean(sensor string primary key, value avg(distinct double));
@name('state') into table Mean select avg(distinct value) as value from temp#time(60 sec) group by sensor;
@name('answer') @Priority(1) on temp as m select m.sensor as sensor, t.value as value
    from Mean as t where t.sensor = m.sensor and t.value is not null;"""
ABSENCE = """select n.sensor as sensor from pattern [
    every n=temp(value > 40) -> (timer:interval(12 sec) and not temp(sensor = n.sensor))];"""


def _plant_rules() -> list[Case]:
    fire, burnt_down, average = (f"{rule} END" for rule in PROGRAM.split("END")[:3])
    options = {"longest": LONGEST}
    return [
        Case(
            name="rule: filter",
            events=milliseconds_plant,
            rules="DETECT hot { sensor { var S } } "
            "ON event t: temp {{ sensor {{ var S }}, value {{ var T }} }} where { var T > 40 } END",
            epl="select sensor from temp(value > 40)",
            options=options,
        ),
        Case(
            name="rule: join by key, 1 min",
            events=milliseconds_plant,
            rules=fire.replace(", var T > 40", ""),
            epl=FIRE.replace("(value > 40)", ""),
            options=options,
        ),
        Case(
            name="rule: absence, 12 s",
            events=milliseconds_plant,
            rules=burnt_down,
            epl=ABSENCE,
            options=options,
        ),
        Case(
            name="rule: average by key, the paper's",
            events=milliseconds_plant,
            rules=average,
            epl=AVERAGE,
            options=options,
            total="value",
        ),
        Case(
            name="rule: average with the report itself",
            events=milliseconds_plant,
            rules=average.replace("from-start-backward", "from-end-backward"),
            epl="select sensor, endTime, avg(distinct value) as value from temp#time(60 sec) group by sensor",
            options=options,
            total="value",
        ),
        Case(
            name="rules: the paper's three",
            events=milliseconds_plant,
            rules=PROGRAM,
            epl=FIRE + ABSENCE + AVERAGE,
            options=options,
            total="value",
        ),
    ]


def _many_rules() -> list[Case]:
    return [*map(_joins, (100, MANY)), *map(_filters, (100, MANY))]


def _joins(count: int) -> Case:
    rule = """
        DETECT d$ { id { var I } }
        ON and { event a: a$ {{ id {{ var I }} }}, event b: b$ {{ id {{ var I }} }} }
            where { a before b, {a, b} within 1 min }
        END"""
    epl = "select b.id as id from b$ as b unidirectional, a$#time(60.0005 sec) as a where a.id = b.id;"
    return Case(
        name=f"{count:,} rules: joins of own labels",
        events=partial(pairs, rules=count),
        rules=_numbered(rule, count),
        epl=_numbered(epl, count),
        fill=10_000 if count == 100 else 0,
        most=50_000,
    )


def _filters(count: int) -> Case:
    rule = """
        DETECT d$ { value { var V } }
        ON event r: reading {{ code {{ var C }}, value {{ var V }} }} where { var C = $, var V > 10 }
        END"""
    return Case(
        name=f"{count:,} rules: filters of one label",
        events=partial(codes, rules=count),
        rules=_numbered(rule, count),
        epl="select value from reading(code = ?:n:int, value > 10)",
        copies=count,
        fill=10_000,
    )


def _numbered(text: str, count: int) -> str:
    return "\n".join(text.replace("$", str(number)) for number in range(count))


def fifty_types(count: int) -> pa.Table:
    random = np.random.default_rng(1)
    kinds = np.array([f"T{number}" for number in range(TYPES)])
    return pa.table({"ts": np.arange(count), "type": kinds[random.integers(0, TYPES, count)]})


def accounts(count: int) -> pa.Table:
    """1 % of the events pass the condition of some query."""
    random = np.random.default_rng(1)
    own = random.random(count) < 0.01
    return pa.table(
        {
            "ts": np.arange(count),
            "type": pa.array(["E"] * count),
            "account": np.where(own, random.integers(0, MANY, count), random.integers(10**6, 10**9, count)),
            "v": np.where(own, random.random(count), -random.random(count)) * MANY,
        }
    )


def milliseconds_plant(count: int) -> pa.Table:
    """The plant in ticks of Esper's clock."""
    table = plant(count)
    ticks = pa.timestamp("ms")
    return table.set_column(0, "begin", table["begin"].cast(ticks, safe=False)).set_column(
        1, "end", table["end"].cast(ticks, safe=False)
    )


def pairs(count: int, rules: int) -> pa.Table:
    """About 30 events of each label in a minute."""
    random = np.random.default_rng(1)
    labels = np.array([f"{side}{number}" for side in "ab" for number in range(rules)])
    return pa.table(
        {
            "ts": pa.array(np.arange(count) * (1_000 // rules), pa.timestamp("ms")),
            "type": labels[random.integers(0, len(labels), count)],
            "id": random.integers(0, 100, count),
        }
    )


def codes(count: int, rules: int) -> pa.Table:
    """1 % of the events have the code of some rule."""
    random = np.random.default_rng(1)
    own = random.random(count) < 0.01
    return pa.table(
        {
            "ts": np.arange(count),
            "type": pa.array(["reading"] * count),
            "code": np.where(own, random.integers(0, rules, count), random.integers(10**6, 10**9, count)),
            "value": random.random(count) * 100,
        }
    )

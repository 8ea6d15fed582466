"""`ostinato bench`: how fast, side by side with the bare limit, an automaton that only goes from state to state.

Machines are noisy, so all cases take turns and the best of several rounds counts. Nothing here is a test.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

from ostinato.core.arrays import Int32
from ostinato.core.jit import kernel
from ostinato.core.jit.types import int32, int64, table, view
from ostinato.errors import QueryError
from ostinato.patterns.kernels import protocol
from ostinato.patterns.limits import Limits
from ostinato.patterns.query import CelQuery, PatternQuery, SremQuery
from ostinato.patterns.runtime.batches import Events
from ostinato.patterns.runtime.matcher import Matcher
from ostinato.rules.program import RuleProgram
from ostinato.samples import plant

TYPES = ("A", "B", "C", "D", "E")
# Table 1 of the CEL paper (section 8).
QUERIES = {
    "Q1": "A AS x ; B AS y ; C AS z",
    "Q2": "A AS x ; B AS y ; C AS z ; D AS w",
    "Q3": "(A AS x OR B AS y OR C AS z) ; D AS w",
    "Q4": "(A AS x)+ ; B AS y",
    "Q5": "(A AS x)+ ; (B AS y)+ ; C AS z",
    "Q6": "((A AS x)+ ; B AS y)+ ; C AS z",
}


LIMIT = "one table look-up per event"


@kernel(int64(view(int32), table(int32)))
def _step_codes(codes: Int32, steps: Int32) -> int:
    """The bare limit: what a deterministic automaton must do, one look-up that waits for the one before."""
    state = 0
    for at in range(len(codes)):
        state = steps[state, codes[at]]
    return state


@kernel(int64(view(int32)))
def _read_codes(codes: Int32) -> int:
    """Touch every code once: no step waits for another, so the compiler works on many at a time."""
    total = 0
    for at in range(len(codes)):
        total ^= codes[at] + at
    return total


@dataclass
class Case:
    """`run` does the work once and says how many units it did; `unit` is what they are."""

    group: str
    name: str
    unit: str
    run: Callable[[], int]
    target: str = ""
    seconds: float = field(default=float("inf"))
    units: int = 0

    def measure(self) -> None:
        begin = time.perf_counter()
        self.units = self.run()
        self.seconds = min(self.seconds, time.perf_counter() - begin)

    def is_called(self, name: str) -> bool:
        return name.lower() in f"{self.group} {self.name}".lower()

    @property
    def rate(self) -> float:
        return self.units / self.seconds


def uniform(events: int, *, keys: int = 0, seed: int = 7) -> pa.Table:
    """Events with types uniform over A … E, and a key column where asked."""
    rng = np.random.default_rng(seed)
    indices = pa.array(rng.integers(0, len(TYPES), events).astype(np.int8))
    columns = {"type": pa.DictionaryArray.from_arrays(indices, pa.array(TYPES))}
    if keys:
        columns["key"] = pa.array(rng.integers(0, keys, events))
    return pa.table(columns)


def update_only(text: str, table: pa.Table, mode: int = protocol.NOTICE, query: type[PatternQuery] = CelQuery) -> int:
    """From Arrow table to done, predicates included, without writing matches; WALK visits each of them."""
    engine = query(text).engine()
    released = engine.order_batch(table)
    events = engine.stream.events(released.rows, released.positions, released.order)
    for _ in engine.matcher.run(events, mode):
        pass
    return engine.matcher.walked or 0 if mode == protocol.WALK else len(table)


def count_matches(text: str, table: pa.Table) -> int:
    return len(CelQuery(text).detect(table, limits=Limits(memory=16 << 30)))


def detect_all(text: str, table: pa.Table) -> int:
    count_matches(text, table)
    return len(table)


def count_all(text: str, table: pa.Table) -> int:
    CelQuery(text).count(table)
    return len(table)


def cases(events: int) -> Iterator[Case]:
    large = uniform(events)
    strings = large.set_column(0, "type", large["type"].cast(pa.string()))
    small = large.slice(0, min(events, 1_000_000))
    codes = np.random.default_rng(1).integers(0, 5, events).astype(np.int32)
    table = np.random.default_rng(2).integers(0, 8, (8, 5)).astype(np.int32)
    yield Case("limit", LIMIT, "events", lambda: (_step_codes(codes, table), len(codes))[1])
    yield Case("limit", "codes read side by side", "events", lambda: (_read_codes(codes), len(codes))[1])
    for name, pattern in QUERIES.items():
        for width in (100, 10_000):
            text = f"{pattern} WITHIN {width} EVENTS"
            goal = "10 M/s" if width == 100 else "0.9 × WITHIN 100"
            yield Case("update only", f"{name} WITHIN {width:,}", "events", partial(update_only, text, large), goal)
    text = f"{QUERIES['Q1']} WITHIN 100 EVENTS"
    yield Case("update only", "Q1 WITHIN 100, string types", "events", partial(update_only, text, strings))
    for name in ("Q1", "Q2", "Q3"):
        text = f"{QUERIES[name]} WITHIN 100 EVENTS"
        yield Case(
            "enumerate",
            f"{name} counted one by one",
            "matches",
            partial(update_only, text, small, protocol.WALK),
            "30 M/s",
        )
    text = f"{QUERIES['Q1']} WITHIN 100 EVENTS"
    yield Case("enumerate", "Q1 written to a list column", "matches", partial(count_matches, text, small), "5 M/s")
    for name, pattern in QUERIES.items():
        text = f"{pattern} CONSUME BY ANY"
        yield Case("consume any", name, "events", partial(update_only, text, small), "6.7 M/s (0.15 s)")
    for strategy in ("NXT", "LAST", "MAX"):
        for name, pattern in QUERIES.items():
            text = f"SELECT {strategy} * WHERE {pattern} CONSUME BY ANY"
            yield Case(
                "strategies",
                f"{strategy} {name}",
                "events",
                partial(detect_all, text, small),
                "5 M/s",
            )
    for strategy, width in (("NXT", 100), ("NXT", 10_000), ("LAST", 100), ("LAST", 10_000)):
        text = f"SELECT {strategy} * WHERE {QUERIES['Q1']} WITHIN {width} EVENTS"
        yield Case("strategies", f"{strategy} Q1 WITHIN {width:,}", "events", partial(detect_all, text, small))
    for name, width in (("Q1", 100), ("Q1", 10_000), ("Q4", 100), ("Q4", 1_000)):
        # MAX gives many matches per event: writing them is measured elsewhere.
        text = f"SELECT MAX * WHERE {QUERIES[name]} WITHIN {width} EVENTS"
        yield Case("strategies", f"MAX {name} WITHIN {width:,}, update", "events", partial(update_only, text, small))
    yield from _stress()
    yield from _registers(events)
    yield from _rules(min(events, 1_000_000))
    keyed = uniform(events, keys=1_000_000)
    text = f"{QUERIES['Q1']} PARTITION BY key WITHIN 100 EVENTS"
    yield Case("partitions", "Q1, a million keys", "events", partial(update_only, text, keyed), "2 M/s")
    for name in ("Q4", "Q5", "Q6"):
        text = f"{QUERIES[name]} WITHIN 100 EVENTS"
        yield Case(
            "count",
            f"{name} WITHIN 100, exact",
            "events",
            partial(count_all, text, small),
            "seconds",
        )


def _registers(events: int) -> Iterator[Case]:
    """Patterns that compare events with each other, beside the same by PARTITION BY where that can say it."""
    rng = np.random.default_rng(5)
    equal = f"{QUERIES['Q1']} FILTER x.key = y.key AND y.key = z.key"
    for keys, goal in ((100, "3 M/s"), (100_000, "half of that")):
        keyed = uniform(events, keys=keys)
        ways = {
            "x.key = y.key = z.key": f"{equal} WITHIN 1000 EVENTS",
            # A further test, so that registers are needed beside the key that ties all events together.
            "x.key = y.key = z.key, x.v < z.v": f"{equal} AND x.v < z.v WITHIN 1000 EVENTS",
            "PARTITION BY key": f"{QUERIES['Q1']} PARTITION BY key WITHIN 1000 EVENTS",
        }
        keyed = keyed.append_column("v", pa.array(rng.random(events)))
        for name, text in ways.items():
            run = partial(update_only, text, keyed)
            yield Case("registers", f"Q1, {keys:,} keys, {name}", "events", run, goal if "PART" not in name else "")
    small = uniform(min(events, 2_000_000), keys=100)
    small = small.append_column("v", pa.array(rng.random(len(small))))
    for width in (100, 1_000, 10_000):
        text = f"A AS x ; B AS y FILTER y.v > x.v WITHIN {width} EVENTS"
        goal = "0.7 M/s" if width == 1_000 else ""
        yield Case("registers", f"x.v < y.v WITHIN {width:,}", "events", partial(update_only, text, small), goal)
    symbols = uniform(events, keys=1_000)
    symbols = symbols.append_column("v", pa.array(rng.random(events)))
    text = "true -> r . ([v > r.v] -> r)+ . [v < r.v] PARTITION BY key"
    run = partial(update_only, text, symbols, query=SremQuery)
    yield Case("registers", "SREM rising trend, 1,000 keys", "events", run, "3 M/s")


def _rules(events: int) -> Iterator[Case]:
    """The three rules of the CERA paper over its plant."""
    stream = plant.plant(events)
    for size, goal in ((10_000, "0.1 M/s"), (100_000, "")):
        run = partial(_push, stream, size)
        yield Case("rules", f"plant, batches of {size:,}", "events", run, goal)
    yield Case("rules", "plant, whole table", "events", partial(_detect, stream))


def _stress() -> Iterator[Case]:
    """Figure 4: 2,000 events, and only the last completes anything: 20 million matches of Q2."""
    rng = np.random.default_rng(4)
    types = np.array(["A", "B", "C", "E"])[rng.integers(0, 4, 1_999)].tolist()
    stream = pa.table({"type": pa.array([*types, "D"]).dictionary_encode()})
    text = QUERIES["Q2"]
    yield Case("stress", "Q2, 2,000 events, update", "events", _prepared_update(text, stream), "1 ms")
    yield Case("stress", "Q2, every match", "matches", lambda: update_only(text, stream, protocol.WALK), "1 s")


def _prepared_update(text: str, table: pa.Table) -> Callable[[], int]:
    """Only the reading of events: the query is compiled and its steps are known, as in the middle of a stream."""

    @cache
    def prepare() -> tuple[Matcher, Events]:
        engine = CelQuery(text).engine()
        released = engine.order_batch(table)
        return engine.matcher, engine.stream.events(released.rows, released.positions, released.order)

    def run() -> int:
        matcher, events = prepare()
        for _ in matcher.run(events, protocol.NOTICE):
            pass
        return len(table)

    return run


def start_up(console: Console) -> None:
    """Import and first answer in a fresh process."""
    first = "import time; b = time.perf_counter(); import ostinato as o; i = time.perf_counter() - b; "
    first += (
        "t = o.cel('A AS x ; B AS y').detect([{'type': 'A'}, {'type': 'B'}]); print(i, time.perf_counter() - b, len(t))"
    )
    runs = [
        subprocess.run([sys.executable, "-c", first], capture_output=True, text=True, check=True).stdout.split()
        for _ in range(3)
    ]
    console.print(f"import ostinato: {min(float(r[0]) for r in runs):.2f} s (goal 0.5)")
    console.print(f"import and first answer, warm kernels: {min(float(r[1]) for r in runs):.2f} s (goal 1)")


def _check_name(name: str) -> None:
    known = list(cases(1))  # no case does anything before it runs
    if not any(case.is_called(name) for case in known):
        groups = list(dict.fromkeys(case.group for case in known))
        fix = f"give a part of a name such as Q1, MAX Q4 or a group: {', '.join(groups)}"
        raise QueryError(f"no benchmark is called `{name}`", fix=fix)


def run(*, only: str = "", events: int = 10_000_000, repeats: int = 3, console: Console | None = None) -> list[Case]:
    """Measure the cases whose group or name contains `only`, and print a table."""
    console = console or Console()
    _check_name(only)
    chosen = [case for case in cases(events) if case.group == "limit" or case.is_called(only)]
    console.print(f"{events:,} events, one process, best of {repeats} interleaved rounds (after one to warm up)")
    for case in chosen:
        case.run()
    for _ in range(repeats):
        for case in chosen:
            case.measure()
    limit = next(case for case in chosen if case.name == LIMIT)
    table = Table("group", "case", "seconds", "millions/s", "of the bare limit", "goal")
    for case in chosen:
        share = f"{case.rate / limit.rate:.3f}" if case.unit == "events" else ""
        table.add_row(
            case.group, case.name, f"{case.seconds:.4f}", f"{case.rate / 1e6:,.1f} {case.unit}", share, case.target
        )
    console.print(table)
    if not only:
        start_up(console)
    return chosen


def _push(table: pa.Table, batch: int = 10_000) -> int:
    """Push the table in batches; gives the number of its events."""
    engine = RuleProgram(plant.PROGRAM).engine(longest=plant.LONGEST)
    for first in range(0, len(table), batch):
        engine.push(table.slice(first, batch))
    engine.flush()
    return len(table)


def _detect(table: pa.Table) -> int:
    RuleProgram(plant.PROGRAM).detect(table)
    return len(table)

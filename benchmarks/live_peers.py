"""Live queries and rules beside Esper, in one run on the same events: rates, single events, compiling.

Rates are events per second of CPU time of all threads of the process, for Esper with its compiler (JIT) and garbage
collector, once it is warm. Single events are timed by the CPU clock too; those of Esper by the wall clock, pauses
included, since a CPU clock would cost more than such an event. Both give the same number of outputs, or the run fails.
"""

from __future__ import annotations

import argparse
import json
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import date
from importlib.metadata import version
from math import isclose
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
from rich.console import Console
from rich.table import Table

import ostinato as ost

HERE = Path(__file__).parent
sys.path.append(str(HERE))

from live_cases import Case, cases  # noqa: E402

SIZES = (10_000, 100, 1)
ROUNDS = 5
WARM_UP = 5  # times as long as ours: its compiler goes on improving what it has compiled for many seconds
ESPER = HERE / "esper"
JAR = ESPER / "target" / "beside-esper.jar"
# One thread sends events: the serial collector takes the least CPU time.
JAVA = ("java", "-XX:+UseSerialGC", "-Xms1g", "-Xmx2g", "-jar", str(JAR))
FIX = "install a JDK of version 17 or newer and Maven, with access to Maven Central (apt install openjdk-17-jdk maven)"


@dataclass
class Ours:
    """One size of batch. `outputs` and `total` are those of the first `read` events, to the end of the stream."""

    size: int
    rate: float
    read: int
    outputs: int
    total: float
    p50: float | None = None
    p99: float | None = None


@dataclass
class Esper:
    rate: float
    first_rate: float  # of a process that has just started
    p50: float
    p99: float
    compile: float
    deploy: float
    outputs: dict[int, tuple[int, float]]  # and their total, by events read


@dataclass
class Result:
    case: Case
    compile: float
    ours: list[Ours]
    esper: Esper | None

    def difference(self) -> str | None:
        """What the two do not agree on."""
        if self.esper is None:
            return None
        for each in self.ours:
            outputs, total = self.esper.outputs[each.read]
            if each.outputs != outputs or not isclose(each.total, total, rel_tol=1e-9):
                return (
                    f"{self.case.name}, {each.read:,} events in batches of {each.size:,}: {each.outputs:,} outputs "
                    f"(total {each.total}), Esper {outputs:,} ({total})"
                )
        return None


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure live queries and rules beside Esper.")
    parser.add_argument("--only", default="", help="cases whose name contains this, such as query, rules: or 1,000")
    parser.add_argument("--events", type=int, default=200_000, help="length of each stream")
    parser.add_argument("--seconds", type=float, default=3.0, help="for each measurement, about")
    parser.add_argument("--record", type=Path, help="a JSON file to write")
    options = parser.parse_args()
    console = Console()
    missing = build()
    if missing:
        console.print(f"Esper is left out: {missing}", soft_wrap=True)
    ost.cel("A ; B").engine()  # grammars and modules are read once, which is nobody's time to compile
    ost.rules("DETECT a { } ON event b: b {{ }} END").engine()
    results = []
    for case in cases():
        if options.only.lower() in case.name.lower():
            console.print(case.name, style="dim")
            results.append(measure(case, options.events, options.seconds, with_esper=not missing))
            if options.record:  # after each, so that a run that is stopped leaves what it has found
                record = json.dumps(as_record(results, options.events), indent=1)
                options.record.write_text(record + "\n", encoding="utf-8")
    show(results, console)
    differences = [difference for result in results if (difference := result.difference())]
    if differences:
        sys.exit("\n".join(differences))


def build() -> str | None:
    """Make the program that runs Esper; if that is impossible, why and what to do."""
    missing = [program for program in ("java", "mvn") if shutil.which(program) is None]
    if missing:
        return f"no {' and no '.join(missing)} on the PATH; {FIX}"
    sources = [ESPER / "pom.xml", *ESPER.glob("src/**/*.java")]
    if JAR.exists() and JAR.stat().st_mtime > max(source.stat().st_mtime for source in sources):
        return None
    done = subprocess.run(["mvn", "-q", "-B", "package"], cwd=ESPER, capture_output=True, text=True)
    if done.returncode:
        reason = next((line for line in done.stdout.splitlines() if "[ERROR]" in line), "mvn package failed")
        return f"{reason}; {FIX}"
    return None


def measure(case: Case, events: int, seconds: float, *, with_esper: bool) -> Result:
    table = case.events(min(events, case.most or events))
    begin = time.process_time()
    open_engine = compiled(case, table.schema)
    open_engine()
    took = time.process_time() - begin
    ours = [best_round(case, open_engine, table, size, seconds) for size in SIZES]
    checks = sorted({each.read for each in ours})
    return Result(case, took, ours, run_esper(case, table, checks, seconds) if with_esper else None)


def compiled(case: Case, schema: pa.Schema) -> Callable[[], Any]:
    """What opens an engine of the case."""
    if case.rules:
        program = ost.rules(case.rules)
        return lambda: program.engine(schema=schema, **case.options)
    queries = [ost.cel(text) for text in case.queries]
    if len(queries) == 1:
        return lambda: queries[0].engine(**case.options)
    named = {f"q{number}": query for number, query in enumerate(queries)}
    return lambda: ost.engine(named, schema=schema, **case.options)


def best_round(case: Case, open_engine: Callable[[], Any], table: pa.Table, size: int, seconds: float) -> Ours:
    found: list[Ours] = []
    spent = 0.0
    while len(found) < ROUNDS and spent < seconds:
        begin = time.process_time()
        found.append(one_round(case, open_engine(), table, size, seconds))
        spent += time.process_time() - begin
    return max(found, key=lambda each: (each.read, each.rate))


def one_round(case: Case, engine: Any, table: pa.Table, size: int, seconds: float) -> Ours:
    """Fill windows with the beginning of the stream, then measure until it ends or time is up."""
    answers: list[Any] = []
    read, limit = 0, time.process_time() + seconds
    fill = min(case.fill, len(table) // 2)
    while read < fill and time.process_time() < limit:
        part = table.slice(read, min(SIZES[0], fill - read))
        answers.append(engine.push(part))
        read += len(part)
    single = size == 1
    waiting = iter(batches(table.slice(read), size, one_in_list=bool(case.rules)))
    taken: list[int] = []
    filled, begin = read, time.process_time()
    limit, clock = begin + seconds, time.process_time_ns
    for part in waiting:
        start = clock()
        answers.append(engine.push(part))
        taken.append(clock() - start)
        read += 1 if single else len(part)
        if time.process_time() > limit:
            break
    rate = (read - filled) / (time.process_time() - begin)
    answers.append(engine.flush())
    outputs = sum(len(answer) for answer in answers)
    total = sum(total_of(answer, case.total) for answer in answers) if case.total else 0.0
    result = Ours(size, rate, read, outputs, total)
    if single:
        result.p50, result.p99 = (float(quantile) / 1e3 for quantile in np.percentile(taken, (50, 99)))
    return result


def batches(table: pa.Table, size: int, *, one_in_list: bool) -> Iterator[Any]:
    if size > 1:
        parts = [table.slice(begin, size) for begin in range(0, len(table), size)]
        return iter(parts)
    rows = table.to_pylist()
    return iter([[row] for row in rows] if one_in_list else rows)


def total_of(answer: pa.Table, column: str) -> float:
    return pc.sum(answer[column]).as_py() or 0.0 if column in answer.column_names else 0.0


def run_esper(case: Case, table: pa.Table, checks: list[int], seconds: float) -> Esper:
    with tempfile.TemporaryDirectory(prefix="ostinato-bench-") as folder:
        events, epl = Path(folder) / "events.csv", Path(folder) / "module.epl"
        write_events(table, events)
        epl.write_text(case.epl, encoding="utf-8")
        arguments = (events, epl, case.copies, case.total or "-", WARM_UP * seconds, *checks)
        done = subprocess.run([*JAVA, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{case.name}: Esper failed\n{done.stderr}")
    found = json.loads(done.stdout)
    return Esper(
        rate=len(table) / min(found["rounds"]),
        first_rate=len(table) / found["rounds"][0],
        outputs={int(read): (outputs, total) for read, (outputs, total) in found["checks"].items()},
        **{name: found[name] for name in ("p50", "p99", "compile", "deploy")},
    )


def write_events(table: pa.Table, path: Path) -> None:
    """The file that Esper reads: time, type and the other columns with their classes; times in milliseconds."""
    time_column = "end" if "end" in table.column_names else "ts"
    columns = {"time": milliseconds(table[time_column]), "type": table["type"]}
    for name in table.column_names:
        values = table[name]
        if pa.types.is_timestamp(values.type) and name != "ts":
            columns[f"{name}Time:long"] = milliseconds(values)
        elif name not in ("ts", "type"):
            columns[f"{name}:{java_class(values.type)}"] = values
    with path.open("wb") as file:
        file.write((",".join(columns) + "\n").encode())
        plain = pyarrow.csv.WriteOptions(include_header=False, quoting_style="none")
        pyarrow.csv.write_csv(pa.table(columns), file, plain)


def milliseconds(values: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_timestamp(values.type):
        return values.cast(pa.timestamp("ms")).cast(pa.int64())
    return pc.multiply(values, 1000)


def java_class(kind: pa.DataType) -> str:
    if pa.types.is_integer(kind):
        return "long"
    return "double" if pa.types.is_floating(kind) else "string"


def show(results: list[Result], console: Console) -> None:
    headings = (*(f"batches of {size:,}" for size in SIZES), "Esper", "p50 / p99 µs", "Esper", "compile s", "Esper")
    table = Table("thousand events per CPU-second", *headings, "outputs")
    for result in results:
        rates = [f"{each.rate / 1e3:,.1f}" for each in result.ours]
        single, esper = result.ours[-1], result.esper
        peer = (
            (f"{esper.rate / 1e3:,.1f}", f"{esper.p50:,.1f} / {esper.p99:,.1f}", f"{esper.compile + esper.deploy:.1f}")
            if esper
            else ("–",) * 3
        )
        agreed = "not compared" if not esper else "DIFFER" if result.difference() else f"{result.ours[0].outputs:,}"
        mine = f"{single.p50:,.1f} / {single.p99:,.1f}"
        table.add_row(result.case.name, *rates, peer[0], mine, peer[1], f"{result.compile:.2f}", peer[2], agreed)
    console.print(table)


def as_record(results: list[Result], events: int) -> dict[str, Any]:
    java = shutil.which("java") and subprocess.run(["java", "-version"], capture_output=True, text=True).stderr
    return {
        "date": date.today().isoformat(),
        "python": platform.python_version(),
        "ostinato": ost.__version__,
        **{library: version(library) for library in ("numba", "numpy", "pyarrow")},
        "java": java.splitlines()[0] if java else None,
        "events": events,
        "cases": {
            result.case.name: {
                "events": min(events, result.case.most or events),
                "compile": result.compile,
                "ours": [asdict(each) for each in result.ours],
                "esper": asdict(result.esper) if result.esper else None,
            }
            for result in results
        },
    }


if __name__ == "__main__":
    main()

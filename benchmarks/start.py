"""What a process spends from its start to its first answer: CPU seconds of all its processes, compilers included.

Each row is a program of a few lines, in a process of its own: once with an empty cache of kernels, which is a folder of
this benchmark's own, and then several times with what the first run left there. `--parts` says where warm time goes.

pyarrow imports pandas, where it is installed, with the first array that it makes. Programs other than the command line
cannot prevent that, so pandas is hidden from them; `--pandas` shows it.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

HERE = Path(__file__).parent
_EVENTS = '[{"ts": n, "type": "AB"[n % 2], "id": n % 3, "v": n * 7 % 5} for n in range(12)]'
_HIDE_PANDAS = """
import sys
class Hide:
    def find_spec(self, name, path=None, target=None):
        if name == "pandas":
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Hide())
"""
_RULES = """
    DETECT fire { area { var A } }
    ON and { event s: smoke {{ area {{ var A }} }}, event t: temp {{ area {{ var A }}, value {{ var T }} }}
       } where { s before t, {s, t} within 1 min, var T > 40 }
    END"""
_ALARMS = '[{"ts": 60, "type": "smoke", "area": "a"}, {"ts": 70, "type": "temp", "area": "a", "value": 41}]'


@dataclass(frozen=True)
class Start:
    """A program, and the CPU seconds that it may take with an empty cache and with a full one."""

    name: str
    program: str  # in Python, or the arguments of `ostinato`
    warm_goal: float
    cold_goal: float | None = None
    command_line: bool = False


def _pattern(call: str) -> str:
    return f"import ostinato as ost\nassert ost.{call}.detect({_EVENTS}).num_rows"


def _xseq(query: str, document: bytes) -> str:
    return f"import ostinato as ost\nassert ost.xseq({query!r}).detect({document!r}).num_rows"


_XSEQ_KINDS = (
    _xseq("//b", b"<a><b p='1'/><b p='2'/></a>"),
    _xseq("//a[b]/@p", b"<c><a p='1'><b/></a></c>"),
    _xseq(
        r"return $B/text() from //$A (\ $B)* where tag($A) = 'a' and $B/text() > prev($B)/text()",
        b"<c><a/><b>1</b><b>2</b></c>",
    ),
    _xseq("//a/@b", b'{"a": [{"b": 1}, {"b": 2}]}'),
    _xseq("//a[c]/@b", b'{"a": [{"b": 1, "c": {}}, {"b": 2}]}'),
)

STARTS = (
    Start("CEL", _pattern("cel('A AS x ; B AS y WITHIN 4 EVENTS')"), 0.5, 3),
    Start(
        "CEL, events compared",
        _pattern("cel('A AS x ; B AS y FILTER x.id = y.id AND x.v < y.v WITHIN 9 EVENTS')"), 0.6, 5,
    ),
    Start("SREM", _pattern("srem('true -> r . [v > r.v]')"), 0.6, 5),
    Start("rules", f"import ostinato as ost\nassert ost.rules('''{_RULES}''').detect({_ALARMS}).num_rows", 0.8, 3),
    Start("XSeq, XML", _xseq("//b", b"<a><b p='1'/><b p='2'/></a>"), 0.6, 15),
    Start("XSeq, predicate", _xseq("//a[b]/@p", b"<c><a p='1'><b/></a></c>"), 0.6, 15),
    Start("XSeq, JSON", _xseq("//a/@b", b'{"a": [{"b": 1}, {"b": 2}]}'), 0.6, 15),
    Start("XSeq, all kinds", "\n".join(_XSEQ_KINDS), 0.6, 15),
    Start(
        "train and forecast",
        f"import ostinato as ost\nevents = {_EVENTS} * 20\n"
        "model = ost.Forecaster('A AS x ; B AS y WITHIN 4 EVENTS', horizon=8).fit(events)\n"
        "assert model.forecast(events[:9]).num_rows",
        0.8, 6,
    ),
    Start("ostinato detect", "detect -q 'A AS x ; B AS y WITHIN 4 EVENTS' -i {file}", 0.6, command_line=True),
)  # fmt: skip


@dataclass(frozen=True)
class Spent:
    cpu: float
    wall: float


@dataclass(frozen=True)
class Measured:
    start: Start
    cold: Spent | None
    warm: Spent


# --- measuring


def command(start: Start, file: Path, *, pandas: bool, probe: Path | None = None) -> list[str]:
    """What is run. With a probe, a file that says where the time goes (start_parts.py), that runs the program."""
    program = start.program.format(file=file) if start.command_line else start.program
    if start.command_line:
        arguments = shlex.split(program)
        if probe is None:
            return [sys.executable, "-m", "ostinato", *arguments]
        program = f"import sys\nsys.argv = ['ostinato', *{arguments!r}]\nfrom ostinato.cli.main import main\nmain()"
    elif not pandas:
        program = _HIDE_PANDAS + program
    return [sys.executable, "-c", program] if probe is None else [sys.executable, str(probe), program]


def run(arguments: Sequence[str], environment: dict[str, str]) -> tuple[Spent, str]:
    """What a process and its children spend, and what it writes to standard error."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(arguments, env=environment, capture_output=True, text=True)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(f"{done.stderr}\nfailed: {' '.join(arguments)}")
    return Spent(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall), done.stderr


def middle(runs: Iterable[Spent]) -> Spent:
    runs = list(runs)
    return Spent(median(each.cpu for each in runs), median(each.wall for each in runs))


def make_environment(cache: Path | None) -> dict[str, str]:
    """Kernels are kept in the given folder, else where they always are; byte code is kept, as it is for users."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    if cache is None:
        return environment
    return environment | {"OSTINATO_KERNEL_CACHE": str(cache)}


def write_events(folder: Path) -> Path:
    path = folder / "events.csv"
    path.write_text("ts,type\n" + "".join(f"{n},{'AB'[n % 2]}\n" for n in range(12)), encoding="utf-8")
    return path


def measure(start: Start, *, cold: bool, repeats: int, pandas: bool) -> Measured:
    with tempfile.TemporaryDirectory() as folder:
        arguments = command(start, write_events(Path(folder)), pandas=pandas)
        environment = make_environment(Path(folder) / "kernels" if cold else None)
        first, _ = run(arguments, environment)
        warm = middle(run(arguments, environment)[0] for _ in range(repeats))
    return Measured(start, first if cold else None, warm)


# --- parts


def parts(start: Start, *, repeats: int, pandas: bool) -> dict[str, float]:
    """CPU seconds of a warm process by what it does, the median of several runs."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = command(start, write_events(Path(folder)), pandas=pandas, probe=HERE / "start_parts.py")
        run(arguments, make_environment(None))
        runs = [read_parts(run(arguments, make_environment(None))[1]) for _ in range(repeats)]
    names = dict.fromkeys(name for each in runs for name in each)
    return {name: median(each.get(name, 0.0) for each in runs) for name in names}


def read_parts(output: str) -> dict[str, float]:
    """The last line that a probed process writes."""
    found: dict[str, float] = json.loads(output.splitlines()[-1])
    return found


# --- tables


def results_table(results: Iterable[Measured]) -> Table:
    table = Table("first answer", title="CPU seconds (seconds of wall time)")
    for name in ("empty cache", "goal", "warm", "goal"):
        table.add_column(name, justify="right")
    for each in results:
        goals = each.start.cold_goal, each.start.warm_goal
        spent = each.cold, each.warm
        cells = [cell for pair in zip(map(_spent, spent, goals), map(_goal, goals), strict=True) for cell in pair]
        table.add_row(each.start.name, *cells)
    return table


def _spent(spent: Spent | None, goal: float | None) -> str:
    if spent is None:
        return ""
    missed = goal is not None and spent.cpu > goal
    return f"{'[red]' if missed else ''}{spent.cpu:.2f}{'[/]' if missed else ''} ({spent.wall:.2f})"


def _goal(goal: float | None) -> str:
    return "" if goal is None else f"{goal:g}"


def parts_table(found: dict[str, dict[str, float]], least: float = 0.005) -> Table:
    """One column per program, its largest parts first; parts that nowhere take `least` seconds are summed up."""
    totals = {part: max(each.get(part, 0.0) for each in found.values()) for each in found.values() for part in each}
    shown = sorted((part for part in totals if totals[part] >= least), key=lambda part: -totals[part])
    table = Table("milliseconds of CPU time")
    for name in found:
        table.add_column(name, justify="right")
    for part in shown:
        table.add_row(part, *(f"{each[part] * 1000:.0f}" if part in each else "" for each in found.values()))
    small = [sum(seconds for part, seconds in each.items() if part not in shown) for each in found.values()]
    table.add_row("other", *(f"{seconds * 1000:.0f}" for seconds in small), end_section=True)
    table.add_row("all", *(f"{sum(each.values()) * 1000:.0f}" for each in found.values()))
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="only programs whose name contains this")
    parser.add_argument("--skip-cold", action="store_true", help="only warm runs, with the cache that is there")
    parser.add_argument("--repeats", type=int, default=5, help="warm runs; the median counts")
    parser.add_argument("--pandas", action="store_true", help="do not hide pandas")
    parser.add_argument("--parts", action="store_true", help="list where the time of warm processes goes")
    options = parser.parse_args()
    chosen = [start for start in STARTS if options.only.lower() in start.name.lower()]
    if not chosen:
        parser.error(f"no program is called {options.only!r}; there are {', '.join(start.name for start in STARTS)}")
    if options.parts:
        found = {start.name: parts(start, repeats=options.repeats, pandas=options.pandas) for start in chosen}
        Console(width=None if sys.stdout.isatty() else 200).print(parts_table(found))
        return
    results = []
    for start in chosen:
        print(start.name, file=sys.stderr)
        results.append(measure(start, cold=not options.skip_cold, repeats=options.repeats, pandas=options.pandas))
    Console().print(results_table(results))


if __name__ == "__main__":
    main()

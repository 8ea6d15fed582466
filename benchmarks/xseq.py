"""XSeq on stock transactions, an auction site and parsed sentences: megabytes per second of CPU time, beside others.

Every query runs in a process of its own, on one thread, from a file to rows; kernels are warm, and the fastest of
several runs counts. Peers run the same way, stopped after a while. Documents are made once and kept in benchmarks/data.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from datetime import date
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

import ostinato

HERE = Path(__file__).parent
sys.path += [str(HERE), str(HERE.parent / "tests")]  # the queries of the paper are kept beside the tests

from xseq_peers import NEEDS, PEERS, peer_queries  # noqa: E402

from support.xseq_paper import REGULAR, SHAPES, XMARK  # noqa: E402

MB = 1_000_000
SIZES = {"stocks": 50, "stock lines": 50, "auction": 58, "treebank": 50}  # in MB
STEPS = (1, 5, 50, 400)  # sizes of stocks in MB, to see whether time grows in proportion
SMALL = 1
GOAL, GOAL_PEAK = 150, 300  # MB/s and MB
FIGURE_1_SECONDS = 75
LIMIT = "limit: one table look-up per event"  # as in `ostinato bench`, so that compare.py can tell machines apart
ONE_THREAD = dict.fromkeys(
    ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS", "ARROW_IO_THREADS"), "1"
)

QUERIES = {
    **dict(zip(("S1", "S2", "S3"), SHAPES.values(), strict=True)),
    **dict(zip(("Q1", "Q2", "Q3", "Q4"), XMARK.values(), strict=True)),
    **dict(zip(("R1", "R2", "R3", "R4"), REGULAR.values(), strict=True)),
}
# Queries that one pass cannot decide: parts of the document are kept.
KEPT = {
    "//emph/ancestor::listitem": "//emph/ancestor::listitem",
    "//person[/name]/@id": "//person[/name]/@id",
    "bids that rise, by text()": r"""
        return $O@id, count($B) from //$O /$A (\ $B)*
        where tag($O) = 'open_auction' and tag($A) = 'initial' and tag($B) = 'bidder'
        and $B/increase/text() > prev($B)/increase/text()
    """,
}


@dataclass(frozen=True)
class Job:
    """Something to measure in a process of its own."""

    group: str
    name: str
    how: str  # "batches", "detect", "tokens", "limit", "make" (the document) or the name of a peer
    query: str = ""  # the text; for peers the name
    kind: str = "stocks"
    size: int = SMALL * MB
    repeats: int = 1
    seconds: float = 900.0  # stopped after this time
    memory: int = 12 << 30
    folder: str = str(HERE / "data")

    @property
    def title(self) -> str:
        return f"{self.group}: {self.name}"


@dataclass(frozen=True)
class Measured:
    job: Job
    seconds: float = 0.0
    rows: int = 0
    peak: int = 0  # bytes
    begin: int = 0  # bytes that the process used before it read the document
    units: int = 0  # bytes of the document
    kept: bool = False  # whether parts of the document were kept
    wrong: str = ""  # why there is no result
    times: tuple[float, ...] = field(default=())

    @property
    def rate(self) -> float:
        return self.units / MB / self.seconds if self.seconds else 0.0


# --- jobs


def jobs(sizes: dict[str, int], steps: tuple[int, ...], repeats: int, patience: float) -> Iterator[Job]:
    """All jobs. Each peer runs right after ours on the same query, so a busy moment hits both."""
    yield Job("limit", LIMIT.partition(": ")[2], "limit", repeats=repeats)
    peers = list(peer_queries())
    for kind, size in sizes.items():
        for name, text in QUERIES.items():
            if not name.startswith({"stocks": "S", "stock lines": "S", "auction": "Q", "treebank": "R"}[kind]):
                continue
            job = Job(f"{kind} {size} MB", name, "batches", text, kind, size * MB, repeats)
            yield job
            yield replace(job, group=f"{job.group}, one table", how="detect")
            yield replace(job, group=f"{job.group}, tokens only", how="tokens")
            for peer, query, of in peers:
                if query == name and of == kind:
                    yield replace(job, group=f"{job.group}, {peer}", how=peer, query=name, repeats=1, seconds=patience)
    for step in steps:
        for name in ("S1", "S2", "S3"):
            fewer = repeats if step <= 100 else (repeats + 1) // 2
            yield Job(f"growing, {step} MB", name, "batches", QUERIES[name], "stocks", step * MB, fewer)
    for name, text in KEPT.items():
        yield Job(
            f"kept, auction {sizes['auction']} MB", name, "batches", text, "auction", sizes["auction"] * MB, repeats
        )
    for bytes_ in (100_000, MB):
        ours = Job(f"Figure 1, {bytes_ // 1000} kB", "as S2", "batches", QUERIES["S2"], "stocks", bytes_, repeats)
        yield ours
        yield replace(ours, name="in XQuery", how="Saxon", query="Figure 1", repeats=1, seconds=FIGURE_1_SECONDS)


def measure(job: Job) -> Measured:
    """Run a job in a fresh process. A failure there becomes a line of the results and does not stop the benchmark."""
    needs = NEEDS.get(job.how)
    if needs is not None and find_spec(needs) is None:
        return Measured(job, wrong=f"skipped: {needs} is not installed")

    def limit_memory() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (job.memory, job.memory))

    command = [sys.executable, __file__, "--job", json.dumps(asdict(job))]
    try:
        ran = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=job.seconds,
            preexec_fn=limit_memory,
            env=os.environ | ONE_THREAD,
        )
    except subprocess.TimeoutExpired:
        return Measured(job, wrong=f"stopped after {job.seconds:.0f} s")
    if ran.returncode:
        last = (ran.stderr.strip().splitlines() or [f"exit code {ran.returncode}"])[-1]
        return Measured(job, wrong=last[:160])
    found = json.loads(ran.stdout.splitlines()[-1])
    return Measured(job, **found | {"times": tuple(found["times"])})


# --- in the process of a job


def work(job: Job) -> dict[str, Any]:
    """Run a job several times, first on a small document so that everything is loaded."""
    from ostinato.samples.documents import ensure_document

    small, path = (ensure_document(Path(job.folder), job.kind, size) for size in (min(SMALL * MB, job.size), job.size))
    run, kept = runner(job)
    if job.query != "Figure 1":
        run(small)
    begin, rows, times = _resident("VmRSS"), 0, []
    for _ in range(job.repeats):
        began = time.process_time()
        rows = run(path)
        times.append(time.process_time() - began)
    units = 10_000_000 if job.how == "limit" else path.stat().st_size
    return {
        "seconds": min(times), "rows": rows, "peak": _resident("VmHWM"), "begin": begin, "units": units, "kept": kept,
        "times": times,
    }  # fmt: skip


def runner(job: Job) -> tuple[Callable[[Path], int], bool]:
    """A function that reads a file and counts its answers, and whether it keeps parts of the document."""
    if job.how in PEERS:
        return partial(PEERS[job.how], job.query), False
    if job.how == "limit":
        return _table_lookups(), False
    if job.how == "make":
        return lambda _: 0, False
    import pyarrow

    pyarrow.set_cpu_count(1)
    query = ostinato.xseq(job.query)
    named: dict[str, Any] = {"root": "stocks", "record": "transaction"} if job.kind == "stock lines" else {}

    def batches(path: Path) -> int:
        return sum(table.num_rows for table in query.batches(path, **named))

    def detect(path: Path) -> int:
        return int(query.detect(path, **named).num_rows)

    def tokens(path: Path) -> int:
        """Run the tokeniser alone, with what the query needs."""
        from ostinato.documents.formats import guess_format
        from ostinato.xseq.evaluate import open_tokens

        source = open_tokens(query.compiled, path, guess_format(path), ostinato.XSeqLimits(), **named)
        count = used = 0
        while (found := source.read(used)) is not None:
            count, used = count + len(found.kind), found.used
        return count

    return {"batches": batches, "detect": detect, "tokens": tokens}[job.how], query._compiled.stream is None


def _table_lookups() -> Callable[[Path], int]:
    import numpy as np

    from ostinato.cli.bench import _step_codes

    codes = np.random.default_rng(1).integers(0, 5, 10_000_000).astype(np.int32)
    table = np.random.default_rng(2).integers(0, 8, (8, 5)).astype(np.int32)
    return lambda _: int(_step_codes(codes, table)) * 0 + len(codes)


def _resident(what: str) -> int:
    """Bytes of memory, now (VmRSS) or at most (VmHWM); `getrusage` adds the process that started this one."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(what):
            return int(line.split()[1]) * 1024
    return 0


# --- tables


def show(results: list[Measured], console: Console) -> None:
    found = {result.job.title: result for result in results}
    ours = Table("document", "query", "rows", "MB/s", "as one table", "tokens only", "peak, MB", "goal", title="XSeq")
    for result in results:
        job = result.job
        if job.how != "batches" or job.group.startswith("Figure"):
            continue
        whole, bare = (found.get(f"{job.group}, {way}: {job.name}") for way in ("one table", "tokens only"))
        goal = f"{GOAL}: {'met' if result.rate >= GOAL else 'missed'}"
        if result.kept:
            goal = "none, kept in part"
        elif job.size == STEPS[-1] * MB:
            goal += f"; {GOAL_PEAK} MB: {'met' if result.peak < GOAL_PEAK * MB else 'missed'}"
        ours.add_row(
            job.group, escape(job.name), *_figures(result), _rate(whole), _rate(bare), f"{result.peak / MB:.0f}", goal
        )
    console.print(ours)
    theirs = Table("document", "query", "peer", "MB/s", "peak, MB", "ours / peer", "same count", title="Others")
    for result in results:
        job = result.job
        if job.how not in PEERS:
            continue
        one = found.get(
            f"{job.group}: as S2" if job.query == "Figure 1" else f"{job.kind} {job.size // MB} MB: {job.name}"
        )
        if result.wrong or one is None or one.wrong:
            theirs.add_row(job.group.partition(",")[0], job.name, job.how, result.wrong or _rate(result))
            continue
        times, same = f"{one.rate / result.rate:.1f}", "yes" if one.rows == result.rows else f"no: {result.rows:,}"
        row = (_rate(result), f"{result.peak / MB:.0f}", times, same)
        theirs.add_row(job.group.partition(",")[0], job.name, job.how, *row)
    console.print(theirs)
    for result in results:
        if result.job.group.startswith("Figure"):
            said = result.wrong or f"{result.seconds:.3f} s, {result.rows:,} matches"
            console.print(f"{result.job.group}, {result.job.name}: {said}")


def _figures(result: Measured) -> tuple[str, str]:
    return f"{result.rows:,}", result.wrong or _rate(result)


def _rate(result: Measured | None) -> str:
    return "" if result is None else result.wrong or f"{result.rate:.3g}" if result.rate < 10 else f"{result.rate:.0f}"


def record(results: list[Measured], repeats: int) -> dict[str, Any]:
    """As `record.py` writes it, so that `compare.py` reads it."""

    def installed(library: str) -> str | None:
        try:
            return version(library)
        except PackageNotFoundError:
            return None

    cases = {}
    for result in results:
        if result.wrong:
            continue
        unit = "events" if result.job.how == "limit" else "bytes"
        cases[result.job.title] = {
            "seconds": result.seconds,
            "units": result.units,
            "unit": unit,
            "rows": result.rows,
            "peak bytes": result.peak,
            "bytes before": result.begin,
            "times": result.times,
        }
    libraries = ("numba", "numpy", "pyarrow", "lxml", "saxonche", "polars")
    return {
        "date": date.today().isoformat(),
        "python": platform.python_version(),
        "ostinato": ostinato.__version__,
        **{library: installed(library) for library in libraries},
        "repeats": repeats,
        "cases": cases,
        "without result": {result.job.title: result.wrong for result in results if result.wrong},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="cases whose name contains this, such as S3, growing, Saxon or kept")
    parser.add_argument("--size", type=int, help="size of every document in MB, and the largest size of `growing`")
    parser.add_argument("--repeats", type=int, default=5, help="runs of each case; the fastest counts")
    parser.add_argument("--quick", action="store_true", help="documents of 1 and 5 MB, once each")
    parser.add_argument("--data", type=Path, default=HERE / "data", help="folder for the documents")
    parser.add_argument("--record", type=Path, help="JSON file for the result; a full run writes one to results/")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        print(json.dumps(work(Job(**json.loads(options.job)))))
        return
    size = 5 if options.quick and options.size is None else options.size
    sizes = SIZES if size is None else dict.fromkeys(SIZES, size)
    steps = STEPS if size is None else tuple(step for step in STEPS if step <= size) or (size,)
    repeats, patience = (1, 60.0) if options.quick else (options.repeats, 600.0)
    chosen = [
        job for job in jobs(sizes, steps, repeats, patience) if options.only.lower() in f"{job.title} {job.how}".lower()
    ]
    chosen = [replace(job, folder=str(options.data)) for job in chosen]
    for kind, many in sorted({(job.kind, job.size) for job in chosen}):
        # Make documents first, not in the processes whose memory is measured.
        measure(Job("document", kind, "make", kind=kind, size=many, folder=str(options.data)))
    console, results = Console(), []
    for number, job in enumerate(chosen, 1):
        results.append(measure(job))
        said = results[-1].wrong or f"{_rate(results[-1])} {'million/s' if job.how == 'limit' else 'MB/s'}"
        console.print(f"{number:>3}/{len(chosen)} {job.title}: {said}", highlight=False, markup=False)
    show(results, console)
    to = options.record
    if to is None and not (options.only or options.quick or options.size):
        to = HERE / "results" / f"xseq-{date.today().isoformat()}.json"
    if to is not None:
        to.write_text(json.dumps(record(results, repeats), indent=1) + "\n", encoding="utf-8")
        console.print(f"recorded in {to}")


if __name__ == "__main__":
    main()

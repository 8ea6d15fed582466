"""Compiles all kernels side by side: `python -m support.warm`, or `make warm`.

Otherwise the first tests would do so, each worker for itself. Some kernels are compiled when their module is imported,
others when they are first called; all are kept on disk, and where they are there already this takes a few seconds.
"""

from __future__ import annotations

import importlib
import os
import re
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import ostinato
from support import paths

SOURCE = paths.ROOT / "src"
_KERNEL = re.compile(r"^@kernel\(", re.MULTILINE)
TREE = [
    "//a/parent::b",
    "//a[b]",
    "return $X@p, count($X) from /a /$Y \\$X (\\$X)* where $X@p > prev($X)@p",
]
DOCUMENT = b"<a><b p='1'/><b p='2'/></a>"
PATTERNS = [
    "A AS x ; B AS y",
    "A AS x ; B AS y WITHIN 2 EVENTS",
    "SELECT NXT * WHERE A AS x ; B AS y + ; A AS z WITHIN 3 EVENTS",
    "SELECT LAST * WHERE A AS x ; B AS y + ; A AS z",
    "SELECT MAX * WHERE A AS x + ; B AS y WITHIN 3 EVENTS",
    "A AS x ; B AS y FILTER x.v < y.v PARTITION BY k WITHIN 3 EVENTS",
]
EVENTS = [{"ts": place, "type": "AB"[place % 2], "v": place, "k": "k"} for place in range(12)]


def run_trees() -> None:
    for text in TREE:
        ostinato.xseq(text).detect(DOCUMENT)


def run_patterns() -> None:
    for text in PATTERNS:
        query = ostinato.cel(text)
        query.detect(EVENTS)
        query.count(EVENTS)


# The longest first, each with kernels that no other calls, and what calls them; all other modules come last, in one go.
JOBS: dict[str, Callable[[], None] | None] = {
    "ostinato.xseq.kernels.one_pass.scan": None,
    "ostinato.xseq.kernels.buffered": run_trees,
    "ostinato.patterns": run_patterns,
    "ostinato.documents.xml": None,
    "ostinato.documents.json": None,
    "ostinato.forecast": None,
    "ostinato": None,
}


def kernel_modules() -> list[str]:
    found = sorted(path for path in SOURCE.rglob("*.py") if _KERNEL.search(path.read_text(encoding="utf-8")))
    return [".".join(path.relative_to(SOURCE).with_suffix("").parts) for path in found]


def compile_all(job: str) -> float:
    """The seconds that a job took."""
    begin = time.perf_counter()
    names = list(JOBS)
    for module in kernel_modules():
        if job == next(name for name in names if f"{module}.".startswith(f"{name}.")):
            importlib.import_module(module)
    if run := JOBS[job]:
        run()
    return time.perf_counter() - begin


def main() -> None:
    begin = time.perf_counter()
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn"), max_tasks_per_child=1) as pool:
        for job, seconds in zip(JOBS, pool.map(compile_all, JOBS), strict=True):
            print(f"{seconds:6.1f} s  {job}", flush=True)
    print(f"kernels are ready after {time.perf_counter() - begin:.1f} s")


if __name__ == "__main__":
    main()

"""Compiles all kernels side by side: `python -m support.warm`, or `make warm`.

Otherwise the first tests would do so, each worker for itself. A kernel is compiled when its module is imported and kept
on disk; where all are there already, this takes a few seconds.
"""

from __future__ import annotations

import importlib
import os
import re
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from support import paths

SOURCE = paths.ROOT / "src"
_KERNEL = re.compile(r"^@kernel\(", re.MULTILINE)
# The longest first, each with kernels that no other calls; whatever is not below these comes last, in one go.
LONG = [
    "ostinato.xseq.kernels.one_pass.scan",
    "ostinato.xseq.kernels.one_pass.bundles",
    "ostinato.xseq.kernels.tree",
    "ostinato.documents.xml",
    "ostinato.documents.json",
    "ostinato.patterns",
    "ostinato.forecast",
    "ostinato",
]


def kernel_modules() -> list[str]:
    paths_ = sorted(path for path in SOURCE.rglob("*.py") if _KERNEL.search(path.read_text(encoding="utf-8")))
    return [".".join(path.relative_to(SOURCE).with_suffix("").parts) for path in paths_]


def jobs() -> list[list[str]]:
    left, found = kernel_modules(), []
    for prefix in LONG:
        found.append([module for module in left if f"{module}.".startswith(f"{prefix}.")])
        left = [module for module in left if module not in found[-1]]
    return [job for job in found if job]


def compile_all(modules: list[str]) -> float:
    begin = time.perf_counter()
    for module in modules:
        importlib.import_module(module)
    return time.perf_counter() - begin


def main() -> None:
    begin = time.perf_counter()
    given = jobs()
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn"), max_tasks_per_child=1) as pool:
        for job, seconds in zip(given, pool.map(compile_all, given), strict=True):
            print(f"{seconds:6.1f} s  {job[0]}{f' and {len(job) - 1} more' if job[1:] else ''}", flush=True)
    print(f"{len(kernel_modules())} modules with kernels are ready after {time.perf_counter() - begin:.1f} s")


if __name__ == "__main__":
    main()

"""A campaign of random tests: `python -m support.fuzz --minutes 10`, or `make fuzz MINUTES=10`.

Goes round the files that have random tests, each time with another seed, until the time is over. Tests of Spark are
left out: an example takes them seconds. A failure is shown as pytest shows it, with the command that repeats it.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle
from threading import Lock

from support import paths


def random_tests() -> list[str]:
    """The files with random tests, relative to the root."""
    found = []
    for path in sorted(paths.TESTS.rglob("test_*.py")):
        if "@given" in path.read_text(encoding="utf-8") and paths.TESTS / "spark" not in path.parents:
            found.append(str(path.relative_to(paths.ROOT)))
    return found


class Campaign:
    def __init__(self, files: list[str], minutes: float, seed: int) -> None:
        self.end = time.monotonic() + 60 * minutes
        self.chance = random.Random(seed)
        self.chance.shuffle(files)
        self.files: Iterator[str] = cycle(files)
        self.lock = Lock()
        self.runs = 0
        self.failures: list[str] = []

    def work(self) -> None:
        while time.monotonic() < self.end:
            with self.lock:
                path, seed = next(self.files), self.chance.randrange(2**32)
            self.run(path, seed)

    def run(self, path: str, seed: int) -> None:
        options = ["-q", "-p", "no:cacheprovider", "--hypothesis-profile=search", f"--hypothesis-seed={seed}", path]
        running = subprocess.Popen(
            [sys.executable, "-m", "pytest", *options],
            cwd=paths.ROOT,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        try:
            said, _ = running.communicate(timeout=max(self.end - time.monotonic(), 1))
        except subprocess.TimeoutExpired:
            running.send_signal(signal.SIGINT)  # it says what it has found so far
            said, _ = running.communicate()
        with self.lock:
            self.runs += 1
            failed = "\nFAILED " in said or running.returncode not in (0, 2, -signal.SIGINT)
            print(f"{'FAILED' if failed else 'passed'}  {path}  seed {seed}", flush=True)
            if failed:
                self.failures.append(f"pytest {' '.join(options[3:])}")
                print(said, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Random tests with examples of their own, for some minutes.")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=None, help="of the seeds; another one each time unless given")
    parser.add_argument("files", nargs="*", help="test files; all that have random tests unless given")
    given = parser.parse_args()
    seed = random.SystemRandom().randrange(2**32) if given.seed is None else given.seed
    campaign = Campaign(given.files or random_tests(), given.minutes, seed)
    print(f"{given.minutes:g} minutes, seed {seed}", flush=True)
    workers = os.cpu_count() or 1
    with ThreadPoolExecutor(workers) as pool:
        for each in [pool.submit(campaign.work) for _ in range(workers)]:
            each.result()
    print(f"{campaign.runs} runs of files, {len(campaign.failures)} failed")
    for command in campaign.failures:
        print(f"repeat: {command}")
    sys.exit(bool(campaign.failures))


if __name__ == "__main__":
    main()

"""Run `ostinato bench` and record the results as JSON."""

from __future__ import annotations

import argparse
import json
import platform
from datetime import date
from importlib.metadata import version
from pathlib import Path

from rich.console import Console

from ostinato import __version__
from ostinato.cli import bench


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure this machine and record the result.")
    parser.add_argument("result", type=Path, help="the JSON file to write")
    parser.add_argument("case", nargs="?", default="", help="only cases whose name contains this")
    parser.add_argument("--events", type=int, default=10_000_000, help="length of the stream")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each case; the fastest counts")
    options = parser.parse_args()
    measured = bench.run(only=options.case, events=options.events, repeats=options.repeats, console=Console())
    record = {
        "date": date.today().isoformat(),
        "python": platform.python_version(),
        "ostinato": __version__,
        **{library: version(library) for library in ("numba", "numpy", "pyarrow")},
        "events": options.events,
        "repeats": options.repeats,
        "cases": {
            f"{case.group}: {case.name}": {"seconds": case.seconds, "units": case.units, "unit": case.unit}
            for case in measured
        },
    }
    options.result.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

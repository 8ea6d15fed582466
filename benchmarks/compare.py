"""Compare two recorded results, as ratios."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from ostinato.cli.bench import LIMIT


def rates(path: Path) -> dict[str, float]:
    """Units per second of each case."""
    cases: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["cases"]
    return {name: case["units"] / case["seconds"] for name, case in cases.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare two recorded results.")
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    options = parser.parse_args()
    old, new = rates(options.old), rates(options.new)
    machine = new[f"limit: {LIMIT}"] / old[f"limit: {LIMIT}"]
    table = Table("case", "old, millions/s", "new, millions/s", "new / old", "beside the limit")
    for name in old:
        if name in new:
            ratio = new[name] / old[name]
            figures = (f"{old[name] / 1e6:,.1f}", f"{new[name] / 1e6:,.1f}", f"{ratio:.2f}", f"{ratio / machine:.2f}")
            table.add_row(name, *figures)
    console = Console()
    console.print(table)
    for path, only in ((options.old, old.keys() - new.keys()), (options.new, new.keys() - old.keys())):
        if only:
            console.print(f"only in {path.name}: {', '.join(sorted(only))}")


if __name__ == "__main__":
    main()

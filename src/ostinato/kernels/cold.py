"""A word before kernels are compiled for the first time; without loading numba, which would compile them."""

from __future__ import annotations

import os
import sys
from functools import cache
from pathlib import Path


@cache
def announce(module: str) -> None:
    """Say so on standard error when the kernels of a module were never compiled on this machine: it takes a while."""
    if f"ostinato.kernels.{module}" in sys.modules or os.environ.get("NUMBA_DISABLE_JIT") == "1":
        return
    cached = Path(os.environ.get("NUMBA_CACHE_DIR") or Path(__file__).parent / "__pycache__")
    if next(cached.rglob(f"{module}.*.nbi"), None) is None:
        _say()


@cache
def _say() -> None:
    """Once, however many modules a script comes to need."""
    print("ostinato: compiling kernels for this machine, once; this takes about a minute", file=sys.stderr)

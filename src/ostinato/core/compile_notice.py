"""Says that kernels are about to be compiled, before numba is loaded: compiling takes long enough to wonder about."""

from __future__ import annotations

import os
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path


@cache
def announce_compilation(module: str, *, takes: str) -> None:
    """Print a line on standard error when the kernels of `module` were never compiled on this machine.

    Nothing is said for a module that is loaded already, or when numba compiles nothing.
    """
    if module in sys.modules or os.environ.get("NUMBA_DISABLE_JIT") == "1":
        return
    if not _is_compiled(module):
        _say(takes)


def _is_compiled(module: str) -> bool:
    """Whether numba's disk cache holds a kernel of the module."""
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        return False
    source = Path(spec.origin)
    given = os.environ.get("NUMBA_CACHE_DIR")
    # In a cache folder of the user's, numba names a subfolder after that of the source and a hash of its path.
    folders = Path(given).glob(f"{source.parent.name}_*") if given else [source.parent / "__pycache__"]
    return any(next(folder.glob(f"{source.stem}.*.nbi"), None) is not None for folder in folders)


@cache
def _say(takes: str) -> None:
    """Once, however many modules a script comes to need."""
    print(f"ostinato: compiling kernels for this machine, once; this takes {takes}", file=sys.stderr)

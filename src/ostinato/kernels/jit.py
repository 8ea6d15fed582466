"""How every kernel is compiled: one place for the numba flags.

Signatures are explicit, so that a kernel is compiled once, when its module is first imported, and read from numba's
disk cache ever after. Nothing imports this module before it needs a kernel: numba takes a while to load.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba import types

F = TypeVar("F", bound=Callable[..., Any])


def kernel(*signatures: Any) -> Callable[[F], F]:
    """Decorator: compile for the given signatures, or on first call when there are none."""
    flags: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}

    def compile_it(function: F) -> F:
        compiled = numba.njit(list(signatures), **flags) if signatures else numba.njit(**flags)
        return cast(F, compiled(function))

    return compile_it


def inlined(function: F) -> F:
    """Decorator: a piece of the kernels that call it. A call of its own would count references to every array."""
    return cast(F, numba.njit(inline="always")(function))


def array(dtype: Any) -> Any:
    """The signature of a flat array that the kernel writes to."""
    return types.Array(dtype, 1, "C")


def view(dtype: Any) -> Any:
    """The signature of a flat array that the kernel only reads: Arrow's buffers are read-only."""
    return types.Array(dtype, 1, "C", readonly=True)


def announce_if_cold(function: Any) -> None:
    """Say so on standard error when a kernel was never compiled on this machine: all of them together take a while."""
    if not hasattr(function, "stats"):
        return  # NUMBA_DISABLE_JIT: nothing is compiled
    cached = Path(function.stats.cache_path).glob(f"*{function.py_func.__name__}-*.nbi")
    if next(cached, None) is None:
        print("ostinato: compiling kernels for this machine, once; this takes some seconds", file=sys.stderr)

"""How every kernel is compiled: one place for the numba flags.

A kernel with signatures is compiled when its module is first imported. One without, as most are, is compiled when it
is first called, and again for every other combination of types that it is called with: callers keep those the same
(core/array_struct.py, core/arrow.py `read_only`). Either way it is read from numba's disk cache ever after. What other
kernels call with integers of several sizes should have a signature. Nothing imports this module before it needs a
kernel: numba takes a while to load.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numba import types

F = TypeVar("F", bound=Callable[..., Any])


def kernel(*signatures: Any, allocates: bool = False) -> Callable[[F], F]:
    """Decorator: compile for the given signatures, or on first call when there are none.

    Kernels that allocate no array run without numba's reference counting, which would cost more than most of what they
    do. The flag for that, `_nrt`, is not part of numba's public interface.
    """
    flags: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy", "_nrt": allocates}

    def compile_it(function: F) -> F:
        compiled = numba.njit(list(signatures), **flags) if signatures else numba.njit(**flags)
        return cast(F, compiled(function))

    return compile_it


def inlined(function: F) -> F:
    """Decorator: copy the function into the kernels that call it, since passing many arrays costs time too."""
    flags: dict[str, Any] = {"inline": "always", "_nrt": False}
    return cast(F, numba.njit(**flags)(function))


def array(dtype: Any) -> Any:
    """The signature of a flat array that the kernel writes to."""
    return types.Array(dtype, 1, "C")


def table(dtype: Any, *, constant: bool = False) -> Any:
    """The signature of an array of rows and columns; one that is constant is only read."""
    return types.Array(dtype, 2, "C", readonly=constant)


def view(dtype: Any) -> Any:
    """The signature of a flat array that the kernel only reads: Arrow's buffers are read-only."""
    return types.Array(dtype, 1, "C", readonly=True)

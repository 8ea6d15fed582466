"""How every kernel is compiled: one place for the numba flags.

Signatures are explicit, so that a kernel is compiled once, when its module is first imported, and read from numba's
disk cache ever after. Nothing imports this module before it needs a kernel: numba takes a while to load.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numba import types

F = TypeVar("F", bound=Callable[..., Any])


def kernel(*signatures: Any, allocates: bool = False) -> Callable[[F], F]:
    """Decorator: compile for the given signatures, or on first call when there are none.

    Kernels that make no array of their own do without numba's counting of references to arrays, which would cost more
    than most of what they do; numba has no public name for that.
    """
    flags: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy", "_nrt": allocates}

    def compile_it(function: F) -> F:
        compiled = numba.njit(list(signatures), **flags) if signatures else numba.njit(**flags)
        return cast(F, compiled(function))

    return compile_it


def inlined(function: F) -> F:
    """Decorator: a piece of the kernels that call it, since passing on many arrays takes a while as well."""
    flags: dict[str, Any] = {"inline": "always", "_nrt": False}
    return cast(F, numba.njit(**flags)(function))


def array(dtype: Any) -> Any:
    """The signature of a flat array that the kernel writes to."""
    return types.Array(dtype, 1, "C")


def view(dtype: Any) -> Any:
    """The signature of a flat array that the kernel only reads: Arrow's buffers are read-only."""
    return types.Array(dtype, 1, "C", readonly=True)

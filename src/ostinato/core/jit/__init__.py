"""Kernels: Python functions that run as machine code.

A kernel is compiled once, by numba in a process of its own (compiler.py), and stored as object code (store.py) under a
key that is made of its sources (keys.py). All other processes load it from there (loader.py). They never import numba,
which would take longer than most first answers. Where nothing is stored and nothing can be compiled, there is an error.

A function that Python calls is a kernel, with a signature. One that only kernels call is a subroutine.
"""

from ostinato.core.jit.kernel import Kernel, kernel, prefetch, subroutine
from ostinato.core.jit.types import array, table, view

__all__ = ["Kernel", "array", "kernel", "prefetch", "subroutine", "table", "view"]

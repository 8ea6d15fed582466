"""The kind of processor that kernels are compiled for: a level that most machines have, not the one at hand.

So kernels can be compiled on one machine and used on others, and a cluster may mix machines.
"""

from __future__ import annotations

import platform
import sys
from functools import cache

# The x86-64 psABI's levels: what a processor must have, from the highest level to the lowest.
_LEVELS = {
    "x86-64-v3": ("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"),
    "x86-64-v2": ("cx16", "popcnt", "sse3", "sse4.1", "sse4.2", "ssse3"),
    "x86-64": (),
}


@cache
def cpu_level() -> str:
    """The name that LLVM has for it."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return "generic"
    from llvmlite.binding import get_host_cpu_features

    features = get_host_cpu_features()
    return next(level for level, needed in _LEVELS.items() if all(features.get(name) for name in needed))


@cache
def platform_name() -> str:
    """What kernels are stored for: system, machine and level, and the layout of objects that entries rely on."""
    layout = f"{object.__basicsize__}-{tuple.__basicsize__}"
    return f"{sys.platform}-{platform.machine().lower()}-{cpu_level()}-{layout}"

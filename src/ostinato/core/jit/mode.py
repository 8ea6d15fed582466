"""How kernels run in this process: as loaded code, unless the environment says otherwise."""

from __future__ import annotations

import os

COMPILING_VARIABLE = "OSTINATO_COMPILING"
COMPILING = os.environ.get(COMPILING_VARIABLE) == "1"  # this process was started to compile them
INTERPRETED = os.environ.get("NUMBA_DISABLE_JIT") == "1"  # as numba does: kernels run as Python, for debuggers

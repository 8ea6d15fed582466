"""What conditions by place say of rows, by their programs."""

from __future__ import annotations

import numpy as np

from ostinato.core.arrays import Int64
from ostinato.core.jit import kernel, view
from ostinato.core.jit.types import boolean, int64, struct_type
from ostinato.sql.kernels.layout import BAD_VALUE, YES, Search
from ostinato.sql.kernels.programs import holds

SEARCH = struct_type(Search)


@kernel(boolean(SEARCH, view(int64), view(int64), view(int64), int64))
def code_rows(search: Search, parts: Int64, firsts: Int64, lasts: Int64, conditions: int) -> bool:
    """Write the codes of stretches of rows, one for each of some partitions; False where a value cannot be used. The
    programs of so many conditions come after those of the variables."""
    programs = search.tried.size
    for at in range(parts.size):
        for row in range(firsts[at], lasts[at]):
            code = 0
            for condition in range(conditions):
                answer = holds(search, programs + condition, parts[at], row, 1, 0)
                if answer == BAD_VALUE:
                    return False
                if answer == YES:
                    code |= 1 << condition
            search.codes[row] = np.int32(code)
    return True

"""The texts that runs remember, moved to a pool of their own before the buffer they stand in is used again."""

from __future__ import annotations

from ostinato.core.arrays import UInt8
from ostinato.core.jit import array, kernel
from ostinato.core.jit.types import int64, uint8, void
from ostinato.xseq.kernels.one_pass.layout import RUNS_USED, WORK, Work


@kernel(int64(WORK, int64))
def count_text_bytes(work: Work, width: int) -> int:
    """How many bytes the texts of living runs have; `width` values belong to each run."""
    total = 0
    for run in range(work.state[RUNS_USED]):
        if work.run_state[run] >= 0:
            for at in range(work.base + run * width, work.base + (run + 1) * width):
                if work.kind[at] == 2 or work.kind[at] == 3:
                    total += work.size[at]
    return total


@kernel(void(WORK, int64, array(uint8), int64))
def move_texts(work: Work, width: int, pool: UInt8, free: int) -> None:
    """Copy the texts of living runs to `pool[free:]`, and let the runs point there."""
    for run in range(work.state[RUNS_USED]):
        if work.run_state[run] >= 0:
            for at in range(work.base + run * width, work.base + (run + 1) * width):
                if work.kind[at] == 2 or work.kind[at] == 3:
                    source = work.start[at]
                    for byte in range(work.size[at]):
                        pool[free + byte] = (
                            work.buffer[source + byte] if source >= 0 else work.text_pool[-1 - source + byte]
                        )
                    work.start[at] = -1 - free
                    free += work.size[at]

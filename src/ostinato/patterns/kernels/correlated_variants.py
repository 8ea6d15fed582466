"""`run_correlated` for what takes longer to compile and fewer patterns need: programs as tests, NXT and LAST, and
loops whose conditions look back on their rounds."""

from __future__ import annotations

from ostinato.core.jit import kernel
from ostinato.core.jit.types import int64, struct_type
from ostinato.patterns.kernels.best_match import emit_best
from ostinato.patterns.kernels.completions import emit_all
from ostinato.patterns.kernels.correlated import add_all, hold_event, read_events
from ostinato.patterns.kernels.folds import hold_folded
from ostinato.patterns.kernels.layout import CorrelatedState
from ostinato.patterns.kernels.register_programs import keep_passing_any

STATE = struct_type(CorrelatedState)


@kernel(int64(STATE))
def run_programs(state: CorrelatedState) -> int:
    """Some tests are programs."""
    return read_events(state, keep_passing_any, emit_all, hold_event, add_all)


@kernel(int64(STATE))
def run_choosing(state: CorrelatedState) -> int:
    """Only the best match of each event is given out; some tests may be programs."""
    return read_events(state, keep_passing_any, emit_best, hold_event, add_all)


@kernel(int64(STATE))
def run_folding(state: CorrelatedState) -> int:
    """Runs carry what conditions ask of earlier rounds."""
    return read_events(state, keep_passing_any, emit_all, hold_folded, add_all)


@kernel(int64(STATE))
def run_folding_choosing(state: CorrelatedState) -> int:
    """Both."""
    return read_events(state, keep_passing_any, emit_best, hold_folded, add_all)

"""Runs with registers and what events may do to them, as kernels read them: for detection and for forecasting."""

from __future__ import annotations

import numpy as np

from ostinato.core.arrays import Bools, Int32, Int64
from ostinato.patterns.kernels.layout import RunTables
from ostinato.patterns.kernels.register_layout import STACK_DEPTH
from ostinato.patterns.runtime.register_terms import TermEncoder
from ostinato.patterns.runtime.transition_tables import TransitionTables

MOST_BOUNDS = 255  # of a cell whose order runs are looked up by


def new_run_tables(
    transitions: TransitionTables, encoder: TermEncoder, *, runs: Int64, candidates: Int32, terms: Int64, present: Bools
) -> RunTables:
    """`terms` and `present` are those of a batch of events, as `encoder` gives them."""
    return RunTables(
        runs=runs,
        candidates=candidates,
        terms=terms,
        present=present,
        text_ends=encoder.texts.ends,
        texts=encoder.texts.store,
        bounds=np.zeros((transitions.width, MOST_BOUNDS), np.int64),
        bound_counts=np.zeros(transitions.width, np.int64),
        stack_kinds=np.zeros(STACK_DEPTH, np.int32),
        stack_whole=np.zeros(STACK_DEPTH, np.int64),
        stack_floats=np.zeros(STACK_DEPTH, np.float64),
        **transitions.arrays(),
    )

"""Cells that take in an event of each round of a loop: the last, the least, a sum, a count."""

from __future__ import annotations

import numpy as np

from ostinato.core.jit import subroutine
from ostinato.core.jit.types import int64, struct_type
from ostinato.patterns.kernels.correlated import hold_event
from ostinato.patterns.kernels.layout import CorrelatedState
from ostinato.patterns.kernels.register_layout import (
    ADD_AS_FLOAT,
    ADD_FLOATS,
    ADD_WHOLE,
    BEGIN_COUNT,
    BEGIN_FLOATS,
    CELLS,
    COUNT,
    FOLD_BEGIN,
    FOLD_END,
    GREATER,
    GREATEST,
    GREATEST_FLOAT,
    LEAST,
    LEAST_FLOAT,
    LEAST_TEXT,
    LESS,
    NULLS,
    TAKE,
)
from ostinato.patterns.kernels.register_tests import order_texts

STATE = struct_type(CorrelatedState)


@subroutine(int64(STATE, int64, int64, int64))
def hold_folded(state: CorrelatedState, action: int, source: int, row: int) -> int:
    """As `hold_event`, and what the action takes into cells of earlier events. NULL changes none of them."""
    tables = state.tables
    actions, folds, runs, held, floats = tables.actions, tables.folds, tables.runs, state.held, state.held_floats
    nulls = hold_event(state, action, source, row)
    for at in range(actions[action, FOLD_BEGIN], actions[action, FOLD_END]):
        cell, op, stored, term = folds[at, 0], folds[at, 1], folds[at, 2], folds[at, 3]
        if stored >= 0:
            value, number = runs[CELLS + stored, source], tables.run_floats[CELLS + stored, source]
            known = not (runs[NULLS, source] >> stored) & 1
        else:
            value, number, known = tables.terms[term, row], tables.term_floats[term, row], tables.present[term, row]
        bit = 1 << cell
        if BEGIN_COUNT <= op <= COUNT:
            held[cell, 0] = known + (held[cell, 0] if op == COUNT else 0)
            nulls &= ~bit
        elif op <= BEGIN_FLOATS:
            nulls &= ~bit
            if not known:
                held[cell, 0] = 0
                nulls |= bit
            elif op == TAKE:
                held[cell, 0] = value
            else:
                floats[cell, 0] = np.float64(value)
        elif not known:
            continue
        elif nulls & bit:
            nulls &= ~bit
            if op == ADD_AS_FLOAT:
                floats[cell, 0] = np.float64(value)
            else:
                held[cell, 0] = value
        elif op == ADD_WHOLE:
            held[cell, 0] += value
        elif op == ADD_FLOATS:
            floats[cell, 0] += number
        elif op == ADD_AS_FLOAT:
            floats[cell, 0] += np.float64(value)
        elif op == LEAST:
            held[cell, 0] = min(held[cell, 0], value)
        elif op == GREATEST:
            held[cell, 0] = max(held[cell, 0], value)
        elif op == LEAST_FLOAT:
            if np.isnan(floats[cell, 0]) or number < floats[cell, 0]:
                floats[cell, 0] = number
        elif op == GREATEST_FLOAT:
            if np.isnan(floats[cell, 0]) or number > floats[cell, 0]:
                floats[cell, 0] = number
        else:
            wanted = LESS if op == LEAST_TEXT else GREATER
            if order_texts(value, held[cell, 0], tables.text_ends, tables.texts) & wanted:
                held[cell, 0] = value
    return nulls

"""Rows, columns and codes of the tables of correlated patterns: runs, states, actions and tests between events."""

from __future__ import annotations

from ostinato.patterns.kernels.protocol import FOREVER

# Rows of `runs`, which has a column for each run: key * states + state; the newest tick of its list, or DEAD; a bit for
# each cell that is NULL; the event it was last entered by; its list; the next runs of its two chains; the hashes that
# put it there; its cells. A row for each property, so that looking through many runs touches little memory.
OWNER, NEWEST, NULLS, BORN, LIST, NEXT, HASH, CELLS = 0, 1, 2, 3, 4, 5, 7, 9
# NEXT and HASH have a row each for the two hash tables, as `run_heads` has.
BY_PLACE, BY_ALL = range(2)
DEAD = FOREVER  # as the newest tick of a run's list

# Columns of `states`: the cells that matter in the state, those of them that it is looked up by, whether those are all,
# which column of `killed` says when its runs last died together (0: only with all others of the key), and 1 + the cell
# whose order they are also looked up by, in buckets (0: none).
CELL_BEGIN, CELL_END, INDEX_BEGIN, INDEX_END, PLAIN, FRAGILE, RANGED = range(7)

# Columns of `actions`: what is done to the runs of a state. A source below 0 is the run without marks.
KIND, SOURCE, TARGET, SYMBOL, PROBES, TEST_BEGIN, TEST_END, WRITE_BEGIN, WRITE_END, FOLD_BEGIN, FOLD_END = range(11)
COMPLETE, MOVE, END = range(3)
EVENT_NUMBER = -1  # in place of a term that an action remembers: which event of the stream it is
# How `folds` takes a value into a cell: in its place, or together with what is there. The value is a term of the event,
# or a cell of the run.
(BEGIN_COUNT, COUNT, TAKE, BEGIN_FLOATS, ADD_AS_FLOAT, ADD_WHOLE, ADD_FLOATS) = range(7)
LEAST, GREATEST, LEAST_FLOAT, GREATEST_FLOAT, LEAST_TEXT, GREATEST_TEXT = range(7, 13)
CURRENT_EVENT = -1  # in place of the cell
# Columns of `code_ranges`: the actions of a code (completing ones first), and the columns of `killed` it sets.
ACTION_BEGIN, ACTION_END, KILL_BEGIN, KILL_END = range(4)

# Kinds of tests: how cell and term are compared. As integers, as floats (either may be one already), or as texts by
# their bytes; or a program decides.
WHOLE, FLOATS, CELL_IS_FLOAT, TERM_IS_FLOAT, TEXTS, PROGRAM = range(6)
LESS, EQUAL, GREATER = 1, 2, 4
OUTCOMES = {"=": EQUAL, "!=": LESS | GREATER, "<": LESS, "<=": LESS | EQUAL, ">": GREATER, ">=": GREATER | EQUAL}

# Steps of a program: push a cell or a term (as an integer or as a float), or replace the topmost by a result.
(CELL, CELL_FLOAT, TERM, TERM_FLOAT, COMPARE, COMPARE_TEXTS, AND, OR, NOT, IS_NULL, IS_TRUE) = range(11)
ADD, SUBTRACT, MULTIPLY, DIVIDE, REMAINDER, NEGATE, ABSOLUTE, SQUARE_ROOT, ROUND_DOWN, ROUND_UP = range(11, 21)
COALESCE = 21
CHOOSE_TOTAL = 22  # of a sum of whole numbers that may have wrapped around, and the same as a float
STACK_DEPTH = 64  # how many values a program may hold at once

# Which of the matches that an event completes are given out: all, or the best one (CEL paper, section 4).
NO_CHOICE, CHOOSE_NEXT, CHOOSE_LAST = range(3)

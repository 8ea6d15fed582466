"""Spark's Python workers collect garbage after each task, and look at all that they have imported: 60 ms of each.

So what a worker keeps is set aside in its first tasks, once they are done: nothing of it will ever be garbage.
"""

from __future__ import annotations

import gc

_FIRST = 3  # tasks, in which all modules are imported and all that is kept for others is made
_tasks = 0


def end_task() -> None:
    """To be called at the end of what a task does in Python."""
    from pyspark import TaskContext

    global _tasks
    if _tasks < _FIRST and TaskContext.get() is not None:
        _tasks += 1
        gc.collect()
        gc.freeze()

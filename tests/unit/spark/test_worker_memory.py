"""What a worker keeps is set aside after its first tasks, and only there."""

from __future__ import annotations

import gc

import pytest

from ostinato.spark import worker_memory


def test_the_first_tasks_set_aside_what_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark import TaskContext

    frozen: list[None] = []
    monkeypatch.setattr(worker_memory, "_tasks", 0)
    monkeypatch.setattr(gc, "collect", lambda: 0)
    monkeypatch.setattr(gc, "freeze", lambda: frozen.append(None))
    monkeypatch.setattr(TaskContext, "get", lambda: None)
    worker_memory.end_task()  # in the driver
    assert not frozen
    monkeypatch.setattr(TaskContext, "get", lambda: object())
    for _ in range(9):
        worker_memory.end_task()
    assert len(frozen) == 3

"""Files of documents are put into tasks by their sizes."""

from __future__ import annotations

from ostinato.spark.xseq.files import assign_tasks


def test_large_files_come_first_and_small_ones_share_a_task() -> None:
    large, small = 200 << 20, 1 << 10
    tasks = assign_tasks([small] * 500 + [large, large], cores=2)
    assert sorted(tasks[-2:]) == [0, 1]  # alone, and first
    assert set(tasks[:-2]) == {2}
    assert len(set(assign_tasks([small] * 500, cores=2))) == 8
    assert len(set(assign_tasks([small] * 10, cores=2))) == 1
    assert assign_tasks([0], cores=200) == [0]

"""Work in pieces: results in order, the first error, and others that stop."""

from __future__ import annotations

import os
import threading

import pytest

from ostinato.core.threads import check_threads, run_pieces, stop_if_asked
from ostinato.errors import OstinatoError


def test_results_come_in_order() -> None:
    assert run_pieces(lambda number: number * 10, 4) == [0, 10, 20, 30]


def test_one_piece_runs_where_it_is_asked_for() -> None:
    assert run_pieces(lambda _: threading.current_thread(), 1) == [threading.current_thread()]


@pytest.mark.parametrize("failing", [0, 2])
def test_others_stop_where_one_fails(failing: int) -> None:
    stopped = []

    def work(number: int) -> int:
        if number == failing:
            raise ValueError(f"piece {number}")
        for _ in range(10_000):
            try:
                stop_if_asked()
            except BaseException:
                stopped.append(number)
                raise
            threading.Event().wait(0.001)
        return number

    with pytest.raises(ValueError, match=f"piece {failing}"):
        run_pieces(work, 3)
    assert sorted([*stopped, failing]) == [0, 1, 2]


def test_the_option() -> None:
    assert check_threads(3) == 3
    assert check_threads(None) >= 1
    for wrong in (0, -1, True, 1.5, "2"):
        with pytest.raises(OstinatoError, match="threads"):
            check_threads(wrong)


def test_pieces_within_pieces() -> None:
    def work(number: int) -> list[int]:
        return run_pieces(lambda inner: 10 * number + inner, 3)

    assert run_pieces(work, 3) == [[0, 1, 2], [10, 11, 12], [20, 21, 22]]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_process_has_threads_of_its_own() -> None:
    run_pieces(lambda number: number, 3)
    child = os.fork()
    if child == 0:
        os._exit(0 if run_pieces(lambda number: number, 3) == [0, 1, 2] else 1)
    assert os.waitpid(child, 0)[1] == 0

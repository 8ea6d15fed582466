"""Kernels from the outside: what they take and return, and that they are compiled once for all processes."""

from __future__ import annotations

import fcntl
import os
import re
import signal
import struct
import subprocess
import sys
import termios
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import pytest

import ostinato
from ostinato.core.jit import Kernel, builds, kernel, pool, store, subroutine
from ostinato.core.jit.types import (
    array,
    boolean,
    float32,
    float64,
    int8,
    int32,
    int64,
    results,
    table,
    uint8,
    uint64,
    view,
    void,
)

pytestmark = pytest.mark.slow


@kernel(int64(view(int32), int64))
def add_all(numbers: Any, start: Any) -> Any:
    for number in numbers:
        start += number
    return start


@kernel(results(boolean, float64, int64, uint8)(float64, boolean))
def echo(number: float, flag: bool) -> Any:
    return not flag, number * 2, -3, np.uint8(200)


@kernel(void(table(float64, constant=True), table(float64), array(int64)))
def transpose(source: Any, target: Any, shape: Any) -> None:
    for row in range(source.shape[0]):
        for column in range(source.shape[1]):
            target[column, row] = source[row, column]
    shape[0], shape[1] = source.shape


@kernel(boolean(int8, uint64, float32))
def compare(small: int, big: Any, real: float) -> bool:
    return small < 0 and big > 1 << 63 and real == 0.5


@kernel(float64(view(float64)), int64(view(int64)))
def first(numbers: Any) -> Any:
    return numbers[0]


@subroutine()
def only_for_kernels(number: int) -> int:
    return number


def test_arguments_and_results_of_every_kind() -> None:
    assert add_all(np.arange(5, dtype=np.int32), np.int16(3)) == 13
    assert echo(1.5, False) == (True, 3.0, -3, 200)
    assert echo(1, True)[0] is False
    assert compare(-1, (1 << 63) + 1, 0.5) is True
    target, shape = np.zeros((3, 2)), np.zeros(2, np.int64)
    assert transpose(np.arange(6.0).reshape(2, 3), target, shape) is None
    assert target.tolist() == [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]] and shape.tolist() == [2, 3]


def test_the_version_is_chosen_by_the_type_of_arrays() -> None:
    assert repr(first(np.array([2.5]))) == "2.5"
    assert repr(first(np.array([2]))) == "2"


def test_read_only_memory_is_for_constant_parameters_only() -> None:
    numbers = np.arange(3)
    numbers.flags.writeable = False
    assert first(numbers) == 0
    with pytest.raises(TypeError, match=r"transpose: parameter 2 is not a int64\[:\]"):
        transpose(np.zeros((1, 1)), np.zeros((1, 1)), numbers)


@pytest.mark.parametrize(
    "numbers", [np.arange(3), np.arange(6, dtype=np.int32)[::2], np.zeros((2, 2), np.int32), np.arange(3.0)]
)
def test_another_array_is_an_error_and_no_crash(numbers: Any) -> None:
    with pytest.raises(TypeError, match="add_all: parameter 0 is not a const int32"):
        add_all(numbers, 0)


def test_a_number_of_another_kind_is_an_error() -> None:
    with pytest.raises(TypeError):
        add_all(np.zeros(1, np.int32), 1.5)


def test_a_subroutine_is_not_for_python() -> None:
    with pytest.raises(TypeError, match="only_for_kernels> is a subroutine: only kernels can call it"):
        only_for_kernels(1)


def test_threads_may_call_a_kernel_at_once() -> None:
    numbers = np.ones(100_000, np.int32)
    with ThreadPoolExecutor(4) as threads:
        assert set(threads.map(lambda start: add_all(numbers, start) - start, range(100))) == {100_000}


def test_threads_may_load_a_kernel_at_once(folder: Path) -> None:
    script = """
import steps
from concurrent.futures import Future, ThreadPoolExecutor
with ThreadPoolExecutor(8) as threads:
    print(set(threads.map(steps.next_one, [1] * 64)))
"""
    assert run(folder, script) == "{2}"
    assert len(cached(folder)) == 1


def test_a_kernel_is_pickled_by_name(folder: Path) -> None:
    assert (
        run(folder, "import pickle, steps; print(pickle.loads(pickle.dumps(steps.next_one)) is steps.next_one)")
        == "True"
    )


MODULE = """
    from ostinato.core.jit import kernel, subroutine
    from ostinato.core.jit.types import int64

    STEP = {step}

    @subroutine()
    def step(number):
        return number + STEP

    @kernel(int64(int64))
    def next_one(number):
        return step(number)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(store.FOLDER_VARIABLE, str(tmp_path / "cache"))
    write_module(tmp_path, 1)
    return tmp_path


def write_module(folder: Path, step: int) -> None:
    (folder / "steps.py").write_text(dedent(MODULE).format(step=step))


SCRIPT = "import steps, sys; print(steps.next_one(1), 'numba' in sys.modules, 'llvmlite' in sys.modules)"


def start(folder: Path, script: str = SCRIPT, stderr: int = subprocess.PIPE) -> subprocess.Popen[str]:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), str(Path(ostinato.__file__).parents[1])])}
    command = [sys.executable, "-c", script]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=stderr, text=True)


def run(folder: Path, script: str = SCRIPT) -> str:
    process = start(folder, script)
    out, err = process.communicate(timeout=120)
    return out.strip() or err


def cached(folder: Path) -> list[Path]:
    return sorted((folder / "cache").glob("steps.next_one.*"))


def test_other_processes_find_what_one_compiled(folder: Path) -> None:
    assert run(folder) == "2 False True"
    (file,) = cached(folder)
    before = file.stat().st_mtime_ns
    assert run(folder) == "2 False True"
    assert file.stat().st_mtime_ns == before


def test_a_changed_source_is_compiled_anew(folder: Path) -> None:
    assert run(folder).startswith("2")
    write_module(folder, 10)
    assert run(folder).startswith("11")
    assert len(cached(folder)) == 2


def test_a_damaged_file_is_replaced(folder: Path) -> None:
    run(folder)
    (file,) = cached(folder)
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    assert run(folder).startswith("2")
    assert file.stat().st_size == len(whole)


def test_two_processes_at_once(folder: Path) -> None:
    both = [start(folder) for _ in range(2)]
    assert [process.communicate(timeout=120)[0].split()[0] for process in both] == ["2", "2"]
    assert len(cached(folder)) == 1 and len(os.listdir(folder / "cache")) == 1


def test_a_folder_that_cannot_be_written_to_is_named_once(folder: Path) -> None:
    (folder / "cache").touch()
    process = start(folder, "import steps; print(steps.next_one(1))")
    out, err = process.communicate(timeout=120)
    assert out == "2\n"
    assert err.count(str(folder / "cache")) == 1 and store.FOLDER_VARIABLE in err


def test_a_kernel_that_allocates_is_refused(folder: Path) -> None:
    text = (folder / "steps.py").read_text()
    (folder / "steps.py").write_text(text.replace("return step(number)", "return np.zeros(number).size").replace(
        "STEP =", "import numpy as np\n\nSTEP ="))  # fmt: skip
    assert "CompilationError: steps.next_one cannot be compiled" in run(folder)


def test_a_fork_can_compile_and_call(folder: Path) -> None:
    script = """
import os, steps
from ostinato.core.jit import prefetch
prefetch(steps.next_one)
child = os.fork()
answer = steps.next_one(1)
if child: os.waitpid(child, 0)  # so that they do not print at once
print(answer, flush=True)
"""
    assert run(folder, script).split() == ["2", "2"]


def test_the_interpreter_ends_well_with_kernels_in_memory(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONMALLOC", "malloc")
    monkeypatch.setenv("MALLOC_PERTURB_", "2")  # what is freed is overwritten at once, as it may be at any time
    process = start(folder)
    process.communicate(timeout=120)
    assert process.returncode == 0


def test_a_process_that_does_not_wait_leaves_none_behind(folder: Path) -> None:
    script = "import steps; from ostinato.core.jit import prefetch; prefetch(steps.next_one); print(1)"
    assert run(folder, script) == "1"


def test_a_killed_compiler_is_an_error_that_says_so(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = pool._start

    def start_and_kill() -> Any:
        process = real()
        process.send_signal(signal.SIGKILL)
        return process

    monkeypatch.setattr(pool, "_start", start_and_kill)
    monkeypatch.setattr(pool, "_pool", pool._Pool())
    assert isinstance(only_once, Kernel)
    with pytest.raises(pool.CompilationError, match=r"only_once ended with exit code -9"):
        only_once(1)
    monkeypatch.setattr(pool, "_start", real)
    monkeypatch.setattr(pool, "_pool", pool._Pool())
    assert only_once(1) == 1


def test_the_working_folder_and_settings_of_numba_change_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "data").mkdir()
    (folder / "data" / "numba.py").write_text("raise RuntimeError('not this one')")
    monkeypatch.chdir(folder / "data")
    assert run(folder).startswith("2")
    (file,) = cached(folder)
    whole = file.read_bytes()
    file.unlink()
    monkeypatch.setenv("NUMBA_OPT", "0")
    assert run(folder).startswith("2")
    assert len(file.read_bytes()) == len(whole)


def test_nothing_is_said_where_there_is_no_standard_error(folder: Path) -> None:
    script = "import sys; sys.stderr = None; from ostinato.core.jit import builds; builds.PATIENCE = 0.0; " + SCRIPT
    assert run(folder, script).startswith("2")


def test_people_who_wait_are_told(folder: Path) -> None:
    process = start(folder, "from ostinato.core.jit import builds; builds.PATIENCE = 0.0; " + SCRIPT)
    out, err = process.communicate(timeout=120)
    assert out.startswith("2")
    assert err.startswith("ostinato: compiling, once for this machine: 0 of 1 kernels, 0 s (steps.next_one)")


def test_threads_that_wait_at_once_are_told_of_one_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builds, "PATIENCE", 0.3)
    monkeypatch.setattr(builds, "STEP", 0.05)
    said: list[str] = []
    monkeypatch.setattr(builds, "_say", said.append)
    monkeypatch.setattr(builds, "_notice", builds._Notice())
    done: Future[bytes] = Future()
    with ThreadPoolExecutor(5) as threads:
        for _ in range(5):  # each begins while others wait, before anything would be said to it alone
            threads.submit(builds._wait, done)
            time.sleep(0.1)
        assert said and said[0].startswith("ostinato: compiling")
        done.set_result(b"")
    assert len(said) == 1
    assert builds._notice.waiting == 0


def test_what_is_said_fits_a_line_of_the_terminal(folder: Path) -> None:
    """A line that wraps cannot be written over."""
    shown, terminal = os.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("4H", 24, 50, 0, 0))
    script = "from ostinato.core.jit import builds; builds.PATIENCE = 0.0; " + SCRIPT
    process = start(folder, script, stderr=terminal)
    assert process.communicate(timeout=120)[0].startswith("2")
    os.close(terminal)
    lines = os.read(shown, 10_000).decode().split("\r")
    os.close(shown)
    assert lines[1].startswith("ostinato: compiling, once for this machine: 0 of")
    assert all(len(line.removesuffix("\x1b[K")) < 50 for line in lines)
    assert lines[-1] == "\x1b[K"


def test_beside_a_progress_bar_whole_lines_are_said(folder: Path) -> None:
    """The bar's stand-in for standard error says that it is a terminal, but cannot write over a line."""
    shown, terminal = os.openpty()
    bar = "import sys; from rich.console import Console; from rich.progress import Progress; bar = Progress("
    script = f"{bar}console=Console(stderr=True), redirect_stdout=False); bar.start(); "
    script += "from ostinato.core.jit import builds; builds.PATIENCE = 0.0; " + SCRIPT + "; bar.stop()"
    process = start(folder, script, stderr=terminal)
    assert process.communicate(timeout=120)[0].startswith("2")
    os.close(terminal)
    text = os.read(shown, 10_000).decode()
    os.close(shown)
    assert text.count("ostinato: compiling") == 1 and "[K" not in re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)


@kernel(int64(int64))
def only_once(number: int) -> int:
    return number


def test_a_wrong_number_of_arguments_is_an_error() -> None:
    with pytest.raises(TypeError, match="add_all: takes 2 parameters"):
        add_all(np.zeros(1, np.int32))  # type: ignore[call-arg]


def test_what_is_no_array_is_an_error() -> None:
    for given in (None, [1, 2], 3):
        with pytest.raises(TypeError, match="add_all: parameter 0"):
            add_all(given, 0)


def test_an_integer_that_does_not_fit_is_an_error() -> None:
    with pytest.raises(OverflowError):
        add_all(np.zeros(1, np.int32), 1 << 64)
    with pytest.raises(OverflowError):
        compare(0, -1, 0.0)


def test_arrays_in_another_byte_order_are_an_error() -> None:
    with pytest.raises(TypeError, match="add_all: parameter 0"):
        add_all(np.zeros(3, ">i4"), 0)


def test_equal_types_of_another_name_are_taken() -> None:
    assert first(np.zeros(1, np.longlong)) == 0


def test_calls_leave_no_reference_behind() -> None:
    numbers = np.arange(5, dtype=np.int32)
    big = 1 << 40
    add_all(numbers, big)
    before = sys.getrefcount(numbers), sys.getrefcount(big), sys.getrefcount(None)
    for _ in range(1000):
        add_all(numbers, big)
        compare(-1, np.uint64(1 << 63), 0.5)
    after = sys.getrefcount(numbers), sys.getrefcount(big), sys.getrefcount(None)
    assert all(abs(now - then) < 100 for then, now in zip(before, after, strict=True))

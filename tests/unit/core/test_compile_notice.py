"""The line that is printed before kernels are compiled."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ostinato.core import compile_notice

WALK, SCAN = "ostinato.xseq.kernels.buffered.walk", "ostinato.xseq.kernels.one_pass.scan"


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("NUMBA_DISABLE_JIT", raising=False)
    for module in (WALK, SCAN):
        monkeypatch.delitem(sys.modules, module, raising=False)
    for function in (compile_notice.announce_compilation, compile_notice._say):
        function.cache_clear()
    yield
    for function in (compile_notice.announce_compilation, compile_notice._say):
        function.cache_clear()


def test_it_is_said_once_however_many_are_compiled(capsys: pytest.CaptureFixture[str]) -> None:
    for module in (WALK, SCAN, WALK):
        compile_notice.announce_compilation(module, takes="a while")
    assert capsys.readouterr().err.count("compiling kernels for this machine, once; this takes a while") == 1


def test_nothing_is_said_of_what_was_compiled_before(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "buffered_0123").mkdir()
    (tmp_path / "buffered_0123" / "walk.run-1.py311.nbi").touch()
    compile_notice.announce_compilation(WALK, takes="a while")
    assert capsys.readouterr().err == ""
    compile_notice.announce_compilation(SCAN, takes="a while")  # another folder, where nothing was compiled
    assert "compiling" in capsys.readouterr().err

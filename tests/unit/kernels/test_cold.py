"""The word before kernels are compiled."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ostinato.kernels import cold


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("NUMBA_DISABLE_JIT", raising=False)
    for function in (cold.announce, cold._say):
        function.cache_clear()
    yield
    for function in (cold.announce, cold._say):
        function.cache_clear()


def test_it_is_said_once_however_many_are_compiled(capsys: pytest.CaptureFixture[str]) -> None:
    for module in ("one_module", "another", "one_module"):
        cold.announce(module)
    assert capsys.readouterr().err.count("compiling kernels") == 1


def test_nothing_is_said_of_what_was_compiled_before(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "one_module.run-1.py311.nbi").touch()
    cold.announce("one_module")
    assert capsys.readouterr().err == ""

"""Which kernels Python calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ostinato.core.jit import Kernel


def note_calls(package: str, monkeypatch: pytest.MonkeyPatch) -> set[Any]:
    """A set that every kernel of a package is added to when it is called, if its module has been imported."""
    called: set[Any] = set()

    def note(kernel: Kernel, call: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any) -> Any:
            called.add(kernel)
            return call(*arguments)

        return run

    for kernel in Kernel.known:
        if kernel.kernel_module.startswith(f"{package}."):
            monkeypatch.setattr(kernel, "_call", note(kernel, kernel._call))
    return called

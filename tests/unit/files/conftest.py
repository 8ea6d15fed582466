"""Files for the tests of this folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from ostinato.files import text
from support.event_files import Write


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Text files in blocks of a line or two."""
    monkeypatch.setattr(text, "BLOCK", 32)

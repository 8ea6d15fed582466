"""Pages and docstrings name files that are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.paths import ROOT

PACKAGE = ROOT / "src" / "ostinato"
FOLDERS = ("docs", "benchmarks", "tests")
PAGES = sorted([*ROOT.glob("*.md"), *(page for folder in FOLDERS for page in (ROOT / folder).rglob("*.md"))])
SOURCES = sorted([*PACKAGE.rglob("*.py"), *(ROOT / "tests").rglob("*.py")])
# A path with at least one folder; names alone may be examples of a user's files.
MENTIONED = re.compile(r"(?<![\w/.<…*-])([a-z_]+(?:/[a-z_0-9]+)+\.(?:py|lark))\b")


def is_there(mentioned: str, page: Path) -> bool:
    """Relative to the repository, to the package, or to a folder above the file that mentions it."""
    return any((folder / mentioned).exists() for folder in (ROOT, PACKAGE, *page.parents))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_names_files_that_are_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert [path for path in MENTIONED.findall(text) if not is_there(path, page)] == []


def test_docstrings_and_comments_name_files_that_are_there() -> None:
    wrong = {
        str(source.relative_to(ROOT)): missing
        for source in SOURCES
        if (missing := [path for path in MENTIONED.findall(source.read_text("utf-8")) if not is_there(path, source)])
    }
    assert wrong == {}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_lines_of_prose_are_at_most_120_characters(page: Path) -> None:
    prose = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    assert [line for line in prose.splitlines() if len(line) > 120 and not line.lstrip().startswith("|")] == []


def test_the_architecture_names_files_with_their_folders() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    assert re.findall(r"`([a-z_]+\.(?:py|lark))`", text) == ["errors.py"]  # it is in no folder


def test_decisions_are_newest_first() -> None:
    days = re.findall(r"^\*\*(\d{4}-\d\d-\d\d)\.", (ROOT / "docs" / "decisions.md").read_text("utf-8"), re.MULTILINE)
    assert len(days) > 10
    assert days == sorted(days, reverse=True)

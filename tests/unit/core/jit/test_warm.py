"""What is compiled ahead of time: every kernel that Python calls, and nothing else."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from ostinato.core.jit import store, warm
from ostinato.core.jit.kernel import Kernel, Version
from ostinato.errors import OstinatoError
from support import commands

ROOT = Path(warm.__file__).parents[2]


def decorators(function: ast.FunctionDef) -> set[str]:
    calls = [each.func for each in function.decorator_list if isinstance(each, ast.Call)]
    return {call.id for call in calls if isinstance(call, ast.Name)} & {"kernel", "subroutine"}


def python_names(node: ast.AST) -> Iterator[str]:
    """Names that Python code uses: whatever is outside of kernels and subroutines."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef) and decorators(child):
            continue
        if isinstance(child, ast.Name):
            yield child.id
        elif isinstance(child, ast.Attribute):
            yield child.attr
        yield from python_names(child)


@pytest.mark.slow
def test_kernels_are_what_python_calls_and_subroutines_are_the_rest() -> None:
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(ROOT.rglob("*.py"))}
    used = {name for tree in trees.values() for name in python_names(tree)}
    functions = [node for tree in trees.values() for node in tree.body if isinstance(node, ast.FunctionDef)]
    kernels = {function.name for function in functions if decorators(function) == {"kernel"}}
    assert len(kernels) > 50
    assert kernels - used == set(), "no Python code calls these: they should be subroutines"


def test_each_kernel_has_a_name_and_a_key_of_its_own() -> None:
    versions = warm.packaged_kernels()
    assert len({version.file_name for version in versions}) == len(versions) > 50
    assert {version.name for version in warm.packaged_kernels(["xseq"])} < {version.name for version in versions}


@pytest.fixture
def one_kernel(monkeypatch: pytest.MonkeyPatch) -> Version:
    from ostinato.patterns.kernels.match import find_live

    assert isinstance(find_live, Kernel)
    monkeypatch.setattr(warm, "packaged_kernels", lambda *_: find_live.versions)
    return find_live.versions[0]


def test_all_go_into_the_folder_and_are_not_compiled_twice(
    one_kernel: Version, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(store.FOLDER_VARIABLE, str(tmp_path / "cache"))
    seen: list[tuple[int, int, str]] = []
    first = warm.warm(tmp_path / "image", lambda *step: seen.append(step))
    assert (first.kernels, first.compiled, first.folder) == (1, 1, tmp_path / "image")
    assert seen == [(1, 1, one_kernel.name)]
    assert store.read_kernel(tmp_path / "image" / one_kernel.file_name)
    assert warm.warm(tmp_path / "image").compiled == 0
    assert not (tmp_path / "cache").exists()
    monkeypatch.setenv(store.FOLDER_VARIABLE, str(tmp_path / "image"))
    files, compiled = warm.collect_kernels([one_kernel])
    assert list(files) == [one_kernel.file_name] and compiled == 0


def test_nothing_is_compiled_where_kernels_run_as_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm, "INTERPRETED", True)
    with pytest.raises(OstinatoError, match="NUMBA_DISABLE_JIT is set"):
        warm.warm()


def test_a_folder_needs_a_name() -> None:
    refused = commands.run("warm", "--output", "")
    assert refused.exit_code == 1 and "--output cannot be ''" in refused.stderr


def test_a_file_is_no_folder(one_kernel: Version, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    refused = commands.run("warm", "--into", tmp_path / "file")
    assert refused.exit_code == 1 and str(tmp_path / "file") in refused.stderr and "Traceback" not in refused.stderr

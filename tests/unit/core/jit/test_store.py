"""Kept kernels: whole or not at all, whatever happens to the files."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from ostinato.core.jit import store
from ostinato.core.jit.store import find_kernel, read_kernel, write_kernel

KERNEL = bytes(range(256)) * 8


def test_a_kernel_comes_back_as_it_was(tmp_path: Path) -> None:
    write_kernel(tmp_path / "new" / "folder" / "k", KERNEL)
    assert read_kernel(tmp_path / "new" / "folder" / "k") == KERNEL
    assert os.listdir(tmp_path / "new" / "folder") == ["k"]


@pytest.mark.parametrize("size", [0, 1, 17, 20, 40, 60, 1000])
def test_a_file_cut_short_is_a_missing_one(tmp_path: Path, size: int) -> None:
    path = tmp_path / "k"
    write_kernel(path, KERNEL)
    path.write_bytes(path.read_bytes()[:size])
    assert read_kernel(path) is None


@pytest.mark.parametrize("place", [0, 20, 40, 500, -1])
def test_a_damaged_file_is_a_missing_one(tmp_path: Path, place: int) -> None:
    path = tmp_path / "k"
    write_kernel(path, KERNEL)
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)
    assert read_kernel(path) is None


def test_a_missing_file_a_folder_and_a_file_in_the_way_are_missing_kernels(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    assert [read_kernel(tmp_path / name) for name in ("none", "folder", "file/k")] == [None] * 3


def test_what_cannot_be_written_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full_disk(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full_disk)
    with pytest.raises(OSError, match="No space"):
        write_kernel(tmp_path / "k", KERNEL)
    assert os.listdir(tmp_path) == []


def test_the_package_may_bring_kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "PACKAGED", tmp_path)
    monkeypatch.setenv(store.FOLDER_VARIABLE, str(tmp_path / "cache"))
    assert find_kernel("k") is None
    write_kernel(tmp_path / "k", KERNEL)
    assert find_kernel("k") == KERNEL


def test_the_folder_is_the_user_s_unless_one_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(store.FOLDER_VARIABLE, "/given")
    assert store.cache_folder() == Path("/given")
    monkeypatch.delenv(store.FOLDER_VARIABLE)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    assert store.cache_folder() == Path("/caches/ostinato/kernels")


def test_a_file_under_another_name_is_a_missing_one(tmp_path: Path) -> None:
    write_kernel(tmp_path / "k", KERNEL)
    (tmp_path / "k").rename(tmp_path / "other")
    assert read_kernel(tmp_path / "other") is None


def test_a_user_without_a_home_has_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    for name in (store.FOLDER_VARIABLE, "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    assert find_kernel("k") is None
    with pytest.raises(OSError):
        write_kernel(store.cache_folder() / "k", KERNEL)


def test_a_pipe_under_a_kernel_s_name_is_a_missing_one(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "k")
    assert read_kernel(tmp_path / "k") is None


def test_of_several_zip_files_that_travel_a_whole_kernel_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = store.pack("k", KERNEL)
    for number, data in enumerate((whole[:-1], whole)):
        path = tmp_path / f"{store.TRAVELLING}{number}.zip"
        with ZipFile(path, "w") as made:
            made.writestr("k", data)
        monkeypatch.setattr("sys.path", [*sys.path, str(path)])
    monkeypatch.setenv(store.FOLDER_VARIABLE, str(tmp_path / "none"))
    assert find_kernel("k") == KERNEL

"""Compiles every kernel ahead of time, for an image or a folder that machines share."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ostinato.core.jit import builds, store
from ostinato.core.jit.kernel import Kernel, Version
from ostinato.core.jit.mode import INTERPRETED
from ostinato.errors import OstinatoError

_ROOT = Path(__file__).parents[2]
_DECORATOR = re.compile(r"^@kernel\(", re.MULTILINE)


@dataclass(frozen=True)
class Warmed:
    """How many kernels there are, how many of them had to be compiled, and where all of them are now."""

    kernels: int
    compiled: int
    bytes: int
    folder: Path


@cache
def kernel_modules() -> tuple[str, ...]:
    """The modules of this package that have kernels."""
    found = (path for path in _ROOT.rglob("*.py") if _DECORATOR.search(path.read_text(encoding="utf-8")))
    return tuple(sorted(".".join((_ROOT.name, *path.relative_to(_ROOT).with_suffix("").parts)) for path in found))


def packaged_kernels(within: Collection[str] = ()) -> list[Version]:
    """All kernels of this package that Python calls, or those of some parts of it, such as "core" or "core.columns"."""
    prefixes = tuple(f"{_ROOT.name}.{part}." for part in within) or (f"{_ROOT.name}.",)
    for module in kernel_modules():
        if f"{module}.".startswith(prefixes):
            importlib.import_module(module)
    known = (kernel for kernel in Kernel.known if f"{kernel.kernel_module}.".startswith(prefixes))
    return [version for kernel in known for version in kernel.versions]


def collect_kernels(versions: list[Version]) -> tuple[dict[str, bytes], int]:
    """The files of kernels, by name, and how many of them had to be compiled."""
    found, compiled = {}, 0
    for version, code, is_new in _build_all(versions, store.cache_folder(), quietly=False):
        found[version.file_name] = store.pack(version.file_name, code)
        compiled += is_new
    return found, compiled


def warm(into: Path | None = None, progress: Callable[[int, int, str], None] | None = None) -> Warmed:
    """Compile what is not stored yet, side by side, into the cache folder or another one, which gets all kernels.

    `progress` is called with how many are done, how many there are, and the name of the last one. Without it, people
    who wait are told on standard error.
    """
    if INTERPRETED:
        raise OstinatoError(
            "NUMBA_DISABLE_JIT is set, so kernels run as Python and none can be compiled", fix="unset it"
        )
    versions = packaged_kernels()
    folder = into or store.cache_folder()
    size = compiled = 0
    for done, (version, code, is_new) in enumerate(_build_all(versions, folder, quietly=progress is not None), 1):
        size += len(code)
        compiled += is_new
        if store.read_kernel(folder / version.file_name) is None:
            _write(folder / version.file_name, code)
        if progress:
            progress(done, len(versions), version.name)
    return Warmed(len(versions), compiled, size, folder)


def _write(path: Path, code: bytes) -> None:
    try:
        store.write_kernel(path, code)
    except OSError as error:
        raise OstinatoError(
            f"kernels cannot be kept in {path.parent}: {error.strerror or error}",
            fix="give a folder that can be written to, with some room",
        ) from None


def _build_all(versions: list[Version], folder: Path, *, quietly: bool) -> Iterator[tuple[Version, bytes, bool]]:
    """Each kernel's code, and whether it was compiled for this; all that are not stored are compiled side by side."""
    names = (version.file_name for version in versions)
    stored = [store.find_kernel(name) or store.read_kernel(folder / name) for name in names]
    builds.begin((version.request for version, code in zip(versions, stored, strict=True) if not code), folder)
    for version, code in zip(versions, stored, strict=True):
        yield version, code or builds.build(version.request, quietly=quietly), not code

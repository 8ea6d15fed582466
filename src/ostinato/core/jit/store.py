"""Where compiled kernels are kept: in the package, if it came with kernels for this platform, and in a cache folder.

A file per kernel, under its key. It begins with a digest of the rest, so that a file that is damaged or cut short is
like one that is missing. Files are written under another name and then renamed, so that nobody reads half of one.
A folder that cannot be read or written never stops anyone: kernels are then compiled again.
"""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any, cast
from zipimport import zipimporter

FOLDER_VARIABLE = "OSTINATO_KERNEL_CACHE"
TRAVELLING = "ostinato-kernels-"  # what zip files of kernels are named
PACKAGED = Path(__file__).parent / "compiled"
_MAGIC = b"ostinato kernel 1\n"
_DIGEST = 16

__loader__: Any


def cache_folder() -> Path:
    """The folder of the environment variable, or one in the user's own folder for caches."""
    if given := os.environ.get(FOLDER_VARIABLE):
        return Path(given)
    given = os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME")
    try:
        caches = "Library/Caches" if sys.platform == "darwin" else ".cache"
        return Path(given or Path.home() / caches) / "ostinato" / "kernels"
    except RuntimeError:  # a user without a home, as in some containers
        return Path(os.devnull) / "ostinato"


def find_kernel(name: str) -> bytes | None:
    """The kernel of a file name, if one is kept anywhere."""
    return _parse(name, _read_packaged(name)) or _find_travelling(name) or read_kernel(cache_folder() / name)


def read_kernel(path: Path) -> bytes | None:
    """What a file holds; None if there is none, or if it is not whole."""
    try:
        return _parse(path.name, path.read_bytes()) if path.is_file() else None  # to read a pipe would take for ever
    except OSError:
        return None


def _read_packaged(name: str) -> bytes:
    """From the package's folder or, on a cluster, the zip file that it came in."""
    try:
        return cast(bytes, __loader__.get_data(str(PACKAGED / name)))
    except OSError:
        return b""


def _find_travelling(name: str) -> bytes | None:
    """On the workers of a cluster: from the zip files of kernels that came with the job (spark/shipping.py)."""
    for path in sys.path:
        if os.path.basename(path).startswith(TRAVELLING):
            with suppress(OSError, ImportError):
                if (code := _parse(name, zipimporter(path).get_data(os.path.join(path, name)))) is not None:
                    return code
    return None


def pack(name: str, code: bytes) -> bytes:
    """What a file of a kernel holds."""
    return _MAGIC + blake2b(name.encode() + code, digest_size=_DIGEST).digest() + code


def _parse(name: str, data: bytes) -> bytes | None:
    code = data[len(_MAGIC) + _DIGEST :]
    return code if data and data == pack(name, code) else None


def write_kernel(path: Path, code: bytes) -> None:
    """Put a kernel into a file, all at once; OSError if that cannot be done."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=".", dir=path.parent)
    try:
        with open(handle, "wb") as file:
            file.write(pack(path.name, code))
        os.chmod(temporary, 0o644)  # a folder may be shared
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise

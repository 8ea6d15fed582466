"""Sends the package and its compiled kernels to the workers of a cluster, along with the job.

Workers then need the libraries that this package stands on, but neither the package nor a compiler. The sources travel
as one zip file, and the kernels of each language as another, since a job rarely needs all. Where driver and workers
share a machine and its folders (master `local[…]`), nothing is sent.
"""

from __future__ import annotations

import logging
import py_compile
import tempfile
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from ostinato.core.jit import store
from ostinato.core.jit.mode import INTERPRETED
from ostinato.core.jit.warm import collect_kernels, packaged_kernels

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The packages whose kernels a language runs.
PARTS = {
    "patterns": ("core", "patterns"),
    "rules": ("core", "patterns", "rules"),
    "xseq": ("core", "documents", "xseq"),
    "forecast": ("core", "patterns", "forecast"),
}
_ROOT = Path(__file__).parents[1]
_log = logging.getLogger(__name__)
_sent: WeakKeyDictionary[Any, dict[str, Shipment]] = WeakKeyDictionary()


@dataclass(frozen=True)
class Shipment:
    """The kernels of a language: how many there are, and how many of them had to be compiled on the driver."""

    kernels: int
    compiled: int

    def __str__(self) -> str:
        return f"{self.kernels} kernels travel with the job, {self.compiled} of them compiled now, on the driver"


def ship(spark: SparkSession, language: str) -> Shipment | None:
    """Send what a language needs, once per session; None where the workers have it already."""
    if INTERPRETED or _shares_folders(spark):
        return None
    sent = _sent.setdefault(spark, {})
    if language not in sent:
        code, compiled = collect_kernels(PARTS[language])
        if not sent:
            _send(spark, _zip_package())
        _send(spark, _zip_kernels(language, code))
        sent[language] = Shipment(len(code), compiled)
        _log.info("%s: %s", language, sent[language])
    return sent[language]


def describe_kernels(spark: SparkSession, language: str) -> str:
    """How many kernels the workers run, and how they get there."""
    kernels = packaged_kernels(PARTS[language])
    missing = sum(store.find_kernel(kernel.file_name) is None for kernel in kernels)
    way = "read from this machine's cache" if _shares_folders(spark) else "sent with the job"
    return f"{len(kernels)}, {way}; {missing or 'none'} of them must be compiled first, on the driver"


def _shares_folders(spark: SparkSession) -> bool:
    """Whether tasks run in processes of this machine that find what this one finds."""
    context = getattr(spark, "_sc", None)  # a Connect session has none: its workers are elsewhere
    return context is not None and (context.master == "local" or context.master.startswith("local["))


def _send(spark: Any, path: Path) -> None:
    if hasattr(spark, "_sc"):
        spark._sc.addPyFile(str(path))
    else:
        spark.addArtifacts(str(path), pyfile=True)


@cache
def _folder() -> Path:
    """Spark copies files from here when tasks ask for them, so they stay as long as this process."""
    made = tempfile.TemporaryDirectory(prefix="ostinato-")
    _folders.append(made)
    return Path(made.name)


_folders: list[tempfile.TemporaryDirectory[str]] = []


@cache
def _zip_package() -> Path:
    """All sources, with their byte code: a fresh worker would else compile them all."""
    files = [path for path in sorted(_ROOT.rglob("*")) if path.is_file() and "__pycache__" not in path.parts]
    files = [path for path in files if store.PACKAGED not in path.parents]
    content = {str(path.relative_to(_ROOT.parent)): path.read_bytes() for path in files}
    for path in files:
        if path.suffix == ".py":
            mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
            made = py_compile.compile(str(path), str(_folder() / "code.pyc"), doraise=True, invalidation_mode=mode)
            content[str(path.relative_to(_ROOT.parent).with_suffix(".pyc"))] = Path(str(made)).read_bytes()
    return _zip("ostinato", content.items())


def _zip_kernels(language: str, code: dict[str, bytes]) -> Path:
    return _zip(f"{store.TRAVELLING}{language}", code.items())


def _zip(name: str, files: Iterable[tuple[str, bytes]]) -> Path:
    """A zip file that is named after its content, since Spark takes no second file of the same name."""
    files, digest = list(files), blake2b(digest_size=8)
    for path, data in files:
        digest.update(path.encode() + b"\0" + data)
    target = _folder() / f"{name}-{digest.hexdigest()}.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files:
            archive.writestr(path, data)
    return target

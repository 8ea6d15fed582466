"""Sends the package and its compiled kernels to the workers of a cluster, along with the job.

Workers then need the libraries that this package stands on, but neither the package nor a compiler. The sources travel
as one zip file, and the kernels that a job may run as another, if they are not there already. Where driver and workers
share a machine and its folders (master `local[…]`), nothing is sent.
"""

from __future__ import annotations

import io
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
from ostinato.core.jit.kernel import Version
from ostinato.core.jit.mode import INTERPRETED
from ostinato.core.jit.warm import collect_kernels, packaged_kernels

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ROOT = Path(__file__).parents[1]
_log = logging.getLogger(__name__)
_sent: WeakKeyDictionary[Any, set[str]] = WeakKeyDictionary()  # the kernels by session, as files are named


@dataclass(frozen=True)
class NeededKernels:
    """What a job may run: all kernels of some parts of this package, and others by themselves."""

    parts: tuple[str, ...]
    kernels: tuple[Any, ...] = ()

    def versions(self) -> list[Version]:
        others = [version for kernel in self.kernels for version in kernel.versions]
        return list(dict.fromkeys([*packaged_kernels(self.parts), *others]))


@dataclass(frozen=True)
class Shipment:
    """The kernels of a job: how many there are, and how many of them had to be compiled on the driver."""

    kernels: int
    compiled: int

    def __str__(self) -> str:
        return f"{self.kernels} kernels travel with the job, {self.compiled} of them compiled now, on the driver"


def ship(spark: SparkSession, needed: NeededKernels) -> Shipment | None:
    """Send what a job needs and the session does not have yet; None where the workers find it by themselves."""
    if INTERPRETED or _shares_folders(spark):
        return None
    if spark not in _sent:
        _send(spark, _zip_package())
        _sent[spark] = set()
    versions, sent = needed.versions(), _sent[spark]
    code, compiled = collect_kernels([version for version in versions if version.file_name not in sent])
    if code:
        _send(spark, _zip(store.TRAVELLING.removesuffix("-"), code.items()))
        sent.update(code)
    shipment = Shipment(len(versions), compiled)
    if code:  # what was sent before need not be said again
        _log.info("%s", shipment)
    return shipment


def describe_kernels(spark: SparkSession, needed: NeededKernels) -> str:
    """How many kernels the workers run, and how they get there."""
    if INTERPRETED:
        return "none: they run as Python"
    versions = needed.versions()
    missing = sum(store.find_kernel(version.file_name) is None for version in versions)
    if _shares_folders(spark):
        return (
            f"up to {len(versions)}, of which {missing or 'none'} would be compiled when first needed, on this machine"
        )
    return f"{len(versions)}, sent with the job; {missing or 'none'} of them must be compiled first, on the driver"


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


def _zip(name: str, files: Iterable[tuple[str, bytes]]) -> Path:
    """A zip file that is named after its content: Spark refuses another file of the same name, from any session."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files:
            archive.writestr(zipfile.ZipInfo(path), data, zipfile.ZIP_DEFLATED)  # without the time of day
    target = _folder() / f"{name}-{blake2b(made.getvalue(), digest_size=8).hexdigest()}.zip"
    target.write_bytes(made.getvalue())
    return target

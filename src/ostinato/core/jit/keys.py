"""The key of a compiled kernel: whatever it was made of. Equal keys, equal code; so keys need no dates and no paths.

That is the text of its module, the constants that the module imports, and the same of all modules whose kernels or
constants it uses. The layout of structs is part of the signature.
"""

from __future__ import annotations

import sys
from hashlib import blake2b
from importlib.util import find_spec
from types import ModuleType
from typing import Any, cast

import numpy as np

from ostinato.core.jit.cpu import platform_name
from ostinato.core.jit.types import Signature

PACKAGE, SELF = "ostinato.", "ostinato.core.jit"
COMPILERS = tuple(
    f"{SELF}.{name}" for name in ("compiler", "dispatchers", "entry", "front_end", "native", "numba_types")
)

_sources: dict[str, bytes] = {}


def kernel_key(function: Any, signature: Signature) -> str:
    """The key of a function, compiled for a signature and the kind of processor that this is."""
    digest = blake2b(digest_size=16)
    for part in (platform_name(), function.__module__, function.__qualname__, str(signature)):
        digest.update(part.encode() + b"\0")
    for module in sorted(_used_modules(function.__module__)):
        digest.update(module.encode() + b"\0" + _module_digest(module))
    for module in COMPILERS:
        digest.update(_source_digest(module))
    return digest.hexdigest()


def _used_modules(module: str) -> set[str]:
    """The module, and those whose kernels or constants it uses."""
    found: set[str] = set()
    pending = [module]
    while pending:
        name = pending.pop()
        if name in found:
            continue
        found.add(name)
        for value in vars(sys.modules[name]).values():
            other = value.__name__ if isinstance(value, ModuleType) else getattr(value, "kernel_module", None)
            if other and other.startswith(PACKAGE) and not other.startswith(SELF):
                pending.append(other)
    return found


def _module_digest(name: str) -> bytes:
    """Of a module's text, and of the constants in it, since those that it imports are not in its text."""
    digest = blake2b(_source_digest(name), digest_size=16)
    for key, value in sorted(vars(sys.modules[name]).items()):
        if not key.startswith("__") and _is_constant(value):
            digest.update(f"{key}={value!r}\0".encode())
        elif isinstance(value, np.ndarray):
            digest.update(f"{key}={value.dtype}{value.shape}\0".encode() + value.tobytes())
    return digest.digest()


def _is_constant(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(map(_is_constant, value))
    return value is None or isinstance(value, bool | int | float | complex | str | bytes | np.generic)


def _source_digest(name: str) -> bytes:
    if name not in _sources:
        module: Any = sys.modules.get(name)
        spec = None if module else find_spec(name)
        loader, path = (spec.loader, spec.origin) if spec else (module.__loader__, module.__file__)
        path = str(path).removesuffix("c")  # the source, also where byte code is loaded from a zip file
        _sources[name] = blake2b(cast(Any, loader).get_data(path), digest_size=16).digest()
    return _sources[name]

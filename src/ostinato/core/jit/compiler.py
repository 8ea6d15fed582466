"""The process that compiles kernels, started by pool.py.

It reads requests from its standard input and answers each with object code, or with why there is none. It ends when
its input does, so it never outlives the process that started it.
"""

from __future__ import annotations

import ctypes
import gc
import importlib.util
import os
import pickle
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from ostinato.core.jit.types import Signature


@dataclass(frozen=True)
class Request:
    """A kernel by the names of its module and its function, the number of its signature, and the name it shall have."""

    module: str
    path: str
    function: str
    signature: int
    symbol: str

    @property
    def name(self) -> str:
        """For people."""
        return f"{self.module}.{self.function}".removeprefix("ostinato.")


@dataclass(frozen=True)
class Failure:
    reason: str


def main() -> None:
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever is printed must not get between the answers
    gc.disable()  # compiling makes much garbage that dies at once, and little that has to be found
    while True:
        try:
            request = pickle.load(requests)
        except EOFError:
            return
        try:
            answer: bytes | Failure = compile_kernel(request)
        except Exception:
            answer = Failure(traceback.format_exc())
        try:
            pickle.dump(answer, answers)
            answers.flush()
        except BrokenPipeError:
            os._exit(0)  # nobody waits for it any more


def compile_kernel(request: Request) -> bytes:
    from ostinato.core.jit.numba_types import numba_signature

    dispatcher: Any = getattr(_import_module(request), request.function)
    signature = dispatcher.signatures_given[request.signature]
    types = numba_signature(signature)
    if types.args not in dispatcher.overloads:
        dispatcher.compile(types)
    return _emit(dispatcher.overloads[types.args], signature, request.symbol)


def _import_module(request: Request) -> ModuleType:
    """By name; from its file where it cannot be imported by that name, such as a script or a module of tests."""
    if request.module.startswith("ostinato."):
        return importlib.import_module(request.module)
    name = f"{request.module} of {request.path}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, Path(request.path))
        assert spec is not None and spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


def _emit(compiled: Any, signature: Signature, symbol: str) -> bytes:
    """Object code in which only the entry has a name to the outside: names are not the same in all processes."""
    from ostinato.core.jit.dispatchers import link, optimise
    from ostinato.core.jit.entry import make_entry

    codegen = compiled.library.codegen
    module = link(compiled.library)
    module.link_in(make_entry(compiled, symbol, signature))
    optimise(codegen, module, symbol)
    if missing := _missing_symbols(module):
        raise RuntimeError(f"{symbol} needs {', '.join(missing)}: does it allocate an array, or return one?")
    return bytes(codegen._tm.emit_object(module))


def _missing_symbols(module: Any) -> list[str]:
    """Functions that the code needs and that not every Python process has."""
    process = ctypes.CDLL(None)
    needed = {value.name for value in module.functions if value.is_declaration}
    return sorted(name for name in needed if not name.startswith("llvm.") and not hasattr(process, name))

"""Object code becomes a Python function: LLVM's loader places it into memory, and CPython calls it as a builtin."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from threading import Lock
from typing import Any

from ostinato.core.forks import after_fork
from ostinato.core.jit.native import check_layout, entry_constants
from ostinato.core.jit.types import Signature

_FASTCALL = 0x0080  # METH_FASTCALL
_loading = Lock()


def _forget() -> None:
    """A fork has no thread that would release the lock."""
    global _loading
    _loading = Lock()


after_fork(_forget)


@cache
def _engine() -> Any:
    import llvmlite.binding as llvm  # takes longer to import than all of this package, and only kernels need it

    check_layout()
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
    return llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)


def load_function(code: bytes, symbol: str, name: str, signature: Signature) -> Callable[..., Any]:
    """The function that object code has under a symbol, for Python."""
    from llvmlite.binding import ObjectFileRef

    with _loading:
        engine = _engine()
        engine.add_object_file(ObjectFileRef.from_data(code))
        engine.finalize_object()
        address = engine.get_function_address(symbol)
    definition = _MethodDefinition(name.encode(), address, _FASTCALL, None)
    # Never freed: the interpreter looks at functions until its very end, when no module holds the definition any more.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(definition))
    return _new_builtin(ctypes.byref(definition), entry_constants(name, signature), None)  # type: ignore[no-any-return]


class _MethodDefinition(ctypes.Structure):
    """CPython's PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


_new_builtin = ctypes.pythonapi.PyCFunction_NewEx
_new_builtin.argtypes = (ctypes.POINTER(_MethodDefinition), ctypes.py_object, ctypes.c_void_p)
_new_builtin.restype = ctypes.py_object

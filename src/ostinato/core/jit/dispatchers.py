"""What a kernel is in the process that compiles: numba's dispatcher, which compiles a function when it is needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from numba.core.codegen import CPUCodeLibrary
from numba.core.cpu import CPUContext

from ostinato.core.jit.front_end import KernelCompiler
from ostinato.core.jit.numba_types import numba_signature
from ostinato.core.jit.types import Signature

# No wrappers for Python: loader.py calls the code itself. No reference counting either, since no kernel allocates an
# array; that flag, `_nrt`, is not part of numba's public interface.
_FLAGS: dict[str, Any] = {
    "nogil": True, "error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True, "_nrt": False,
    "pipeline_class": KernelCompiler,
}  # fmt: skip


def make_dispatcher(function: Callable[..., Any], signatures: tuple[Signature, ...]) -> Any:
    """A function that has signatures is compiled for those alone; integers of other sizes are converted."""
    dispatcher = numba.njit(**_FLAGS)(function)
    dispatcher.signatures_given = signatures
    if signatures:
        resolve = dispatcher.get_call_template

        def get_call_template(arguments: Any, keywords: Any) -> Any:
            if dispatcher._can_compile:
                for signature in map(numba_signature, signatures):
                    if signature.args not in dispatcher.overloads:
                        dispatcher.compile(signature)
                dispatcher.disable_compile()
            return resolve(arguments, keywords)

        dispatcher.get_call_template = get_call_template
    return dispatcher


def optimise(codegen: Any, module: Any) -> None:
    """What numba does to a module, once: to the kernel with all that it calls."""
    passes, builder = codegen._module_pass_manager()
    passes.run(module, builder)


def _optimise_functions(library: Any, module: Any) -> None:
    """As numba does, but not for those that are only declared."""
    module.data_layout = library._codegen._data_layout
    for function in module.functions:
        if not function.is_declaration:
            passes, builder = library._codegen._function_pass_manager()
            passes.run(function, builder)


def _finish(library: Any) -> None:
    library._finalized = True


def _no_executable(*_: Any) -> Callable[..., Any]:
    """What numba knows a compiled function by: any builtin method, as long as each is another. Nobody calls it."""
    return [].clear


# numba would optimise every function by itself, and again within each of its callers, and turn each into machine code.
_sizes: dict[str, int] = {}
_measure = CPUContext.get_abi_sizeof


def _size_of(context: CPUContext, kind: Any) -> int:
    """Of a type, in bytes. LLVM parses a module to find out, and numba asks at every variable."""
    name = str(kind)
    if name not in _sizes:
        _sizes[name] = _measure(context, kind)
    return _sizes[name]


for owner, method, replacement in (
    (CPUContext, "get_abi_sizeof", _size_of),
    (CPUCodeLibrary, "_optimize_final_module", lambda library: None),
    (CPUCodeLibrary, "_finalize_final_module", _finish),
    (CPUCodeLibrary, "_optimize_functions", _optimise_functions),
    (CPUContext, "get_executable", _no_executable),
):
    assert hasattr(owner, method), f"this version of numba has no {owner.__name__}.{method}"
    setattr(owner, method, replacement)

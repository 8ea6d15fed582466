"""What a kernel is in the process that compiles: numba's dispatcher, which compiles a function when it is needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from llvmlite.binding import create_new_module_pass_manager
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


def make_dispatcher(
    function: Callable[..., Any], signatures: tuple[Signature, ...], *, inline: bool | None = None
) -> Any:
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
                        if inline is not None:
                            _mark(dispatcher.overloads[signature.args], "alwaysinline" if inline else "noinline")
                dispatcher.disable_compile()
            return resolve(arguments, keywords)

        dispatcher.get_call_template = get_call_template
    return dispatcher


def _mark(compiled: Any, attribute: str) -> None:
    function = compiled.library._final_module.get_function(compiled.fndesc.llvm_func_name)
    function.add_function_attribute(attribute)


def link(library: Any) -> Any:
    """A module of a compiled function with all that it calls, none of which has been optimised."""
    module = library._final_module.clone()
    seen, pending = {library}, [*library._linking_libraries]
    while pending:
        other = pending.pop()
        if other not in seen:
            seen.add(other)
            pending += other._linking_libraries
            module.link_in(other._final_module, preserve=True)
    return module


def optimise(codegen: Any, module: Any, entry: str) -> None:
    """What numba does to a module, once: to the kernel with all that it calls. Then only the entry has a name outside.

    Until then functions look as if others may call them, too. LLVM would make one large function of all that have a
    single caller, which takes longer to compile, and is no faster.
    """
    passes, builder = codegen._module_pass_manager()
    passes.run(module, builder)
    for value in (*module.functions, *module.global_variables):
        if not value.is_declaration and value.name != entry:
            value.linkage = "internal"
    clean = create_new_module_pass_manager()
    clean.add_global_dead_code_eliminate_pass()
    clean.run(module, builder)


def _finish(library: Any) -> None:
    library._finalized = True


def _no_executable(*_: Any) -> Callable[..., Any]:
    """What numba knows a compiled function by: any builtin method, as long as each is another. Nobody calls it."""
    return [].clear


_sizes: dict[str, int] = {}
_measure = CPUContext.get_abi_sizeof


def _size_of(context: CPUContext, kind: Any) -> int:
    """Of a type, in bytes. LLVM parses a module to find out, and numba asks at every variable."""
    name = str(kind)
    if name not in _sizes:
        _sizes[name] = _measure(context, kind)
    return _sizes[name]


# numba would optimise every function by itself, and again within each of its callers, and turn each into machine code.
for owner, method, replacement in (
    (CPUContext, "get_abi_sizeof", _size_of),
    (CPUCodeLibrary, "_optimize_functions", lambda library, module: None),
    (CPUCodeLibrary, "finalize", _finish),
    (CPUContext, "get_executable", _no_executable),
):
    assert hasattr(owner, method), f"this version of numba has no {owner.__name__}.{method}"
    setattr(owner, method, replacement)

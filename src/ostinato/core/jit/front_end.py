"""What makes numba's own part of compiling shorter: half of its time is spent before LLVM sees anything.

Kernels are plain loops over arrays and structs, so they need few of numba's passes; they apply the same operators to
the same types over and over; and they index C-contiguous arrays by integers. The code that LLVM makes stays the same.
All of this is internal to numba, so it is for the process that compiles alone, and its tests compare results.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.compiler import CompilerBase
from numba.core.compiler_machinery import PassManager
from numba.core.imputils import lower_builtin, lower_constant
from numba.core.typed_passes import (
    AnnotateTypes,
    IRLegalization,
    NativeLowering,
    NoPythonBackend,
    NopythonTypeInference,
    PreLowerStripPhis,
)
from numba.core.types.functions import BaseFunction
from numba.core.untyped_passes import FixupArgs, GenericRewrites, IRProcessing, ReconstructSSA, TranslateByteCode
from numba.np import arrayobj

from ostinato.core.jit.numba_types import ARRAY_DATA, ARRAY_SHAPE

_PASSES = (
    TranslateByteCode,
    FixupArgs,
    IRProcessing,
    GenericRewrites,  # `shape[0]` and the like
    ReconstructSSA,
    NopythonTypeInference,
    PreLowerStripPhis,
    IRLegalization,
    AnnotateTypes,
    NativeLowering,
    NoPythonBackend,
)


class KernelCompiler(CompilerBase):
    """numba's pipeline without closures, inlining, array expressions, parallel loops and unrolled tuples."""

    def define_pipelines(self) -> list[PassManager]:
        passes = PassManager("kernel")
        for each in _PASSES:
            passes.add_pass(each, each.__name__)
        passes.finalize()
        return [passes]


# -- the types of operators

_resolve = BaseFunction.get_call_type
_resolved: dict[Any, tuple[Any, dict[Any, Any]]] = {}


def _get_call_type(function: Any, context: Any, arguments: Any, keywords: Any) -> Any:
    """numba asks some forty templates what int64 + int64 is, each time it comes across one."""
    key = (function.typing_key, arguments)
    if keywords:
        return _resolve(function, context, arguments, keywords)
    if key not in _resolved:
        signature = _resolve(function, context, arguments, keywords)
        _resolved[key] = signature, dict(function._impl_keys)
        return signature
    signature, implementations = _resolved[key]
    function._impl_keys.update(implementations)
    return signature


setattr(BaseFunction, "get_call_type", _get_call_type)  # noqa: B010 -- mypy knows that it is a method

# -- items of arrays


def _pointer(context: Any, builder: Any, array: Any, indices: Sequence[Any], kinds: Sequence[Any]) -> Any:
    """Where an item of a C-contiguous array is; an index below zero counts from the end, as always."""
    place = None
    for axis, (given, kind) in enumerate(zip(indices, kinds, strict=True)):
        index = context.cast(builder, given, kind, types.intp)
        length = builder.extract_value(array, [ARRAY_SHAPE, axis])
        if kind.signed and not (isinstance(index, ir.Constant) and index.constant >= 0):
            below = builder.icmp_signed("<", index, ir.Constant(index.type, 0))
            index = builder.select(below, builder.add(index, length), index)
        place = index if place is None else builder.add(builder.mul(place, length), index)
    return builder.gep(builder.extract_value(array, ARRAY_DATA), [place])


def _is_item(array: Any, kinds: Sequence[Any]) -> bool:
    plain = array.layout == "C" and array.aligned and len(kinds) == array.ndim
    return plain and all(isinstance(kind, types.Integer) for kind in kinds)


def _split(builder: Any, kind: Any, index: Any) -> tuple[list[Any], list[Any]]:
    """The indices, and their types."""
    kinds = getattr(kind, "types", None)
    if kinds is None:
        return [index], [kind]
    return [builder.extract_value(index, axis) for axis in range(len(kinds))], list(kinds)


def _get(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    array, index = signature.args
    if not _is_item(array, [index]):
        return arrayobj.getitem_arraynd_intp(context, builder, signature, arguments)
    pointer = _pointer(context, builder, arguments[0], [arguments[1]], [index])
    return arrayobj.load_item(context, builder, array, pointer)


def _set(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    array, index, kind = signature.args
    indices, kinds = _split(builder, index, arguments[1])
    if not _is_item(array, kinds):
        return arrayobj.setitem_array(context, builder, signature, arguments)
    value = context.cast(builder, arguments[2], kind, array.dtype)
    arrayobj.store_item(context, builder, array, value, _pointer(context, builder, arguments[0], indices, kinds))
    return context.get_dummy_value()


# Reading items of tables is left to numba: LLVM makes slower code of some kernels when it sees the same in other words.
lower_builtin(operator.getitem, types.Array, types.Integer)(_get)
for index in (types.Integer, types.BaseTuple):
    for value in (types.Number, types.Boolean):
        lower_builtin(operator.setitem, types.Array, index, value)(_set)


@lower_constant(types.Dispatcher)
def _kernel_constant(context: Any, builder: Any, kind: Any, kernel: Any) -> Any:
    """A kernel that is passed to another: its type says which one it is. numba would write down its address."""
    return context.get_dummy_value()

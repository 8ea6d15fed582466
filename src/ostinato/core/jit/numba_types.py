"""What numba has to know of the types of kernels. Only the process that compiles imports this."""

from __future__ import annotations

import operator
from functools import cache
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.datamodel.models import OpaqueModel
from numba.core.datamodel.registry import register_default
from numba.core.typeconv.rules import default_type_manager
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate, ConcreteTemplate, infer_global, signature
from numba.extending import infer_getattr, lower_builtin, lower_cast, lower_getattr_generic

from ostinato.core.jit.array_struct import ArrayStruct
from ostinato.core.jit.memory import STACK_WORDS, float64_at, int32_at, int64_at, stack_words, uint8_at
from ostinato.core.jit.types import Array, Scalar, Signature, Struct, Structs, Tuple, Type

ARRAY_DATA, ARRAY_SHAPE = 4, 5  # of numba's struct for arrays; strides follow


def numba_type(kind: Type) -> Any:
    if isinstance(kind, Array):
        return types.Array(numba_type(kind.item), kind.dimensions, "C", readonly=kind.constant)
    if isinstance(kind, Struct):
        return struct_type(kind.struct)
    if isinstance(kind, Structs):
        return StructsType(struct_type(kind.struct))
    if isinstance(kind, Tuple):
        return types.Tuple([numba_type(item) for item in kind.items])
    assert isinstance(kind, Scalar)
    return getattr(types, {"bool": "boolean"}.get(kind.name, kind.name))


def numba_signature(signature: Signature) -> Any:
    return numba_type(signature.result)(*map(numba_type, signature.parameters))


class StructType(types.Type):
    """A struct of arrays, in compiled code: a pointer to the words that say where the arrays are."""

    def __init__(self, struct: type[ArrayStruct]) -> None:
        self.fields = {name: (numba_type(field.kind), field.place) for name, field in struct.FIELDS.items()}
        super().__init__(f"{struct.__module__}.{struct.__qualname__}")


class StructsType(types.Type):
    """Several structs of one class: a pointer to their addresses."""

    def __init__(self, struct: StructType) -> None:
        self.struct = struct
        super().__init__(f"several {struct.name}")


@cache
def struct_type(struct: Any) -> StructType:
    """A struct may be passed for one that it extends."""
    made = StructType(struct)
    for base in struct.__mro__[1:]:
        if issubclass(base, ArrayStruct) and base is not ArrayStruct:
            default_type_manager.set_safe_convert(made, struct_type(base))
    return made


register_default(StructType)(OpaqueModel)
register_default(StructsType)(OpaqueModel)


@infer_getattr
class _Fields(AttributeTemplate):
    key = StructType

    def generic_resolve(self, struct: StructType, name: str) -> Any:  # type: ignore[override]
        return struct.fields[name][0] if name in struct.fields else None


@lower_getattr_generic(StructType)
def _read_field(context: Any, builder: Any, struct: StructType, pointer: Any, name: str) -> Any:
    kind, place = struct.fields[name]
    begin = builder.bitcast(pointer, ir.IntType(64).as_pointer())

    def word(at: int) -> Any:
        found = builder.load(cgutils.gep_inbounds(builder, begin, place + at))
        # Only Python writes these words, between two calls: they may be read once, outside of loops.
        found.set_metadata("invariant.load", builder.module.add_metadata([]))
        return found

    if isinstance(kind, StructType | StructsType):
        return builder.inttoptr(word(0), pointer.type)
    if not isinstance(kind, types.Array):
        return word(0)
    return _array(context, builder, kind, word(0), [word(1 + dimension) for dimension in range(kind.ndim)])


def _array(context: Any, builder: Any, kind: Any, address: Any, shape: list[Any]) -> Any:
    """numba's struct for a C-contiguous array."""
    size = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(kind.dtype)))
    strides, items = [size], shape[-1]
    for length in reversed(shape[1:]):
        strides.insert(0, builder.mul(strides[0], length))
    for length in shape[:-1]:
        items = builder.mul(items, length)
    # What counts references, what owns the memory, number and size of items, ...
    value = ir.Constant(context.get_value_type(kind), None)
    value = builder.insert_value(value, items, 2)
    value = builder.insert_value(value, size, 3)
    value = builder.insert_value(value, builder.inttoptr(address, value.type.elements[ARRAY_DATA]), ARRAY_DATA)
    for dimension in range(kind.ndim):
        value = builder.insert_value(value, shape[dimension], [ARRAY_SHAPE, dimension])
        value = builder.insert_value(value, strides[dimension], [ARRAY_SHAPE + 1, dimension])
    return value


def _read_memory(function: Any, item: Any) -> None:
    """Let kernels call a function that makes an array of what is at an address."""
    kind = types.Array(item, 1, "C", readonly=True)

    @infer_global(function)
    class _Template(ConcreteTemplate):
        cases = (signature(kind, types.intp, types.intp),)

    @lower_builtin(function, types.intp, types.intp)
    def _make(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        address, length = arguments
        return _array(context, builder, kind, address, [length])


for _function, _item in (
    (int64_at, types.int64),
    (int32_at, types.int32),
    (float64_at, types.float64),
    (uint8_at, types.uint8),
):
    _read_memory(_function, _item)


@infer_global(stack_words)
class _StackWords(ConcreteTemplate):
    cases = (signature(types.Array(types.uint64, 1, "C")),)


@lower_builtin(stack_words)
def _reserve(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
    words = ir.ArrayType(ir.IntType(64), STACK_WORDS)
    memory = builder.ptrtoint(cgutils.alloca_once(builder, words), ir.IntType(64))
    return _array(context, builder, sig.return_type, memory, [context.get_constant(types.intp, STACK_WORDS)])


@lower_cast(StructType, StructType)
def _to_base(context: Any, builder: Any, struct: Any, base: Any, pointer: Any) -> Any:
    return pointer


@infer_global(operator.getitem)
class _Item(AbstractTemplate):
    def generic(self, arguments: Any, keywords: Any) -> Any:
        structs, place = arguments
        if isinstance(structs, StructsType) and isinstance(place, types.Integer):
            return signature(structs.struct, structs, types.intp)
        return None


@lower_builtin(operator.getitem, StructsType, types.intp)
def _read_item(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
    structs, place = arguments
    addresses = builder.bitcast(structs, ir.IntType(64).as_pointer())
    return builder.inttoptr(builder.load(cgutils.gep_inbounds(builder, addresses, place)), structs.type)

"""The entry of a kernel for Python: machine code that checks and unpacks arguments, and calls the kernel.

It is called as CPython calls builtin functions (METH_FASTCALL), which takes a tenth of a microsecond; ctypes needs two
and more for a few arrays. numba's own wrappers need numba to be loaded. The entry needs Python's stable interface, the
layout of tuples, and that of arrays in numpy's binary interface. Only the process that compiles imports this.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from llvmlite import ir
from llvmlite.binding import parse_assembly
from numba.core import types as numba_types
from numba.np.arrayobj import make_array, populate_array

from ostinato.core.jit import native
from ostinato.core.jit.numba_types import numba_type
from ostinato.core.jit.types import Array, Scalar, Signature, Struct, Tuple, Type, boolean, float32, float64, void

_BYTE, _INT, _WORD, _DOUBLE = ir.IntType(8), ir.IntType(32), ir.IntType(64), ir.DoubleType()
_OBJECT = _BYTE.as_pointer()
_ALIASES = {"int64": ("int64", "longlong"), "uint64": ("uint64", "ulonglong")}


def make_entry(compiled: Any, name: str, signature: Signature) -> Any:
    """A module with the entry of a compiled kernel, to be linked with that of the kernel."""
    module = compiled.library.codegen._create_empty_module(name)
    _Entry(compiled.target_context, module, compiled.fndesc.llvm_func_name, signature).write(name)
    return parse_assembly(str(module))


class _Entry:
    def __init__(self, context: Any, module: ir.Module, symbol: str, signature: Signature) -> None:
        self.context, self.module, self.signature = context, module, signature
        self.types = [numba_type(parameter) for parameter in signature.parameters]
        result = numba_type(signature.result)
        self.kernel = ir.Function(module, context.call_conv.get_function_type(result, self.types), symbol)
        self.result = result

    def write(self, name: str) -> None:
        kind = ir.FunctionType(_OBJECT, [_OBJECT, _OBJECT.as_pointer(), _WORD])
        function = ir.Function(self.module, kind, name)
        self.builder = builder = ir.IRBuilder(function.append_basic_block())
        self.constants, given, count = function.args
        with self._unless(builder.icmp_signed("==", count, _WORD(len(self.types)))):
            self._fail(native.WRONG_COUNT)
        values = []
        for place, parameter in enumerate(self.signature.parameters):
            argument = builder.load(builder.gep(given, [_WORD(place)]))
            values.append(self._unpack(argument, parameter, place))
        flat = self.context.get_arg_packer(self.types).as_arguments(builder, values)
        result = builder.alloca(self.kernel.function_type.args[0].pointee)
        raised = builder.alloca(_OBJECT)
        thread = self._call("PyEval_SaveThread", _OBJECT)
        words = [result, builder.bitcast(raised, self.kernel.function_type.args[1]), *flat]
        status = builder.call(self.kernel, words)
        self._call("PyEval_RestoreThread", ir.VoidType(), thread)
        with self._unless(builder.icmp_signed("==", status, _INT(0))):
            self._fail(native.FAILED)
        builder.ret(self._pack(result))

    # --- arguments

    def _unpack(self, argument: Any, parameter: Type, place: int) -> Any:
        if isinstance(parameter, Array):
            return self._unpack_array(argument, parameter, place)
        if isinstance(parameter, Struct):
            return self._unpack_struct(argument, place)
        assert isinstance(parameter, Scalar)
        builder = self.builder
        if parameter == boolean:
            found = self._call("PyObject_IsTrue", _INT, argument)
            self._propagate(builder.icmp_signed("==", found, _INT(-1)))
            return builder.icmp_signed("!=", found, _INT(0))
        if parameter in (float32, float64):
            number = self._call("PyFloat_AsDouble", _DOUBLE, argument)
            self._propagate(builder.fcmp_ordered("==", number, _DOUBLE(-1.0)))
            return number if parameter == float64 else builder.fptrunc(number, ir.FloatType())
        signed = not parameter.name.startswith("u")
        function = "PyLong_AsLongLong" if signed else "PyLong_AsUnsignedLongLong"
        if not signed:
            argument = self._call("PyNumber_Index", _OBJECT, argument)  # numpy's integers are not Python's
            self._propagate(self._is_null(argument), always=True)
        number = self._call(function, _WORD, argument)
        if not signed:
            self._call("Py_DecRef", ir.VoidType(), argument)
        self._propagate(builder.icmp_signed("==", number, _WORD(-1)))
        bits = 8 * np.dtype(parameter.name).itemsize
        return number if bits == 64 else builder.trunc(number, ir.IntType(bits))

    def _unpack_struct(self, argument: Any, place: int) -> Any:
        builder = self.builder
        found = self._call("PyObject_IsInstance", _INT, argument, self._constant(native.FIRST_CLASS + place))
        with self._unless(builder.icmp_signed("==", found, _INT(1))):
            self._fail(native.FIRST_MESSAGE + len(self.types) + place)
        number = self._call("PyObject_GetAttr", _OBJECT, argument, self._constant(native.ADDRESS))
        self._propagate(self._is_null(number), always=True)
        pointer = self._call("PyLong_AsVoidPtr", _OBJECT, number)
        self._call("Py_DecRef", ir.VoidType(), number)
        return pointer

    def _unpack_array(self, argument: Any, parameter: Array, place: int) -> Any:
        builder, kind = self.builder, numba_type(parameter)
        message = native.FIRST_MESSAGE + len(self.types) + place
        found = self._call("PyObject_IsInstance", _INT, argument, self._constant(native.NDARRAY))
        with self._unless(builder.icmp_signed("==", found, _INT(1))):
            self._fail(message)
        descriptor = self._load(argument, native.ARRAY_DTYPE, _OBJECT)
        number = self._load(descriptor, native.DTYPE_NUMBER, _INT)
        names = _ALIASES.get(parameter.item.name, (parameter.item.name,))
        fits = ir.Constant(ir.IntType(1), 0)
        for name in names:
            fits = builder.or_(fits, builder.icmp_signed("==", number, _INT(np.dtype(name).num)))
        swapped = builder.icmp_signed("==", self._load(descriptor, native.DTYPE_ORDER, _BYTE), _BYTE(ord(">")))
        fits = builder.and_(fits, builder.not_(swapped))
        rank = self._load(argument, native.ARRAY_RANK, _INT)
        fits = builder.and_(fits, builder.icmp_signed("==", rank, _INT(parameter.dimensions)))
        needed = _INT(native.CONSTANT_FLAGS if parameter.constant else native.WRITABLE_FLAGS)
        flags = builder.and_(self._load(argument, native.ARRAY_FLAGS, _INT), needed)
        with self._unless(builder.and_(fits, builder.icmp_signed("==", flags, needed))):
            self._fail(message)
        shape = self._words(argument, native.ARRAY_SHAPE, parameter.dimensions)
        strides = self._words(argument, native.ARRAY_STRIDES, parameter.dimensions)
        array = make_array(kind)(self.context, builder)
        data = builder.bitcast(self._load(argument, native.ARRAY_DATA, _OBJECT), array.data.type)
        size = self.context.get_constant(numba_types.intp, parameter.dtype.itemsize)
        populate_array(array, data=data, shape=shape, strides=strides, itemsize=size, meminfo=None)
        return array._getvalue()

    # --- results

    def _pack(self, result: Any) -> Any:
        builder, kind = self.builder, self.signature.result
        if kind == void:
            none = self._constant(native.NONE)
            self._call("Py_IncRef", ir.VoidType(), none)
            return none
        if not isinstance(kind, Tuple):
            assert isinstance(kind, Scalar)
            return self._pack_scalar(builder.load(result), kind)
        made = self._call("PyTuple_New", _OBJECT, _WORD(len(kind.items)))
        self._propagate(self._is_null(made), always=True)
        for place, item in enumerate(kind.items):
            value = self._pack_scalar(builder.load(builder.gep(result, [_INT(0), _INT(place)])), item)
            self._call("PyTuple_SetItem", _INT, made, _WORD(place), value)
        return made

    def _pack_scalar(self, value: Any, kind: Scalar) -> Any:
        builder = self.builder
        if kind == boolean:
            return self._call("PyBool_FromLong", _OBJECT, builder.zext(value, _WORD))
        if kind in (float32, float64):
            return self._call(
                "PyFloat_FromDouble", _OBJECT, value if kind == float64 else builder.fpext(value, _DOUBLE)
            )
        signed = not kind.name.startswith("u")
        if value.type.width < 64:
            value = builder.sext(value, _WORD) if signed else builder.zext(value, _WORD)
        return self._call("PyLong_FromLongLong" if signed else "PyLong_FromUnsignedLongLong", _OBJECT, value)

    # --- pieces

    def _call(self, name: str, result: Any, *arguments: Any) -> Any:
        found = self.module.globals.get(name)
        if found is None:
            kind = ir.FunctionType(result, [argument.type for argument in arguments])
            found = ir.Function(self.module, kind, name)
        return self.builder.call(found, arguments)

    def _load(self, argument: Any, offset: int, kind: Any) -> Any:
        place = self.builder.gep(argument, [_WORD(offset)])
        return self.builder.load(self.builder.bitcast(place, kind.as_pointer()))

    def _words(self, argument: Any, offset: int, count: int) -> list[Any]:
        first = self._load(argument, offset, _WORD.as_pointer())
        return [self.builder.load(self.builder.gep(first, [_WORD(axis)])) for axis in range(count)]

    def _constant(self, place: int) -> Any:
        """One of the objects in the tuple that is the function's `self`."""
        return self._load(self.constants, native.TUPLE_ITEMS + 8 * place, _OBJECT)

    def _is_null(self, found: Any) -> Any:
        return self.builder.icmp_unsigned("==", found, ir.Constant(_OBJECT, None))

    @contextmanager
    def _unless(self, condition: Any) -> Iterator[None]:
        with self.builder.if_then(self.builder.not_(condition), likely=False):
            yield

    def _fail(self, message: int) -> None:
        """Return with a TypeError, or a RuntimeError if the kernel failed, whose text is one of the constants."""
        error = native.RUNTIME_ERROR if message == native.FAILED else native.TYPE_ERROR
        self._call("PyErr_SetObject", ir.VoidType(), self._constant(error), self._constant(message))
        self.builder.ret(ir.Constant(_OBJECT, None))

    def _propagate(self, suspicious: Any, *, always: bool = False) -> None:
        """Return if Python has raised an error."""
        with self.builder.if_then(suspicious, likely=False):
            if always:
                self.builder.ret(ir.Constant(_OBJECT, None))
            else:
                raised = self.builder.not_(self._is_null(self._call("PyErr_Occurred", _OBJECT)))
                with self.builder.if_then(raised):
                    self.builder.ret(ir.Constant(_OBJECT, None))

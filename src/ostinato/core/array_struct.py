"""Arrays by name for compiled code: a struct that Python fills by keyword and that kernels read by attribute.

A class declares its fields once. In Python a field is an attribute that holds a numpy array, or an int. Setting it
checks its dtype and dimensions, and writes down where the array begins and how long it is. Compiled code gets a pointer
to these words, and `struct.nodes` is the array that they describe. So a call passes one argument, however many arrays
there are, and no two arrays can be swapped unseen. Without compilation kernels read the same attributes in Python.

A class may extend another one. Its fields come after those of its base, so kernels of the base take it, too.
"""

from __future__ import annotations

from array import array as word_array
from ctypes import c_void_p
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, cast, overload

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.datamodel.models import OpaqueModel
from numba.core.datamodel.registry import register_default
from numba.core.typeconv.rules import default_type_manager
from numba.core.typing.templates import AttributeTemplate
from numba.extending import NativeValue, infer_getattr, lower_cast, lower_getattr_generic, unbox
from numba.np.arrayobj import make_array, populate_array
from numba.np.numpy_support import from_dtype

Value = TypeVar("Value")

_HEADER = object.__basicsize__
_pointer_at = c_void_p.from_address
_C_CONTIGUOUS, _WRITEABLE = 0x1, 0x400  # NPY_ARRAY_C_CONTIGUOUS and NPY_ARRAY_WRITEABLE


def _read_address(values: npt.NDArray[Any]) -> int:
    """Where the data of an array begin: numpy's binary interface has the address right behind the object's header.

    This takes a tenth of the time of `values.ctypes.data`, which matters when there is one call per event.
    """
    return _pointer_at(id(values) + _HEADER).value or 0


def _ask_address(values: npt.NDArray[Any]) -> int:
    return values.ctypes.data


_probe = np.zeros(1)
_address = _read_address if _read_address(_probe) == _probe.ctypes.data else _ask_address


class Field(Generic[Value]):
    """An array of one dtype and number of dimensions, in C order; with no dimensions, a 64-bit integer.

    Kernels cannot write to one that is `constant`, and only such a one may hold memory that is read-only.
    """

    def __init__(self, dtype: Any, dimensions: int, doc: str, *, constant: bool = False) -> None:
        self.dtype, self.dimensions, self.constant = np.dtype(dtype), dimensions, constant
        self.flags = _C_CONTIGUOUS if constant else _C_CONTIGUOUS | _WRITEABLE
        self.__doc__ = doc
        self.name, self.place = "", 0

    def __set_name__(self, owner: type[ArrayStruct], name: str) -> None:
        self.name = name

    @property
    def words(self) -> int:
        """How many there are: the address and the length of each dimension, or the value if it has no dimensions."""
        return 1 + self.dimensions

    @property
    def numba_type(self) -> Any:
        kind = from_dtype(self.dtype)
        return types.Array(kind, self.dimensions, "C", readonly=self.constant) if self.dimensions else kind

    if TYPE_CHECKING:  # ArrayStruct stores the value as an attribute of the instance

        @overload
        def __get__(self, struct: None, owner: type[ArrayStruct]) -> Field[Value]: ...
        @overload
        def __get__(self, struct: ArrayStruct, owner: type[ArrayStruct]) -> Value: ...
        def __get__(self, struct: ArrayStruct | None, owner: type[ArrayStruct]) -> Any: ...
        def __set__(self, struct: ArrayStruct, value: Value) -> None: ...

    def write(self, value: Any, words: word_array[int]) -> None:
        """Write down where a value is; TypeError if this field cannot hold it."""
        place = self.place
        if not self.dimensions:
            words[place] = value
            return
        shape = value.shape
        if value.dtype != self.dtype or len(shape) != self.dimensions or value.flags.num & self.flags != self.flags:
            kind = f"{self.dtype} with {self.dimensions} dimensions, in C order{'' if self.constant else ', writable'}"
            raise TypeError(f"{self.name} must be an array of {kind}; not of {value.dtype} with shape {shape}")
        words[place] = _address(value)
        for length in shape:
            place += 1
            words[place] = length


class ViewField(Field[Value]):
    """The memory of another field, as another dtype of the same size."""

    def __init__(self, dtype: Any, of: Field[Any], doc: str) -> None:
        super().__init__(dtype, of.dimensions, doc, constant=of.constant)
        self.of = of

    if not TYPE_CHECKING:

        def __get__(self, struct: ArrayStruct | None, owner: type[ArrayStruct]) -> Any:
            return self if struct is None else struct.__dict__[self.of.name].view(self.dtype)


class StructField(Field[Value]):
    """Another struct, to which the struct has a pointer."""

    def __init__(self, struct: type[Value], doc: str) -> None:
        super().__init__(np.int64, 0, doc)
        self.struct = struct

    @property
    def numba_type(self) -> Any:
        return struct_type(self.struct)

    def write(self, value: Any, words: word_array[int]) -> None:
        if not isinstance(value, self.struct):
            raise TypeError(f"{self.name} must be a {self.struct.__name__}, not {type(value).__name__}")
        words[self.place] = cast(Any, value).address


class ArrayStruct:
    """Base class of such structs. It holds the arrays, so that they live as long as kernels may read them."""

    FIELDS: ClassVar[dict[str, Field[Any]]] = {}
    PLACED: ClassVar[dict[str, Field[Any]]] = {}  # those with words of their own
    SIZE: ClassVar[int] = 0  # in words
    address: int
    _numba_type_: ClassVar[Any]  # numba looks for this name

    def __init_subclass__(cls) -> None:
        own = {name: field for name, field in vars(cls).items() if isinstance(field, Field)}
        placed = {name: field for name, field in own.items() if not isinstance(field, ViewField)}
        for field in placed.values():
            field.place = cls.SIZE
            cls.SIZE += field.words
        for field in own.values():
            if isinstance(field, ViewField):
                field.place = field.of.place
        cls.FIELDS, cls.PLACED = {**cls.FIELDS, **own}, {**cls.PLACED, **placed}
        cls._numba_type_ = StructType(cls)
        for base in cls.__mro__[1:]:
            if issubclass(base, ArrayStruct) and base is not ArrayStruct:
                default_type_manager.set_safe_convert(cls._numba_type_, base._numba_type_)

    def __init__(self, **fields: Any) -> None:
        """All fields, by name."""
        placed = self.PLACED
        if fields.keys() != placed.keys():
            missing, unknown = sorted(placed.keys() - fields.keys()), sorted(fields.keys() - placed.keys())
            raise TypeError(f"{type(self).__name__}: missing fields: {missing}, unknown fields: {unknown}")
        words = word_array("q", bytes(8 * self.SIZE))
        for name, value in fields.items():
            placed[name].write(value, words)
        self.__dict__.update(fields, words=words, address=words.buffer_info()[0])

    def update(self, **fields: Any) -> None:
        """Set some fields, by name."""
        own, placed = self.__dict__, self.PLACED
        words = own["words"]
        for name, value in fields.items():
            if own.get(name) is not value:
                if name not in placed:
                    raise AttributeError(f"{type(self).__name__} has no field `{name}` to be set")
                placed[name].write(value, words)
                own[name] = value

    def __setattr__(self, name: str, value: Any) -> None:
        self.update(**{name: value})

    def __reduce__(self) -> Any:
        raise TypeError(f"{type(self).__name__} points to memory of this process, so it cannot be copied or sent")


class StructType(types.Type):
    """A struct class in compiled code. Its name lists the fields, so that no cached kernel outlives their layout."""

    def __init__(self, struct: type[ArrayStruct]) -> None:
        self.fields = {name: (field.numba_type, field.place) for name, field in struct.FIELDS.items()}
        layout = ", ".join(f"{name}: {kind} @ {place}" for name, (kind, place) in self.fields.items())
        super().__init__(f"{struct.__qualname__}({layout})")


def struct_type(struct: Any) -> Any:
    """The type of a struct class, for the signatures of kernels."""
    return struct._numba_type_


register_default(StructType)(OpaqueModel)


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

    if isinstance(kind, StructType):
        return builder.inttoptr(word(0), pointer.type)
    if not isinstance(kind, types.Array):
        return word(0)
    array = make_array(kind)(context, builder)
    shape = [word(1 + dimension) for dimension in range(kind.ndim)]
    size = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(kind.dtype)))
    strides = [size]
    for length in reversed(shape[1:]):
        strides.insert(0, builder.mul(strides[0], length))
    data = builder.inttoptr(word(0), array.data.type)
    populate_array(array, data=data, shape=shape, strides=strides, itemsize=size, meminfo=None)
    return array._getvalue()


@lower_cast(StructType, StructType)
def _to_base(context: Any, builder: Any, struct: Any, base: Any, pointer: Any) -> Any:
    return pointer


@unbox(StructType)
def _to_pointer(kind: StructType, struct: Any, c: Any) -> Any:
    address = c.pyapi.object_getattr_string(struct, "address")
    pointer = c.pyapi.long_as_voidptr(address)
    c.pyapi.decref(address)
    return NativeValue(pointer, is_error=cgutils.is_not_null(c.builder, c.pyapi.err_occurred()))

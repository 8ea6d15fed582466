"""Arrays by name for compiled code: a struct that Python fills by keyword and that kernels read by attribute.

A class declares its fields once. In Python a field is an attribute that holds a numpy array, or an int. Setting it
checks its dtype and dimensions, and writes down where the array begins and how long it is. Compiled code gets a pointer
to these words, and `struct.nodes` is the array that they describe. So a call passes one argument, however many arrays
there are, and no two arrays can be swapped unseen. Without compilation kernels read the same attributes in Python.

A class may extend another one. Its fields come after those of its base, so kernels of the base take it, too.
"""

from __future__ import annotations

from array import array as word_array
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar, cast, overload

import numpy as np

from ostinato.core.arrays import Int64
from ostinato.core.jit.memory import C_CONTIGUOUS, WRITEABLE, address_of
from ostinato.core.jit.types import Array, Structs, Type, scalar, struct_type

Value = TypeVar("Value")


class Field(Generic[Value]):
    """An array of one dtype and number of dimensions, in C order; with no dimensions, a 64-bit integer.

    Kernels cannot write to one that is `constant`, and only such a one may hold memory that is read-only.
    """

    def __init__(self, dtype: Any, dimensions: int, doc: str, *, constant: bool = False) -> None:
        self.dtype, self.dimensions, self.constant = np.dtype(dtype), dimensions, constant
        self.flags = C_CONTIGUOUS if constant else C_CONTIGUOUS | WRITEABLE
        self.__doc__ = doc
        self.name, self.place = "", 0

    def __set_name__(self, owner: type[ArrayStruct], name: str) -> None:
        self.name = name

    @property
    def words(self) -> int:
        """How many there are: the address and the length of each dimension, or the value if it has no dimensions."""
        return 1 + self.dimensions

    @property
    def kind(self) -> Type:
        """In compiled code."""
        item = scalar(self.dtype)
        return Array(item, self.dimensions, self.constant) if self.dimensions else item

    if TYPE_CHECKING:  # ArrayStruct stores the value as an attribute of the instance

        @overload
        def __get__(self, struct: None, owner: type[ArrayStruct]) -> Field[Value]: ...
        @overload
        def __get__(self, struct: ArrayStruct, owner: type[ArrayStruct]) -> Value: ...
        def __get__(self, struct: ArrayStruct | None, owner: type[ArrayStruct]) -> Any: ...
        def __set__(self, struct: ArrayStruct, value: Value) -> None: ...

    def blank(self) -> Any:
        """An empty array, or 0."""
        return np.zeros((0,) * self.dimensions, self.dtype) if self.dimensions else 0

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
        words[place] = address_of(value)
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
    def kind(self) -> Type:
        return struct_type(self.struct)

    def blank(self) -> Any:
        return cast(Any, self.struct).blank()

    def write(self, value: Any, words: word_array[int]) -> None:
        if not isinstance(value, self.struct):
            raise TypeError(f"{self.name} must be a {self.struct.__name__}, not {type(value).__name__}")
        words[self.place] = cast(Any, value).address


class StructList(tuple[Value, ...]):
    """Structs of one class, as a field holds them."""

    addresses: Int64

    def __new__(cls, structs: Iterable[Value]) -> StructList[Value]:
        made = super().__new__(cls, structs)
        made.addresses = np.array([cast(Any, struct).address for struct in made], np.int64)
        return made


class StructsField(Field[StructList[Value]]):
    """Several structs of one class: `struct.queries[3]` is one of them."""

    def __init__(self, struct: type[Value], doc: str) -> None:
        super().__init__(np.int64, 0, doc)
        self.struct = struct

    @property
    def kind(self) -> Type:
        return Structs(self.struct)

    def blank(self) -> Any:
        return StructList(())

    def write(self, value: Any, words: word_array[int]) -> None:
        if not isinstance(value, StructList) or not all(isinstance(each, self.struct) for each in value):
            raise TypeError(f"{self.name} must be a StructList of {self.struct.__name__}")
        words[self.place] = address_of(value.addresses)


class ArrayStruct:
    """Base class of such structs. It holds the arrays, so that they live as long as kernels may read them."""

    FIELDS: ClassVar[dict[str, Field[Any]]] = {}
    PLACED: ClassVar[dict[str, Field[Any]]] = {}  # those with words of their own
    SIZE: ClassVar[int] = 0  # in words
    address: int

    def __init_subclass__(cls) -> None:
        own = {name: field for name, field in vars(cls).items() if isinstance(field, Field)}
        if taken := own.keys() & {"words", "address"}:
            raise TypeError(f"{cls.__name__}: {min(taken)} is a name that every struct has for itself")
        placed = {name: field for name, field in own.items() if not isinstance(field, ViewField)}
        for field in placed.values():
            field.place = cls.SIZE
            cls.SIZE += field.words
        for field in own.values():
            if isinstance(field, ViewField):
                field.place = field.of.place
        cls.FIELDS, cls.PLACED = {**cls.FIELDS, **own}, {**cls.PLACED, **placed}

    @classmethod
    def blank(cls, **fields: Any) -> Self:
        """With empty arrays in all other fields."""
        return cls(**({name: field.blank() for name, field in cls.PLACED.items() if name not in fields} | fields))

    @classmethod
    def layout(cls) -> str:
        """The fields, their types and their places: what compiled code relies on."""
        fields = ", ".join(f"{name}: {field.kind} @ {field.place}" for name, field in cls.FIELDS.items())
        return f"{cls.__qualname__}({fields})"

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

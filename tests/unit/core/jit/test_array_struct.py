"""Structs of arrays: built by keyword, checked, and read by compiled code under the same names."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from ostinato.core.arrays import Float64, Int32, Int64
from ostinato.core.jit import kernel, memory
from ostinato.core.jit.array_struct import ArrayStruct, Field, StructField, StructList, StructsField, ViewField
from ostinato.core.jit.types import int64, struct_type


class Inner(ArrayStruct):
    sizes = Field[Int64](np.int64, 1, "some sizes", constant=True)


class Base(ArrayStruct):
    left = Field[Int64](np.int64, 1, "one array")
    right = Field[Int64](np.int64, 1, "another of the same type")
    grid = Field[Int32](np.int32, 2, "rows and columns")
    scale = Field[int](np.int64, 0, "a number")


class Extended(Base):
    cells = Field[Int64](np.int64, 2, "more")
    floats = ViewField[Float64](np.float64, cells, "the same as floats")
    inner = StructField(Inner, "a struct of its own")


def new_base() -> Base:
    grid = np.arange(6, dtype=np.int32).reshape(3, 2)
    return Base(left=np.array([7]), right=np.array([8, 9]), grid=grid, scale=10)


def new_extended() -> Extended:
    inner = Inner(sizes=np.array([5, 6]))
    return Extended(
        cells=np.zeros((2, 3), np.int64), inner=inner, **{name: getattr(new_base(), name) for name in Base.FIELDS}
    )


@kernel(int64(struct_type(Base)))
def read_base(struct: Base) -> int:
    """Every field has its own digit."""
    grid = struct.grid
    return (
        struct.left[0]
        + struct.scale * struct.right[1]
        + 100 * grid[2, 1]
        + 1000 * grid.shape[0]
        + 10000 * len(struct.right)
    )


@kernel(int64(struct_type(Extended)))
def read_extended(struct: Extended) -> int:
    struct.floats[1, 2] = 0.5
    struct.cells[0, 1] = struct.inner.sizes[1]
    return read_base(struct)


def test_compiled_code_reads_each_array_by_its_name() -> None:
    assert read_base(new_base()) == 7 + 90 + 500 + 3000 + 20000
    struct = new_extended()
    assert read_extended(struct) == read_base(new_base())
    assert struct.floats[1, 2] == 0.5 and struct.cells[0, 1] == 6


def test_a_replaced_array_is_seen_by_the_next_call() -> None:
    struct = new_base()
    struct.left = np.array([3])
    struct.update(scale=20, right=np.array([0, 1, 2]))
    assert read_base(struct) == 3 + 20 + 500 + 3000 + 30000


def test_what_extends_a_struct_is_one() -> None:
    assert read_base(new_extended()) == read_base(new_base())


def test_a_missing_or_unknown_field_is_refused() -> None:
    with pytest.raises(TypeError, match=r"Inner: missing fields: \['sizes'\], unknown fields: \['size'\]"):
        Inner(size=np.array([1]))
    with pytest.raises(AttributeError, match="no field `middle`"):
        new_base().update(middle=np.array([1]))
    with pytest.raises(AttributeError, match="no field `floats`"):
        new_extended().floats = np.zeros((2, 3))


def test_fields_are_given_by_name_alone() -> None:
    build: Any = Inner
    with pytest.raises(TypeError):
        build(np.array([1]))


@pytest.mark.parametrize(
    "wrong", [np.zeros(2, np.int32), np.zeros((1, 2), np.int64), np.zeros(4, np.int64)[::2], np.zeros(2)]
)
def test_an_array_of_another_type_shape_or_order_is_refused(wrong: Any) -> None:
    struct = new_base()
    with pytest.raises(TypeError, match="left must be an array of int64 with 1 dimensions"):
        struct.left = wrong
    assert struct.left[0] == 7


def test_only_constants_may_be_read_only() -> None:
    array = np.array([1, 2])
    array.flags.writeable = False
    assert Inner(sizes=array).sizes is array
    with pytest.raises(TypeError, match="writable"):
        new_base().left = array


def test_a_struct_is_of_its_class() -> None:
    wrong: Any = new_base()
    with pytest.raises(TypeError, match="inner must be a Inner"):
        new_extended().inner = wrong


def test_a_struct_cannot_leave_its_process() -> None:
    with pytest.raises(TypeError, match="memory of this process"):
        pickle.dumps(new_base())


def test_the_type_changes_with_the_fields_so_that_no_cached_kernel_reads_another_layout() -> None:
    class Same(ArrayStruct):
        left = Field[Int64](np.int64, 1, "")
        right = Field[Int64](np.int64, 1, "")

    first = struct_type(Same)

    class Same(ArrayStruct):  # type: ignore[no-redef]
        right = Field[Int64](np.int64, 1, "")
        left = Field[Int64](np.int64, 1, "")

    assert struct_type(Same) != first


def test_the_fast_way_to_the_address_is_the_documented_one() -> None:
    values = np.arange(9)[3:]
    assert memory.address_of(values) == memory._ask_address(values) == values.ctypes.data


@pytest.mark.parametrize("name", ["words", "address"])
def test_names_that_structs_need_for_themselves_are_refused(name: str) -> None:
    with pytest.raises(TypeError, match=f"Wrong: {name} is a name"):
        type("Wrong", (ArrayStruct,), {name: Field(np.int64, 1, "an array")})


class Several(ArrayStruct):
    inner = StructsField(Inner, "structs by number")
    place = Field[int](np.int64, 0, "which one")


@kernel(int64(struct_type(Several)))
def read_several(struct: Several) -> int:
    chosen = struct.inner[struct.place]
    return chosen.sizes[0] + 10 * struct.inner[0].sizes[1]


def test_structs_are_read_by_number() -> None:
    inner = StructList(Inner(sizes=np.array([number, number + 1])) for number in range(4))
    struct = Several(inner=inner, place=3)
    assert read_several(struct) == 3 + 10
    struct.inner = StructList([inner[3], inner[0]])
    struct.place = 1
    assert read_several(struct) == 0 + 40


def test_several_structs_are_of_one_class() -> None:
    wrong: Any = StructList([new_base()])
    with pytest.raises(TypeError, match="inner must be a StructList of Inner"):
        Several(inner=wrong, place=0)

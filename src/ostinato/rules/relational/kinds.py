"""What streams and variables hold: an Arrow type, or TERM where the type differs from value to value.

A TERM is kept as text: `"` and the text of a string, the canonical text of anything else (terms.data). Equal values
have equal texts, so that such variables join like others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa

from ostinato.core import arrow
from ostinato.core.events import column_kinds

TERM: Any = None
Kind: TypeAlias = Any  # an Arrow type, or TERM
REF = "ref"  # i.ref: what tells an event from all others
DOCUMENT = "#document"  # the attribute that holds the whole event, where it is a document of its own


@dataclass(frozen=True)
class Attributes:
    """The attributes of the events of a stream, in order: by name, with the columns that hold them."""

    types: Mapping[str, Kind]
    columns: Mapping[str, str]

    @classmethod
    def of(cls, types: Mapping[str, Kind]) -> Attributes:
        """Columns have numbers for names: SQL would not tell `Area` and `area` apart."""
        return cls(types, {name: f"c{place}" for place, name in enumerate(types)})


def type_family(kind: Kind) -> str:
    """The kind of value as conditions see it (core.types): TERM may be anything."""
    return "unknown" if kind is TERM else column_kinds(pa.schema([("", kind)]))[""]


def map_leaf_types(kind: pa.DataType, change: Callable[[pa.DataType], pa.DataType]) -> pa.DataType:
    """The type with every type inside that is not nested changed."""
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(map_leaf_types(field.type, change)) for field in kind])
    if is_list(kind):
        return pa.list_(map_leaf_types(kind.value_type, change))
    if pa.types.is_map(kind):
        return pa.map_(map_leaf_types(kind.key_type, change), map_leaf_types(kind.item_type, change))
    return change(kind)


def logical_type(kind: pa.DataType) -> pa.DataType:
    """The type without how Arrow stores it: dictionaries, views and the like."""
    return map_leaf_types(kind, _logical_leaf)


def _logical_leaf(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return logical_type(kind.value_type)
    return pa.string() if pa.types.is_large_string(kind) or pa.types.is_string_view(kind) else kind


def null_as_text(kind: pa.DataType) -> pa.DataType:
    """The type as answers have it: columns that never had a value are text."""
    return map_leaf_types(kind, lambda leaf: pa.string() if pa.types.is_null(leaf) else leaf)


def is_list(kind: Kind) -> bool:
    return kind is not TERM and arrow.is_list(kind)


def is_nested(kind: Kind) -> bool:
    return kind is TERM or pa.types.is_nested(kind)


def common_type(left: Kind, right: Kind) -> Kind:
    """One type for values of both; TERM where there is none."""
    if left is TERM or right is TERM or left == right:
        return left if left == right else TERM
    if pa.types.is_null(left) or pa.types.is_null(right):
        return right if pa.types.is_null(left) else left
    if type_family(left) == type_family(right) == "number":
        whole = pa.types.is_integer(left) and pa.types.is_integer(right)
        return pa.int64() if whole else pa.float64()
    if type_family(left) == type_family(right) in ("timestamp", "string"):
        return left
    if pa.types.is_struct(left) and pa.types.is_struct(right):
        names = list(dict.fromkeys([*(field.name for field in left), *(field.name for field in right)]))
        both = {name: _either(left, right, name) for name in names}
        return TERM if TERM in both.values() else pa.struct(list(both.items()))
    if is_list(left) and is_list(right):
        inner = common_type(left.value_type, right.value_type)
        return TERM if inner is TERM else pa.list_(inner)
    return TERM


def _either(left: pa.StructType, right: pa.StructType, name: str) -> Kind:
    found = [kind.field(name).type for kind in (left, right) if kind.get_field_index(name) >= 0]
    return common_type(found[0], found[-1])

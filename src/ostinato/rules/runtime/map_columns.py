"""Maps in incoming events: like structs whose fields are the keys, which differ from value to value."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from ostinato.errors import DataError
from ostinato.rules.relational.kinds import is_list


def has_map(kind: pa.DataType) -> bool:
    """Whether the type is, or holds, a map."""
    if pa.types.is_map(kind):
        return True
    return has_map(kind.value_type) if is_list(kind) else any(has_map(each.type) for each in _fields(kind))


def check_maps(name: str, kind: pa.DataType) -> None:
    """Raise DataError for a map whose keys cannot be labels."""
    if pa.types.is_map(kind):
        if not pa.types.is_string(kind.key_type):
            reason = f"`{name}` is a map with keys of type {kind.key_type}, and labels are texts"
            raise DataError(reason, fix="make its keys texts, or leave the column out")
        check_maps(name, kind.item_type)
    elif is_list(kind):
        check_maps(name, kind.value_type)
    else:
        for each in _fields(kind):
            check_maps(f"{name}.{each.name}", each.type)


def maps_to_dicts(value: Any, kind: pa.DataType) -> Any:
    """What Arrow's to_pylist gives for a value of this type, with dicts for maps."""
    if value is None:
        return None
    if pa.types.is_map(kind):
        return {key: maps_to_dicts(item, kind.item_type) for key, item in value}
    if is_list(kind):
        return [maps_to_dicts(item, kind.value_type) for item in value]
    if pa.types.is_struct(kind):
        return {each.name: maps_to_dicts(value[each.name], each.type) for each in kind}
    return value


def _fields(kind: pa.DataType) -> list[pa.Field]:
    return list(kind) if pa.types.is_struct(kind) else []

"""The code of one event at a time, as Python values: looked up by their classes (value_classes.py)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from ostinato.core.arrow import is_text, plain_type
from ostinato.core.columns.event_codes import PredicateEncoder
from ostinato.core.columns.value_classes import classifier, compared_constants

_MOST_CODES = 1 << 16  # combinations of classes that are remembered


class RowCodes:
    """Codes of rows with these columns."""

    def __init__(self, encoder: PredicateEncoder, schema: pa.Schema, type_column: str | None) -> None:
        self._encoder, self._schema, self._type = encoder, schema, type_column
        constants = compared_constants(encoder.predicates)
        if (
            type_column is not None
            and encoder.relations
            and (named := constants.setdefault(type_column, set())) is not None
        ):
            text = is_text(plain_type(schema.field(type_column).type))
            constants[type_column] = named | encoder.relations if text else None
        self._classified = [
            (schema.get_field_index(name), classifier(schema.field(name).type, constants[name]))
            for name in coded_columns(encoder, type_column)
        ]
        self._codes: dict[tuple[Hashable, ...], int] = {}

    def code(self, values: Sequence[Any], position: int) -> int:
        """The code of a row, which errors call by its position."""
        classes = tuple([classify(values[place]) for place, classify in self._classified])
        code = self._codes.get(classes)
        return self._evaluate(classes, values, position) if code is None else code

    def _evaluate(self, classes: tuple[Hashable, ...], values: Sequence[Any], position: int) -> int:
        """By way of Arrow."""
        columns = [pa.array([value], kind) for value, kind in zip(values, self._schema.types, strict=True)]
        row = pa.table(columns, schema=self._schema)
        code = int(self._encoder.encode(row, self._type, np.array([position]))[0])
        if len(self._codes) >= _MOST_CODES:
            self._codes.clear()
        self._codes[classes] = code
        return code


def coded_columns(encoder: PredicateEncoder, type_column: str | None) -> list[str]:
    """What codes depend on."""
    types = [type_column] if type_column is not None and encoder.relations else []
    return list(dict.fromkeys([*types, *encoder.columns]))

"""Whether a document is what a schema says: what was left out of a query because of the schema depends on it."""

from __future__ import annotations

import numpy as np

from ostinato.errors import DataError
from ostinato.kernels.conform import first_break
from ostinato.tree.schema import DOCUMENT, Schema
from ostinato.tree.tokens import Names, Tokens


class Conformance:
    """Checks every element against the elements that its parent may have, a few nanoseconds each."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        known = sorted({name for pair in schema.allowed for name in pair} | {DOCUMENT})
        self.number = {name: place for place, name in enumerate(known)}
        self.allowed = np.zeros((len(known) + 1, len(known) + 1), np.uint8)
        for parent, child in schema.allowed:
            self.allowed[self.number[parent], self.number[child]] = 1
        self.numbers = np.zeros(0, np.int32)
        self.stack = np.zeros(64, np.int32)
        self.stack[0] = self.number[DOCUMENT]
        self.depth = np.zeros(1, np.int64)

    def push(self, tokens: Tokens, names: Names) -> None:
        """Raises DataError at the first element that the schema does not have there."""
        if len(names.texts) > self.numbers.size:
            none = len(self.number)
            self.numbers = np.array([self.number.get(text.decode(), none) for text in names.texts], np.int32)
        start = -1
        while start < 0:
            known = self.numbers, self.allowed, self.stack, self.depth
            start = first_break(tokens.kind, tokens.name, -1 - start, *known)
            if start < 0:
                self.stack = np.concatenate([self.stack, np.zeros_like(self.stack)])
        if start < tokens.kind.size:
            child = names.texts[tokens.name[start]].decode()
            parent = next(name for name, place in self.number.items() if place == self.stack[self.depth[0]])
            inside = "as the root" if parent == DOCUMENT else f"inside <{parent}>"
            raise DataError(
                f"<{child}> stands {inside}, which the schema ({self.schema.source}) does not have",
                fix="leave out schema=, or give one that fits",
            )

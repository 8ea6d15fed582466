"""The tables of the one pass: shared by all documents that are read with a query, perhaps at the same time."""

from __future__ import annotations

import numpy as np

import ostinato


class _Names:
    """The names of a document."""

    def __init__(self) -> None:
        self.texts: list[bytes] = []

    def id_of(self, name: bytes) -> int:
        if name not in self.texts:
            self.texts.append(name)
        return self.texts.index(name)


def test_tables_in_use_stay_as_they_are_when_a_document_adds_entries() -> None:
    stream = ostinato.xseq("//a/b")._compiled.stream
    assert stream is not None
    names = _Names()
    for name in range(stream.classes):
        query = stream.query(names, np.zeros(0, np.int64), np.zeros(0, np.int32))
        entries = query.entry_of.copy()
        stream.add(stream.first, name, 0)
        assert (query.entry_of == entries).all()
        assert entries.max() < query.flags.size

"""Names as small numbers."""

from __future__ import annotations

import pytest

from ostinato.documents.names import NameTable
from ostinato.errors import LimitError


def test_numbers_are_given_in_order_and_stay() -> None:
    table = NameTable([b"a", b"b"])
    assert [table.id_of(name) for name in (b"b", b"c", b"a", b"c")] == [1, 2, 0, 2]
    assert table.texts == [b"a", b"b", b"c"]


def test_it_grows_to_its_limit() -> None:
    table = NameTable(most=3_000, longest=100)
    names = [b"%d" % number * 5 for number in range(3_000)]
    assert [table.id_of(name) for name in names] == list(range(3_000)) and table.full
    assert [table.id_of(name) for name in names] == list(range(3_000))
    with pytest.raises(LimitError, match="too many different names"):
        table.id_of(b"one more")

"""The structs of the kernels: what each matcher must give, and what it gives under which name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ostinato.core.jit.array_struct import ArrayStruct
from ostinato.patterns.kernels import layout

STRUCTS = [kind for kind in vars(layout).values() if isinstance(kind, type) and issubclass(kind, ArrayStruct)]
STATES = [kind for kind in STRUCTS if kind is not ArrayStruct]


@pytest.mark.parametrize("struct", STATES)
def test_every_field_says_what_it_is(struct: type[ArrayStruct]) -> None:
    assert struct.FIELDS
    for field in struct.FIELDS.values():
        assert field.__doc__


@pytest.mark.parametrize("struct", STATES)
def test_no_two_fields_share_words(struct: type[ArrayStruct]) -> None:
    places = [word for field in struct.PLACED.values() for word in range(field.place, field.place + field.words)]
    assert places == list(range(struct.SIZE))


def steps(**changes: Any) -> layout.Steps:
    fields: dict[str, Any] = {
        "entries": np.zeros((8, 5), np.int32),
        "stride": 8,
        "ops": np.zeros((1, 3), np.int32),
        "emits": np.zeros((1, 2), np.int32),
        "slot_ends": np.zeros(1, np.int32),
        "slot_list": np.zeros(1, np.int32),
        "slots": np.zeros((1, 1), np.int32),
        "fresh": np.zeros(2, np.int32),
    }
    return layout.Steps(**{name: value for name, value in (fields | changes).items() if value is not None})


def test_a_matcher_that_forgets_a_field_is_told_which() -> None:
    assert steps().stride == 8
    with pytest.raises(TypeError, match=r"Steps: missing fields: \['ops'\], unknown fields: \[\]"):
        steps(ops=None)


def test_a_matcher_that_gives_what_the_kernel_does_not_know_is_told_so() -> None:
    with pytest.raises(TypeError, match=r"missing fields: \[\], unknown fields: \['acts'\]"):
        steps(acts=np.zeros((1, 3), np.int32))


def test_an_array_under_the_name_of_another_is_refused_where_they_differ() -> None:
    with pytest.raises(TypeError, match="slot_ends must be an array of int32 with 1 dimensions"):
        steps(slot_ends=np.zeros((1, 1), np.int32))

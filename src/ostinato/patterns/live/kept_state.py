"""What queries that run together keep between two pushes, as a snapshot holds it.

Keys without partial matches are left out, and so are queries without any: those that sleep take no room.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ostinato.patterns.kernels import protocol
from ostinato.patterns.live.shared_queries import SharedQueries
from ostinato.patterns.runtime.direct import Direct
from ostinato.patterns.runtime.matcher import Arrays, Meta

_KEYS = "of_keys"  # beside the arrays with a row per key: which keys have one


def save_query(shared: SharedQueries, number: int) -> tuple[Meta, Arrays] | None:
    """The state of a query, after `forget`; None if it has none."""
    matcher = _matcher(shared, number)
    keys = np.flatnonzero(matcher.live_keys())  # a query without keys has one row
    if not len(keys):
        return None
    meta, arrays = matcher.save()
    return meta, arrays | {name: matcher.array(name)[keys] for name in matcher.KEYED} | {_KEYS: keys.astype(np.int32)}


def rests(shared: SharedQueries) -> bool:
    """Whether no query has any state, after `forget`."""
    return not any(_matcher(shared, number).live_keys().any() for number in shared.members.engines)


def load_query(shared: SharedQueries, number: int, meta: Meta, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """Let a query go on with what was saved."""
    keys, cursor = arrays[_KEYS], arrays["cursor"]
    matcher = _matcher(shared, number)
    blank = {"key_epoch": int(cursor[protocol.EPOCH]), "slots": protocol.NIL}
    full: Arrays = {name: arrays[name] for name in matcher.ARRAYS}
    for name in matcher.KEYED:
        own = arrays[name]
        full[name] = np.full((int(keys[-1]) + 1, *own.shape[1:]), blank.get(name, 0), own.dtype)
        full[name][keys] = own
    matcher.load(meta, full)


def rest_query(shared: SharedQueries, number: int) -> None:
    """Let a query begin anew."""
    matcher = _matcher(shared, number)
    cursor = np.zeros(protocol.CURSOR_SIZE, np.int64)
    cursor[protocol.FREE] = protocol.NIL
    matcher.state.cursor = cursor
    for name in matcher.KEYED:
        matcher.set_array(name, matcher.array(name)[:0])
    if not shared.members.engines[number].stream.key_columns:
        matcher.grow_keys(1)
    shared.state.newest[number] = protocol.FOREVER


def _matcher(shared: SharedQueries, number: int) -> Direct:
    matcher = shared.members.engines[number].matcher
    assert isinstance(matcher, Direct)
    return matcher

"""What identifies a match, straight from its definition: a number of 128 bits made of the meaning of the query and of
the content of the events that the answer shows.

The content of an event is its time, its type, and the values of the columns that the query reads. Matches of the same
content, which events that are alike make, are told apart by counting them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, timedelta
from datetime import time as time_of_day
from decimal import Decimal
from hashlib import blake2b
from typing import Any

_ONES = 2**64 - 1
_SEEDS = 0x6F7374696E61746F, 0x2D6D61746368696E
_FACTORS = 0x100000001B3, 0x9FB21C651E98DF25
_NULL, _BOOLEAN, _INTEGER, _LARGE, _FLOAT, _TEXT, _BYTES, _MOMENT, _DATE, _TIME, _SPAN, _DECIMAL, _LIST, _STRUCT = (
    range(14)
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Hash = tuple[int, int]


def mix(word: int) -> int:
    """splitmix64."""
    word = (word + 0x9E3779B97F4A7C15) & _ONES
    word = ((word ^ word >> 30) * 0xBF58476D1CE4E5B9) & _ONES
    word = ((word ^ word >> 27) * 0x94D049BB133111EB) & _ONES
    return word ^ word >> 31


def take_in(known: Hash, word: int | Hash) -> Hash:
    one, other = word if isinstance(word, tuple) else (word & _ONES, word & _ONES)
    return mix(known[0] ^ one), mix(known[1] ^ other)


def hash_words(*words: int | Hash) -> Hash:
    found: Hash = _SEEDS
    for word in words:
        found = take_in(found, word)
    return found


def hash_value(value: Any) -> Hash:
    """Of one value, as Python has it."""
    if value is None:
        return hash_words(_NULL)
    if isinstance(value, bool):
        return hash_words(_BOOLEAN, int(value))
    if isinstance(value, int):
        return hash_words(_INTEGER if -(2**63) <= value < 2**63 else _LARGE, value)
    if isinstance(value, float):
        if value.is_integer() and abs(value) < 2**63:
            return hash_words(_INTEGER, int(value))
        return hash_words(_FLOAT, 0x7FF8 << 48 if value != value else struct.unpack("<Q", struct.pack("<d", value))[0])
    if isinstance(value, str | bytes):
        return _hash_bytes(
            _TEXT if isinstance(value, str) else _BYTES, value.encode() if isinstance(value, str) else value
        )
    if isinstance(value, Decimal):
        text = format(value, "f")
        return _hash_bytes(_DECIMAL, (text.rstrip("0").rstrip(".") if "." in text else text).encode())
    if isinstance(value, datetime):
        return _hash_span(_MOMENT, (value if value.tzinfo else value.replace(tzinfo=UTC)) - _EPOCH)
    if isinstance(value, timedelta):
        return _hash_span(_SPAN, value)
    if isinstance(value, date):
        return hash_words(_DATE, (value - _EPOCH.date()).days)
    if isinstance(value, time_of_day):
        seconds = (value.hour * 60 + value.minute) * 60 + value.second
        return hash_words(_TIME, seconds * 10**9 + value.microsecond * 1000)
    if isinstance(value, dict):
        return hash_words(_STRUCT, *map(hash_value, value.values()))
    sums = [0, 0]
    for place, part in enumerate(value, start=1):
        for lane, word in enumerate(hash_value(part)):
            sums[lane] = (sums[lane] + mix(word ^ mix(place))) & _ONES
    return hash_words(_LIST, len(value), (sums[0], sums[1]))


def _hash_bytes(kind: int, data: bytes) -> Hash:
    words = list(hash_words(kind))
    for lane, factor in enumerate(_FACTORS):
        for byte in data:
            words[lane] = ((words[lane] ^ byte) * factor) & _ONES
    return take_in((words[0], words[1]), len(data))


def _hash_span(kind: int, span: timedelta) -> Hash:
    return hash_words(kind, span.days * 86_400 + span.seconds, span.microseconds * 1000)


def identify(
    text: str,
    language: str,
    events: Iterable[tuple[Sequence[Any], Sequence[str] | None]],
    reached: int | None,
    earlier: int,
    known: tuple[Any, ...] = (),
) -> str:
    """The identity of a match of the query with this plain text.

    `events` are those that the answer shows, each with its content and the names that it is shown by (None for
    SELECT *). `earlier` is how many matches of the same content there were before. `known` is when the match is known,
    where the answer does not show all events: then that is part of its content.
    """
    digest = blake2b(f"{language}\0{text}".encode(), digest_size=16).digest()
    sums, count = [0, 0], 0
    for content, names in events:
        label = hash_value(None if names is None else ",".join(sorted(names)))
        event = hash_words(*map(hash_value, content), label)
        sums = [(total + word) & _ONES for total, word in zip(sums, event, strict=True)]
        count += 1
    words = int.from_bytes(digest[:8], "big"), int.from_bytes(digest[8:], "big")
    found = take_in(take_in(take_in(words, (sums[0], sums[1])), count), reached or 0)
    for each in known:
        found = take_in(found, hash_value(each))
    found = take_in(found, earlier)
    return f"{found[0]:016x}{found[1]:016x}"

"""The code of NULL: one that no value at hand has.

Values take all 64 bits, so any code may come as a value one day. Then NULL gets another one, wherever there are codes,
and what was under way begins again: no value is refused, and compiled code compares with one number.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from typing import Protocol, TypeVar
from weakref import WeakSet

import numpy as np

from ostinato.core.arrays import Int64
from ostinato.rules.kernels.layout import FIRST_NULL

_NAN = -(1 << 51)  # with this sign and exponent, all bits of a float that is none
T = TypeVar("T")


class NullTakenError(Exception):
    """A value has the code of NULL."""


class KeepsCodes(Protocol):
    """What keeps codes between steps."""

    def codes(self) -> Iterator[Int64]:
        """All arrays that have some."""
        ...

    def replace_null(self, old: int, new: int) -> None: ...


class NullCode:
    """The code of NULL for all that `keepers` have."""

    def __init__(self) -> None:
        self.null = FIRST_NULL
        self.keepers: WeakSet[KeepsCodes] = WeakSet()

    def check_codes(self, codes: Int64, missing: int = 0) -> Int64:
        """Codes of which so many stand for NULL; NullTakenError where more do."""
        if int(np.count_nonzero(codes == self.null)) != missing:
            raise NullTakenError
        return codes

    def change_null(self) -> None:
        """Give NULL a code that nothing has. It is drawn, so that nobody can send values to meet it."""
        old, new = self.null, self.null
        while new == old or any((codes == new).any() for keeper in self.keepers for codes in keeper.codes()):
            new = _NAN + random.getrandbits(51)
        self.null = new
        for keeper in self.keepers:
            keeper.replace_null(old, new)

    def adopt(self, arrays: Mapping[str, Int64], was: int) -> dict[str, Int64]:
        """Codes among which another one was that of NULL."""
        while self.null != was and any((codes == self.null).any() for codes in arrays.values()):
            self.change_null()
        return {name: np.where(codes == was, self.null, codes) for name, codes in arrays.items()}

    def with_null(self, make: Callable[[], T]) -> T:
        """What a function gives, which has no effect before it meets a value with the code of NULL: it begins again."""
        while True:
            try:
                return make()
            except NullTakenError:
                self.change_null()

"""Keeps pyarrow from importing pandas, which it does with the first array that it makes, wherever pandas is installed.

That takes 0.3 s, more than most runs. Only Spark needs pandas; all else works without it, as where it is not installed.
In a program of a user's this would not do: pyarrow has to know pandas' types there.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib.machinery import ModuleSpec


class _Hider:
    """Says, first of all finders of modules, that there is no pandas."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name == "pandas":
            raise ModuleNotFoundError("pandas is hidden from pyarrow", name=name)
        return None


_hider = _Hider()


def hide_pandas() -> None:
    sys.meta_path.insert(0, _hider)


def show_pandas() -> None:
    """For Spark. pyarrow asks again, if it has asked already, when it makes a data frame."""
    if _hider not in sys.meta_path:
        return
    sys.meta_path.remove(_hider)
    if "pyarrow" in sys.modules:
        with suppress(ImportError):
            sys.modules["pyarrow"].table({}).to_pandas()

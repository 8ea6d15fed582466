"""Runs a program and says, as its last line on standard error, what its CPU time was spent on: `start_parts.py CODE`.

Time belongs to what is innermost: importing a library, without what that imports in turn; building or loading a
grammar; loading kernels; and else to running the program.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

spent = {"python": time.process_time()}
_doing = ["running"]
_since = time.process_time()

# Functions by module, with the part that they belong to.
_PARTS = {
    "ostinato.core.text.grammar": {"load_parser": "grammar"},
    "ostinato.core.jit.builds": {"build": "kernels"},
    "ostinato.core.jit.loader": {"load_function": "kernels"},
    "ostinato.core.jit.keys": {"kernel_key": "kernels"},
}
_LIBRARIES = {"llvmlite": "kernels", "click": "typer", "shellingham": "typer", "rich": "rich"}


def switch(part: str | None) -> None:
    """Go on with a part, or with the one before it."""
    global _since
    now = time.process_time()
    spent[_doing[-1]] = spent.get(_doing[-1], 0.0) + now - _since
    _since = now
    if part is None:
        _doing.pop()
    else:
        _doing.append(part)


def counted(function: Callable[..., Any], part: str) -> Callable[..., Any]:
    def call(*arguments: Any, **named: Any) -> Any:
        switch(part)
        try:
            return function(*arguments, **named)
        finally:
            switch(None)

    return call


def part_of(module: str) -> str:
    """What the import of a module belongs to."""
    library = module.partition(".")[0]
    if library in sys.stdlib_module_names or library.startswith("_"):
        return "import: standard library"
    return _LIBRARIES.get(library, f"import: {library}")


def watch_imports() -> None:
    importlib: Any = sys.modules["_frozen_importlib"]
    find_and_load = importlib._find_and_load

    def load(name: str, import_: Any) -> Any:
        switch(part_of(name))
        try:
            return find_and_load(name, import_)
        finally:
            _count_calls(name)
            switch(None)

    importlib._find_and_load = load


def _count_calls(module: str) -> None:
    for path, part in _PARTS.pop(module, {}).items():
        *owners, name = path.split(".")
        owner: Any = sys.modules.get(module)
        for each in owners:
            owner = getattr(owner, each, None)
        if hasattr(owner, name):
            setattr(owner, name, counted(getattr(owner, name), part))


def main() -> None:
    watch_imports()
    try:
        exec(compile(sys.argv[1], "<program>", "exec"), {"__name__": "__main__"})
    except SystemExit as end:
        if end.code:
            raise
    finally:
        switch(None)
    print(json.dumps(spent), file=sys.stderr)


if __name__ == "__main__":
    main()

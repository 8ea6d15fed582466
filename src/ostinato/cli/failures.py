"""How the command line ends: every expected failure is a message and an exit code, never a traceback."""

from __future__ import annotations

import functools
import os
import signal
from collections.abc import Callable
from typing import Any, NoReturn, get_type_hints

import typer

from ostinato.errors import ANY, DataError, Limit, LimitError, Option, OstinatoError, Part, QueryError, Verb

_VERBS: dict[str, Callable[..., None]] = {}
# The exit code and the first word for each kind of error, the more special before OstinatoError.
_KINDS: dict[type[OstinatoError], tuple[int, str]] = {
    QueryError: (2, "query error"),
    DataError: (1, "data error"),
    LimitError: (1, "limit reached"),
    OstinatoError: (1, "error"),
}


class SignalReceived(BaseException):
    """A signal asked us to stop: files must be left as they were."""

    def __init__(self, number: int) -> None:
        self.number = number


def watch_signals() -> None:
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:  # under nohup, SIGHUP is to be ignored
            signal.signal(number, _stop)


def _stop(number: int, frame: object) -> NoReturn:
    signal.signal(number, signal.SIG_IGN)  # not again during the clean-up
    raise SignalReceived(number)


def report_errors(verb: Callable[..., None]) -> Callable[..., None]:
    """Turn every expected failure into a message and an exit code: 2 for the query or usage, 1 for data and files."""

    _VERBS[verb.__name__] = verb

    @functools.wraps(verb)
    def run(*args: Any, **kwargs: Any) -> None:
        try:
            verb(*args, **kwargs)
        except (typer.Exit, typer.BadParameter):
            raise
        except OstinatoError as error:
            code, what = next(found for kind, found in _KINDS.items() if isinstance(error, kind))
            _fail(code, what, error.render(_Writer(verb)))
        except BrokenPipeError:
            raise  # the reader of our output has gone; typer ends quietly
        except OSError as error:
            _fail(1, "error", f"{error.filename}: {error.strerror}" if error.filename else str(error))
        except MemoryError:
            fix = "narrow WITHIN, bound the matches with --limit-matches, or rules with --longest"
            _fail(1, "out of memory", f"fix: {fix}")
        except KeyboardInterrupt:
            _fail(130, "stopped", "nothing was written")
        except SignalReceived as error:
            _fail(128 + error.number, "stopped", "nothing was written")
        except Exception as error:
            if os.environ.get("OSTINATO_DEBUG"):
                raise
            found = OstinatoError(f"{type(error).__name__}: {error}", fix="report it, with what OSTINATO_DEBUG=1 shows")
            _fail(1, "internal error", str(found))

    return run


def write_option(part: Part) -> str:
    """A part of a message, with an option as the command line writes it whatever the verb."""
    if not isinstance(part, Option):
        return str(part)
    name = f"--{part.name.replace('_', '-')}"
    valued = part.value is not None and part.value != ANY and not isinstance(part.value, bool)
    return f"{name} {part.value}" if valued else name


class _Writer:
    """Writes the options, limits and calls that a message names as a verb of the command line has them."""

    def __init__(self, verb: Callable[..., None]) -> None:
        self.options = _options(verb)

    def __call__(self, part: Part) -> str:
        if isinstance(part, Verb):
            return f"ostinato {part.verb}"
        if isinstance(part, Limit):
            own = f"--limit-{part.name}"
            if own in self.options:
                return f"{own} {self.options[own]}"
            return f"--max {part.name}=N" if "--max" in self.options else f"{part} in Python"
        if not isinstance(part, Option):
            return part
        name = write_option(Option(part.name, None))
        if name not in self.options and name.removesuffix("s") in self.options:  # given once for each of the list
            part = Option(part.name.removesuffix("s"), part.value)
            name = name.removesuffix("s")
        trained = _options(_VERBS["train"]) if name not in self.options and "MODEL" in self.options else {}
        if name not in self.options and name not in trained:
            return str(part)
        value = (self.options | trained)[name] if part.value == ANY else part.value
        written = write_option(Option(part.name, value))
        return f"{written}, when the model is trained" if name in trained else written


def _options(verb: Callable[..., None]) -> dict[str, str]:
    """The options and arguments of a verb, with what their values are called."""
    hints = get_type_hints(verb, include_extras=True).values()
    found = [each for hint in hints for each in getattr(hint, "__metadata__", ())]
    # In an annotation, typer keeps the first name of an option in the place of its default.
    return {str(each.metavar if each.default is ... else each.default): each.metavar or "VALUE" for each in found}


def _fail(code: int, what: str, message: str) -> NoReturn:
    typer.echo(f"{typer.style(what, fg='red', bold=True)}: {message}", err=True)
    raise typer.Exit(code)

"""How the command line ends: every expected failure is a message and an exit code, never a traceback."""

from __future__ import annotations

import functools
import os
import signal
from collections.abc import Callable
from typing import Any, NoReturn

import typer

from ostinato.errors import DataError, LimitError, OstinatoError, QueryError


class Stopped(BaseException):
    """A signal asks to end: everything is to be left as it was."""

    def __init__(self, number: int) -> None:
        self.number = number


def watch_signals() -> None:
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:  # under nohup, SIGHUP is to be ignored
            signal.signal(number, _stop)


def _stop(number: int, frame: object) -> NoReturn:
    signal.signal(number, signal.SIG_IGN)  # not again while what was begun is removed
    raise Stopped(number)


def guarded(verb: Callable[..., None]) -> Callable[..., None]:
    """Turn every expected failure into a message and an exit code: 2 for the query or usage, 1 for data and files."""

    @functools.wraps(verb)
    def run(*args: Any, **kwargs: Any) -> None:
        try:
            verb(*args, **kwargs)
        except (typer.Exit, typer.BadParameter):
            raise
        except QueryError as error:
            _fail(2, "query error", str(error))
        except DataError as error:
            _fail(1, "data error", str(error))
        except LimitError as error:
            _fail(1, "limit reached", str(error))
        except OstinatoError as error:
            _fail(1, "error", str(error))
        except BrokenPipeError:
            raise  # whoever read our output has gone; typer ends quietly
        except OSError as error:
            _fail(1, "error", f"{error.filename}: {error.strerror}" if error.filename else str(error))
        except MemoryError:
            _fail(
                1,
                "out of memory",
                "fix: narrow WITHIN, bound the matches with --limit-matches, or rules with --longest",
            )
        except KeyboardInterrupt:
            _fail(130, "stopped", "nothing was written")
        except Stopped as error:
            _fail(128 + error.number, "stopped", "nothing was written")
        except Exception as error:
            if os.environ.get("OSTINATO_DEBUG"):
                raise
            _fail(
                1,
                "internal error",
                f"{type(error).__name__}: {error}\nfix: report it, with what OSTINATO_DEBUG=1 shows",
            )

    return run


def _fail(code: int, what: str, message: str) -> NoReturn:
    typer.echo(f"{typer.style(what, fg='red', bold=True)}: {message}", err=True)
    raise typer.Exit(code)

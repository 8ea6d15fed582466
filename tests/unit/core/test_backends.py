"""Engines for data outside this process."""

from __future__ import annotations

import subprocess
import sys

import pandas as pd
import pyarrow as pa
import pytest

from ostinato.core.backends import is_spark_frame


@pytest.mark.parametrize("module", ["pyspark.sql.dataframe", "pyspark.sql.connect.dataframe", "pyspark.sql.classic"])
def test_frames_of_spark_are_known_by_name(module: str) -> None:
    assert is_spark_frame(type("DataFrame", (), {"__module__": module})())
    assert not is_spark_frame(type("Column", (), {"__module__": module})())


@pytest.mark.parametrize("data", [pa.table({"v": [1]}), pd.DataFrame({"v": [1]}), [{"v": 1}], None])
def test_other_data_is_not_spark(data: object) -> None:
    assert not is_spark_frame(data)


def test_asking_does_not_import_spark() -> None:
    code = (
        "import sys; from ostinato.core.backends import is_spark_frame as f; f(1); sys.exit('pyspark' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

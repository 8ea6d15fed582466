"""What all tests share: imports from `support`, random examples, markers, workers, and one Spark session per worker.

`spark` marks all tests below tests/spark, and those elsewhere that say so. Under xdist each group below stays in
one worker, since a session takes seconds to start. Spark often waits: `make test` has one worker more than the machine
has cores, so that others compute meanwhile.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

TESTS = Path(__file__).parent
sys.path.insert(0, str(TESTS))

# Random queries differ a thousandfold in work; a deadline per example would only measure the machine.
# Everyone's run tries the same examples; `make fuzz` looks for new ones.
settings.register_profile(
    "search", max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.register_profile("ostinato", settings.get_profile("search"), max_examples=30, derandomize=True)
settings.load_profile("ostinato")

# Three groups of about equal length: these folders, programs that are started and killed, and whatever else uses Spark.
SPARK_GROUPS = {"spark/patterns/": "spark 1", "spark/cli/": "spark 1", "spark/test_": "spark 2", "": "spark 3"}


@pytest.hookimpl(tryfirst=True)  # before xdist looks for groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        path = item.path.relative_to(TESTS).as_posix()
        if path.startswith("spark/"):
            item.add_marker(pytest.mark.spark)
        if item.get_closest_marker("spark"):
            group = next(name for start, name in SPARK_GROUPS.items() if path.startswith(start))
            item.add_marker(pytest.mark.xdist_group(group))
    # Long ones first, so that no worker begins one when the others have nothing left to do.
    items.sort(key=lambda item: (item.get_closest_marker("spark") is None, item.get_closest_marker("slow") is None))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Tuned for many short queries: Java compiles quickly rather than well, Python workers start at once."""
    from ostinato.spark import session
    from support.spark.daemon import settings, write_python

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", str(write_python(tmp_path_factory.mktemp("spark") / "python")))
        found = session("local[2]", settings=settings())
        yield found
        found.stop()


@pytest.fixture(autouse=True)
def _shared_session(request: pytest.FixtureRequest) -> None:
    """Commands and examples find this session rather than start one of their own."""
    if request.node.get_closest_marker("spark"):
        request.getfixturevalue("spark")

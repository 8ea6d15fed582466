"""What all tests share: imports from `support`, random examples, markers, workers, and one Spark session per worker.

`spark` marks all tests below tests/spark, and those elsewhere that say so. Under xdist they stay in one worker, since
a session takes many seconds to start and to warm up; all but those of `own_session`, which start and kill programs.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

TESTS = Path(__file__).parent
sys.path.insert(0, str(TESTS))
gc.set_threshold(50_000)  # as the command line does: looking for garbage often is a tenth of a run

# Random queries differ a thousandfold in work; a deadline per example would only measure the machine.
# Everyone's run tries the same examples; `make fuzz` looks for new ones.
settings.register_profile(
    "search", max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.register_profile("ostinato", settings.get_profile("search"), max_examples=30, derandomize=True)
settings.load_profile("ostinato")


def pytest_addoption(parser: pytest.Parser) -> None:
    about = "run every case of tests/vectors/sql in every way, also through Spark"
    parser.addoption("--all-cases", action="store_true", help=about)


_SHARE = 2  # one in so many of the examples that a random test asks for is tried in everyone's run
_FEWEST = 10


def _try_fewer_examples(items: list[pytest.Item]) -> None:
    """The same examples come each time, so that the first of them show nearly all that all of them would."""
    # One for all parameters of a test. Those of Spark draw few as it is, and run them together.
    for test in {getattr(item, "obj", None) for item in items if not item.path.is_relative_to(TESTS / "spark")}:
        asked: settings | None = getattr(test, "_hypothesis_internal_use_settings", None)
        if asked is not None and asked.derandomize and asked.max_examples > _FEWEST:
            fewer = settings(asked, max_examples=max(_FEWEST, asked.max_examples // _SHARE))
            test._hypothesis_internal_use_settings = fewer  # type: ignore[union-attr]


@pytest.hookimpl(tryfirst=True)  # before xdist looks for groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    _try_fewer_examples(items)
    for item in items:
        if item.path.is_relative_to(TESTS / "spark"):
            item.add_marker(pytest.mark.spark)
        if item.get_closest_marker("own_session"):
            item.add_marker(pytest.mark.xdist_group(item.path.stem))
        elif item.get_closest_marker("spark"):
            item.add_marker(pytest.mark.xdist_group("spark"))
    # Long ones first, so that no worker begins one when the others have nothing left to do.
    order = ("own_session", "spark", "slow")
    items.sort(key=lambda item: [item.get_closest_marker(name) is None for name in order])


def pytest_collection_finish() -> None:
    gc.freeze()  # modules and tests stay until the end: no collection of garbage need look at them


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Tuned for many short queries: see the settings."""
    from ostinato.spark import session
    from support.spark.daemon import SETTINGS, write_python

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", str(write_python(tmp_path_factory.mktemp("spark") / "python")))
        found = session("local[2]", settings=SETTINGS)
        yield found
        found.stop()


@pytest.fixture
def two_parts(spark: Any) -> Iterator[None]:
    """Streams keep their state in two parts; one does elsewhere, which costs half the tasks and stores."""
    from support.spark.settings import TWO_PARTS, changed

    with changed(spark, TWO_PARTS):
        yield


@pytest.fixture(autouse=True)
def _shared_session(request: pytest.FixtureRequest) -> None:
    """Commands and examples find this session rather than start one of their own."""
    if request.node.get_closest_marker("spark") and not request.node.get_closest_marker("own_session"):
        request.getfixturevalue("spark")

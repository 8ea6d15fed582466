"""Lets every test import the shared strategies: `from generators import queries, streams`."""

from __future__ import annotations

import sys
from pathlib import Path

from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent))

# Random queries differ a thousandfold in work; a deadline per example would only measure the machine.
# Everyone's run tries the same examples; `pytest --hypothesis-profile=search` looks for new ones.
settings.register_profile("search", max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ostinato", settings.get_profile("search"), max_examples=30, derandomize=True)
settings.load_profile("ostinato")

"""Lets every test import the shared strategies: `from generators import queries, streams`."""

from __future__ import annotations

import sys
from pathlib import Path

from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent))

# Random queries differ a thousandfold in work; a deadline per example would only measure the machine.
settings.register_profile("ostinato", max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ostinato")

"""For all tests: nothing depends on how fast the machine is.

What a command tells while it works comes by the clock, so here it tells nothing; hypothesis gives up neither on slow
examples nor on making them.
"""

import pytest
from hypothesis import HealthCheck, settings
from skinny.scripts import progress

settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")


@pytest.fixture(autouse=True)
def nothing_is_told_in_between(monkeypatch):
    monkeypatch.setattr(progress, "SILENT", float("inf"))

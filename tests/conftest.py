"""For all tests: what a command tells while it works depends on how fast the machine is, so here it tells nothing."""

import pytest
from skinny.scripts import progress


@pytest.fixture(autouse=True)
def nothing_is_told_in_between(monkeypatch):
    monkeypatch.setattr(progress, "SILENT", float("inf"))

"""Builds say what they lack, and what a tool said."""

import pytest
from skinny.model.errors import InputError
from skinny.sim import build
from skinny.sim.build import missing_tools


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SKINNY_CACHE", str(tmp_path / "cache"))


def test_missing_tools(tmp_path, monkeypatch):
    assert missing_tools() is None
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    assert missing_tools() == "no C++ compiler (g++ or clang++)"
    with pytest.raises(InputError, match="cannot build a simulator: no C"):
        build.build_library("module m; endmodule", "m", "")


def test_what_the_tool_said_is_shown(monkeypatch):
    monkeypatch.setattr(build, "_runtime", lambda name, timed: "")
    with pytest.raises(RuntimeError, match=r"(?s)verilator failed.*syntax error"):
        build.build_library("module m; nonsense endmodule", "m", "")

"""``skinny bench power-up``."""

import pytest
from skinny.scripts.bench import power_up


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(power_up, "SEEDS", 2)
    monkeypatch.setattr(power_up, "RINGS", ("modular:16",))


def test_json(answer, few):
    rows = answer("bench", "power-up")["runs"]
    designs = ["plain", "self-check", "self-check rom", "lanes", "registers in memory", "board"]
    assert [row["design"] for row in rows] == designs
    assert all((row["ring"], row["seeds"], row["right"]) == ("modular:16", 2, 2) for row in rows)


def test_runs_that_are_not_right(skinny, few, monkeypatch):
    monkeypatch.setattr(
        "skinny.sim.upsets.power_up.power_up", lambda design, ring, seeds: iter([None, "a cycle was late"])
    )
    code, out, err = skinny("bench", "power-up")
    assert (code, out.count("\nlanes")) == (1, 1)
    message = "6 of 12 runs are not right; the first: plain, modular:16, seed 1: a cycle was late"
    assert err == f"skinny: error: check failed: {message}\n"


def test_no_compiler(skinny, monkeypatch):
    monkeypatch.setattr("skinny.sim.build.missing_tools", lambda: "no C++ compiler")
    message = "random power-up needs the compiled simulation: no C++ compiler"
    assert skinny("bench", "power-up") == (2, "", f"skinny: error: {message}\n")

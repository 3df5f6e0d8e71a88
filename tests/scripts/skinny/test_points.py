"""Units of work: what they find is what the commands find, and depends on their content alone."""

import numpy as np
import pytest
import skinny
from skinny.model.errors import ToolError
from skinny.model.limits import DEFAULTS
from skinny.model.program.text import loads
from skinny.points import finished, unit_key

FORMULA = {"kind": "formula", "text": "y = (a + 2*b)^3", "ring": "fixed:16", "width": 3, "error": None}
FORMULA |= {"box": {"a": ("-1", "1"), "b": ("-1", "1")}, "keep": "linear,reversible"}


def core(**others):
    program = str(skinny.compile("y = (a + 2*b)^3"))
    unit = {"program": program, "format": "fixed:16.8", "threads": 4, "registers": "flipflops", "device": "up5k"}
    return {"kind": "estimate"} | unit | others


def test_the_key_is_a_hash_of_the_content():
    assert unit_key(FORMULA) == unit_key(dict(reversed(FORMULA.items())))
    assert len({unit_key(FORMULA | change) for change in ({}, {"width": 4}, {"ring": "fixed:12"}, {"error": "1"})}) == 4


def test_a_formula_becomes_the_program_of_skinny_compile():
    found = finished(FORMULA, DEFAULTS)
    program = skinny.compile("y = (a + 2*b)^3", ring="fixed:16", box=(-1, 1), scale="auto")
    assert found["program"] == str(program)
    assert found["format"] == program.model.ring
    # What any rounding does is below what is proven.
    rows = np.random.default_rng(0).integers(-64, 64, (200, 2)) / 64
    off = np.abs(np.array(program.run(rows)) - (rows @ [1, 2]) ** 3).max()
    assert 0 < off <= found["quality"]["error"] < 10 * off
    plain = finished(FORMULA | {"box": None, "ring": "prime:8191"}, DEFAULTS)
    assert (plain["format"], plain["quality"]) == ("prime:8191", {})
    assert plain["program"] == str(skinny.compile("y = (a + 2*b)^3"))


@pytest.mark.parametrize(
    ("unit", "reason"),
    [
        (FORMULA | {"error": "1/1000000"}, "fixed:16"),
        (FORMULA | {"ring": "prime:8191"}, "a program is compiled for fixed:BITS"),
        (FORMULA | {"width": 2}, "width"),
        (core(threads=17), "the number of threads must be 1 to 16, not 17"),
        (core(kind="synthesis", threads=17), "the number of threads must be 1 to 16, not 17"),
    ],
)
def test_what_cannot_be_has_its_reason(unit, reason):
    found = finished(unit, DEFAULTS)
    assert list(found) == ["reason"]
    assert reason in found["reason"]


def test_a_tool_that_was_killed_is_no_result(monkeypatch):
    def killed(*call):
        raise ToolError("yosys was killed (signal 9)")

    monkeypatch.setattr("skinny.sim.fpga.report.implement", killed)
    with pytest.raises(ToolError):
        finished(core(kind="synthesis"), DEFAULTS)


def test_an_estimate_is_that_of_skinny_fpga():
    found = finished(core(), DEFAULTS)
    answer = skinny.compile("y = (a + 2*b)^3").fpga("up5k", "fixed:16.8", estimate=True)
    assert found == {
        "cycles": answer["cycles_per_inference"],
        "lut": answer["core"]["lut4"],
        "cells": answer["core"]["cells"],
        "mhz": 50,
        "inferences_per_second": answer["inferences_per_second"],
    }


def test_without_a_formula_the_cycles_are_known_all_the_same():
    text = str(skinny.compile("y = a*b; z = a + b", keep="none", argmax="class"))
    found = finished(core(program=text), DEFAULTS)
    model = loads(text)
    assert found["cycles"] == model.words + model.emits
    assert found["reason"].startswith("there are no estimates of cores with relu, argmax")
    assert "lut" not in found


def test_accuracy_is_that_of_rows_that_were_not_learned_from():
    rng = np.random.default_rng(0)
    rows = rng.uniform(-3, 3, (80, 2)).round(2)
    classes = ["above" if x + 2 * y > 0 else "below" for x, y in rows.tolist()]
    text = "x,y,t\n" + "".join(f"{x},{y},{t}\n" for (x, y), t in zip(rows.tolist(), classes, strict=True))
    unit = {"kind": "table", "text": text, "target": "t", "ring": "fixed:16", "width": 16, "budget": 20}
    found = finished(unit | {"effort": 0.05}, DEFAULTS)
    program = skinny.Program(loads(found["program"]))
    assert found["format"] == "fixed:16.14"
    # The program, run on all rows, decides right on as many of the held-out ones as was said.
    from skinny.table import parse_table, split

    _, tested = split(parse_table(text, "t", "t.csv"), 0)
    with pytest.warns(skinny.PrecisionWarning):  # inputs are rounded, and may be outside of the box
        decided = program.run(rows[tested][:, ["xy".index(name) for name in program.inputs]])
    names = np.array(["above", "below"])[np.array(decided)]
    assert found["quality"] == {"accuracy": float((names == np.array(classes)[tested]).mean())}
    assert found["quality"]["accuracy"] > 0.8

"""Sweeps in this process: a cluster of Dask whose only worker is a thread."""

import itertools
import json
import random

import pytest
import skinny
from dask.distributed import LocalCluster
from skinny.model.errors import InputError
from skinny.sweeping import front

CUBE = "y = (a + 2*b)^3"
SMALL = {"rings": ["fixed:12", "fixed:16"], "threads": [1, 4, 17], "box": (-1, 1), "synthesis": "none"}
#: Two programs, and a core for each of the two and three threads.
UNITS = 2 + 6


@pytest.fixture(scope="module")
def scheduler():
    """The address of a scheduler on a free port."""
    options = {"dashboard_address": "127.0.0.1:0", "silence_logs": 50}
    with LocalCluster(1, processes=False, threads_per_worker=1, protocol="tcp", host="127.0.0.1", **options) as cluster:
        yield cluster.scheduler_address


def test_a_point_is_what_its_settings_give(scheduler):
    rows = skinny.sweep(CUBE, scheduler=scheduler, **SMALL)
    names = ("ring", "width", "threads", "registers", "device")
    wanted = itertools.product(SMALL["rings"], (3,), SMALL["threads"], ("flipflops",), ("up5k",))
    assert [tuple(row[name] for name in names) for row in rows] == list(wanted)
    program = skinny.compile(CUBE, ring="fixed:16", box=(-1, 1), scale="auto")
    answer = program.fpga("up5k", threads=4, estimate=True)
    (row,) = (row for row in rows if (row["ring"], row["threads"]) == ("fixed:16", 4))
    assert row["error"] == program.bound(box=(-1, 1))["errors"]["y"]
    assert row["format"] == program.model.ring
    assert (row["lut"], row["cells"]) == (answer["core"]["lut4"], answer["core"]["cells"])
    assert row["inferences_per_second"] == answer["inferences_per_second"]
    assert (row["figures"], row["front"], row["reason"]) == ("estimate", True, None)
    bad = [row for row in rows if row["threads"] == 17]
    assert {row["reason"] for row in bad} == {"the number of threads must be 1 to 16, not 17"}
    assert not any(row["front"] or row["figures"] or row["lut"] for row in bad)


def test_an_interrupted_sweep_goes_on_without_losing_or_repeating(scheduler, tmp_path):
    path = tmp_path / "r.jsonl"
    whole = skinny.sweep(CUBE, scheduler=scheduler, **SMALL)

    def interrupt(what, done, count):
        if (what, done) == ("estimates", 3):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        skinny.sweep(CUBE, scheduler=scheduler, record=str(path), watch=interrupt, **SMALL)
    before = path.read_bytes()
    assert before.count(b"\n") == 2 + 3
    told = []
    rows = skinny.sweep(CUBE, scheduler=scheduler, record=str(path), watch=lambda *what: told.append(what), **SMALL)
    assert rows == whole
    assert path.read_bytes().startswith(before)
    keys = [json.loads(line)["key"] for line in path.read_bytes().splitlines()]
    assert len(keys) == len(set(keys)) == UNITS
    assert told == [("programs", 2, 2), *(("estimates", done, 6) for done in (3, 4, 5, 6))]
    # When everything is known, nobody has to be there to work.
    assert skinny.sweep(CUBE, scheduler="tcp://127.0.0.1:9", record=str(path), **SMALL) == whole


def test_what_fails_outside_of_a_point_is_tried_again(scheduler, tmp_path, monkeypatch):
    path = tmp_path / "r.jsonl"
    monkeypatch.setattr("skinny.points.cycles_per_inference", None)
    # Without a formula for its core, the worker calls what is not there now.
    options = {"rings": ["fixed:16.8"], "threads": [8], "widths": [8], "registers": ["memory"], "synthesis": "none"}
    options |= {"scheduler": scheduler, "record": str(path), "keep": "linear"}
    (row,) = skinny.sweep(CUBE, **options)
    assert row["reason"] == "TypeError: 'NoneType' object is not callable"
    assert path.read_bytes().count(b"\n") == 1
    monkeypatch.undo()
    (row,) = skinny.sweep(CUBE, **options)
    assert row["reason"].startswith("there are no estimates of cores with")
    assert row["cycles"] > 0
    assert path.read_bytes().count(b"\n") == 2


def test_settings_that_come_to_the_same_core_are_on_the_front_once(scheduler):
    """A product of four without promises needs three registers, whether it may have three or four."""
    options = SMALL | {"rings": ["fixed:12"], "threads": [4], "widths": [3, 4], "keep": "none"}
    first, second = skinny.sweep("y = a*b*c*d", scheduler=scheduler, **options)
    assert (first["front"], second["front"]) == (True, False)
    assert first | {"width": 4, "front": False} == second


def test_a_synthesis_that_fails_leaves_neither_figures_nor_a_place_on_the_front(scheduler, monkeypatch):
    def synthesised(**unit):
        if unit["threads"] == 1:
            raise InputError("the core does not fit")
        return {"cycles": 7, "lut": 300, "cells": 600, "mhz": 40.0, "inferences_per_second": 5e6}

    monkeypatch.setattr("skinny.points._synthesised", synthesised)
    options = SMALL | {"rings": ["fixed:12"], "threads": [1, 4], "synthesis": "front"}
    one, four = skinny.sweep(CUBE, scheduler=scheduler, **options)
    assert (one["front"], one["figures"], one["lut"], one["reason"]) == (False, None, None, "the core does not fit")
    assert one["cycles"] > 0
    assert (four["front"], four["figures"], four["lut"], four["reason"]) == (True, "synthesis", 300, None)


def test_the_front_is_what_nothing_beats():
    rng = random.Random(1)
    rows = [
        {"device": rng.choice("ab"), "error": rng.randrange(5), "lut": rng.randrange(5), "cells": None}
        | {"inferences_per_second": rng.randrange(5), "figures": "estimate"}
        for _ in range(60)
    ]

    def beaten(row):
        return any(
            other["device"] == row["device"]
            and other["error"] <= row["error"]
            and other["lut"] <= row["lut"]
            and other["inferences_per_second"] >= row["inferences_per_second"]
            and any(other[name] != row[name] for name in ("error", "lut", "inferences_per_second"))
            for other in rows
        )

    found = front(rows)
    assert 1 < len(found) < 60
    assert found == [row for row in rows if not beaten(row)]


def test_logic_cells_fill_an_ice40():
    row = {"device": "up5k", "lut": 300, "cells": 700, "inferences_per_second": 1.0, "figures": "estimate"}
    assert front([row, row | {"lut": 290, "cells": 701}]) == [row]


def test_without_figures_quality_and_cycles_decide():
    row = {"device": "up5k", "accuracy": 0.9, "cycles": 30, "figures": None}
    rows = [row, row | {"cycles": 40}, row | {"accuracy": 0.95, "cycles": 40}, row | {"accuracy": 0.8, "cycles": 20}]
    assert front(rows) == [rows[0], rows[2], rows[3]]


def test_a_formula_that_names_a_file_is_refused():
    with pytest.raises(InputError, match=r"its formula goes without @FILE inside$"):
        skinny.sweep("y = dot(@W.npy, x)")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"devices": ["up6k"]}, "unknown device 'up6k'"),
        ({"registers": ["drawer"]}, "the place of registers must be flipflops or memory, not 'drawer'"),
        ({"threads": 4}, "sweep takes one threads or several, as a list, not 4"),
        ({"threads": ["4"]}, "the number of threads must be a whole number, not '4'"),
        ({"threads": [0]}, "the number of threads must be 1 or more, not 0"),
        (
            {"rings": ["fixed:16"]},
            "the place of the point of fixed:16 is chosen by a box: give one, or like fixed:16.8",
        ),
        ({"rings": [16], "box": (0, 1)}, "a ring must be text like 'fixed:16' here, not 16"),
        ({"rings": ["real"], "box": (0, 1)}, "there is no hardware for the ring real"),
        ({"rings": "fixed:16"}, "sweep takes one ring or several, as a list, not 'fixed:16'"),
        ({"synthesis": "all"}, "the synthesis must be front or none, not 'all'"),
        ({"workers": 0}, "the number of workers must be 1 to 1000, not 0"),
        ({"keep": "magic"}, "keep must be linear,reversible or one of linear, reversible, none; not 'magic'"),
        ({"error": 1}, "error is about inputs in a box: box is missing"),
        ({"target": "t", "box": (0, 1)}, "box and error are about formulas"),
        (
            {"box": (0, 1), "scheduler": "tcp://127.0.0.1:9"},
            "no scheduler answers at tcp://127.0.0.1:9: start one with 'dask",
        ),
        ({"box": (0, 1), "scheduler": "nowhere"}, "no scheduler answers at nowhere: start one with 'dask scheduler'"),
    ],
)
def test_bad_arguments_are_one_line(options, message, monkeypatch):
    monkeypatch.setattr("skinny.sweeping.PATIENCE", 0.5)
    with pytest.raises(InputError) as caught:
        skinny.sweep(CUBE, **options)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_workers_that_cannot_be_started_are_one_line(monkeypatch):
    def fail(**options):
        raise RuntimeError("Nanny failed to start.")

    monkeypatch.setattr("dask.distributed.LocalCluster", fail)
    with pytest.raises(InputError, match=r"^the workers cannot be started \(Nanny failed to start\.\)$"):
        skinny.sweep(CUBE, **SMALL)

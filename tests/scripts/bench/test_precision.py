"""``skinny bench precision``: a fast part of it holds, and what is missed is said."""

import itertools

import pytest
from skinny.scripts.bench import precision
from skinny.scripts.bench.precision import bench_polynomial, chosen_polynomials, promises
from skinny.scripts.bench.precision_polynomials import POLYNOMIALS

#: Compiled in a moment, and within all limits, in 16 bits and in one more width.
FAST = {
    "Chebyshev T5": 24,
    "Legendre P10": 24,
    "bspline0": 32,
    "bspline3": 32,
    "rigidBody1": 32,
    "kepler0": 32,
    "schwefel": 24,
    "himmelblau": 24,
    "Lotka-Volterra step": 24,
    "sensor": 24,
    "hunecke": 24,
    "rk4 of any step": 32,
}
#: Compiled in a moment, and without --scale auto not within the limit of the ratio: at most this now, in 16 bits.
UNSCALED = {"sensor": 2.9, "three-hump camel": 3.7}


def rows_of(name, bits=(16,), **options):
    (polynomial,) = (p for p in POLYNOMIALS if p.name == name)
    return list(bench_polynomial(polynomial._replace(**options), bits))


@pytest.mark.parametrize("name", FAST)
def test_a_fast_part_holds_all_promises(name):
    assert [row["missed"] for row in rows_of(name, (16, FAST[name]))] == [[], []]


@pytest.mark.parametrize("name", UNSCALED)
def test_ratios_without_scales_do_not_get_worse(name):
    (row,) = rows_of(name, scale=False)
    assert row["missed"] == ["ratio"], "met at last? then it needs no --scale auto"
    assert row["ratio"] <= UNSCALED[name]


def test_options_are_those_of_the_command():
    (plain, both) = chosen_polynomials("kepler0,hunecke")
    assert (plain.options, both.options) == ("", "--width 8 --keep none --scale auto")


HELD = {
    "variables": 2,
    "proven": 1.0,
    "sampled": 1.0,
    "text_frac": 8,
    "text_error": 1.0,
    "ratio": 1.0,
    "tightness": 1.0,
    "cycles": 20,
    "shortest": 20,
    "seconds": 1.0,
    "shortest_seconds": 1.0,
}


@pytest.mark.parametrize(
    ("change", "missed"),
    [
        ({}, []),
        ({"ratio": 2.0}, []),
        ({"ratio": 2.1}, ["ratio"]),
        ({"ratio": 1.4, "variables": 1}, ["ratio"]),
        ({"ratio": None}, ["ratio"]),
        ({"cycles": 25}, []),
        ({"cycles": 26}, ["cycles"]),
        ({"cycles": 21, "variables": 1}, []),
        ({"cycles": 22, "variables": 1}, ["cycles"]),
        ({"sampled": 1.1}, ["exceeded"]),
        ({"tightness": 3.1}, ["tightness"]),
        ({"proven": None, "sampled": None, "ratio": None, "tightness": None}, ["safe"]),
        ({"proven": None, "text_frac": None, "text_error": None}, []),
    ],
)
def test_what_a_row_misses(change, missed):
    (kepler,) = chosen_polynomials("kepler0")
    row = HELD | change
    assert list(precision.missed(kepler, row)) == missed
    # The first promises are of single rows.
    held = promises([row | {"missed": missed}])[:5]
    assert sum(not promise["met"] for promise in held) == len(missed)


def test_promises_of_all_rows_together():
    rows = [HELD | {"missed": [], "tightness": tightness, "seconds": 3.5} for tightness in (1.0, 1.3, 1.3)]
    assert [promise["promise"] for promise in promises(rows) if not promise["met"]] == [
        "median of proven over sampled",
        "compile time over that without precision",
    ]


def test_json_and_picture(answer, folder, monkeypatch):
    # Each measurement takes a second: what is compiled before and how busy the machine is must not matter here.
    monkeypatch.setattr(precision, "process_time", itertools.count(0.0).__next__)
    found = answer("bench", "precision", "--only", "kepler0,rigidbody1", "--bits", "16", "-o", "p.png")
    assert [(row["name"], row["bits"]) for row in found["rows"]] == [("rigidBody1", 16), ("kepler0", 16)]
    assert all(promise["met"] for promise in found["promises"])
    assert (folder / "p.png").read_bytes().startswith(b"\x89PNG")


def test_a_missed_promise_is_exit_code_1(skinny, monkeypatch):
    monkeypatch.setattr(precision, "RATIO_OF_ONE", 1e-9)
    code, out, err = skinny("bench", "precision", "--only", "sensor", "--bits", "16")
    assert (code, out.count("\nsensor")) == (1, 1)
    assert "promises missed: error over that of the text within its limit" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--only", "sine,cosine"), "there is no polynomial 'cosine'; there are sine; sineOrder3;"),
        (("--bits", "16,40"), "--bits must be numbers from 2 to 32, not '16,40'"),
        (("-o", "p.pdf"), "p.pdf: the name of a picture must end in .png"),
    ],
)
def test_bad_options(skinny, words, message):
    code, out, err = skinny("bench", "precision", *words)
    assert (code, out) == (2, "")
    assert message in err

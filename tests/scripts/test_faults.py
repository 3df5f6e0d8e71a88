"""``skinny faults``."""

import pytest
from skinny.scripts import faults

FIXED = ("faults", "p.skn", "--ring", "fixed:16.8")


def test_json(answer):
    told = answer(*FIXED, "--count", "400", "--seed", "3")
    assert told == answer(*FIXED, "--count", "400", "--seed", "3")
    assert {key: told[key] for key in ("ring", "threads", "count", "seed", "confidence")} == {
        "ring": "fixed:16.8",
        "threads": 4,
        "count": 400,
        "seed": 3,
        "confidence": 0.95,
    }
    plain, undo, checked = told["cores"]
    assert [core["name"] for core in told["cores"]] == ["plain", "undo", "self-check"]
    assert [(core["words"], core["cycles"]) for core in told["cores"]] == [(7, 28), (15, 60), (15, 60)]
    for core in told["cores"]:
        registers = core["registers"]
        assert registers["flips"] == core["memories"]["flips"] == 400
        assert sum(registers[outcome] for outcome in ("masked", "detected", "timeout", "wrong")) == 400
        assert sum(part["flips"] for part in core["time"]) == 400
        assert sum(place["flips"] for place in core["places"].values()) == 800
        assert core["places"]["weight memory"]["flips"] == 100
        assert registers["wrong_share"] == registers["wrong"] / 400
        assert registers["wrong_interval"][0] <= registers["wrong_share"] <= registers["wrong_interval"][1]
    assert plain["registers"]["wrong"] > 100 > 20 > undo["registers"]["wrong"]
    assert checked["registers"]["wrong"] == checked["memories"]["wrong"] == 0


def test_table_and_picture(skinny, folder):
    code, out, err = skinny(*FIXED, "--count", "200", "--self-check", "-o", "map.png")
    assert (code, err) == (0, "skinny: map.png: written\n")
    assert out.startswith("self-check: 15 program words, 60 cycles a batch\nwhere ")
    assert out.count("all registers") == 1
    assert (folder / "map.png").read_bytes().startswith(b"\x89PNG")


def test_one_core(answer):
    (core,) = answer(*FIXED, "--count", "100", "--no-self-check")["cores"]
    assert core["name"] == "plain"


def test_cells(answer, monkeypatch):
    monkeypatch.setattr("skinny.scripts.faults._cells", lambda config: {"luts": 10 + config.guard})
    told = answer(*FIXED, "--count", "10", "--luts")
    assert [core["cells"] for core in told["cores"]] == [{"luts": 10}, {"luts": 10}, {"luts": 11}]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--count", "0"], "the number of flips must be 1 to 10000000, not 0"),
        (["--count", "many"], "argument --count: invalid int value: 'many' (see 'skinny faults --help')"),
        (["--seed", "-1"], "the seed must not be negative, not -1"),
        (["-o", "map.pdf"], "map.pdf: the name of a picture must end in .png"),
        (["--threads", "0"], "the number of threads must be 1 to 16, not 0"),
        (["--ring", "real"], "there is no hardware for the ring real"),
    ],
)
def test_bad_arguments(skinny, words, message):
    assert skinny(*FIXED, *words) == (2, "", f"skinny: error: {message}\n")


def test_no_compiler(skinny, monkeypatch):
    monkeypatch.setattr("skinny.sim.build.missing_tools", lambda: "no C++ compiler")
    message = "a campaign needs the compiled simulation: no C++ compiler"
    assert skinny(*FIXED) == (2, "", f"skinny: error: {message}\n")


def test_the_help_explains_every_core(skinny):
    out = skinny("faults", "--help")[1]
    assert all(f"'{name}'" in out for name in ("plain", "undo", "self-check"))
    assert faults.DETAILS in out

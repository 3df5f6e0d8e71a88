"""``skinny faults``."""

import pytest
from skinny.scripts import faults
from skinny.sim.simulators.bulk import load_columns
from skinny.sim.upsets.recovery import Recovery

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


def test_recover(answer, monkeypatch):
    monkeypatch.setattr(faults, "BOARD_UPSETS", 6)
    told = answer(*FIXED, "--count", "100", "--recover")
    for core in told["cores"]:
        assert core["registers"]["recovered"] == core["memories"]["recovered"] == 100
        assert core["places"]["weight memory"]["recovered"] == 25
    assert (told["board"]["upsets"], told["board"]["right"]) == (6, 6)
    assert 0 <= told["board"]["recoveries"] <= 6


def test_a_program_without_inputs_recovers(skinny, answer, monkeypatch):
    monkeypatch.setattr(faults, "BOARD_UPSETS", 6)
    assert skinny("compile", "y = 3", "-o", "three.skn")[0] == 0
    told = answer("faults", "three.skn", *FIXED[2:], "--self-check", "--count", "100", "--recover")
    assert told["cores"][0]["registers"]["recovered"] == 100
    assert told["board"]["right"] == 6


def test_a_core_that_does_not_recover(skinny, monkeypatch):
    # Upsets of the weights are not made good by a load without them.
    monkeypatch.setattr(
        "skinny.sim.upsets.campaign.load_columns", lambda image: tuple(column[:0] for column in load_columns(image))
    )
    code, out, err = skinny(*FIXED, "--count", "100", "--no-self-check", "--recover")
    assert code == 1
    assert "recovered" in out
    assert err.startswith("skinny: error: check failed: plain: after ")
    assert " of 200 flips reset, load and the same vectors again gave wrong results; the first was in " in err


def test_a_board_that_does_not_recover(skinny, monkeypatch):
    monkeypatch.setattr("skinny.sim.upsets.recovery.recover_board", lambda *given: Recovery(200, 70, 199))
    code, out, err = skinny(*FIXED, "--count", "10", "--self-check", "--recover")
    assert out.endswith("board: 200 runs with an upset through the host library, 70 of them done twice, 199 right\n")
    message = "the host got the results of 199 of 200 runs with an upset right"
    assert (code, err) == (1, f"skinny: error: check failed: {message}\n")


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
        (["--lanes", "4"], "unrecognized arguments: --lanes 4 (see 'skinny --help')"),
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

"""``skinny verilog``."""

import json
import subprocess

import pytest


def test_writes_a_design(answer, folder):
    told = answer("verilog", "p.skn", "--ring", "fixed:16.8", "--threads", "4", "-o", "design")
    assert told["folder"] == "design"
    assert sorted(told["files"]) == sorted(path.name for path in (folder / "design").iterdir())
    assert (told["ring"], told["threads"], told["words"]) == ("fixed:16.8", 4, 7)
    assert told["cycles"] == 7 * 4 + 4 + 8
    assert len((folder / "design" / "inputs.hex").read_text().split()) == 100 * 2


def test_the_design_checks_itself(skinny, folder):
    code, out, _ = skinny("verilog", "p.skn", "--ring", "fixed:12.6", "--rom", "-o", "new/design", "--vectors", "9")
    assert code == 0
    assert out.startswith("new/design: skinny_core.v, ")
    assert out.endswith("7 program words, 4 threads: 40 cycles for a batch\n")
    design = folder / "new" / "design"
    subprocess.run(["iverilog", "-o", "bench", "skinny_core_tb.v", "skinny_core.v"], cwd=design, check=True)
    done = subprocess.run(["vvp", "-N", "bench"], cwd=design, capture_output=True, text=True)
    assert (done.returncode, done.stdout[:18]) == (0, "PASS: 18 results, ")


def test_self_check(skinny, folder):
    code, out, _ = skinny("verilog", "p.skn", "--ring", "fixed:12.6", "--self-check", "-o", "design", "--vectors", "9")
    assert code == 0
    # Twice the program with the accumulator built anew, two checks and two outputs, and the status word.
    assert out.endswith("15 program words, 4 threads: 72 cycles for a batch\n")
    design = folder / "design"
    told = json.loads((design / "manifest.json").read_text())
    assert (told["program"]["self_check"], told["parameters"]["guard"]) == (True, True)
    subprocess.run(["iverilog", "-o", "bench", "skinny_core_tb.v", "skinny_core.v"], cwd=design, check=True)
    done = subprocess.run(["vvp", "-N", "bench"], cwd=design, capture_output=True, text=True)
    assert (done.returncode, done.stdout[:18]) == (0, "PASS: 27 results, ")


def test_depth(answer, folder):
    answer("verilog", "p.skn", "--ring", "fixed:16.8", "--depth", "100", "-o", "design")
    assert json.loads((folder / "design" / "manifest.json").read_text())["parameters"]["depth"] == 100


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--ring", "fixed:16.8", "--depth", "6"], "7 program words do not fit a memory of 6"),
        (["--ring", "real"], "there is no hardware for the ring real"),
        (["--ring", "fixed:16.8", "--vectors", "0"], "the number of random inferences must be at least 1, not 0"),
    ],
)
def test_bad_arguments(skinny, folder, words, message):
    code, out, err = skinny("verilog", "p.skn", *words, "-o", "design")
    assert (code, out, err) == (2, "", f"skinny: error: {message}\n")
    assert not (folder / "design").exists()


def test_a_folder_that_cannot_be_made(skinny):
    code, _, err = skinny("verilog", "p.skn", "--ring", "fixed:16.8", "-o", "p.skn")
    assert (code, err) == (2, "skinny: error: p.skn: cannot be written (Not a directory)\n")


def test_lost_weights_are_told_before_anything_is_written(skinny, folder):
    (folder / "l.skn").write_text("skinny 1\nwidth 3\nweight w[0] = 1/1000\nR0 += w[0]*R1\nemit y = R0\nend\n")
    words = ("verilog", "l.skn", "--ring", "fixed:16.8", "-o", "l")
    code, _, err = skinny(*words, "--strict")
    line = "fixed:16.8: 1 weight became 0 (w[0] = 0.001)"
    assert (code, err) == (1, f"skinny: error: check failed: {line} (--strict)\n")
    assert not (folder / "l").exists()
    code, _, err = skinny(*words)
    assert (code, err) == (0, f"skinny: {line}\n")
    assert (folder / "l" / "manifest.json").exists()


def test_a_program_that_does_not_fit_flat_is_rolled(answer, skinny, folder, tmp_path):
    lines = [f"R0 += x{n}*R1" for n in range(24)]
    inputs = " ".join(f"x{n}" for n in range(24))
    long = tmp_path / "long.skn"
    long.write_text(f"skinny 1\nwidth 3\ninputs {inputs}\n" + "\n".join(lines) + "\nemit y = R0\nend\n")
    ring = ("--ring", "modular:8")
    assert answer("verilog", str(long), *ring, "-o", str(tmp_path / "flat"))["words"] == 25
    asked = answer("verilog", str(long), *ring, "--roll", "-o", str(tmp_path / "asked"))["words"]
    assert answer("verilog", str(long), *ring, "--depth", "8", "-o", str(tmp_path / "rolled"))["words"] == asked == 4
    manifest = json.loads((tmp_path / "rolled" / "manifest.json").read_text())
    assert (manifest["parameters"]["depth"], manifest["parameters"]["repeat"]) == (8, 1)
    assert "24 rounds" in (tmp_path / "rolled" / "listing.txt").read_text()
    code, _, err = skinny("verilog", str(long), *ring, "--depth", "8", "--no-roll", "-o", str(tmp_path / "none"))
    assert (code, err) == (2, "skinny: error: 25 program words do not fit a memory of 8\n")
    assert answer("info", str(long), *ring)["memory_words"] == {"flat": 25, "rolled": 4}


def test_lanes_stay_flat(skinny, folder):
    code, _, err = skinny("verilog", "p.skn", "--ring", "modular:8", "--lanes", "2", "--roll", "-o", "none")
    assert (code, err) == (2, "skinny: error: lanes do not repeat: their programs stay flat\n")

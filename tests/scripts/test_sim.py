"""``skinny sim`` and ``skinny bench sim``."""

import json
import random
from fractions import Fraction

import pytest
from skinny import answers
from skinny.hdl.parts.arithmetic import Arithmetic
from skinny.model.program.storage import load
from skinny.model.program.text import loads
from skinny.model.rings import FixedPoint, parse_ring
from skinny.model.run.golden import run
from skinny.scripts.bench.sim import bench_sim
from skinny.sim import build

KEYS = {
    *("match", "cycles", "cycles_per_inference", "multiplier_utilisation", "results", "simulator", "seconds"),
    *("precision", "vcd"),
}


@pytest.mark.parametrize("simulator", ["bulk", "verilator", "amaranth"])
def test_random_inputs(answer, simulator):
    told = answer("sim", "p.skn", "--ring", "fixed:16.8", "--random", "10", "--simulator", simulator)
    assert set(told) == KEYS | {"inputs"}
    assert (told["match"], told["simulator"]) == (True, simulator)
    ring = FixedPoint(16, 8)
    program = load("p.skn")
    expected = run(program, ring, answers.random_inputs(10, program, ring).elements).outputs
    assert [told["results"]["y"], told["results"]["z"]] == [ring.decode_all(column) for column in expected.T]
    # Seven words (an attention step, four instructions, two emits), three batches of four threads.
    assert told["cycles_per_inference"] == told["cycles"] / 10
    assert 3 * 7 * 4 < told["cycles"] < 3 * 7 * 4 + 30
    assert told["multiplier_utilisation"] == pytest.approx(5 * 10 / (7 * 4 * 3 - 2))


DEEP = """skinny 1
width 20
start 0 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
inputs a b
R19 += a*R1
R2 += b*R19
R19 = b*R2
emit y = R19
end
"""


def test_registers_in_memory(answer, skinny, folder):
    """More than 16 registers are in memory, with 8 threads; fewer are, when it is asked for."""
    (folder / "deep.skn").write_text(DEEP)
    told = answer("sim", "deep.skn", "--ring", "modular:16", "--random", "12")
    assert told["match"]
    # Four words, two batches of eight threads; the last result of an empty core comes 11 cycles after its batch.
    assert 2 * 4 * 8 < told["cycles"] < 2 * 4 * 8 + 30
    (folder / "few.skn").write_text(DEEP.replace("width 20", "width 3").replace(" 0" * 17, "").replace("R19", "R0"))
    few = answer("sim", "few.skn", "--ring", "modular:16", "--random", "12", "--registers", "memory")
    assert few["results"] == told["results"]
    assert few["cycles"] == told["cycles"]
    longer = answer(
        "sim", "few.skn", "--ring", "modular:16", "--random", "12", "--registers", "memory", "--pipeline", "9"
    )
    assert longer["cycles"] == told["cycles"] + 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--registers", "flipflops"], "the width must be 3 to 16, not 20"),
        (["--threads", "5"], "the number of threads must be 6 to 16, not 5"),
        (["--lanes", "2"], "a lane has its registers in flip-flops: they begin with unit vectors"),
        (["--self-check"], "a self-check needs a reversible program, but instruction 2 assigns a register"),
    ],
)
def test_what_registers_in_memory_refuse(skinny, folder, options, message):
    (folder / "deep.skn").write_text(DEEP)
    code, _, err = skinny("sim", "deep.skn", "--ring", "modular:16", "--random", "2", *options)
    assert (code, err) == (2, f"skinny: error: {message}\n")


def test_a_pipeline_is_of_registers_in_memory(skinny):
    code, _, err = skinny("sim", "p.skn", "--ring", "modular:16", "--random", "2", "--pipeline", "9")
    assert (code, err) == (2, "skinny: error: a pipeline of 9 needs registers in memory\n")


def test_self_check(answer, folder):
    plain = answer("sim", "p.skn", "--ring", "fixed:16.8", "--random", "10")
    checked = answer("sim", "p.skn", "--ring", "fixed:16.8", "--random", "10", "--self-check")
    assert checked["results"] == plain["results"]
    assert checked["cycles"] - plain["cycles"] == (15 - 7) * 4 * 3
    # The program may say so itself.
    text = (folder / "p.skn").read_text().replace("start 0", "self-check\nstart 0")
    (folder / "p.skn").write_text(text)
    assert answer("sim", "p.skn", "--ring", "fixed:16.8", "--random", "10")["cycles"] == checked["cycles"]
    unchecked = answer("sim", "p.skn", "--ring", "fixed:16.8", "--random", "10", "--no-self-check")
    assert unchecked["cycles"] == plain["cycles"]


def test_given_inputs(answer):
    told = answer("sim", "p.skn", "--ring", "fixed:16.8", "--inputs", "a=3,b=0.5", "--threads", "1")
    assert told["results"] == {"y": [2.25], "z": [3.0]}


def test_table(skinny):
    code, out, err = skinny("sim", "p.skn", "--ring", "fixed:16.8", "--random", "30")
    assert code == 0
    assert out.splitlines()[0].split() == ["row", "a", "b", "y", "z"]
    assert "all cycles match: 30 inferences in " in out
    assert err == "skinny: 10 more rows; -o FILE.csv has all\n"


def test_many_inferences_in_pieces(answer, monkeypatch):
    whole = answer("sim", "p.skn", "--ring", "fixed:16.8", "--random", "50")
    monkeypatch.setitem(answers.CHUNK, "bulk", 100)
    pieces = answer("sim", "p.skn", "--ring", "fixed:16.8", "--random", "50")
    assert pieces["results"] == whole["results"]
    assert pieces["cycles"] > whole["cycles"]


@pytest.mark.parametrize("simulator", ["verilator", "amaranth"])
def test_waveform(answer, folder, simulator):
    told = answer(
        "sim", "p.skn", "--ring", "fixed:16.8", "--random", "3", "--simulator", simulator, "--vcd", "wave.vcd"
    )
    assert told["match"]
    assert told["vcd"] == "wave.vcd"
    assert "retire_value" in (folder / "wave.vcd").read_text()


def test_the_waveform_is_named(skinny, folder):
    words = ("sim", "p.skn", "--ring", "fixed:16.8", "--random", "1", "--simulator", "amaranth", "--vcd", "wave.vcd")
    assert skinny(*words)[2] == "skinny: wave.vcd: the waveform of the core\n"


@pytest.mark.parametrize("box", ["", "box a = -1:1\nbox b = 0:2\n"])
@pytest.mark.parametrize("ring", ["fixed:16.8", "modular:16", "boolean"])
def test_random_rows_do_not_depend_on_how_many_there_are(box, ring):
    text = "skinny 1\nwidth 3\n" + "ring fixed:16.8\n" * bool(box) + f"inputs a b\n{box}R0 += a*R1\nemit y = R0\nend\n"
    program, ring = loads(text), parse_ring(ring)
    many = answers.random_inputs(3000, program, ring).elements
    assert len({tuple(row) for row in many.tolist()}) > 1 + 1000 * (ring.bits > 1)
    for count in (1, 7, 1024, 1025):
        assert (answers.random_inputs(count, program, ring).elements == many[:count]).all()


def test_divergence_is_exit_code_1(skinny, monkeypatch):
    negate = Arithmetic._negate_binary

    def wrong(self, product, neg, **acc):
        return negate(self, product, ~neg, **acc)

    monkeypatch.setattr(Arithmetic, "_negate_binary", wrong)
    code, out, err = skinny("sim", "p.skn", "--ring", "fixed:16.8", "--inputs", "a=3,b=0.5", "--json")
    assert code == 1
    told = json.loads(out)
    assert told["match"] is False
    assert err == f"skinny: error: check failed: {told['divergence']}\n"
    assert told["divergence"] == (
        "cycle 11, thread 0, word 0 (R2 += x[1]*R1) of instruction 0: R2 += b*R1: "
        "R2 expected 0.5 (0x80), got -0.5 (0xff80)"
    )


def test_without_a_compiler(skinny, monkeypatch):
    monkeypatch.setattr(build, "compiler", lambda: None)
    code, out, err = skinny("sim", "p.skn", "--ring", "fixed:16.8", "--random", "2", "--json")
    assert code == 0
    assert json.loads(out)["simulator"] == "amaranth"
    assert err == "skinny: no C++ compiler (g++ or clang++): simulating with Amaranth, which is slow\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--ring", "exact", "--random", "1"], "there is no hardware for the ring exact"),
        (["--ring", "modular:64", "--random", "1"], "a word of the core must be at most 32 bits, not 64"),
        (
            ["--ring", "modular:16", "--random", "1"],
            "weight w[1]: 3/4 is not an integer, so not an element of modular:16",
        ),
        (["--ring", "fixed:16.8", "--random", "0"], "the number of random inferences must be at least 1, not 0"),
        (["--ring", "fixed:16.8"], "the program reads a, b: give --inputs"),
        (["--ring", "fixed:16.8", "--random", "1", "--threads", "17"], "the number of threads must be 1 to 16, not 17"),
        (
            ["--ring", "fixed:16.8", "--random", "1", "--simulator", "bulk", "--vcd", "x.vcd"],
            "the bulk simulator writes no waveform: take --simulator verilator",
        ),
    ],
)
def test_bad_arguments(skinny, words, message):
    code, out, err = skinny("sim", "p.skn", *words)
    assert (code, out, err) == (2, "", f"skinny: error: {message}\n")


def test_bench():
    # Small, so that nothing can be said about speed here; `skinny bench sim` does.
    told = bench_sim(instructions=20, vectors=40, repeats=1)
    assert told["cycles"] > 40 * 20
    assert all(
        told[f"{name}_cycles_per_second"] > 0 for name in ("cpp_main", "bulk", "bulk_traced", "cocotb", "amaranth")
    )


SCALED = """\
skinny 1
width 3
ring fixed:16.14
inputs v t
scale v = 11
box v = 0:4095
box t = -1:1
R2 += v*R1
R0 += t*R2
emit y = R0 scale 11
end
"""


def test_the_rtl_in_the_users_units(answer, skinny, folder):
    (folder / "s.skn").write_text(SCALED)
    (folder / "s.csv").write_text("v,t\n3000,0.25\n4095,-1\n")
    told = answer("sim", "s.skn", "--inputs", "s.csv")
    assert told["results"] == {"y": [750, -4095]}
    assert told["precision"] == {
        "zero_weights": 0,
        "changed_weights": 0,
        "wrapped_rows": 0,
        "outside_rows": 0,
        "rounded_inputs": 0,
    }
    told = answer("sim", "s.skn", "--random", "200")
    assert told["precision"]["wrapped_rows"] == 0
    assert -4095 <= min(told["results"]["y"]) < -3000
    assert 3000 < max(told["results"]["y"]) <= 4095
    (folder / "w.skn").write_text(SCALED.replace("-1:1", "-2:1").replace("scale 11", "scale 10"))
    code, _, err = skinny("sim", "w.skn", "--inputs", "v=4095,t=-2", "--strict")
    line = "fixed:16.14: 1 of 1 row wrapped, so that results are wrong by more than rounding"
    assert (code, err) == (1, f"skinny: error: check failed: {line} (--strict)\n")


NETWORK = """\
skinny 1
width 4
ring fixed:16.8
inputs a b
weight w[0] = 3/2
weight w[1] = -1/4
weight w[2] = 1/2
form f[0] = w[0]*a + w[1]*b + w[2]
form f[1] = w[1]*R2 + w[0]*R3 + a*R3 + w[2]
{argmax}R2 = relu(f[0]*R1)
R3 = relu(-b*R1)
R0 = f[1]*R1
R3 -= w[0]*R2
emit y0 = R0
emit y1 = R3
emit y2 = R2
end
"""


def test_a_network_gives_what_rationals_give(answer, skinny, tmp_path):
    """Inputs of four fraction bits, so that fixed point rounds nothing."""
    rng = random.Random(5)
    rows = [[Fraction(rng.randint(-32, 32), 16) for _ in range(2)] for _ in range(30)]
    expected = []
    for a, b in rows:
        hidden = max(Fraction(3, 2) * a - b / 4 + Fraction(1, 2), 0), max(-b, 0)
        total = -hidden[0] / 4 + Fraction(3, 2) * hidden[1] + a * hidden[1] + Fraction(1, 2)
        expected.append([total, hidden[1] - Fraction(3, 2) * hidden[0], hidden[0]])
    given = tmp_path / "rows.csv"
    given.write_text("a,b\n" + "".join(f"{float(a)},{float(b)}\n" for a, b in rows))
    for name, argmax in (("plain", ""), ("decides", "argmax best\n")):
        (tmp_path / f"{name}.skn").write_text(NETWORK.format(argmax=argmax))
    plain, decides = (str(tmp_path / f"{name}.skn") for name in ("plain", "decides"))
    ran = answer("run", plain, "--inputs", str(given))["outputs"]
    assert [list(row) for row in zip(*ran.values(), strict=True)] == expected
    numbers = [row.index(max(row)) for row in expected]
    assert len(set(numbers)) == 3
    assert answer("run", decides, "--inputs", str(given))["outputs"] == {"best": numbers}
    told = answer("sim", decides, "--inputs", str(given), "--simulator", "amaranth")
    assert (told["match"], told["results"]) == (True, {"best": numbers})
    for option, said in (
        (("--lanes", "2"), "lanes need a linear program, but instruction 0 takes the relu"),
        (("--self-check",), "a self-check needs a reversible program, but instruction 0 takes the relu"),
        (("--ring", "prime:7"), "relu and argmax need a ring with signs, not prime:7"),
        (("--threads", "3"), "argmax needs 4 threads or more"),
    ):
        name = decides if option[0] == "--threads" else plain
        code, _, err = skinny("sim", name, "--random", "4", *option)
        assert (code, err.count("\n")) == (2, 1)
        assert err.startswith(f"skinny: error: {said}")

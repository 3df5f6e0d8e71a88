"""``import skinny``: what Python gives and takes, and that bad arguments end in one line."""

import math
import random
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
import skinny
from skinny.model.errors import InputError
from skinny.model.rings import FixedPoint


@pytest.fixture(scope="module")
def program():
    return skinny.compile("y = a*b + c", width=3)


@pytest.fixture(scope="module")
def two():
    return skinny.compile("s = a + 2*b; p = 3/4*a*b")


class Frame:
    """What the front door asks of a DataFrame."""

    def __init__(self, columns):
        self.held = columns
        self.columns = list(columns)

    def __getitem__(self, name):
        return self.held[name]


def test_import_is_cheap():
    text = "import sys, skinny; print(sorted({m.split('.')[0] for m in sys.modules} & {'numpy', 'amaranth', 'rich'}))"
    assert subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_every_public_name_is_there():
    for name in skinny.__all__:
        assert name in dir(skinny)
        assert getattr(skinny, name).__name__ == name
    with pytest.raises(AttributeError, match="module 'skinny' has no attribute 'compil'"):
        skinny.compil  # noqa: B018


@pytest.mark.parametrize("ending", ["skn", "npz"])
def test_what_was_only_sampled_is_said_everywhere(tmp_path, ending):
    (x,) = skinny.variables("x")
    bell = skinny.Sampled(lambda t: math.exp(-t * t), "bell")
    made = skinny.compile({"y": bell(x), "z": x * x}, ring="fixed:16", box=(-1, 1), error=0.01)
    made.save(tmp_path / f"bell.{ending}")
    for program in (made, skinny.load(tmp_path / f"bell.{ending}")):
        assert [output.sampled for output in program.model.outputs] == [True, False]
        assert program.bound()["sampled"] == program.info()["sampled"] == ["y"]
        assert program.bound("fixed:4.3")["sampled"] == ["y"]
        assert " sampled\n" in str(program)


def test_one_inference_gives_a_number(program):
    assert program.run([2, 3, 4]) == 10
    assert program.run((2, 3, 4), "modular:16") == 10
    assert program.run(np.array([0.5, 3, 0.25]), ring="fixed:16.8") == 1.75
    assert program.run({"c": 4, "a": 2, "b": 3}, ring="prime:7") == 3
    assert program.run([1, 1, 1], ring="boolean") == 0
    assert program.run([Fraction(1, 3), 2, 0]) == Fraction(2, 3)
    assert program.run([0.5, 0.5, 0], FixedPoint(16, 8)) == 0.25
    assert type(program.run([2, 3, 4], "modular:16")) is int
    assert type(program.run([2, 3, 4], "fixed:16.8")) is float
    assert type(program.run([2, 3, 4])) is Fraction


@pytest.mark.parametrize("shape", ["lists", "array", "dict", "dict of arrays", "frame"])
def test_a_batch_gives_lists(program, shape):
    rng = random.Random(1)
    rows = [[Fraction(rng.randrange(-64, 64), 16) for _ in "abc"] for _ in range(50)]
    floats = np.array([[float(value) for value in row] for row in rows])
    given = {
        "lists": rows,
        "array": floats,
        "dict": {name: [row[u] for row in rows] for u, name in enumerate("abc")},
        "dict of arrays": {name: floats[:, u] for u, name in enumerate("abc")},
        "frame": Frame({"other": ["x"] * 50, **{name: floats[:, u] for u, name in enumerate("abc")}}),
    }[shape]
    # Products of sixteenths are multiples of 1/256: fixed point is exact here.
    expected = [a * b + c for a, b, c in rows]
    assert program.run(given) == expected
    assert program.run(given, "fixed:24.8") == expected


def test_several_outputs_come_by_name(two):
    assert two.run([2, 3]) == {"s": 8, "p": Fraction(9, 2)}
    assert two.run([[2, 3], [0, 1]]) == {"s": [8, 2], "p": [Fraction(9, 2), 0]}


def test_a_program_without_inputs():
    assert skinny.compile("3/4 + 1").run() == Fraction(7, 4)
    assert skinny.compile("3/4 + 1").run([]) == Fraction(7, 4)


def test_programs_print_themselves(program, two):
    assert repr(program) == "<Program y from a, b, c: 3 instructions on 3 registers, clean>"
    assert str(program).startswith("skinny 1\n# y = a*b + c\n")
    assert str(program).endswith("emit y = R0\nend\n")
    assert "emit y = R0" in program._repr_html_()
    assert len(program) == 3
    assert (two.inputs, two.outputs) == (("a", "b"), ("s", "p"))


def test_long_programs_are_cut_in_a_notebook():
    long = skinny.compile("*".join(f"x{n}" for n in range(30)))
    shown = long._repr_html_()
    assert f"… {len(long) - 80} more instructions …" in shown
    assert shown.count("\n") == 80


def test_saved_programs_are_loaded(two, tmp_path):
    for name in ("p.skn", "p.npz"):
        two.save(tmp_path / name)
        assert skinny.load(tmp_path / name) == two
        assert skinny.load(str(tmp_path / name)).title == two.title


def test_trace(two, tmp_path):
    trace = two.trace({"a": 2, "b": 3})
    assert len(trace) == len(two)
    assert len(trace.registers) == len(two) + 1
    assert trace.registers[0] == [0, 1, 0]
    assert trace.outputs == {"s": 8, "p": Fraction(9, 2)}
    assert "s = R" in str(trace)
    assert str(trace).count("\n") == len(two) + 1
    assert trace._repr_png_().startswith(b"\x89PNG")
    trace.picture(tmp_path / "t.png")
    assert (tmp_path / "t.png").read_bytes().startswith(b"\x89PNG")
    trace.vcd(tmp_path / "t.vcd")
    assert (tmp_path / "t.vcd").read_text().startswith("$")


def test_too_large_to_draw_is_shown_as_text():
    huge = skinny.compile("a*b").trace([10**200, 10**200])
    assert huge._repr_png_() is None
    assert huge.outputs == {"y": 10**400}


def test_bound(program):
    found = program.bound("fixed:16.8", (-1, 1))
    assert found["safe"]
    assert 0 < found["errors"]["y"] <= 2**-8
    assert not program.bound("fixed:8.6", {"a": (-1, 1), "b": (-1, 1), "c": (0, 1.5)})["safe"]
    assert program.bound("fixed:16.8", (-1, 1), error=2**-10)["suggestion"].startswith("fixed:")


def test_explain(program):
    found = program.explain([1, 2, 3], {"a": 3, "b": 2, "c": 4})
    assert found["outputs"]["y"]["difference"] == 5
    assert found["outputs"]["y"]["shares"] == {"a": 4, "b": 0, "c": 1}


def test_info(program):
    assert program.info()["length"] == 3
    assert program.info("fixed:8.4")["state_bits"] == 24


def test_simulate(program):
    found = program.simulate([[2, 3, 4], [0.5, 3, 0.25]], "fixed:16.8", simulator="amaranth")
    assert found["match"]
    assert found["results"] == {"y": [10.0, 1.75]}
    assert found["simulator"] == "amaranth"


def test_verilog(program, tmp_path):
    found = program.verilog(tmp_path / "out", "fixed:16.8", vectors=3)
    assert sorted(found["files"]) == sorted(path.name for path in (tmp_path / "out").iterdir())


def test_estimates(program):
    assert program.fpga("up5k", "fixed:16.8", estimate=True)["core"]["dsp"] == 1


def test_the_commands_and_python_agree(program, tmp_path, capsys):
    import json

    from skinny.scripts.cli import main

    program.save(tmp_path / "p.skn")
    path = str(tmp_path / "p.skn")

    def command(*words):
        assert main([*words, "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        del found["program"]
        return found

    assert command("info", path) == json.loads(json.dumps(program.info()))
    assert command("bound", path, "--ring", "fixed:16.8", "--box", "-1:1") == program.bound("fixed:16.8", (-1, 1))
    ran = command("run", path, "--ring", "fixed:16.8", "--inputs", "a=0.5,b=3,c=0.25")
    assert ran["outputs"]["y"] == [program.run([0.5, 3, 0.25], "fixed:16.8")]


def test_programs_with_scales_speak_the_users_units(scaled):
    assert scaled.run({"v": [0, 1000, 3000], "t": [1, -1, 0.25]}) == pytest.approx([0, -1000, 750], abs=0.13)
    assert scaled.run([1000, 0.5], "exact") == 500
    assert scaled.run([1000, 0.5], "real") == 500
    assert scaled.trace([1000, 0.5]).outputs == {"y": 500}
    told = scaled.explain([1000, 0.5], [1000, 1], "exact")
    assert (told["inputs"]["b"], told["outputs"]["y"]["b"]) == ({"v": 1000, "t": 1}, 1000)
    assert told["outputs"]["y"]["shares"] == {"v": 0, "t": 500}
    with pytest.raises(InputError, match=r"inputs, column 'v': 4096 does not fit fixed:16\.14 times 2\^11"):
        scaled.run([4096, 0])
    with pytest.raises(InputError, match="the program has scales"):
        scaled.verilog("out", "modular:16")


@pytest.fixture
def scaled(tmp_path):
    """y = v·t, for v up to 4095 and t from -1 to 1, in fixed:16.14."""
    text = "skinny 1\nwidth 3\nring fixed:16.14\ninputs v t\nscale v = 11\nbox v = 0:4095\nbox t = -1:1\n"
    (tmp_path / "scaled.skn").write_text(text + "R2 += v*R1\nR0 += t*R2\nemit y = R0 scale 11\nend\n")
    return skinny.load(tmp_path / "scaled.skn")


def test_what_fixed_point_takes_away_is_a_warning(program):
    with pytest.warns(skinny.PrecisionWarning, match=r"^fixed:16\.8: 1 input value rounded$") as caught:
        program.run([0.1, 0, 0], "fixed:16.8")
    assert caught[0].filename == __file__
    with pytest.warns(skinny.PrecisionWarning, match="1 of 2 rows wrapped"):
        program.run([[100, 100, 100], [0, 0, 0]], "fixed:16.8")
    with pytest.warns(skinny.PrecisionWarning, match="1 of 1 row wrapped"):
        program.trace([100, 100, 100], "fixed:16.8")
    with pytest.warns(skinny.PrecisionWarning, match="1 weight became 0"):
        assert skinny.compile("0.001*x").run([1], "fixed:16.8") == 0


def test_named_weights_are_set_without_compiling():
    e, i = skinny.variables("e i")
    program = skinny.compile({"u": skinny.weight("kp", 0.5, 0, 2) * e + skinny.weight("ki", 0.25, 0, 1) * i})
    assert program.named_weights == {"kp": 0.5, "ki": 0.25}
    assert program.run([2, 4]) == 2
    assert program.with_weights(kp=1.5).run([2, 4]) == 4
    assert program.with_weights(kp=1.5).with_weights(ki=0).named_weights == {"kp": 1.5, "ki": 0}
    with pytest.raises(InputError, match="weight kp: 3 is outside its range 0:2"):
        program.with_weights(kp=3)


FIXED = "fixed:16.8"
#: What is called, and what the message says.
BAD = [
    (lambda p: skinny.compile(5), "a formula must be a text, a Formula, or a list or a dict of them, not 5"),
    (lambda p: skinny.compile(None), "not None"),
    (lambda p: skinny.compile(""), "the formula is empty"),
    (lambda p: skinny.compile({}), "the formula is empty"),
    (lambda p: skinny.compile("a +"), "the formula ends where a value was expected at line 1, column 4"),
    (lambda p: skinny.compile({"y": []}), "output 'y': a formula must be a text or a Formula, not []"),
    (lambda p: skinny.compile({1: "a"}), "the name of an output must be a text, not 1"),
    (lambda p: skinny.compile({"1a": "a"}), "'1a' is not a name"),
    (lambda p: skinny.compile({"y": "u = a; v = b"}), "output 'y': the text must be one formula, not those of u, v"),
    (lambda p: skinny.compile({"y": float("nan")}), "output 'y': a number must be finite, not nan"),
    (lambda p: skinny.compile("a", width=2), "the width must be 3 to 1024, not 2"),
    (lambda p: skinny.compile("a", keep=3), "keep must be linear,reversible or one of linear, reversible, none; not 3"),
    (lambda p: skinny.compile("a", argmax=3), "argmax must be the name of a result, not 3"),
    (lambda p: skinny.compile("a", width="3"), "the width must be a whole number, not '3'"),
    (lambda p: skinny.compile("a", width=3.0), "the width must be a whole number, not 3.0"),
    (lambda p: skinny.compile("a", contract="dirty"), "the contract must be in-place or clean, not 'dirty'"),
    (lambda p: skinny.compile("a", contract=[]), "the contract must be"),
    (lambda p: skinny.compile("a", without=["flod"]), "there is no pass 'flod'"),
    (lambda p: skinny.compile("a", without=7), "without must be a list of names of passes, not 7"),
    (lambda p: skinny.compile("a", start=[0, 1]), "start must have 3 values, not 2"),
    (lambda p: skinny.compile("a", start=5), "start: expected a list of numbers, found 5"),
    (lambda p: skinny.compile("a", start=[0, 1, 0.5]), "the values of start must be integers"),
    (lambda p: skinny.compile("a", start=[0, 1, "x"]), "start: a number must be an int, a float or a Fraction"),
    (lambda p: skinny.variables("a")[0] + "b", "a number must be an int, a float or a Fraction, not 'b'"),
    (lambda p: skinny.compile(1 / skinny.variables("b")[0]), "1/b is no polynomial: it becomes one on a box"),
    (lambda p: skinny.variables("a")[0] / 0, "a formula cannot be divided by zero"),
    (lambda p: skinny.variables("a")[0] ** 0.5, "an exponent must be a whole number from 0 on, not 0.5"),
    (lambda p: skinny.Program("y = a"), "a Program is made by skinny.compile or skinny.load, not from 'y = a'"),
    (lambda p: p.run(), "the program reads a, b, c: give inputs"),
    (lambda p: p.run(5), "inputs must be a list, a dict, an array or a DataFrame of numbers, not 5"),
    (lambda p: p.run("a=1,b=2,c=3"), "not 'a=1,b=2,c=3'"),
    (lambda p: p.run([1, 2]), "the inputs must have the shape (3,) or (batch, 3), not (2,)"),
    (lambda p: p.run([[1, 2, 3], [1, 2]]), "inputs: row 2 has 2 values, the program 3 inputs"),
    (lambda p: p.run([[1, 2, 3], 4]), "inputs: row 2: expected a list of numbers, found 4"),
    (lambda p: p.run([1, 2, "x"]), "inputs, column 'c': a number must be an int, a float or a Fraction, not 'x'"),
    (lambda p: p.run([1, 2, None]), "inputs, column 'c'"),
    (lambda p: p.run([1, 2, 1j]), "inputs, column 'c'"),
    (lambda p: p.run([1, 2, {}]), "inputs, column 'c': {} is not a number"),
    (lambda p: p.run([[1, 2, 3], [1, 2, [3]]]), "inputs: row 2, column 'c': [3] is not a number"),
    (lambda p: p.run([[1, 2, 3], [1, float("nan"), 3]]), "inputs: row 2, column 'b': a number must be finite, not nan"),
    (lambda p: p.run([1, 2, float("inf")], FIXED), "inputs, column 'c': a number must be finite, not inf"),
    (lambda p: p.run([1, 2, 1000], FIXED), "inputs, column 'c': 1000 does not fit fixed:16.8"),
    (lambda p: p.run([1, 2, 0.5], "modular:8"), "inputs, column 'c': 0.5 is not an integer"),
    (lambda p: p.run([1, 2, 3], "boolean"), "inputs, column 'b': 2 does not fit boolean"),
    (lambda p: p.run(np.zeros((2, 4))), "the inputs must have the shape (3,) or (batch, 3), not (2, 4)"),
    (lambda p: p.run(np.zeros((1, 2, 3))), "not (1, 2, 3)"),
    (lambda p: p.run(np.array(5)), "the inputs must have the shape"),
    (lambda p: p.run(np.zeros((0, 3))), "inputs: there is no row of values"),
    (lambda p: p.run([]), "not (0,)"),
    (lambda p: p.run({"a": 1, "b": 2}), "inputs: the input 'c' is missing"),
    (lambda p: p.run({"a": 1, "b": 2, "c": 3, "d": 4}), "inputs: the program has no input 'd'"),
    (lambda p: p.run({1: 1}), "inputs: the program has no input 1"),
    (lambda p: p.run({"a": [1], "b": [1, 2], "c": [3]}), "inputs: the columns differ in length"),
    (lambda p: p.run({"a": [1, 2], "b": 1, "c": [3, 4]}), "inputs: the columns differ in length"),
    (lambda p: p.run({"a": [], "b": [], "c": []}), "inputs: there is no row of values"),
    (lambda p: p.run({"a": np.zeros((2, 2)), "b": [1, 2], "c": [1, 2]}), "inputs, column 'a'"),
    (lambda p: p.run(Frame({"a": [1], "b": [2]})), "inputs: the input 'c' is missing"),
    (lambda p: p.run([1, 2, 3], "float"), "unknown ring 'float': expected modular:BITS"),
    (lambda p: p.simulate([1, 2, 3]), "the program was compiled for no ring in particular: give a ring"),
    (lambda p: p.bound(FIXED), "the program was compiled for no box in particular: give a box"),
    (lambda p: p.run([1, 2, 3], 16), "the ring must be a name such as 'fixed:16.8', not 16"),
    (lambda p: p.run([1, 2, 3], "fixed:64.8"), "the bits of a fixed-point format must be 2 to 32, not 64"),
    (lambda p: p.run([1, 2, 3], start=[0, 1]), "start must have 3 values, not 2"),
    (lambda p: p.run([1, 2, 3], FIXED, start=[0, 1, 1e9]), "start, R2: 1000000000.0 does not fit fixed:16.8"),
    (lambda p: p.trace([[1, 2, 3], [1, 2, 3]]), "inputs: one inference is wanted, not a batch of 2"),
    (lambda p: p.trace([1, 2, 3]).picture("t.jpg"), "t.jpg: the name of a picture must end in .png"),
    (lambda p: p.trace([1, 2, 3]).vcd("missing/t.vcd"), "missing/t.vcd: cannot be written"),
    (lambda p: p.bound("modular:16", (-1, 1)), "bounds are for fixed point: expected fixed:BITS.FRAC"),
    (lambda p: p.bound(FIXED, 5), "box: expected a list of numbers, found 5"),
    (lambda p: p.bound(FIXED, (1, 2, 3)), "box: expected (LO, HI), found (1, 2, 3)"),
    (lambda p: p.bound(FIXED, (1, -1)), "box: the least value is above the greatest"),
    (lambda p: p.bound(FIXED, ("a", 1)), "box: a number must be"),
    (lambda p: p.bound(FIXED, {"a": (0, 1)}), "box: the input 'b' has no box"),
    (lambda p: p.bound(FIXED, {"z": (0, 1)}), "box: the program has no input 'z'"),
    (lambda p: p.bound(FIXED, (-(10**12), 10**12)), "does not fit fixed:16.8"),
    (lambda p: p.bound(FIXED, (-1, 1), error=0), "error must be above zero, not 0"),
    (lambda p: p.bound(FIXED, (-1, 1), error="x"), "error: a number must be"),
    (lambda p: p.explain([1, 2, 3], [1, 2]), "the b must have the shape (3,) or (batch, 3), not (2,)"),
    (lambda p: p.explain([1, 2, 3], [1, 2, 4], shares="half"), "the shares must be line or order, not 'half'"),
    (lambda p: p.explain([1, 2, 3], [1, 2, 4], "modular:8", shares="line"), "shares along the line need division"),
    (lambda p: p.info("none"), "unknown ring 'none'"),
    (lambda p: p.save("p.txt"), "p.txt: the name of a program must end in .skn or .npz"),
    (lambda p: p.save(5), "the path must be the name of a file or folder, not 5"),
    (lambda p: p.save("a\0.skn"), "the path must be the name of a file or folder"),
    (lambda p: p.save("missing/p.skn"), "missing/p.skn: cannot be written"),
    (lambda p: skinny.load("missing.skn"), "missing.skn: cannot be read"),
    (lambda p: skinny.load(None), "the path must be the name of a file or folder, not None"),
    (lambda p: p.simulate([1, 2, 3], "exact"), "there is no hardware for the ring exact"),
    (lambda p: p.simulate([1, 2, 3], FIXED, threads=99), "the number of threads must be 1 to 16, not 99"),
    (lambda p: p.simulate([1, 2, 3], FIXED, threads="4"), "the number of threads must be a whole number, not '4'"),
    (lambda p: p.simulate([1, 2, 3], FIXED, lanes="2"), "the number of lanes must be a whole number, not '2'"),
    (lambda p: p.simulate([1, 2, 3], FIXED, simulator="x"), "the simulator must be"),
    (lambda p: p.simulate([1, 2, 3], FIXED, random=3), "give inputs or a number of random inferences, not both"),
    (lambda p: p.simulate(ring=FIXED, random=0), "the number of random inferences must be at least 1, not 0"),
    (lambda p: p.verilog(None, FIXED), "the folder must be the name of a file or folder, not None"),
    (lambda p: p.verilog("file/out", FIXED), "file/out: cannot be made"),
    (lambda p: p.verilog("out", FIXED, depth=2), "program words do not fit a memory of 2"),
    (lambda p: p.fpga("up9k", FIXED), "unknown device 'up9k'"),
    (lambda p: p.fpga(None, FIXED), "unknown device"),
    (lambda p: p.fpga("up5k", FIXED, seeds=0), "the number of seeds must be 1 to 1000, not 0"),
    (lambda p: p.fpga("up5k", FIXED, frequency="fast"), "frequency: a number must be"),
    (lambda p: p.fpga("up5k", FIXED, estimate=True, folder="x"), "an estimate runs no tool and writes no file"),
    (lambda p: p.fpga("up5k", FIXED, estimate=True, seeds=3, frequency=9), "it goes without seeds and frequency"),
    (lambda p: p.fpga("up5k", FIXED, inferred=True), "designs for up5k have generic parts always"),
]


@pytest.mark.parametrize("number", range(len(BAD)))
def test_bad_arguments_end_in_one_line(program, tmp_path, monkeypatch, number):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    call, message = BAD[number]
    with pytest.raises(InputError) as caught:
        call(program)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value).partition(" at line ")[0]
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_bounds_are_in_the_users_units(scaled):
    """y = v·t: the one product that is rounded is off by half a step of 2^-14, which counts times 2^11."""
    told = scaled.bound()
    assert told["safe"]
    assert told["errors"]["y"] == pytest.approx(2**-4, rel=1e-6)
    assert not scaled.bound(error=0.01)["reached"]

"""Front ends from ``import skinny``, and their programs on the simulated core."""

import numpy as np
import pytest
import skinny
import sympy
from skinny.model.frontends.find import import_formulas

RNG = np.random.default_rng(0)
#: As many registers as are needed, and no promise.
FREE = {"width": 64, "keep": "none"}
#: A sum-product network whose weights are whole numbers.
COIN = {
    "variables": {"u": 2},
    "root": "r",
    "nodes": {
        "r": {"sum": {"a": 5, "b": 7}},
        "a": {"categorical": [4, 3], "of": "u"},
        "b": {"indicator": 1, "of": "u"},
    },
}
TOGGLE = ".inputs t\n.outputs q\n.latch d q 0\n.names t q d\n10 1\n01 1\n"


def times(a, b):
    """The product in the field of AES, GF(2^8)."""
    out = 0
    while b:
        out ^= a * (b & 1)
        a = a << 1 ^ 0x11B * (a >> 7)
        b >>= 1
    return out


def inverse(x):
    """``x^254``."""
    out = 1
    for _ in range(254):
        out = times(out, x)
    return out


def mixed(y):
    """The affine map of the S-box, as a matrix of bits."""
    return 0x63 ^ sum((bin(y & 0x1F1F << 4 + bit >> 8 & 255).count("1") & 1) << bit for bit in range(8))


SBOX = [mixed(inverse(x)) for x in range(256)]


def word(value, bits):
    """A whole number as the signed word of a modular ring."""
    return (int(value) + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)


@pytest.mark.parametrize(
    "machine",
    [
        skinny.dense_machine([16] * 8, RNG.integers(-2, 3, (128, 128))),
        skinny.convolutional_machine([2] * 4, 16, RNG.integers(-2, 3, (8, 8, 3))),
        skinny.time_machine([2] * 4, 16, *RNG.integers(-1, 2, (2, 8, 8))),
    ],
    ids=["dense", "convolutional", "time"],
)
def test_machines_of_128_nodes_on_registers_in_memory(machine):
    program = skinny.compile(machine)
    assert program.title.startswith("Machine of 128 nodes")
    x0 = RNG.integers(-3, 4, (8, 128))
    told = program.simulate(x0, "modular:16", registers="memory", simulator="bulk")
    assert told["match"] is True
    for row, given in enumerate(x0.tolist()):
        wanted = [word(value, 16) for value in machine.solve(given)]
        assert [column[row] for column in told["results"].values()] == wanted


@pytest.mark.parametrize("option", [{"width": 8}, {"keep": "none"}, {"ring": "fixed:8"}, {"argmax": "k"}])
def test_a_machine_goes_without_options(option):
    with pytest.raises(skinny.InputError, match="a machine is a program: it goes without options"):
        skinny.compile(skinny.Machine(2, {(1, 0): 1}), **option)


def test_the_formulas_of_a_machine_take_options():
    machine = skinny.dense_machine([2, 1], [[0, 0, 0], [0, 0, 0], [0.5, -2, 0]])
    program = skinny.compile(machine.formulas([0, 1], [2]), ring="fixed:16", box=(-1, 1))
    assert program.run([0.5, 0.25]) == -0.25


def test_front_ends_on_the_simulated_core():
    """A small instance of each, on one core: a program with all their outputs."""
    x, y = sympy.symbols("x0 x1")
    layer = skinny.ProductLayer([[[1, -1], [2, 1]], [[0, 3], [1, 1]]])
    attention = skinny.LinearAttention(2, [[2]], [[-1]], [[3]])
    graph = skinny.Dag({"g": lambda x0, x1: x0 * x1 + 3, "h": "g*g - x0"})
    parts = {
        "s": import_formulas(sympy.expand((x + 2 * y) ** 3 - x)).outputs,
        "l": (attention @ layer).formulas(),
        "d": graph.formulas(),
        "p": skinny.SumProductNetwork(COIN).formulas(),
    }
    program = skinny.compile({f"{k}{name}": f for k, found in parts.items() for name, f in found.items()}, **FREE)
    rows = RNG.integers(-9, 10, (8, len(program.inputs)))
    told = program.simulate(rows, "modular:24", registers="memory", simulator="amaranth")
    assert told["match"] is True
    for row, given in enumerate(rows.tolist()):
        v = dict(zip(program.inputs, given, strict=True))
        a, b = v["x0"], v["x1"]
        t = [(a - b) * 3 * b, (2 * a + b) * (a + b)]
        wanted = {
            "sy": (a + 2 * b) ** 3 - a,
            "ly0": -6 * (t[0] * t[0] * t[0] + t[0] * t[1] * t[1]),
            "ly1": -6 * (t[1] * t[0] * t[0] + t[1] * t[1] * t[1]),
            "dh": (a * b + 3) ** 2 - a,
            "pp": 5 * (3 * v["u_1"] + 4 * v["u_0"]) + 7 * v["u_1"],
        }
        assert {name: column[row] for name, column in told["results"].items()} == {
            name: word(value, 24) for name, value in wanted.items()
        }


def test_circuits_on_the_simulated_core(tmp_path):
    """The S-box of AES from its truth table, on all its inputs, and a counter, on one core."""
    names = " ".join(f"x[{bit}]" for bit in range(8))
    lines = [".model sbox", f".inputs {names}", ".outputs " + names.replace("x", "y")]
    for bit in range(8):
        lines.append(f".names {names} y[{bit}]")
        lines += [f"{x:08b}"[::-1] + " 1" for x in range(256) if SBOX[x] >> bit & 1]
    (tmp_path / "sbox.blif").write_text("\n".join(lines))
    program = skinny.compile(tmp_path / "sbox.blif")
    assert program.model.words + program.model.emits <= 230
    told = program.simulate(
        {f"x{bit}": [x >> bit & 1 for x in range(256)] for bit in range(8)}, registers="memory", simulator="bulk"
    )
    assert told["match"] is True
    found = [sum(told["results"][f"y{bit}"][x] << bit for bit in range(8)) for x in range(256)]
    assert found == SBOX
    (tmp_path / "toggle.blif").write_text(TOGGLE)
    toggle = skinny.compile(str(tmp_path / "toggle.blif"))
    assert toggle.states.keys() == {"q"}
    bits = [1, 0, 1, 1, 0, 1]
    told = toggle.simulate_stream([[bit] for bit in bits], simulator="amaranth")
    assert told["match"] is True
    assert toggle.run_stream([[bit] for bit in bits]) == [0, 1, 1, 0, 1, 1]


def test_a_circuit_has_its_ring(tmp_path):
    (tmp_path / "toggle.blif").write_text(TOGGLE)
    with pytest.raises(skinny.InputError, match="is computed in the ring boolean: it goes without another"):
        skinny.compile(tmp_path / "toggle.blif", ring="fixed:16", box=(0, 1))
    with pytest.raises(skinny.InputError, match="states are about formulas"):
        skinny.compile(tmp_path / "toggle.blif", states={"s": (0, "s")})


def test_options_of_formulas_hold():
    graph = skinny.Dag({"h": "a*b", "y": "h*c*d"})
    pure = skinny.compile(graph, keep="linear,reversible", width=3)
    assert (pure.model.linear, pure.model.reversible, pure.width) == (True, True, 3)
    assert pure.run([2, 3, 5, 7]) == 210
    fixed = skinny.compile(graph, ring="fixed:16", box=(-1, 1))
    assert fixed.model.ring.startswith("fixed:16.")


def test_a_list_of_formulas_is_numbered():
    a, b = skinny.variables("a b")
    assert skinny.compile([a + b, a * b]).run([2, 3]) == {"y0": 5, "y1": 6}

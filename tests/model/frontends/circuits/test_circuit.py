"""Circuits as programs over GF(2): their whole truth tables against plain arithmetic, and their lengths."""

from dataclasses import replace

import numpy as np
import pytest
from skinny.model.compiler.pipeline import compile_formula
from skinny.model.compiler.stream import compile_states
from skinny.model.errors import CheckError, InputError
from skinny.model.frontends.circuits.circuit import Circuit
from skinny.model.rings import Boolean
from skinny.model.run.golden import run
from skinny.model.run.stream import run_stream

HALF = ".model half\n.inputs a b\n.outputs s c\n.names a b s\n10 1\n01 1\n.names a b c\n11 1\n.end\n"
COUNTER = """\
.model counter
.inputs up
.outputs q[0] q[1]
.latch d0 q[0] re clk 1
.latch d1 q[1] re clk 0
.names up q[0] d0
10 1
01 1
.names up q[0] q[1] d1
111 0
0-0 0
-00 0
.end
"""


def xor(a, b, y):
    return [f".names {a} {b} {y}", "10 1", "01 1"]


def both(a, b, y):
    return [f".names {a} {b} {y}", "11 1"]


def either(a, b, y):
    return [f".names {a} {b} {y}", "00 0"]


def full_of_gates(a, b, c, s, carry):
    """A full adder, as it is drawn."""
    sums = [*xor(a, b, f"{s}p"), *xor(f"{s}p", c, s)]
    return [*sums, *both(a, b, f"{s}g"), *both(f"{s}p", c, f"{s}t"), *either(f"{s}g", f"{s}t", carry)]


def full_of_tables(a, b, c, s, carry):
    total = [f".names {a} {b} {c} {s}", "100 1", "010 1", "001 1", "111 1"]
    return [*total, f".names {a} {b} {c} {carry}", "11- 1", "1-1 1", "-11 1"]


def adder(bits, full):
    """A ripple adder."""
    wires = [f"{name}[{n}]" for name in "ab" for n in range(bits)]
    lines = [".inputs " + " ".join(wires), ".outputs " + " ".join(f"s[{n}]" for n in range(bits + 1))]
    lines += [*xor("a[0]", "b[0]", "s[0]"), *both("a[0]", "b[0]", "c1")]
    for n in range(1, bits):
        carry = f"c{n + 1}" if n + 1 < bits else f"s[{bits}]"
        lines += full(f"a[{n}]", f"b[{n}]", f"c{n}", f"s[{n}]", carry)
    return "\n".join([".model adder", *lines, ".end", ""])


def multiplier(bits):
    """An array of ands, whose rows are added."""
    wires = [f"{name}[{n}]" for name in "ab" for n in range(bits)]
    lines = [".inputs " + " ".join(wires), ".outputs " + " ".join(f"p[{n}]" for n in range(2 * bits))]
    lines += [".names zero"]
    row = [f"r0_{n}" for n in range(bits)] + ["zero"]
    for n in range(bits):
        lines += both(f"a[{n}]", "b[0]", f"r0_{n}")
    sums = [row[0]]
    row = row[1:]
    for k in range(1, bits):
        carry = "zero"
        above = []
        for n in range(bits):
            lines += both(f"a[{n}]", f"b[{k}]", f"m{k}_{n}")
            lines += full_of_gates(row[n], f"m{k}_{n}", carry, f"r{k}_{n}", f"c{k}_{n}")
            above.append(f"r{k}_{n}")
            carry = f"c{k}_{n}"
        sums.append(above[0])
        row = [*above[1:], carry]
    for n, wire in enumerate([*sums, *row]):
        lines += [f".names {wire} p[{n}]", "1 1"]
    return "\n".join([".model multiplier", *lines, ".end", ""])


@pytest.fixture
def circuit(tmp_path):
    def make(text):
        (tmp_path / "c.blif").write_text(text)
        return Circuit(tmp_path / "c.blif")

    return make


def compiled(circuit):
    written = circuit.written()
    assert written.ring == "boolean"
    return compile_formula(written.outputs, width=1024, keep=frozenset(), inputs=written.inputs).program


def whole_table(program, circuit):
    """The outputs for all inputs: numbers for the numbers of the inputs, the first bit the lowest."""
    numbers = np.arange(1 << len(circuit.inputs))
    bits = np.stack([numbers >> circuit.inputs.index(name) & 1 for name in program.inputs], axis=1).astype(np.uint8)
    found = run(program, Boolean(), bits).outputs.astype(np.int64)
    return numbers, found @ (1 << np.arange(found.shape[1]))


def test_half_adder(circuit):
    half = circuit(HALF)
    program = compiled(half)
    assert (program.words, program.emits) == (4, 2)
    numbers, found = whole_table(program, half)
    assert found.tolist() == [(n & 1) + (n >> 1) for n in numbers]


@pytest.mark.parametrize("full", [full_of_gates, full_of_tables])
def test_adder_of_8_bits(circuit, full):
    given = circuit(adder(8, full))
    program = compiled(given)
    assert program.words + program.emits <= 63
    numbers, found = whole_table(program, given)
    assert (found == (numbers & 255) + (numbers >> 8)).all()


def test_multiplier(circuit):
    given = circuit(multiplier(4))
    numbers, found = whole_table(compiled(given), given)
    assert (found == (numbers & 15) * (numbers >> 4)).all()


def test_names_of_the_file(circuit):
    given = circuit(".model m\n.inputs a[3] $x 3y\n.outputs u.v[12]\n.names a[3] $x 3y u.v[12]\n111 1\n.end\n")
    assert given.inputs == ("a3", "x", "n3y")
    assert given.outputs == ("u_v12",)


def test_outputs_that_are_inputs_constants_or_each_other(circuit):
    given = circuit(
        ".model m\n.inputs a b\n.outputs a k n m z\n.names k\n1\n.names a n\n0 1\n.names n m\n1 1\n.names z\n.end\n"
    )
    program = compiled(given)
    assert given.check(program) == "on the whole truth table, 4 rows"
    bits = np.array([[0], [1]], dtype=np.uint8)
    assert run(program, Boolean(), bits).outputs.tolist() == [[0, 1, 1, 1, 0], [1, 1, 0, 0, 0]]


@pytest.mark.parametrize(("count", "value"), [(14, "1"), (14, "0"), (6, "1")])
def test_tables_of_many_inputs(circuit, count, value):
    rows = ["1" * count, "0" * count, "01" + "-" * (count - 2)]
    names = " ".join(f"x{n}" for n in range(count))
    given = circuit(f".inputs {names}\n.outputs y\n.names {names} y\n" + "".join(f"{row} {value}\n" for row in rows))
    numbers, found = whole_table(compiled(given), given)
    full = (1 << count) - 1
    matched = (numbers == full) | (numbers == 0) | (numbers & 3 == 2)
    assert (found == (matched if value == "1" else ~matched)).all()


def test_the_check_finds_a_wrong_program(circuit):
    half = circuit(HALF)
    right = compiled(half)
    assert half.check(right) == "on the whole truth table, 4 rows"
    names = [output.name for output in right.outputs]
    wrong = replace(
        right, outputs=tuple(out._replace(name=name) for out, name in zip(right.outputs, names[::-1], strict=True))
    )
    with pytest.raises(CheckError, match=r"the output [sc] is not that of "):
        half.check(wrong)


def test_many_inputs_are_checked_on_random_rows(circuit):
    given = circuit(adder(9, full_of_gates))
    assert given.check(compiled(given)) == "on 16,384 random rows of the truth table"


def test_latches_are_states(circuit):
    given = circuit(COUNTER)
    written = given.written()
    assert [(state.name, state.start) for state in written.states] == [("q0", 1), ("q1", 0)]
    program = compile_states(written.definitions, width=16, keep=frozenset()).program
    assert given.check(program) == "on 256 random streams of 64 samples"
    ups = [1, 0, 1, 1, 1, 0, 1]
    found = run_stream(program, Boolean(), np.array([[[up] for up in ups]], dtype=np.uint8)).outputs[0]
    counts = [(1 + sum(ups[:n])) % 4 for n in range(len(ups))]
    assert found.tolist() == [[count & 1, count >> 1] for count in counts]
    begin = list(program.start)
    begin[program.state[0].register] = 0
    wrong = replace(program, start=tuple(begin))
    with pytest.raises(CheckError, match="the output q0 is not that of "):
        given.check(wrong)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (".inputs a$b a_b\n.outputs y\n.names y\n", "'a$b' and 'a_b' would both be called 'a_b' in a program"),
        (".inputs a.b\n.outputs y\n.latch y a_b\n.names y\n", "an input and a latch would both be called 'a_b'"),
        (".outputs y\n.names z y\n1 1\n.names y z\n1 1\n", "tables must not read each other in a circle, but "),
    ],
)
def test_what_no_program_can_be_is_refused(circuit, text, message):
    with pytest.raises(InputError) as caught:
        circuit(text)
    assert message in str(caught.value)

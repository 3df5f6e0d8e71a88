"""Waveforms, read back by a small parser of the standard's grammar."""

import io
import re
from fractions import Fraction

import numpy as np
import pytest
from skinny.model.errors import InputError
from skinny.model.program.forms import Input
from skinny.model.program.program import Columns, Output, Program
from skinny.model.rings import Boolean, Exact, FixedPoint, Modular, PrimeField, Real
from skinny.model.run.golden import trace
from skinny.model.run.vcd import write_vcd


def read_vcd(text):
    """``{name: (kind, bits)}`` and, for each time, ``{name: value}``; vectors as unsigned integers."""
    header, _, body = text.partition("$enddefinitions $end\n")
    assert "$timescale 1 ns $end" in header
    assert header.count("$scope") == header.count("$upscope") == 1
    kinds, names = {}, {}
    for kind, bits, mark, name, span in re.findall(r"\$var (\w+) (\d+) (\S+) (\w+)( \[\d+:0\])? \$end", header):
        assert span == (f" [{int(bits) - 1}:0]" if kind == "wire" and bits != "1" else "")
        assert mark not in names
        kinds[name], names[mark] = (kind, int(bits)), name
    times, held = {}, {}
    now = None
    for line in body.splitlines():
        if line.startswith("#"):
            if now is not None:
                times[now] = dict(held)
            assert now is None or int(line[1:]) > now
            now = int(line[1:])
        elif line[0] == "b":
            digits, mark = line[1:].split(" ")
            assert len(digits) <= kinds[names[mark]][1]
            held[names[mark]] = int(digits, 2)
        elif line[0] == "r":
            digits, mark = line[1:].split(" ")
            held[names[mark]] = float(digits)
        elif line[0] in "01":
            held[names[line[1:]]] = int(line[0])
        else:
            assert line in ("$dumpvars", "$end")
    times[now] = dict(held)
    return kinds, times


def written(program, ring, steps):
    file = io.StringIO()
    write_vcd(file, program, ring, steps)
    return file.getvalue()


@pytest.mark.parametrize(
    "ring",
    [Modular(1), Modular(8), Modular(64), FixedPoint(16, 8), PrimeField(8191), Boolean(), Exact(), Real()],
    ids=repr,
)
@pytest.mark.parametrize("length", [0, 1, 40])
def test_what_is_written_is_the_trace(random_program, ring, length):
    rng = np.random.default_rng(length)
    program = random_program(rng, length=length, largest=1)
    steps = trace(program, ring, ring.encode_all(rng.integers(0, 2, (1, len(program.inputs)))))[:, 0]
    kinds, times = read_vcd(written(program, ring, steps))
    assert kinds["pc"] == ("wire", max(1, length.bit_length()))
    assert all(kinds[f"R{r}"] == (("wire", ring.bits) if ring.bits else ("real", 64)) for r in range(3))
    assert list(times) == list(range(length + 1))
    for step, values in times.items():
        assert values.pop("pc") == step
        numbers = [steps[step, r] for r in range(3)]
        expected = [int(n) % 2**ring.bits if ring.bits else float(n) for n in numbers]
        assert values == {f"R{r}": n for r, n in enumerate(expected)}


def test_only_changes_are_written():
    program = Program(3, ("x",), (), (Input(0),), Columns.of([0, 2], [1, 1], [1, 1], [0, 0]), (Output("y", 0, 2),))
    text = written(program, Modular(8), trace(program, Modular(8), np.array([[5]]))[:, 0])
    names = dict(re.findall(r" (\S+) (R\d|pc)", text.partition("$enddef")[0]))
    last = text.partition("#2\n")[2].split()
    assert [names[mark] for mark in last[1::2]] == ["pc", "R2"]


def test_many_registers_have_marks_of_their_own():
    program = Program(255, (), (), (), Columns.empty(), (Output("y", 0, 0),))
    _, times = read_vcd(written(program, Modular(16), np.arange(255)[None]))
    assert times == {0: {"pc": 0} | {f"R{r}": r for r in range(255)}}


def test_rationals_beyond_the_floats_are_infinite():
    program = Program(2, (), (), (), Columns.empty(), (Output("y", 0, 0),))
    steps = np.array([[Fraction(10) ** 400, -(Fraction(10) ** 400)]])
    _, times = read_vcd(written(program, Exact(), steps))
    assert times[0] == {"pc": 0, "R0": float("inf"), "R1": -float("inf")}


def test_a_path_is_complete_or_not_there(tmp_path):
    program = Program(2, (), (), (), Columns.empty(), (Output("y", 0, 0),))
    path = tmp_path / "a.vcd"
    write_vcd(path, program, Modular(8), np.array([[1, 2]]))
    assert path.read_text() == written(program, Modular(8), np.array([[1, 2]]))
    with pytest.raises(TypeError):
        write_vcd(tmp_path / "b.vcd", program, Modular(8), np.array([["no", "number"]]))
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.vcd"]
    with pytest.raises(InputError, match=r"cannot be written"):
        write_vcd(tmp_path / "missing" / "a.vcd", program, Modular(8), np.array([[1, 2]]))


def test_a_trace_of_another_shape_is_refused():
    program = Program(2, (), (), (), Columns.empty(), (Output("y", 0, 0),))
    with pytest.raises(InputError) as caught:
        write_vcd(io.StringIO(), program, Modular(8), np.zeros((1, 2, 2), int))
    assert str(caught.value) == "the trace must have the shape (1, 2), not (1, 2, 2)"


def test_samples_of_a_stream_follow_each_other():
    program = Program(2, ("x",), (), (Input(0),), Columns.of([0], [1], [1], [0]), (Output("y", 0, 1),))
    steps = np.array([[[0, 1], [5, 1]], [[5, 1], [9, 1]], [[9, 1], [9, 1]]])
    kinds, times = read_vcd(written(program, Modular(8), steps))
    assert kinds["sample"] == ("wire", 2)
    assert [(times[t]["sample"], times[t]["pc"], times[t]["R0"]) for t in range(6)] == [
        *((0, 0, 0), (0, 1, 5), (1, 0, 5), (1, 1, 9), (2, 0, 9), (2, 1, 9))
    ]

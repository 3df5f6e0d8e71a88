"""``skinny info``: the facts of a program."""

import re

import pytest
from skinny.model.compiler.pipeline import compile_formula
from skinny.model.formula.parse import parse_formula
from skinny.model.program.forms import Input, Linear
from skinny.model.program.program import Program
from skinny.model.program.storage import save


def test_facts_of_a_program(answer):
    assert answer("info", "p.skn", "--ring", "fixed:20.8") == {
        "program": "p.skn",
        "title": "y = 2*a*b - 3/4; z = a",
        "length": 4,
        "words": 5,  # and one attention step
        "attends": 1,
        "memory_words": {"flat": 7, "rolled": None},
        "width": 3,
        "contract": "clean",
        "linear": True,
        "reversible": True,
        "linear_break": None,
        "reversible_break": None,
        "start": [0, 1, 0],
        "states": {},
        "window": 0,
        "samples": None,
        "levels": 3,  # R2, then R0 twice (these commute), then R2 again
        "critical_path": {"inputs": 2, "weights": 0, "linear_forms": 1},  # b, f[0], a
        "speedup": {
            "levels": 4 / 3,
            "reads": 4 / 2,
            "segments": {"2": 5 / (3 + 9), "4": 5 / (2 + 27), "8": 5 / (1 + 63)},
        },
        "inputs": {"a": 2, "b": 1},
        "most_read": "a",
        "outputs": ["y", "z"],
        "argmax": None,
        "compiled_for": None,
        "input_scales": {"a": 0, "b": 0},
        "output_scales": {"y": 0, "z": 0},
        "box": None,
        "approximations": {"y": 0, "z": 0},
        "sampled": [],
        "named_weights": {},
        "weights": 2,
        "weight_reads": [1, 1],
        "derived_weights": 0,
        "forms": 4,
        "linear_forms": 1,
        "ring": "fixed:20.8",
        "state_bits": 80,  # three registers and the accumulator
    }


def test_the_table_says_the_same(skinny):
    code, out, err = skinny("info", "p.skn")
    assert (code, err) == (0, "")
    words = [line.split(maxsplit=1) for line in out.splitlines()]
    assert ["length", "4"] in [[word.strip() for word in line] for line in words]
    assert "y = R0 after 3, restart, z = R2 after 4" in out
    assert ["a", "2"] in words
    assert ["b", "1"] in words
    assert "2 inputs, 0 weights, 1 linear form" in out
    assert [line.split() for line in out.splitlines() if line.startswith("by levels")] == [["by", "levels", "1.33"]]
    assert "by segments, 8 lanes" in out


def test_a_comment_is_a_title(skinny, folder):
    """The text of a formula may begin with a comment, which then says what the program is."""
    (folder / "f.txt").write_text("# The product.\ny = a*b\n")
    assert skinny("compile", "@f.txt", "-o", "f.skn")[0] == 0
    assert "title             The product.\n" in re.sub(" +\n", "\n", skinny("info", "f.skn")[1])


def test_long_texts_do_not_widen_the_table(skinny, folder):
    """Of a title the beginning is shown, a list goes on in the next line."""
    text = (folder / "p.skn").read_text().replace("inputs a b", "inputs a b " + " ".join(f"c{n}" for n in range(300)))
    text = text.replace("# y = 2*a*b - 3/4; z = a", "# y = 2*a*b" + " - 3/4" * 500)
    outputs = "".join(f"emit z{n} = R2\n" for n in range(300))
    (folder / "p.skn").write_text(text.replace("end\n", f"{outputs}end\n"))
    code, out, err = skinny("info", "p.skn")
    assert (code, err) == (0, "")
    assert max(map(len, out.splitlines())) < 140
    assert "z299 = R2" in out


MACHINE = """\
skinny 1
width 4
inputs a b
weight w[0] = 2
form f[0] = w[0]*a + b*R3 + w[0]*R2
argmax best
R3 = a*R1
R2 += f[0]*R1
R0 = relu(-w[0]*R2)
emit y = R0
emit z = R2
end
"""


def test_promises_and_what_breaks_them(answer, skinny, tmp_path):
    (tmp_path / "m.skn").write_text(MACHINE.replace(" + w[0]*R2", ""))
    found = answer("info", str(tmp_path / "m.skn"))
    assert (found["linear"], found["reversible"], found["argmax"]) == (False, False, "best")
    assert found["linear_break"] == "instruction 1 multiplies with a sum of registers"
    assert found["reversible_break"] == "instruction 2 takes the relu"
    assert (found["words"], found["inputs"], found["weight_reads"]) == (5, {"a": 2, "b": 1}, [2])
    assert (found["levels"], found["critical_path"]) == (3, {"inputs": 1, "weights": 1, "linear_forms": 1})
    _, out, _ = skinny("info", str(tmp_path / "m.skn"))
    assert "no, instruction 2 takes the relu" in out
    (tmp_path / "m.skn").write_text(MACHINE)
    code, _, err = skinny("info", str(tmp_path / "m.skn"))
    assert (code, err.count("\n")) == (2, 1)
    assert err.endswith("m.skn: instruction 1: the form reads the register that is added to\n")


UNITS = """\
skinny 1
width 3
ring fixed:16.11
inputs v t
scale v = 12
scale t = -2
box v = 0:4095
box t = -1/8:1/8
R0 += v*R1
emit y = R0 scale 7 approximation 1/1000
end
"""


def test_units_are_told(answer, skinny, folder):
    (folder / "units.skn").write_text(UNITS)
    told = answer("info", "units.skn")
    assert (told["compiled_for"], told["ring"], told["state_bits"]) == ("fixed:16.11", "fixed:16.11", 48)
    assert told["input_scales"] == {"v": 12, "t": -2}
    assert told["box"] == {"v": [0, 4095], "t": ["-1/8", "1/8"]}
    assert told["output_scales"] == {"y": 7}
    assert told["approximations"] == {"y": "1/1000"}
    _, out, _ = skinny("info", "units.skn")
    assert "y = R0·2^7 after 1, within 0.001 of the formula" in out
    assert "sampled" not in out
    (folder / "seen.skn").write_text(UNITS.replace("1/1000", "1/1000 sampled"))
    assert answer("info", "seen.skn")["sampled"] == ["y"]
    assert "within 0.001 of the formula as sampled, not proven" in skinny("info", "seen.skn")[1]
    rows = [line.split() for line in out.splitlines()]
    assert ["v", "1", "v/2^12", "0:4095"] in rows
    assert ["t", "0", "t·2^2", "-1/8:1/8"] in rows


def longest_chain(program: Program) -> list[int]:
    """A longest sequence of instructions none of which commutes with the next, by trying all before each."""
    chains: list[list[int]] = []
    pairs = list(zip(program.code.dst.tolist(), program.code.src.tolist(), strict=True))
    for n, (dst, src) in enumerate(pairs):
        before = [chains[m] for m in range(n) if pairs[m][0] == src or pairs[m][1] == dst]
        chains.append([*max(before, key=len, default=[]), n])
    return max(chains, key=len)


@pytest.mark.parametrize("contract", ["clean", "in-place"])
@pytest.mark.parametrize("text", ["(a + 2*b)^3*c - 3/4", "a*b*c + 3*b*c*d + 5*a*d^2", "(1 - 2*a)*(1 - 2*b)*(1 - 2*c)"])
def test_figures_of_compiled_programs(answer, folder, text, contract):
    program = compile_formula(parse_formula(text), contract=contract).program
    save(program, folder / "c.skn")
    got = answer("info", "c.skn")
    chain = longest_chain(program)
    assert got["levels"] == len(chain) == sum(got["critical_path"].values())
    assert got["speedup"]["levels"] == len(program) / len(chain)
    used = [program.forms[number] for number in program.code.form.tolist()]
    for u, name in enumerate(program.inputs):
        reads = [u in [v for _, v in form.terms] if isinstance(form, Linear) else form == Input(u) for form in used]
        assert got["inputs"][name] == sum(reads)
    assert got["inputs"][got["most_read"]] == max(got["inputs"].values())
    assert got["words"] == got["length"] + got["attends"]


def test_a_program_without_instructions_has_no_limit(answer, folder):
    (folder / "e.skn").write_text("skinny 1\nwidth 3\nemit y = R0\nend\n")
    got = answer("info", "e.skn")
    assert got["speedup"] == {"levels": 1.0, "reads": None, "segments": {"2": 1.0, "4": 1.0, "8": 1.0}}
    assert (got["most_read"], got["weight_reads"]) == (None, [])


def test_inputs_that_are_not_read_are_listed(answer, folder):
    (folder / "u.skn").write_text("skinny 1\nwidth 3\ninputs a b\nR0 += b*R1\nemit y = R0\nend\n")
    assert answer("info", "u.skn")["inputs"] == {"a": 0, "b": 1}
    assert answer("info", "u.skn", "--ring", "exact")["state_bits"] == 0

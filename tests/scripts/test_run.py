"""``skinny run``: values in every ring, tables and JSON."""

import json
from fractions import Fraction

import pytest
from skinny.model.program.storage import load, save


@pytest.mark.parametrize("name", ["p.skn", "p.npz"])
@pytest.mark.parametrize(
    ("ring", "y", "z"),
    [
        # y = 2·(3/2)·(-5/2) - 3/4, z = 3/2
        ("exact", "-33/4", "3/2"),
        ("real", -8.25, 1.5),
        ("fixed:16.8", -8.25, 1.5),
        # -33/4 and 3/2 mod 11: 4^-1 = 3, 2^-1 = 6
        ("prime:11", -33 * 3 % 11, 3 * 6 % 11),
    ],
)
def test_values_in_each_ring(answer, name, ring, y, z):
    save(load("p.skn"), "p.npz")
    found = answer("run", name, "--ring", ring, "--inputs", "a=1.5,b=-5/2")
    assert found == {
        "program": name,
        "ring": ring,
        "batch": 1,
        "outputs": {"y": [y], "z": [z]},
        "precision": {
            "zero_weights": 0,
            "changed_weights": 0,
            "wrapped_rows": 0,
            "outside_rows": 0,
            "rounded_inputs": 0,
        },
    }


def test_boolean_and_modular(answer, folder):
    (folder / "x.skn").write_text(
        "skinny 1\nwidth 3\ninputs a b\nR2 += b*R1\nR0 += a*R2\nR0 -= a*R1\nemit y = R0\nend\n"
    )
    (folder / "x.csv").write_text("b,a\n0,0\n1,0\n0,1\n1,1\n")
    assert answer("run", "x.skn", "--ring", "boolean", "--inputs", "x.csv")["outputs"] == {"y": [0, 0, 1, 0]}
    found = answer("run", "x.skn", "--ring", "modular:8", "--inputs", "a=100,b=100")
    assert found["outputs"] == {"y": [(100 * 100 - 100 + 128) % 256 - 128]}


def test_columns_come_in_any_order(answer, skinny, folder):
    (folder / "v.csv").write_text('\ufeffb, a \n"4",1\n 0.5 ,1/3\n1e-2,-2\n\n', encoding="utf-8")
    found = answer("run", "p.skn", "--ring", "exact", "--inputs", "v.csv")
    pairs = [(Fraction(1), Fraction(4)), (Fraction(1, 3), Fraction(1, 2)), (Fraction(-2), Fraction(1, 100))]
    expected = [2 * a * b - Fraction(3, 4) for a, b in pairs]
    assert found["outputs"]["y"] == [str(value) for value in expected]
    assert found["outputs"]["z"] == [1, "1/3", -2]


def test_columns_of_no_use_are_noted(skinny, folder):
    (folder / "v.csv").write_text("b,c,a\n1,text,2\n")
    code, out, err = skinny("run", "p.skn", "--ring", "real", "--inputs", "v.csv", "--json")
    assert code == 0
    assert '"y": [3.25]' in out
    assert err == "skinny: v.csv: columns the program does not read: c\n"


def test_the_table_is_short_and_says_so(skinny, folder):
    (folder / "v.csv").write_text("a,b\n" + "".join(f"{n},1\n" for n in range(100, 125)))
    code, out, err = skinny("run", "p.skn", "--ring", "exact", "--inputs", "v.csv")
    lines = [line.split() for line in out.splitlines()]
    assert code == 0
    assert lines[0] == ["row", "y", "z"]
    assert lines[2:] == [[str(n - 99), str(Fraction(8 * n - 3, 4)), str(n)] for n in range(100, 120)]
    assert err == "skinny: 5 more rows; -o FILE.csv has all\n"


def test_another_start(answer):
    # From (1, 2, -1) in place of (0, 1, 0): R2 = -1 + 2b, R0 = 1 + 2a·R2 - 3/2; then R2 = -1 + 2a
    found = answer("run", "p.skn", "--ring", "exact", "--inputs", "a=3,b=5", "--start", "1,2,-1")
    assert found["outputs"] == {"y": [str(1 + 6 * 9 - Fraction(3, 2))], "z": [5]}
    found = answer("run", "p.skn", "--ring", "exact", "--inputs", "a=3,b=5", "--start", "-1,0,0")
    assert found["outputs"] == {"y": [-1], "z": [0]}


def test_no_inputs_are_needed_where_none_are_read(answer, folder):
    (folder / "c.skn").write_text("skinny 1\nwidth 3\nweight w[0] = 7\nR0 += w[0]*R1\nemit y = R0\nend\n")
    assert answer("run", "c.skn", "--ring", "modular:8")["outputs"] == {"y": [7]}


def test_floats_that_overflow_are_text(answer, folder):
    (folder / "x.skn").write_text("skinny 1\nwidth 3\ninputs a\nR0 += a*R1\nR2 += a*R0\nemit y = R2\nend\n")
    assert answer("run", "x.skn", "--ring", "real", "--inputs", "a=1e200")["outputs"] == {"y": ["inf"]}


def test_numbers_beyond_printing_are_refused(skinny, folder):
    body = "".join(f"R{2 * (n % 2)} += a*R{2 - 2 * (n % 2)}\n" for n in range(1, 20))
    (folder / "x.skn").write_text(f"skinny 1\nwidth 3\nstart 1 1 1\ninputs a\n{body}emit y = R2\nend\n")
    code, out, err = skinny("run", "x.skn", "--ring", "exact", "--inputs", "a=1e999", "--json")
    assert (code, out, err) == (2, "", "skinny: error: y: a value has too many digits to be printed\n")


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


def test_the_users_units_go_in_and_come_out(answer, skinny, folder):
    (folder / "s.skn").write_text(SCALED)
    for ring in ([], ["--ring", "exact"], ["--ring", "real"]):
        assert answer("run", "s.skn", "--inputs", "v=3000,t=0.25", *ring)["outputs"] == {"y": [750]}
    assert skinny("run", "s.skn", "--inputs", "v=5000,t=0") == (
        2,
        "",
        "skinny: error: --inputs, column 'v': 5000 does not fit fixed:16.14 times 2^11 (-4096.0 to 4095.875)\n",
    )
    code, _, err = skinny("run", "s.skn", "--ring", "modular:16", "--inputs", "v=1,t=1")
    assert (code, err.startswith("skinny: error: the program has scales, so it runs in fixed:BITS.FRAC")) == (2, True)


def test_a_program_without_a_ring_needs_one(skinny):
    code, _, err = skinny("run", "p.skn", "--inputs", "a=1,b=1")
    assert (code, err) == (2, "skinny: error: p.skn was compiled for no ring in particular: give --ring\n")


LOST = (
    "fixed:16.8: 1 weight became 0 (w[0] = 0.001); 1 weight changed by more than 1 % (w[1] = 0.006 is 0.0078125); "
    "1 of 2 rows wrapped, so that results are wrong by more than rounding; 2 input values rounded"
)


def test_nothing_is_silent(skinny, folder):
    (folder / "l.skn").write_text(
        "skinny 1\nwidth 3\ninputs a\nweight w[0] = 1/1000\nweight w[1] = 3/500\n"
        "R0 += w[0]*R1\nR0 += w[1]*R1\nR2 += a*R1\nR0 += a*R2\nemit y = R0\nend\n"
    )
    (folder / "l.csv").write_text("a\n0.1\n20.3\n")
    words = ("run", "l.skn", "--ring", "fixed:16.8", "--inputs", "l.csv")
    code, out, err = skinny(*words)
    assert (code, err) == (0, f"skinny: {LOST}\n")
    assert skinny(*words, "--strict") == (1, out, f"skinny: error: check failed: {LOST} (--strict)\n")
    code, out, err = skinny(*words, "--json")
    counts = {"zero_weights": 1, "changed_weights": 1, "wrapped_rows": 1, "outside_rows": 0, "rounded_inputs": 2}
    assert (code, json.loads(out)["precision"], err) == (0, counts, f"skinny: {LOST}\n")
    code, _, err = skinny("run", "l.skn", "--ring", "real", "--inputs", "l.csv", "--strict")
    assert (code, err) == (0, "")


@pytest.mark.parametrize("command", ["run", "sim"])
def test_rows_outside_the_box_are_counted(skinny, folder, command):
    assert skinny("compile", "y = x/2", "--ring", "fixed:16.8", "--box", "-1:1", "-o", "b.skn")[0] == 0
    (folder / "b.csv").write_text("x\n1\n1.5\n-2\n")
    said = "fixed:16.8: 2 of 3 rows outside the box of the program (x), where nothing is proven"
    code, out, err = skinny(command, "b.skn", "--inputs", "b.csv", "--json")
    assert (code, err, json.loads(out)["precision"]["outside_rows"]) == (0, f"skinny: {said}\n", 2)
    code, _, err = skinny(command, "b.skn", "--inputs", "b.csv", "--strict")
    assert (code, err) == (1, f"skinny: error: check failed: {said} (--strict)\n")
    assert skinny("run", "b.skn", "--inputs", "b.csv", "--ring", "exact", "--strict")[0] == 0


def test_named_weights_are_set_without_compiling(answer, skinny, folder):
    assert skinny("compile", "weight kp = 0.5 in 0:2; u = kp*e", "-o", "k.skn")[0] == 0
    words = ("run", "k.skn", "--ring", "fixed:16.8", "--inputs", "e=3")
    assert answer(*words)["outputs"] == {"u": [1.5]}
    assert answer(*words, "--weight", "kp=1.25")["outputs"] == {"u": [3.75]}
    assert answer("sim", *words[1:], "--weight", "kp=5/4")["results"] == {"u": [3.75]}
    told = answer("info", "k.skn")
    assert told["named_weights"] == {"kp": {"value": "1/2", "low": 0, "high": 2}}
    _, out, _ = skinny("info", "k.skn", "--weight", "kp=2")
    assert ["kp", "2", "0:2"] in [line.split() for line in out.splitlines()]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["kp=3"], "weight kp: 3 is outside its range 0:2"),
        (["ki=1"], "the program has no named weight 'ki', only kp"),
        (["kp"], "--weight: expected NAME=VALUE, found 'kp'"),
        (["kp=x"], "--weight kp: 'x' is not a finite number"),
        (["kp=1", "kp=1"], "--weight: 'kp' is given twice"),
    ],
)
def test_weights_that_cannot_be_set(skinny, folder, given, message):
    (folder / "k.skn").write_text(
        "skinny 1\nwidth 3\nnamed kp = 1 in 0:2\nweight w[0] = kp\nR0 += w[0]*R1\nemit y = R0\nend\n"
    )
    words = [word for text in given for word in ("--weight", text)]
    assert skinny("run", "k.skn", "--ring", "exact", *words) == (2, "", f"skinny: error: {message}\n")

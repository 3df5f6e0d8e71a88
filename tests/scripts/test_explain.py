"""``skinny explain``: what it says of two inputs, as tables and JSON, and what it refuses."""

import re
from fractions import Fraction

import pytest
from skinny.scripts.explain_page import places, short

WORDS = ("explain", "p.skn")
#: p.skn is y = 2·a·b - 3/4 and z = a: from (3, 5) to (4, 1) by hand.
GIVEN = ("--a", "a=3,b=5", "--b", "a=4,b=1")


def test_json_by_hand(answer):
    found = answer(*WORDS, *GIVEN)
    assert (found["ring"], found["method"], found["html"]) == ("exact", "line", None)
    assert found["inputs"] == {"a": {"a": 3, "b": 5}, "b": {"a": 4, "b": 1}}
    assert found["outputs"] == {
        # Along the line a·b is 2·Δa·(mean of b), and so on.
        "y": {"a": "117/4", "b": "29/4", "difference": -22, "shares": {"a": 6, "b": -28}, "remainder": 0},
        "z": {"a": 3, "b": 4, "difference": 1, "shares": {"a": 1, "b": 0}, "remainder": 0},
    }
    assert found["parts"] == {"step": 1, "instruction": "R2 += b*R1"}
    assert found["growth"] == [
        {"step": 2, "instruction": "R0 += f[0]*R2", "register": 0, "a": 30, "b": 8, "growth": 22},
        {"step": 1, "instruction": "R2 += b*R1", "register": 2, "a": 5, "b": 1, "growth": 4},
        {"step": 4, "instruction": "R2 += a*R1", "register": 2, "a": 3, "b": 4, "growth": 1},
    ]


def test_the_order_can_be_asked_for(answer):
    found = answer(*WORDS, *GIVEN, "--shares", "order")
    assert found["method"] == "order"
    assert found["outputs"]["y"]["shares"] == {"a": 10, "b": -32}


def test_rounding_has_its_own_line(answer, skinny):
    words = (*WORDS, "--a", "a=0,b=0", "--b", "a=1/16,b=1/16", "--ring", "fixed:16.4")
    found = answer(*words)["outputs"]["y"]
    # 2·1/16·1/16 = 1/128 is lost in 1/16ths; so is nothing of the weights.
    assert found == {
        "a": -0.75, "b": -0.75, "difference": 0.0, "shares": {"a": 1 / 256, "b": 1 / 256}, "remainder": -1 / 128,
    }  # fmt: skip
    assert re.search(r"\(rounding, overflow\) .* -0.0078125", skinny(*words)[1])


def test_finite_rings_have_no_percentages(skinny):
    (code, out, _), (_, exact, _) = skinny(*WORDS, *GIVEN, "--ring", "prime:8191"), skinny(*WORDS, *GIVEN)
    assert code == 0
    assert "inputs changed one after the other" in out
    assert "%" not in out
    assert "%" in exact


def test_tables_say_it_all(skinny):
    code, out, err = skinny(*WORDS, *GIVEN)
    assert (code, err) == (0, "")
    rows = [line.split() for line in out.splitlines()]
    for row in (
        ["y", "117/4", "29/4", "-22"],
        ["2", "R0", "+=", "f[0]*R2", "R0", "30", "8", "22"],
        ["b", "5", "1", "-28", "127.3", "%"],
        ["a", "3", "4", "6", "-27.3", "%"],
        ["sum", "-22", "100.0", "%"],
    ):
        assert row in rows
    assert "The runs part at step 1: R2 += b*R1." in out


def test_equal_inputs_never_part(skinny):
    assert "The runs never part." in skinny(*WORDS, "--a", "a=1,b=2", "--b", "a=1,b=2")[1]


def test_rows_of_files_are_chosen(answer, skinny, folder):
    (folder / "v.csv").write_text("b,label,a\n5,9,3\n1,9,4\n")
    code, out, err = skinny(*WORDS, "--a", "v.csv", "--b", "v.csv:2")
    assert (code, err) == (0, "skinny: v.csv: columns the program does not read: label\n")
    assert out == skinny(*WORDS, *GIVEN)[1]
    (folder / "v.csv").write_text("b,a\n7,7\n5,3\n")
    assert answer(*WORDS, "--a", "v.csv:02", "--b", "a=4,b=1")["outputs"]["y"]["difference"] == -22
    (folder / "odd:2").write_text("b,a\n5,3\n")
    assert answer(*WORDS, "--a", "odd:2", "--b", "a=4,b=1")["outputs"]["y"]["difference"] == -22


V = {"v.csv": b"a,b\n1,2\n3,4\n"}
MALFORMED = [
    ({}, [*WORDS, "--a", "a=1,b=2"], "required: --b"),
    (V, [*WORDS, "--a", "v.csv:1", "--b", "v.csv:3"], "--b: v.csv has no row 3, only 1 to 2"),
    (V, [*WORDS, "--a", "v.csv:0", "--b", "v.csv:2"], "--a: v.csv has no row 0, only 1 to 2"),
    (V, [*WORDS, "--a", "v.csv:two", "--b", "v.csv:2"], "--a: the row must be a number, counted from 1, not 'two'"),
    (V, [*WORDS, "--a", "v.csv:", "--b", "v.csv:2"], "--a: the row must be a number, counted from 1, not ''"),
    (V, [*WORDS, "--a", "w.csv:1", "--b", "v.csv:2"], "w.csv: cannot be read"),
    ({"m.csv": b"a,c\n1,2\n"}, [*WORDS, "--a", "m.csv", "--b", "m.csv"], "m.csv: the column 'b' is missing"),
    ({}, [*WORDS, "--a", "a=1", "--b", "a=1,b=2"], "--a: the input 'b' is missing"),
    ({}, [*WORDS, "--a", "a=1,b=2", "--b", "a=1,b=2,c=3"], "--b: the program has no input 'c'"),
    ({}, [*WORDS, "--a", "a=1,b=2", "--b", "a=1,b=x"], "--b, column 'b': 'x' is not a finite number"),
    ({}, [*WORDS, *GIVEN, "--ring", "modular:16"], "weight w[1]: 3/4 is not an integer"),
    ({}, [*WORDS, *GIVEN, "--shares", "line", "--ring", "prime:8191"], "shares along the line need division"),
    ({}, [*WORDS, *GIVEN, "--shares", "guess"], "invalid choice: 'guess'"),
    ({}, [*WORDS, *GIVEN, "--shape", "8x8", "--html", "e.html"], "--shape has 64 places, the program 2 inputs"),
    ({}, [*WORDS, *GIVEN, "--shape", "1x1", "--html", "e.html"], "--shape has 1 places, the program 2 inputs"),
    (
        {},
        [*WORDS, *GIVEN, "--shape", "eight", "--html", "e.html"],
        "--shape must be ROWSxCOLUMNS like 8x8, not 'eight'",
    ),
    ({}, [*WORDS, *GIVEN, "--shape", "0x2", "--html", "e.html"], "--shape must be ROWSxCOLUMNS like 8x8, not '0x2'"),
    ({}, [*WORDS, *GIVEN, "--shape", "1x2"], "only a page shows the inputs as a picture: --shape goes with --html"),
    ({}, [*WORDS, *GIVEN, "--html", "missing/e.html"], "missing/e.html: the folder does not exist"),
    (
        {},
        [*WORDS, "--a", "a=1,b=2", "--b", "a=1e300,b=1e300", "--ring", "real"],
        "the registers overflow real at step 2",
    ),
]


@pytest.mark.parametrize(("files", "words", "message"), MALFORMED)
def test_bad_input_is_one_clear_line(skinny, folder, files, words, message):
    for name, content in files.items():
        (folder / name).write_bytes(content)
    before = sorted(path.name for path in folder.iterdir())
    code, out, err = skinny(*words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err
    assert sorted(path.name for path in folder.iterdir()) == before


@pytest.mark.parametrize(
    ("names", "count", "wanted"),
    [
        (["x10", "x2", "x1", "x0"], 4, [3, 2, 1, 0]),
        (["p4", "p1", "p2", "p3"], 4, [3, 0, 1, 2]),
        (["x5", "x2"], 6, [5, 2]),
        (["q", "a"], 2, [0, 1]),
        (["x1", "y1"], 2, [0, 1]),
        ([], 4, []),
    ],
)
def test_places_follow_the_numbers_in_the_names(names, count, wanted):
    assert places(names, count) == wanted


@pytest.mark.parametrize(
    ("value", "wanted"),
    [(7, 7), (0.1, 0.1), ("3/4", "3/4"), ("1" * 20 + "/7", "≈1.5873016e+18"), (-(10**20) // 3, "≈-3.3333333e+19")],
)
def test_long_values_are_rounded_and_say_so(value, wanted):
    found = short(value)
    assert found == wanted
    if isinstance(found, str) and found[0] == "≈":
        assert abs(Fraction(found[1:]) / Fraction(value) - 1) < 1e-7

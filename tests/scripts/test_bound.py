"""``skinny bound``: what the analysis says, put in words and in JSON."""

import pytest
from skinny.scripts.bound import rounded_outwards

#: y = a·b, R0 is within the product of the boxes.
PRODUCT = "skinny 1\nwidth 3\ninputs a b\nR2 += b*R1\nR0 += a*R2\nemit y = R0\nend\n"


@pytest.fixture(autouse=True)
def product(folder):
    (folder / "q.skn").write_text(PRODUCT)


def test_safe_programs(answer, skinny):
    words = ("bound", "q.skn", "--ring", "fixed:16.8", "--box", "-1:1", "--box", "b=0:1/2")
    found = answer(*words)
    assert found["safe"] is True
    assert found["overflow"] is None
    assert "suggestion" not in found
    # One rounding of a·b to 2^-8, half a unit at most; b is rounded exactly.
    assert 2**-9 <= found["errors"]["y"] <= 2**-8
    low, high = found["ranges"][2]
    assert -(2**-8) <= low <= 0
    assert 0.5 <= high <= 0.5 + 2**-8
    code, out, err = skinny(*words)
    assert (code, err) == (0, "")
    assert out.startswith("safe: every value that is read fits fixed:16.8 (sums may wrap)\n")
    # 2^-9 is 0.001953125: rounded up to three digits.
    assert "0.00196" in out


def test_sampled_outputs_are_said_to_be_so(answer, skinny, folder):
    words = ("bound", "q.skn", "--ring", "fixed:16.8", "--box", "-1:1")
    assert answer(*words)["sampled"] == []
    assert "sampled" not in skinny(*words)[1]
    (folder / "q.skn").write_text(PRODUCT.replace("y = R0", "y = R0 approximation 1/10 sampled"))
    assert answer(*words)["sampled"] == ["y"]
    assert "output y: what the polynomial in place of its function changes was sampled, not proven" in skinny(*words)[1]


def test_unsafe_programs_name_what_is_read(answer, skinny):
    words = ("bound", "q.skn", "--ring", "fixed:8.4", "--box", "-7:7")
    found = answer(*words, code=1)
    assert found["safe"] is False
    assert found["errors"] == {"y": None}
    assert found["overflow"] == {
        "instruction": None,
        "text": None,
        "register": 0,
        "output": "y",
        "low": -49,
        "high": 49,
    }
    # 49 takes six bits before the point, and the sign.
    assert found["suggestion"] == "fixed:8.1"
    code, out, err = skinny(*words)
    assert (code, err) == (1, "skinny: error: check failed: the program is not proven safe in fixed:8.4\n")
    assert out.startswith("not safe: the output y is R0,\n  whose range -49 to 49 does not fit fixed:8.4\n")
    assert "error at most" not in out


def test_the_instruction_that_reads_is_named(answer, skinny, folder):
    (folder / "r.skn").write_text(PRODUCT.replace("emit y = R0", "R2 -= b*R1\nR2 += a*R0\nemit y = R2"))
    words = ("bound", "r.skn", "--ring", "fixed:8.4", "--box", "-7:7")
    over = answer(*words, code=1)["overflow"]
    assert (over["instruction"], over["text"], over["register"], over["output"]) == (3, "R2 += a*R0", 0, None)
    assert skinny(*words)[1].startswith("not safe: instruction 3 (R2 += a*R0) reads R0,\n  whose range -49 to 49 does")


@pytest.mark.parametrize(("ring", "suggestion"), [("fixed:16.8", "fixed:16.7"), ("fixed:24.16", "fixed:24.15")])
def test_the_given_bits_are_kept_where_they_do_and_the_fewest_are_named(answer, skinny, folder, ring, suggestion):
    """100·a on ±2: 200 takes eight bits before the point, and the sign."""
    weight = "weight w[0] = 100\nR2 += a*R1\nR0 += w[0]*R2\nemit y = R0\nend\n"
    (folder / "h.skn").write_text("skinny 1\nwidth 3\ninputs a\n" + weight)
    words = ("bound", "h.skn", "--ring", ring, "--box", "-2:2")
    found = answer(*words, code=1)
    assert (found["suggestion"], found["smallest"]) == (suggestion, "fixed:9.0")
    assert f"\na format that does: {suggestion}; the smallest: fixed:9.0\n" in skinny(*words)[1]


def test_nothing_proven_is_said_so(answer, skinny, folder):
    steps = "R2 += a*R1\nR1 += a*R2\n" * 40
    (folder / "g.skn").write_text(f"skinny 1\nwidth 3\ninputs a\n{steps}emit y = R1\nend\n")
    words = ("bound", "g.skn", "--ring", "fixed:16.4", "--box", "-9:9")
    found = answer(*words, code=1)
    assert found["ranges"][1] == [None, None]
    code, out, _ = skinny(*words)
    assert code == 1
    assert "inf" not in out
    assert "not proven" in out


def test_a_format_is_suggested_when_a_weight_does_not_fit(skinny):
    """100 fits no word with four fraction bits of eight, but it fits eight bits without any."""
    skinny("compile", "y = 100*x", "-o", "hundred.skn")
    code, out, _ = skinny("bound", "hundred.skn", "--ring", "fixed:8.4", "--box=-1:1")
    assert code == 1
    assert out == (
        "not safe: weight w[0]: 100 does not fit fixed:8.4 (-8.0 to 7.9375)\na format that does: fixed:8.0\n"
    )


def test_formats_are_suggested_for_an_error(answer, skinny, folder):
    # A third of a: no format holds the weight exactly.
    (folder / "t.skn").write_text("skinny 1\nwidth 3\ninputs a\nweight w[0] = 1/3\nR2 += a*R1\nR0 += w[0]*R2\n")
    with open(folder / "t.skn", "a") as file:
        file.write("emit y = R0\nend\n")
    words = ("bound", "t.skn", "--ring", "fixed:16.8", "--box", "-1:1", "--error")
    missed = answer(*words, "0.0001", code=1)
    assert (missed["safe"], missed["reached"]) == (True, False)
    again = answer("bound", "t.skn", "--ring", missed["suggestion"], "--box", "-1:1", "--error", "0.0001")
    assert again["safe"]
    assert again["reached"]
    assert again["errors"]["y"] <= 0.0001
    assert "suggestion" not in again
    found = answer(*words, "1e-12", code=1)
    assert found["suggestion"] is None
    assert "no format up to 32 bits" in found["suggestion_failed"]
    code, out, err = skinny(*words, "1e-12")
    assert "no format up to 32 bits" in out
    assert (code, err) == (1, "skinny: error: check failed: an error of at most 1e-12 is not proven in fixed:16.8\n")


@pytest.mark.parametrize(
    ("value", "least", "most"),
    [
        (0.009765625000000106, "0.00976", "0.00977"),
        (-0.009765625000000106, "-0.00977", "-0.00976"),
        (1.0, "1", "1"),
        (0.0, "0", "0"),
        (12345.0, "12300", "12400"),
        (3.3e-9, "3.3e-09", "3.31e-09"),
        (None, "not proven", "not proven"),
    ],
)
def test_numbers_are_rounded_outwards(value, least, most):
    assert (rounded_outwards(value, up=False), rounded_outwards(value, up=True)) == (least, most)

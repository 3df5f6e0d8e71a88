"""``skinny bound``: what the analysis says, put in words and in JSON."""

import pytest

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
    assert out.startswith("safe: no register overflows in fixed:16.8\n")


def test_unsafe_programs_name_the_instruction(answer, skinny):
    words = ("bound", "q.skn", "--ring", "fixed:8.4", "--box", "-7:7")
    found = answer(*words)
    assert found["safe"] is False
    over = found["overflow"]
    assert (over["instruction"], over["text"], over["register"]) == (1, "R0 += a*R2", 0)
    assert over["low"] <= -49
    assert over["high"] >= 49
    assert found["suggestion"].startswith("fixed:")
    code, out, _ = skinny(*words)
    assert code == 0
    assert out.startswith("not safe: instruction 1 (R0 += a*R2) may overflow R0 in fixed:8.4:\n")


def test_formats_are_suggested_for_an_error(answer, skinny, folder):
    # A third of a: no format holds the weight exactly.
    (folder / "t.skn").write_text("skinny 1\nwidth 3\ninputs a\nweight w[0] = 1/3\nR2 += a*R1\nR0 += w[0]*R2\n")
    with open(folder / "t.skn", "a") as file:
        file.write("emit y = R0\nend\n")
    words = ("bound", "t.skn", "--ring", "fixed:16.8", "--box", "-1:1", "--error")
    suggested = answer(*words, "0.0001")["suggestion"]
    again = answer("bound", "t.skn", "--ring", suggested, "--box", "-1:1")
    assert again["safe"]
    assert again["errors"]["y"] <= 0.0001
    found = answer(*words, "1e-12")
    assert found["suggestion"] is None
    assert "no format up to 32 bits" in found["suggestion_failed"]
    assert "no format up to 32 bits" in skinny(*words, "1e-12")[1]

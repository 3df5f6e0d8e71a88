"""``skinny info``: the facts of a program."""


def test_facts_of_a_program(answer):
    assert answer("info", "p.skn", "--ring", "fixed:20.8") == {
        "program": "p.skn",
        "title": "y = 2*a*b - 3/4; z = a",
        "length": 4,
        "cycles": 5,  # and one attention step
        "width": 3,
        "contract": "clean",
        "start": [0, 1, 0],
        "levels": 3,  # R2, then R0 twice (these commute), then R2 again
        "inputs": {"a": 2, "b": 1},
        "outputs": ["y", "z"],
        "weights": 2,
        "derived_weights": 0,
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


def test_inputs_that_are_not_read_are_listed(answer, folder):
    (folder / "u.skn").write_text("skinny 1\nwidth 3\ninputs a b\nR0 += b*R1\nemit y = R0\nend\n")
    assert answer("info", "u.skn")["inputs"] == {"a": 0, "b": 1}
    assert answer("info", "u.skn", "--ring", "exact")["state_bits"] == 0

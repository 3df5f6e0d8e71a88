"""``skinny trace``: tables, JSON and waveforms of one inference."""

from skinny.scripts import trace

#: p.skn at a = 3, b = 5 by hand: the start, then after each instruction.
REGISTERS = [[0, 1, 0], [0, 1, 5], [30, 1, 5], ["117/4", 1, 5], [0, 1, 3]]
WORDS = ("trace", "p.skn", "--ring", "exact", "--inputs")


def test_json_has_every_step(answer):
    found = answer(*WORDS, "a=3,b=5")
    assert found["registers"] == REGISTERS
    assert found["instructions"] == ["R2 += b*R1", "R0 += f[0]*R2", "R0 -= w[1]*R1", "R2 += a*R1"]
    assert found["outputs"] == {"y": "117/4", "z": 3}


def test_the_table_marks_what_was_written(skinny):
    code, out, err = skinny(*WORDS, "a=3,b=5")
    assert (code, err) == (0, "")
    head, *lines = out.splitlines()
    assert head.split() == ["R0", "R1", "R2"]
    assert [line.split() for line in lines] == [
        ["0", "start", "0", "1", "0"],
        ["1", "R2", "+=", "b*R1", "0", "1", "5*"],
        ["2", "R0", "+=", "f[0]*R2", "30*", "1", "5"],
        ["3", "R0", "-=", "w[1]*R1", "117/4*", "1", "5", "y", "=", "R0,", "restart"],
        ["4", "R2", "+=", "a*R1", "0", "1", "3*", "z", "=", "R2"],
    ]


def test_long_traces_come_in_pieces(skinny, folder):
    length = 10_000  # more than two pieces
    (folder / "long.skn").write_text(
        "skinny 1\nwidth 3\ninputs a\n" + "R0 += a*R1\nR2 -= a*R1\n" * (length // 2) + "emit y = R0\nend\n"
    )
    code, out, _ = skinny("trace", "long.skn", "--ring", "modular:32", "--inputs", "a=1")
    assert code == 0
    for step, line in enumerate(out.splitlines()[1:]):
        up, down = (step + 1) // 2, step // 2
        words = line.replace("*R1", "").replace("*", "").split()
        assert words[0] == str(step)
        text = ["start"] if step == 0 else (["R0", "+=", "a"] if step % 2 else ["R2", "-=", "a"])
        assert words[1 : 1 + len(text)] == text
        assert words[1 + len(text) :][:3] == [str(up), "1", str(-down)]
    assert step == length


def test_a_row_is_chosen(answer, folder):
    (folder / "v.csv").write_text("a,b\n7,7\n3,5\n")
    assert answer(*WORDS, "v.csv", "--row", "2")["registers"] == REGISTERS
    assert answer(*WORDS, "v.csv")["outputs"]["z"] == 7


def test_waveforms_go_to_a_file(skinny, answer, folder):
    code, out, err = skinny("trace", "p.skn", "--ring", "fixed:16.8", "--inputs", "a=3,b=5", "--vcd", "t.vcd")
    assert (code, out, err) == (0, "", "skinny: t.vcd: 4 steps of 3 registers\n")
    lines = (folder / "t.vcd").read_text().split("\n")
    assert sum(line.startswith("#") for line in lines) == 5
    assert any(line.startswith(f"b{30 * 256:b} ") for line in lines)
    assert answer("trace", "p.skn", "--ring", "fixed:16.8", "--inputs", "a=3,b=5", "--vcd", "t.vcd")["vcd"] == "t.vcd"


def test_written_registers_are_bold_in_a_terminal(skinny, monkeypatch):
    monkeypatch.setattr(trace.sys.stdout, "isatty", lambda: True, raising=False)
    _, out, _ = skinny(*WORDS, "a=3,b=5")
    assert "\033[1m5\033[0m*" in out.replace(" ", "")


def test_outputs_are_in_the_users_units(answer, skinny, folder):
    (folder / "s.skn").write_text(
        "skinny 1\nwidth 3\nring fixed:16.14\ninputs v\nscale v = 11\nR0 += v*R1\nemit y = R0 scale 11\nend\n"
    )
    told = answer("trace", "s.skn", "--inputs", "v=3000")
    assert (told["ring"], told["registers"][-1][0], told["outputs"]) == ("fixed:16.14", 3000 / 2048, {"y": 3000})
    (folder / "s.csv").write_text("v\n0.1\n1024\n0.1\n")
    code, out, err = skinny("trace", "s.skn", "--inputs", "s.csv", "--row", "2")
    assert (code, out.split()[-3:], err) == (0, ["y", "=", "R0·2^11"], "")
    code, _, err = skinny("trace", "s.skn", "--inputs", "s.csv", "--row", "3", "--strict")
    assert (code, err) == (1, "skinny: error: check failed: fixed:16.14: 1 input value rounded (--strict)\n")

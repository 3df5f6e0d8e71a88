"""The command as a whole: bad input is one clear line and exit code 2, whatever it is, and nothing is left behind."""

import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pytest
from skinny.model.errors import CheckError
from skinny.model.program.storage import load, save
from skinny.scripts import cli, options

RUN = ("run", "p.skn", "--ring", "exact", "--inputs")

#: Files beside p.skn, the words of the command, and what the one line on stderr must say.
MALFORMED = [
    # usage
    ({}, [], "required: COMMAND"),
    ({}, ["bogus"], "invalid choice: 'bogus'"),
    ({}, ["run"], "required: PROGRAM"),
    ({}, ["run", "p.skn", "--ring", "exact", "--bogus"], "unrecognized arguments: --bogus"),
    ({}, ["run", "p.skn", "--rin", "exact"], "unrecognized arguments: --rin exact"),
    ({}, ["compile"], "required: FORMULA"),
    ({}, ["compile", "a", "--width", "three"], "argument --width: invalid int value: 'three'"),
    ({}, ["compile", "a", "--width", "2"], "the width must be 3 or more, not 2"),
    ({}, ["compile", "a", "--contract", "tidy"], "invalid choice: 'tidy'"),
    ({}, ["compile", "a", "-o", "a.txt"], "a.txt: the name of a program must end in .skn or .npz"),
    ({}, ["compile", "a", "-o", "missing/a.skn"], "missing/a.skn: the folder does not exist"),
    ({}, ["bench", "bogus"], "invalid choice: 'bogus'"),
    ({}, ["compile", "a", "--width", "1_0"], "argument --width: invalid int value: '1_0'"),
    ({}, ["compile", "a", "--width", "٣"], "argument --width: invalid int value: '٣'"),
    ({}, ["compile", "a", "--width", " 5"], "argument --width: invalid int value: ' 5'"),
    ({}, ["compile", "a", "--start", "1_0,1,0"], "'1_0' is not a finite number"),
    ({}, ["fpga", "p.skn", "--freq", "nan"], "argument --freq: invalid float value: 'nan'"),
    ({}, ["fpga", "p.skn", "--seeds", "٣"], "argument --seeds: invalid int value: '٣'"),
    ({}, ["bound", "p.skn", "--ring", "fixed:16.8", "--box", "0:1_0"], "--box 0:1_0: '1_0' is not a finite number"),
    ({}, [*RUN, "a=٣,b=1"], "--inputs, column 'a': '٣' is not a finite number"),
    ({}, [*RUN[:3], "modular:1_6"], "unknown ring 'modular:1_6'"),
    ({}, [*RUN[:3], "modular:" + "1" * 5000], "unknown ring 'modular:111"),
    # limits
    ({}, ["compile", "a", "--limit", "7"], "argument --limit: must be like time=60,memory=1G (seconds; bytes, or K"),
    ({}, ["compile", "a", "--limit", "memory=0"], "argument --limit: a limit must be at least 1, not 0"),
    ({}, ["compile", "a^1000", "--limit", "memory=4M"], "48,912 instructions, more than the limit 20,971"),
    ({}, ["info", "p.skn", "--limit", "memory=1K"], "p.skn: more than 64 bytes need more memory than 1K: --limit"),
    ({"i.csv": b"a,b\n" + b"1,2\n" * 100}, [*RUN, "i.csv", "--limit", "memory=8K"], "i.csv: more than 256 bytes need"),
    ({"f.txt": b"a+" * 100 + b"b"}, ["compile", "@f.txt", "--limit", "memory=50K"], "f.txt: more than 200 bytes need"),
    ({}, ["compile", "a+" * 100 + "b", "--limit", "memory=50K"], "the formula has more than 200 characters"),
    # names of files are not formats
    ({"x{y}.csv": b"a,b\nq,1\n"}, [*RUN, "x{y}.csv"], "x{y}.csv: row 1, column 'a': 'q' is not a finite number"),
    ({"x{.csv": b"a,b\n1,1\n1,q\n"}, [*RUN, "x{.csv"], "x{.csv: row 2, column 'b': 'q' is not a finite number"),
    ({"m.csv": b"a,b\n1,2\n\n1\n\n\n"}, [*RUN, "m.csv"], "m.csv: row 2 has 1 values, the header 2"),
    (
        {"i.csv": b"a,b\n1,2\n"},
        ["explain", "p.skn", "--a", "i.csv:" + "1" * 5000, "--b", "i.csv"],
        "--a: the row must be a number, counted from 1, not '111",
    ),
    # formulas: the line, then the two lines with the caret
    ({}, ["compile", ""], "the formula is empty"),
    ({}, ["compile", "(a + b"], "this parenthesis is never closed at line 1, column 1\n  (a + b\n  ^"),
    ({}, ["compile", "a + b)"], "this parenthesis was never opened at line 1, column 6\n  a + b)\n       ^"),
    ({}, ["compile", "a $ b"], "unexpected character '$' at line 1, column 3\n  a $ b\n    ^"),
    ({}, ["compile", "a +"], "the formula ends where a value was expected at line 1, column 4\n  a +\n     ^"),
    ({}, ["compile", "a^-1"], "an exponent must be a whole number at line 1, column 3: a divisor is written 1/a"),
    ({}, ["compile", "1/0"], "division by zero at line 1, column 3\n  1/0\n    ^"),
    ({}, ["compile", "-a $"], "unexpected character '$' at line 1, column 5\n   -a $\n      ^"),
    (
        {"f.txt": b"y = a\nz = a b\n"},
        ["compile", "@f.txt"],
        "f.txt: expected an operator, found 'b' at line 2, column 7",
    ),
    ({}, ["compile", "@missing.txt"], "missing.txt: cannot be read (No such file or directory)"),
    ({}, ["compile", "@."], ".: cannot be read (Is a directory)"),
    ({"f.txt": b"y = a\n\xff"}, ["compile", "@f.txt"], "f.txt:2: not UTF-8 text"),
    # programs
    ({}, ["info", "missing.skn"], "missing.skn: cannot be read (No such file or directory)"),
    ({}, ["info", "p.txt"], "p.txt: the name of a program must end in .skn or .npz"),
    ({"e.skn": b""}, ["info", "e.skn"], "e.skn:1: the first line must be 'skinny 1'"),
    ({"v.skn": b"skinny 9\n"}, ["info", "v.skn"], "v.skn:1: version 9 is not known: this program reads version 1"),
    ({"g.skn": bytes(range(256))}, ["info", "g.skn"], "g.skn:2: not UTF-8 text"),
    ({"c.skn": b"skinny 1\nwidth 3\n"}, ["info", "c.skn"], "c.skn:2: the program is cut off"),
    (
        {"r.skn": b"skinny 1\nwidth 3\ninputs a\nR3 += a*R1\nend"},
        ["info", "r.skn"],
        "r.skn:4: register R3 is out of range",
    ),
    ({"d.skn": b"skinny 1\nwidth 3\ninputs a\nR1 += a*R1\nend"}, ["info", "d.skn"], "d.skn:4: dst = src"),
    (
        {"w.skn": b"skinny 1\nwidth 3\nR0 += w[0]*R1\nend"},
        ["info", "w.skn"],
        "w.skn:3: weight index w[0] is past the end",
    ),
    ({"o.skn": b"skinny 1\nwidth 3\nend"}, ["info", "o.skn"], "o.skn: a program needs at least one output"),
    ({"g.npz": b"garbage"}, ["info", "g.npz"], "g.npz: not a skinny program (no npz archive)"),
    ({"z.npz": b"PK\x03\x04 and no more"}, ["info", "z.npz"], "z.npz: not a skinny program, or damaged"),
    # rings
    ({}, ["run", "p.skn", "--ring", "complex"], "unknown ring 'complex'"),
    ({}, ["run", "p.skn", "--ring", "modular:65"], "the bits of a modular ring must be 1 to 64, not 65"),
    ({}, ["run", "p.skn", "--ring", "prime:8192"], "8192 is not a prime"),
    ({}, ["run", "p.skn", "--ring", "modular:16", "--inputs", "a=1,b=1"], "weight w[1]: 3/4 is not an integer"),
    ({}, ["run", "p.skn", "--ring", "fixed:5.3", "--inputs", "a=0,b=0"], "weight w[0]: 2 does not fit fixed:5.3"),
    # inputs
    ({}, ["run", "p.skn", "--ring", "exact"], "the program reads a, b: give --inputs"),
    ({}, [*RUN, "a=1"], "--inputs: the input 'b' is missing"),
    ({}, [*RUN, "a=1,b=2,c=3"], "--inputs: the program has no input 'c'"),
    ({}, [*RUN, "a=1,a=2"], "--inputs: 'a' is given twice"),
    ({}, [*RUN, "a=1,2"], "--inputs: expected NAME=VALUE, found '2'"),
    ({}, [*RUN, "a=1,b=two"], "--inputs, column 'b': 'two' is not a finite number"),
    ({}, [*RUN, "a=1,b=1/0"], "--inputs, column 'b': '1/0' is not a finite number"),
    ({}, [*RUN, "a=1,b=1e9999"], "--inputs, column 'b': '1e9999' is not a finite number"),
    ({}, [*RUN, "missing.csv"], "missing.csv: cannot be read (No such file or directory)"),
    ({"e.csv": b""}, [*RUN, "e.csv"], "e.csv: the file is empty"),
    ({"h.csv": b"a,b\n"}, [*RUN, "h.csv"], "h.csv: there is a header, but no row of values"),
    ({"m.csv": b"a,c\n1,2\n"}, [*RUN, "m.csv"], "m.csv: the column 'b' is missing"),
    ({"t.csv": b"a,b,a\n1,2,3\n"}, [*RUN, "t.csv"], "t.csv: the column 'a' is there twice"),
    ({"n.csv": b"a,b\n1,2\n3,nan\n"}, [*RUN, "n.csv"], "n.csv: row 2, column 'b': 'nan' is not a finite number"),
    ({"i.csv": b"a,b\n-inf,2\n"}, [*RUN, "i.csv"], "i.csv: row 1, column 'a': '-inf' is not a finite number"),
    ({"v.csv": b"a,b\n1,2\n,4\n"}, [*RUN, "v.csv"], "v.csv: row 2, column 'a': '' is not a finite number"),
    ({"r.csv": b"a,b\n1,2\n3\n"}, [*RUN, "r.csv"], "r.csv: row 2 has 1 values, the header 2"),
    ({"u.csv": b"a,b\n1,\xff\n"}, [*RUN, "u.csv"], "u.csv:2: not UTF-8 text"),
    ({"q.csv": b'a,b\n"1,2\n'}, [*RUN, "q.csv"], "q.csv: not a CSV file"),
    (
        {"w.csv": b"a,b\n1,2\n1,8191\n"},
        ["run", "p.skn", "--ring", "prime:8191", "--inputs", "w.csv"],
        "w.csv: row 2, column 'b': 8191 does not fit prime:8191",
    ),
    ({}, [*RUN, "a=1,b=2", "--start", "0,1"], "--start must have 3 values, not 2"),
    ({}, [*RUN, "a=1,b=2", "--start", "-1,x,0"], "--start, R1: 'x' is not a finite number"),
    # trace and bound
    ({}, ["trace", *RUN[1:], "a=1,b=2", "--row", "2"], "--row must be 1 to 1, not 2"),
    ({}, ["trace", *RUN[1:], "a=1,b=2", "--vcd", "missing/t.vcd"], "missing/t.vcd: the folder does not exist"),
    ({}, ["bound", "p.skn", "--ring", "exact", "--box", "-1:1"], "expected fixed:BITS.FRAC, not 'exact'"),
    ({}, ["bound", "p.skn", "--ring", "fixed:16.8"], "--box: the input 'a' has no box"),
    ({}, ["bound", "p.skn", "--ring", "fixed:16.8", "--box", "-1"], "--box: expected LO:HI or NAME=LO:HI, found '-1'"),
    ({}, ["bound", "p.skn", "--ring", "fixed:16.8", "--box", "1:-1"], "the least value is above the greatest"),
    ({}, ["bound", "p.skn", "--ring", "fixed:16.8", "--box", "c=0:1"], "the program has no input 'c'"),
    ({}, ["bound", "p.skn", "--ring", "fixed:16.8", "--box", "a=0:1"], "--box: the input 'b' has no box"),
    ({}, ["bound", "p.skn", "--ring", "fixed:16.8", "--box", "0:1", "--box", "0:2"], "this box is given twice"),
    ({}, ["bound", "p.skn", "--ring", "fixed:16.8", "--box", "0:inf"], "'inf' is not a finite number"),
    ({}, ["bound", "p.skn", "--ring", "fixed:16.8", "--box", "0:1", "--error", "-1"], "--error must be above zero"),
]


def installed(*words, **options):
    """The installed command in a process of its own, without what it tells where the machine is slow."""
    script = Path(sysconfig.get_path("scripts")) / "skinny"
    done = subprocess.run([script, *words], capture_output=True, timeout=600, **options)
    done.stderr = without_waiting(done.stderr)
    return done


def without_waiting(said):
    return re.sub(rb"skinny: [^\n]* s so far\n", b"", said)


@pytest.mark.parametrize(("files", "words", "message"), MALFORMED)
def test_bad_input_is_one_clear_line(skinny, folder, files, words, message):
    for name, content in files.items():
        (folder / name).write_bytes(content)
    before = sorted(os.listdir(folder))
    code, out, err = skinny(*words)
    assert (code, out) == (2, "")
    assert err.startswith("skinny: error: ")
    assert message in err
    assert err.count("\n") == (3 if " at line " in message else 1)
    assert sorted(os.listdir(folder)) == before


def test_bad_input_is_as_clear_with_json(skinny):
    code, out, err = skinny("run", "p.skn", "--ring", "exact", "--inputs", "a=1,b=nan", "--json")
    assert (code, out) == (2, "")
    assert err == "skinny: error: --inputs, column 'b': 'nan' is not a finite number\n"


def test_truncated_binaries_are_refused(skinny, folder):
    save(load("p.skn"), "p.npz")
    whole = (folder / "p.npz").read_bytes()
    for end in (1, 100, len(whole) // 2, len(whole) - 1):
        (folder / "p.npz").write_bytes(whole[:end])
        code, out, err = skinny("info", "p.npz")
        assert (code, out, err.count("\n")) == (2, "", 1)


@pytest.mark.parametrize("name", ["compile", "run", "trace", "bound", "info", "bench"])
def test_help_shows_an_example(skinny, name):
    code, out, err = skinny(name, "--help")
    assert (code, err) == (0, "")
    assert "example:\n  $ skinny" in out
    assert f"$ skinny {name} " in out


def test_version_and_help(skinny):
    assert skinny("--version")[:2] == (0, "skinny 0.2.0\n")
    code, out, _ = skinny("--help")
    assert code == 0
    assert "compile" in out


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (CheckError("the fold pass changed the result"), 1, "check failed: the fold pass changed the result"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (MemoryError(), 2, "not enough memory"),
        (OSError(28, "No space left on device", "p.skn"), 2, "p.skn: No space left on device"),
    ],
)
def test_other_ends_have_their_exit_codes(skinny, monkeypatch, error, code, line):
    def fail(path):
        raise error

    monkeypatch.setattr(options, "load", fail)
    assert skinny("info", "p.skn") == (code, "", f"skinny: error: {line}\n")


def test_internal_errors_are_not_hidden(monkeypatch):
    monkeypatch.setattr(options, "load", lambda path: None)
    with pytest.raises(AttributeError):
        cli.main(["info", "p.skn"])


def test_the_installed_command_runs(folder):
    done = installed("run", "p.skn", "--ring", "exact", "--inputs", "a=1/2,b=-3", "--json", cwd=folder)
    # y = 2·(1/2)·(-3) - 3/4, z = 1/2
    expected = b'{"program": "p.skn", "ring": "exact", "batch": 1, "outputs": {"y": ["-15/4"], "z": ["1/2"]}, '
    assert (done.returncode, done.stdout[: len(expected)], done.stderr) == (0, expected, b"")


def test_the_installed_command_fails_clearly(folder):
    done = installed("run", "p.skn", "--ring", "exact", "--inputs", "a=1", cwd=folder)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == b"skinny: error: --inputs: the input 'b' is missing\n"


@pytest.mark.parametrize(
    "command", ["info p.skn", "info p.skn --json", "trace long.skn --ring modular:16 --inputs a=1"]
)
def test_a_reader_that_goes_away_is_no_traceback(folder, command):
    (folder / "long.skn").write_text("skinny 1\nwidth 3\ninputs a\n" + "R0 += a*R1\n" * 20_000 + "emit y = R0\nend\n")
    script = Path(sysconfig.get_path("scripts")) / "skinny"
    words = [script, *command.split()]
    # Buffered, as a person has it: then the interpreter flushes once more when it ends.
    env = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with subprocess.Popen(words, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.wait(600) == 141
        assert without_waiting(process.stderr.read()) == b""


#: Interrupts the first import of numpy, which is in the first third of a second of every command.
INTERRUPTED = """
import sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "numpy":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Finder())
from skinny.scripts.cli import main
sys.exit(main(["info", "p.skn"]))
"""


def test_an_interrupt_while_modules_are_loaded_is_no_traceback(folder):
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True)
    assert (done.returncode, done.stdout) == (130, b"")
    assert without_waiting(done.stderr) == b"skinny: error: interrupted\n"


@pytest.mark.parametrize(
    ("command", "place", "why"),
    [
        ("trace p.skn --ring exact --inputs a=1,b=2 --vcd", ".", "Is a directory"),
        ("trace p.skn --ring exact --inputs a=1,b=2 --vcd", "/", "Is a directory"),
        ("trace p.skn --ring exact --inputs a=1,b=2 -o", "/proc/x.csv", "No such file or directory"),
        ("explain p.skn --a a=1,b=2 --b a=2,b=3 --html", ".", "Is a directory"),
        ("explain p.skn --a a=1,b=2 --b a=2,b=3 --html", "/", "Is a directory"),
        ("explain p.skn --a a=1,b=2 --b a=2,b=3 --html", "p.skn/x", "Not a directory"),
        ("sim p.skn --ring fixed:16.8 --random 5 --vcd", "/proc/x", "No such file or directory"),
        ("sim p.skn --ring fixed:16.8 --random 5 --vcd", ".", "Is a directory"),
        ("picture trace p.skn --ring exact --inputs a=1,b=2 -o", "/proc/x.png", "No such file or directory"),
        ("faults p.skn --ring fixed:16.8 -o", "/proc/x.png", "No such file or directory"),
        ("faults p.skn --ring fixed:16.8 -o", "p.skn/x.png", "Not a directory"),
        ("fpga p.skn --ring fixed:16.8 --device up5k -o", "/proc/x", "No such file or directory"),
        ("fpga p.skn --ring fixed:16.8 --device up5k -o", "p.skn", "Not a directory"),
        ("board icebreaker p.skn --ring fixed:16.8 -o", "/proc/x/y", "No such file or directory"),
        ("verilog p.skn --ring fixed:16.8 -o", "p.skn/x", "Not a directory"),
        ("sweep a*b --box 0:1 -o", "/proc/x", "No such file or directory"),
        ("sweep a*b --box 0:1 -o", "p.skn", "Not a directory"),
        ("learn t.csv --target y -o", "/proc/x.skn", "No such file or directory"),
        ("learn t.csv --target y --pictures", "p.skn", "Not a directory"),
        ("compile a*b -o", "/proc/x.skn", "No such file or directory"),
        ("bench registers -o", "/proc/x.png", "No such file or directory"),
        ("bench fpga -o", "/proc/x.png", "No such file or directory"),
        ("bench precision -o", "p.skn/x.png", "Not a directory"),
        ("bench learn -o", "/proc/x.jsonl", "No such file or directory"),
    ],
)
def test_places_that_cannot_be_written_are_refused_before_the_work(skinny, folder, command, place, why):
    before = sorted(os.listdir(folder))
    assert skinny(*command.split(), place) == (2, "", f"skinny: error: {place}: cannot be written ({why})\n")
    assert sorted(os.listdir(folder)) == before


def test_odd_terminals_get_escapes(folder):
    (folder / "p.skn").write_text("skinny 1\n# größer\nwidth 3\nemit y = R1\nend\n", encoding="utf-8")
    done = installed("info", "p.skn", cwd=folder, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0
    assert b"gr\\xf6\\xdfer" in done.stdout


def test_csv_from_standard_input(folder):
    words = ("run", "p.skn", "--ring", "fixed:16.8", "--inputs", "-", "--json")
    done = installed(*words, cwd=folder, input=b"b,note,a\r\n0.5,x,2\r\n")
    assert b'"y": [1.25], "z": [2.0]' in done.stdout  # 2·2·0.5 - 3/4
    assert done.stderr == b"skinny: <stdin>: columns the program does not read: note\n"


def test_large_csv_is_read_in_seconds(answer, folder):
    rng = np.random.default_rng(1)
    numbers = rng.integers(-1000, 1000, (100_000, 2))
    lines = [f"{a},{b}.25" for a, b in numbers.tolist()]
    (folder / "large.csv").write_text("a,b\n" + "\n".join(lines) + "\n")
    found = answer("run", "p.skn", "--ring", "fixed:32.4", "--inputs", "large.csv")
    assert found["batch"] == 100_000
    assert found["outputs"]["z"] == numbers[:, 0].tolist()


@pytest.mark.parametrize("words", [["compile", "-"], ["run", "p.skn", "--ring", "exact", "--inputs", "-"]])
def test_standard_input_without_end_is_refused(folder, words):
    with open("/dev/zero", "rb") as zeros:
        done = installed(*words, cwd=folder, stdin=zeros)
    assert (done.returncode, done.stdout) == (2, b"")
    assert re.fullmatch(rb"skinny: error: <stdin>: more than [0-9,]+ bytes need more memory [^\n]+\n", done.stderr)


@pytest.mark.parametrize(
    "command", ["compile a*b -o", "trace p.skn --ring exact --inputs a=1,b=2 --vcd"], ids=["compile", "trace"]
)
def test_standard_output_can_be_named(folder, command):
    words = command.split()
    plain = installed(*words, "named.skn", cwd=folder)
    assert plain.returncode == 0
    named = installed(*words, "/dev/stdout", cwd=folder)
    assert (named.returncode, named.stdout) == (0, (folder / "named.skn").read_bytes())


def test_every_command_states_its_limits(skinny):
    for name in ("compile", "run", "info", "trace", "explain", "bound", "sim", "verilog"):
        code, out, _ = skinny(name, "--help")
        assert code == 0
        assert "(default: time=600,memory=4G)" in " ".join(out.split())
    assert "programs of more than 21,474,836 instructions" in " ".join(skinny("compile", "--help")[1].split())

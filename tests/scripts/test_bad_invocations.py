"""Whatever is wrong with a command line or a file ends in one line that says so within two seconds and leaves nothing.

``bad_invocations.txt`` is the table: a command, then its exit code and its line; ``…`` stands for the rest of a line.
"""

import io
import os
import re
import shlex
import subprocess
import sysconfig
from pathlib import Path
from time import process_time

import numpy as np
import pytest
from skinny.scripts.cli import main

TABLE = (Path(__file__).parent / "bad_invocations.txt").read_text(encoding="utf-8")
CASES = re.findall(r"^\$ skinny (.*)\n([12]) (.*)\n", TABLE, re.M)
#: Some commands in processes of their own, one of each kind of error.
ALONE = (0, 25, 105, 200, 300)


def npy(numbers):
    file = io.BytesIO()
    np.save(file, numbers, allow_pickle=True)
    return file.getvalue()


PROGRAM = """\
skinny 1
# y = 2*a*b - 3/4; z = a
width 3
start 0 1 0
inputs a b
weight w[0] = 2
weight w[1] = 3/4
form f[0] = w[0]*a
R2 += b*R1
R0 += f[0]*R2
R0 -= w[1]*R1
emit y = R0 restart
R2 += a*R1
emit z = R2
end
"""
STREAM = "skinny 1\nwidth 3\nstart 0 1 0\ninputs x\nstate s = R2\nR2 += x*R1\nemit y = R2\nend\n"
WEIGHT = """\
skinny 1
width 3
start 0 1 0
inputs e
named kp = 1 in 0:2
weight w[0] = kp
form f[0] = w[0]*e
R0 += f[0]*R1
emit u = R0
end
"""
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
FILES = {
    **{"p.skn": PROGRAM, "s.skn": STREAM, "w.skn": WEIGHT, "scaled.skn": SCALED},
    # programs and models that are none
    **{"empty": "", "junk.skn": bytes(range(256)), "junk.npz": b"\x00\x01junk"},
    **{"junk.onnx": b"\x08\x99junk\xff", "empty.onnx": b"", "text.onnx": "hello"},
    # inputs
    **{"empty.csv": "", "blank.csv": "\n\n \n", "head.csv": "a,b\n", "junk.csv": bytes(range(256))},
    **{"utf16.csv": "a,b\n1,2\n".encode("utf-16"), "null.csv": "a,b\n1,\x002\n", "twice.csv": "a,b,a\n1,2,3\n"},
    **{"nan.csv": "a,b\n1,nan\n", "inf.csv": "a,b\n1,-inf\n", "huge.csv": "a,b\n1," + "9" * 500 + "\n"},
    **{
        "short.csv": "a,b\n1,2\n3\n",
        "long.csv": "a,b\n1,2,3\n",
        "quote.csv": 'a,b\n"1,2\n',
        "noname.csv": "1,2\n3,4\n",
    },
    "wide.csv": ",".join(f"c{i}" for i in range(100_000)) + "\n" + ",".join("1" * 100_000) + "\n",
    **{"x.csv": "x\n1\n2\n", "xbad.csv": "x\n1\nq\n", "xtwo.csv": "x\n1\n2\n3\n", "comma.csv": "a;b\n1,5;2\n"},
    **{"ümlaut.csv": "a,b\n1,x\n", "my file.csv": "a,b\n1,x\n"},
    # arrays
    **{"matrix.npy": npy(np.ones((2, 3))), "cube.npy": npy(np.ones((2, 2, 2))), "zero.npy": npy(np.array(5.0))},
    **{"nan.npy": npy(np.array([[1, np.nan]])), "complex.npy": npy(np.ones((1, 2), complex))},
    **{"text.npy": npy(np.array([["a", "b"]])), "object.npy": npy(np.array([[1, {}]], dtype=object))},
    **{"none.npy": npy(np.ones((0, 2))), "cut.npy": npy(np.ones((2, 2)))[:-5], "junk.npy": b"\x93NUMPY junk"},
    # formulas
    **{"f.txt": "y = a\nz = a b\n", "bom.txt": "\ufeffy = a $ b", "deep.txt": "y = " + "(" * 50_000 + "a"},
    **{"unclosed.txt": "y = [a, b", "control.txt": "y = a \x07 b"},
    # sum-product networks and circuits
    "query.json": '{"variables": {"a": 2}, "root": "n", "nodes": {"n": {"bernoulli": 0.5, "of": "a"}}, "query": 5}',
    **{"deep.json": "[" * 100_000, "empty.blif": "", "junk.blif": bytes(range(256))},
    "circle.blif": ".model c\n.inputs a\n.outputs s\n.names t s\n1 1\n.names s t\n1 1\n.end\n",
    # tables to learn from
    "t.csv": "u,v,y\n" + "".join(f"{i},{i * i % 7},{i % 2}\n" for i in range(60)),
    "ttext.csv": "u,v,y\n" + "".join(f"{i},q,{i % 2}\n" for i in range(40)),
    **{"tconst.csv": "u,y\n" + "1,1\n" * 40, "tone.csv": "u,y\n1,a\n2,b\n", "tnan.csv": "u,y\n" + "1,nan\n" * 40},
    "half.csv": 'u,y\n1,"2\n',
    "only.csv": "y\n" + "1\n0\n" * 20,
}
FOLDERS = ("folder", "folder.csv", "folder.skn", "folder.onnx", "folder.json")


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A folder with all kinds of files that cannot be used, and what is in it."""
    folder = tmp_path_factory.mktemp("bad")
    for name, content in FILES.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    for name in FOLDERS:
        (folder / name).mkdir()
    return folder, sorted(os.listdir(folder))


def expect_one_line(found, code, line):
    got, out, err = found
    assert (got, out) == (code, "")
    first, *more = err.removesuffix("\n").split("\n")
    said = first.removeprefix("skinny: error: ")
    assert said != first
    assert said.startswith(line[:-1]) if line.endswith("…") else said == line
    # Formulas are shown below, with a caret.
    assert len(more) == (2 if " at line " in said else 0)
    assert len(said) < 700


def test_there_are_more_than_two_hundred_over_all_commands():
    assert len({words for words, _, _ in CASES}) == len(CASES) == TABLE.count("$ skinny") > 200
    commands = "compile learn run trace explain bound info sim faults verilog fpga board host sweep picture bench"
    assert set(commands.split()) <= {shlex.split(words)[0] for words, _, _ in CASES}


@pytest.mark.parametrize(("words", "code", "line"), CASES, ids=[words for words, _, _ in CASES])
def test_one_line_and_nothing_left(filled, monkeypatch, capsys, words, code, line):
    folder, before = filled
    monkeypatch.chdir(folder)
    began = process_time()
    got = main(shlex.split(words))
    seconds = process_time() - began
    expect_one_line((got, *capsys.readouterr()), int(code), line)
    assert sorted(os.listdir(folder)) == before
    assert seconds < 2


@pytest.mark.parametrize(("words", "code", "line"), [case for case in CASES[::9] if "json" not in case[0]])
def test_with_json_stdout_stays_empty(filled, monkeypatch, capsys, words, code, line):
    folder, _ = filled
    monkeypatch.chdir(folder)
    if len(shlex.split(words)) < 2:
        return
    got = main([*shlex.split(words), "--json"])
    assert (got, capsys.readouterr().out) == (int(code), "")


@pytest.mark.parametrize("number", ALONE)
def test_in_processes_of_their_own(filled, number):
    folder, before = filled
    words, code, line = CASES[number]
    command = [Path(sysconfig.get_path("scripts")) / "skinny", *shlex.split(words)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    said = re.sub(r"skinny: [^\n]* s so far\n", "", done.stderr)
    expect_one_line((done.returncode, done.stdout, said), int(code), line)
    assert sorted(os.listdir(folder)) == before

"""A place to work in, and the command called in this process."""

import json

import pytest
from skinny.scripts.cli import main

#: y = a·b·2 - 3/4, then, after a restart, z = a.
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


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working folder, with the program ``p.skn`` in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.skn").write_text(PROGRAM)
    return tmp_path


@pytest.fixture
def skinny(folder, capsys):
    """``skinny("run", …)`` gives (exit code, stdout, stderr)."""

    def call(*words):
        code = main(words)
        return code, *capsys.readouterr()

    return call


@pytest.fixture
def answer(skinny):
    """The JSON object that a command prints, and nothing else; with code 1 it complains on stderr."""

    def call(*words, code=0):
        got, out, err = skinny(*words, "--json")
        assert (got, err != "") == (code, code != 0)
        assert out.count("\n") == 1
        return json.loads(out)

    return call

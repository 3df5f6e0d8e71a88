"""Pictures: real PNG files of what was asked for, or one clear line."""

import json

import pytest
from skinny.scripts.cli import main

SIGNATURE = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def program(tmp_path, capsys):
    path = tmp_path / "p.skn"
    assert main(["compile", "a*b + c", "-o", str(path)]) == 0
    capsys.readouterr()
    return path


def test_trace_is_drawn_for_every_register(program, tmp_path, capsys):
    out = tmp_path / "trace.png"
    assert (
        main(["picture", "trace", str(program), "--ring", "exact", "--inputs", "a=1,b=2,c=3", "-o", str(out), "--json"])
        == 0
    )
    assert json.loads(capsys.readouterr().out) == {"file": str(out)}
    data = out.read_bytes()
    assert data.startswith(SIGNATURE)
    assert int.from_bytes(data[16:20]) == 1100


@pytest.mark.parametrize(
    "arguments", [["lengths"], ["trace", "{program}", "--ring", "exact", "--inputs", "a=1,b=2,c=3"]]
)
def test_another_ending_is_refused(program, tmp_path, capsys, arguments):
    out = tmp_path / "picture.jpg"
    given = [str(program) if word == "{program}" else word for word in arguments]
    assert main(["picture", *given, "-o", str(out)]) == 2
    assert "must end in .png" in capsys.readouterr().err
    assert not out.exists()

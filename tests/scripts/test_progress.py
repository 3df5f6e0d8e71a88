"""Nobody waits without being told what for: a bar on a terminal, lines elsewhere, also while nothing is said."""

import io
import os
import threading

import pytest
from skinny.model.limits import tell
from skinny.scripts import progress
from skinny.scripts.progress import Work, counted, telling_what_is_done, working


class Listening(io.StringIO):
    """A stream that lets a thread wait until somebody has written a text."""

    def __init__(self, terminal=False):
        super().__init__()
        self.terminal = terminal
        self.written = threading.Condition()

    def isatty(self):
        return self.terminal

    def write(self, text):
        with self.written:
            super().write(text)
            self.written.notify_all()
        return len(text)

    def wait_for(self, text):
        with self.written:
            assert self.written.wait_for(lambda: text in self.getvalue(), 60)


@pytest.fixture
def listen(monkeypatch):
    """``listen()`` puts a stream in the place of stderr, which gets a line every moment."""

    def begin(terminal=False):
        monkeypatch.setattr(progress, "SILENT", 0.01)
        monkeypatch.setattr(progress, "LOOK", 0.01)
        stream = Listening(terminal)
        monkeypatch.setattr("sys.stderr", stream)
        return stream

    return begin


def work(total, monkeypatch):
    monkeypatch.setattr(progress, "monotonic", lambda: 100.0)
    return Work("flipping bits", total)


def test_from_the_second_piece_on_the_time_that_is_left_is_told(monkeypatch):
    bits = work(10, monkeypatch)
    assert bits.text(103.0) == "flipping bits, 3 s so far"
    bits.at(0)
    assert bits.text(103.0) == "flipping bits, 3 s so far"
    bits.step()
    assert bits.text(103.0) == "flipping bits: 1 of 10, about 27 s left"
    bits.at(4)
    assert bits.text(108.0) == "flipping bits: 4 of 10, about 12 s left"


def test_other_work_is_counted_anew(monkeypatch):
    bits = work(None, monkeypatch)
    bits.at(2, 4000, "running")
    assert bits.text(101.0) == "running: 2 of 4,000, 1 s so far"
    bits.at(3)
    assert bits.text(101.0) == "running: 3 of 4,000, about 3,997 s left"


def test_a_share_is_per_cent(monkeypatch):
    training = work(1.0, monkeypatch)
    training.at(0.25)
    assert training.text(101.0) == "flipping bits: 25%, about 3 s left"


def test_while_nothing_is_said_the_command_is_named(listen):
    stderr = listen()
    with telling_what_is_done("bench"):
        stderr.wait_for("skinny: bench: still at work, 0 s so far\n")
        tell("compiling")
        stderr.wait_for("skinny: compiling, 0 s so far\n")
        with working("building"):
            stderr.wait_for("skinny: building, 0 s so far\n")
            for piece in counted("runs", "ab"):
                stderr.wait_for(
                    "skinny: runs, 0 s so far\n" if piece == "a" else "skinny: runs: 1 of 2, about 0 s left\n"
                )
    told = stderr.getvalue()
    with working("something nobody hears"):
        tell("anything")
    assert stderr.getvalue() == told


def test_a_terminal_gets_a_bar(listen, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    stderr = listen(terminal=True)
    with telling_what_is_done("sim"):
        with working("building", 4) as build:
            build.at(1, what="running")
            stderr.wait_for("running")
            assert "skinny: running" not in stderr.getvalue()
        stderr.wait_for("skinny: sim: still at work")


def test_a_terminal_that_takes_nothing_back_gets_lines(listen, monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    stderr = listen(terminal=True)
    with telling_what_is_done("sim"), working("building"):
        stderr.wait_for("skinny: building, 0 s so far\n")


def test_a_command_that_waits_in_a_system_call_is_not_silent(listen):
    stderr = listen()
    ending, beginning = os.pipe()

    def end():
        stderr.wait_for("skinny: host: still at work")
        os.write(beginning, b"x")

    thread = threading.Thread(target=end)
    thread.start()
    with telling_what_is_done("host"):
        assert os.read(ending, 1) == b"x"
    thread.join()
    os.close(ending)
    os.close(beginning)

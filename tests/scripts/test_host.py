"""``skinny host`` at a pseudo-terminal, with the simulated board behind it."""

import dataclasses
import json
import os
import select
import threading
import tty
from contextlib import contextmanager

import numpy as np
import pytest
import skinny as top
from skinny.model.link.host import Host
from skinny.model.link.requests import Requests
from skinny.model.link.wire import BoardInfo, Kind, load_bytes, seal
from skinny.model.machine.assemble import assemble
from skinny.model.machine.isa import CoreConfig
from skinny.model.parallel.image import ImageOptions, build_image
from skinny.model.program.text import loads
from skinny.model.rings import FixedPoint, parse_ring
from skinny.scripts import host
from skinny.sim.link.board import SimulatedBoard
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

DEVICE = BoardInfo(CoreConfig(FixedPoint(16, 8), depth=64, inputs=5, weights=6), "simulated", 24_000_000)
GUARDED = dataclasses.replace(DEVICE, config=dataclasses.replace(DEVICE.config, guard=True))


@contextmanager
def terminal(board):
    """The name of a terminal that ``board`` listens at."""
    master, slave = os.openpty()
    tty.setraw(slave)
    stop = threading.Event()

    def serve():
        while not stop.is_set():
            if select.select([master], [], [], 0.01)[0]:
                board.write(os.read(master, 4096))
            while found := board.read(0.001):
                os.write(master, found)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield os.ttyname(slave)
    finally:
        stop.set()
        thread.join()
        os.close(master)
        os.close(slave)


@pytest.fixture(scope="module")
def board():
    return SimulatedBoard(DEVICE)


@pytest.fixture
def port(board):
    with terminal(board) as name:
        yield name


def test_load_run_info_reset(folder, skinny, answer, port):
    image = assemble(loads((folder / "p.skn").read_text()), DEVICE.config)
    (folder / "x.csv").write_text("a,b\n1,2\n0.5,-3\n" + "0.25,4\n" * 30)
    assert answer("host", port, "reset")["board"] == "simulated"
    first = answer("host", port, "load", "p.skn")
    assert (first["loaded"], first["words"], first["seal"]) == (True, len(image), seal(image))
    found = answer("host", port, "run", "p.skn", "--inputs", "x.csv")
    # 2·a·b - 3/4 and a, by hand.
    assert found["results"] == {"y": [3.25, -3.75] + [1.25] * 30, "z": [1, 0.5] + [0.25] * 30}
    assert (found["loaded"], found["faults"], found["lost"], found["ring"]) == (False, [], 0, "fixed:16.8")
    info = answer("host", port, "info")
    assert info["core"] == {
        **{"width": 3, "threads": 4, "depth": 64, "inputs": 5, "weights": 6},
        **{"attention": True, "check": True, "fifo": 64, "slices": 32, "guard": False},
        **{"assign": False, "sums": False, "relu": False, "argmax": 0, "registers": "flipflops"},
    }
    code, out, err = skinny("host", port, "run", "p.skn", "--inputs", "a=1,b=2")
    assert (code, err) == (0, "")
    assert [line.split() for line in out.splitlines()[:3:2]] == [["row", "y", "z"], ["1", "3.25", "1.0"]]
    code, out, _ = skinny("host", port, "info")
    assert code == 0
    assert out.startswith("simulated, 24 MHz, fixed:16.8: width 3, threads 4")
    assert f"holds a program with the seal {seal(image):08x}" in out


#: A core for streams; the board is that of the tests of the link.
STREAMS = BoardInfo(
    CoreConfig(FixedPoint(16, 8), state=True, window=True, assign=True, sums=True, depth=32, inputs=4, weights=8),
    *("simulated", 24_000_000),
    results=16,
    buffer=512,
)


@pytest.mark.parametrize("pad", [(), ("--pad",)])
def test_streams_and_weights_that_are_set_on_the_way(folder, skinny, answer, pad):
    """y = s + k·x - (the x before), by hand; s is the last y."""
    formula = "weight k = 2 in 0:4; state s = 1; let n = s + k*x - x[t-1]; next s = n; y = n"
    assert skinny("compile", formula, "--keep", "none", "--width", "3", "-o", "w.skn")[0] == 0
    given = {"a": [1, 2, -1, 3, 0, 1], "b": [0, -2, 2, 1, 1, -3]}
    expected = []
    for name, x in given.items():
        (folder / f"{name}.csv").write_text("\n".join(["x", *map(str, x)]) + "\n")
        s, y = 1, []
        for t in range(0 if pad else 1, 6):
            s += (2 if t < 3 else 3) * x[t] - (x[t - 1] if t else 0)
            y.append(s)
        expected.append(y)
    with terminal(SimulatedBoard(STREAMS)) as port:
        options = ("--stream", "a.csv", "--stream", "b.csv", "--retune", "4:k=3", *pad)
        found = answer("host", port, "run", "w.skn", *options)
        assert found["results"] == {"y": expected}
        assert (found["streams"], found["samples"], found["first"], found["faults"]) == (2, 6, 1 if pad else 2, [])
        assert (found["core"]["state"], found["core"]["window"]) == (True, True)
        code, out, _ = skinny("host", port, "run", "w.skn", *options)
        assert (code, out.splitlines()[2].split()) == (0, [str(found["first"]), *(f"{y[0]}.0" for y in expected)])
        assert skinny("host", port, "load", "w.skn", "--stream", "a.csv")[0] == 2
        assert "in place of --inputs" in skinny("host", port, "run", "w.skn", "--inputs", "x=1")[2]


def test_loading_by_force(folder, skinny, answer, port):
    answer("host", port, "load", "p.skn", "--force")
    assert not answer("host", port, "load", "p.skn")["loaded"]
    assert answer("host", port, "load", "p.skn", "--force")["loaded"]
    assert skinny("host", port, "load", "p.skn", "--force") == (0, "p.skn: 7 words, loaded\n", "")


def test_a_self_checked_program_on_a_board_with_an_upset(folder, skinny, answer):
    # y = 2·a·b - 3/4 and z = a, by hand. The first word is broken under the seal that it had.
    text = (folder / "p.skn").read_text().replace("inputs a b", "self-check\ninputs a b")
    (folder / "p.skn").write_text(text)
    board = SimulatedBoard(GUARDED)
    image = assemble(loads(text), GUARDED.config, self_check=True)

    def break_word():
        window = Requests(board, 0.005, 20)
        window.session = (window.ask(Kind.STATUS).session + 1) % 256
        window.ask(Kind.OPEN)
        window.send(Kind.LOAD, {"space": 0, "address": 0}, bytes(load_bytes(GUARDED.config)))
        assert window.receive() is not None
        window.ask(Kind.SEAL, seal=seal(image))

    def run(call):
        with terminal(board) as port:
            return call("host", port, "run", "p.skn", "--inputs", "a=0.5,b=3")

    found = run(answer)
    assert found["results"] == {"y": [2.25], "z": [0.5]}
    assert (found["loaded"], found["recoveries"], found["faults"], found["words"]) == (True, 0, [], len(image))
    assert not run(answer)["loaded"]
    break_word()
    found = run(answer)
    assert found["results"] == {"y": [2.25], "z": [0.5]}
    assert (found["loaded"], found["recoveries"], found["faults"]) == (True, 1, [])
    break_word()
    code, out, err = run(skinny)
    assert (code, err) == (
        0,
        "skinny: results were faulty or stayed away, so the core was loaded again, 1 time\n",
    )
    assert out.splitlines()[2].split() == ["1", "2.25", "0.5"]
    assert not run(answer)["loaded"]


def test_a_program_that_does_not_fit(folder, skinny, port):
    (folder / "wide.skn").write_text("skinny 1\nwidth 4\nstart 0 1 0 0\ninputs a\nR3 += a*R1\nemit y = R3\nend\n")
    code, out, err = skinny("host", port, "run", "wide.skn", "--inputs", "a=1")
    assert (code, out, err) == (2, "", "skinny: error: 4 registers do not fit the width 3\n")


def test_faults_are_a_failed_check(skinny, port, monkeypatch):
    # A word that means nothing in front of the program, as a broken assembler might put it there.
    def broken(program, ring, options):
        image = build_image(program, ring, options)
        return dataclasses.replace(image, words=np.concatenate([np.zeros(1, dtype=np.uint64), image.words]))

    monkeypatch.setattr(host, "build_image", broken)
    code, out, err = skinny("host", port, "run", "p.skn", "--inputs", "a=1,b=2", "--json")
    assert (code, json.loads(out)["faults"], json.loads(out)["fault"]) == (1, [1], True)
    assert (json.loads(out)["recoveries"], json.loads(out)["seal"]) == (1, 0)
    assert err == "skinny: error: check failed: 1 inference met a fault, the first is number 1\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("no-such-port", "info"), "the port no-such-port cannot be opened (No such file or directory)"),
        (("p.skn", "info"), "the port p.skn cannot be opened (it is no serial port of this speed)"),
        (("x", "run"), "run takes a program"),
        (("x", "reset", "p.skn"), "reset takes no program"),
        (("x", "load", "p.skn", "--inputs", "a=1"), "load takes no --inputs"),
        (("x", "run", "p.skn", "--force"), "run takes no --force"),
        (("x", "info", "--force"), "info takes no --force"),
        (("x", "load", "q.skn"), "q.skn: cannot be read (No such file or directory)"),
    ],
)
def test_bad_requests(skinny, words, message):
    assert skinny("host", *words) == (2, "", f"skinny: error: {message}\n")


def test_a_port_without_a_board(skinny, monkeypatch):
    monkeypatch.setattr(host, "Host", lambda port: Host(port, seconds=0.01, attempts=3))
    master, slave = os.openpty()
    try:
        code, out, err = skinny("host", os.ttyname(slave), "info")
    finally:
        os.close(master)
        os.close(slave)
    message = "skinny: error: check failed: no answer from the board (3 requests in a row)\n"
    assert (code, out, err) == (1, "", message)


PID = """\
skinny 1
width 3
inputs e i
named kp = 1/2 in 0:2
named ki = 1/4 in 0:1
weight w[0] = kp
weight w[1] = 3
weight w[2] = -2*ki
form f[0] = w[0]*e + w[2]*i + w[1]
R0 += f[0]*R1
emit u = R0
end
"""


def test_a_weight_retuned_over_the_load_port(folder, skinny, answer, port):
    """Only the words of named weights are sent, and the core in RTL computes with them."""
    (folder / "pid.skn").write_text(PID)
    words = ("host", port, "run", "pid.skn", "--inputs", "e=2,i=-3")
    first = answer(*words)
    assert (first["results"], first["loaded"], first["retuned"]) == ({"u": [1 + 1.5 + 3]}, True, False)
    tuned = answer(*words, "--weight", "kp=1.25", "--weight", "ki=1")
    assert (tuned["results"], tuned["loaded"], tuned["retuned"]) == ({"u": [2.5 + 6 + 3]}, False, True)
    assert tuned["seal"] == first["seal"]
    # What the board was set to does not stay behind the host's back.
    assert answer(*words)["results"] == first["results"]
    code, out, _ = skinny("host", port, "load", "pid.skn", "--weight", "kp=2")
    assert (code, out) == (0, "pid.skn: 5 words, was there already, its weights were sent\n")
    code, _, err = skinny(*words, "--weight", "kp=2.5")
    assert (code, err) == (2, "skinny: error: weight kp: 5/2 is outside its range 0:2\n")


def test_a_model_that_was_trained_again_runs_on_without_a_reload(folder, skinny):
    """Weights alone are sent, and the core in RTL decides as the new model."""
    rows, labels = load_iris(return_X_y=True)
    first, second = (LogisticRegression(max_iter=500).fit(rows[part], labels[part]) for part in (slice(0, 150, 2), ...))
    program = top.compile(first, ring="fixed", calibration=rows)
    again = program.set_weights(second)
    program.save("first.skn")
    again.save("second.skn")
    lines = [program.inputs, *rows.tolist()]
    (folder / "rows.csv").write_text("".join(f"{','.join(map(str, line))}\n" for line in lines))
    image = build_image(program.model, parse_ring(program.model.ring), ImageOptions(threads=4))
    board = SimulatedBoard(BoardInfo(image.config, "simulated", 24_000_000))
    wanted = [made.predict(rows).tolist() for made in (program, again)]
    assert wanted[0] != wanted[1]
    with terminal(board) as port:
        words = ("host", port, "run", "first.skn", "--inputs", "rows.csv", "--json")
        found = json.loads(skinny(*words)[1])
        assert (found["loaded"], found["retuned"], found["results"]["class"]) == (True, False, wanted[0])
        code, out, _ = skinny("host", port, "load", "second.skn")
        assert (code, out.partition(", ")[2]) == (0, "was there already, its weights were sent\n")
        words = ("host", port, "run", "second.skn", "--inputs", "rows.csv", "--json")
        found = json.loads(skinny(*words)[1])
        assert (found["loaded"], found["retuned"], found["results"]["class"]) == (False, True, wanted[1])

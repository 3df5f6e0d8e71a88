"""Boards from Python, with the simulated board at the other end."""

import numpy as np
import pytest
import skinny
from skinny.model.link.wire import BoardInfo
from skinny.model.parallel.image import ImageOptions, build_image
from skinny.model.rings import parse_ring
from skinny.sim.link.board import SimulatedBoard
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

ROWS, LABELS = load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def models():
    return [LogisticRegression(max_iter=500).fit(ROWS[part], LABELS[part]) for part in (slice(0, 150, 2), ...)]


@pytest.fixture(scope="module")
def program(models):
    return skinny.compile(models[0], ring="fixed", calibration=ROWS)


@pytest.fixture(scope="module")
def line(program):
    image = build_image(program.model, parse_ring(program.model.ring), ImageOptions(threads=4))
    return SimulatedBoard(BoardInfo(image.config, "simulated", 24_000_000))


def test_a_trained_model_runs_on_a_board_and_gets_other_weights(program, models, line):
    again = program.set_weights(models[1])
    with skinny.Board(line) as board:
        assert board.load(program) == "program"
        assert board.predict(program, ROWS).tolist() == program.predict(ROWS).tolist()
        assert board.load(again) == "weights"
        assert board.predict(again, ROWS).tolist() == again.predict(ROWS).tolist() != program.predict(ROWS).tolist()
        assert board.predict(program, ROWS[:9]).tolist() == program.predict(ROWS[:9]).tolist(), "and back, by itself"


def test_a_formula_runs_on_a_board(line):
    program = skinny.compile("y = a + b/2; z = a")
    with skinny.Board(line) as board:
        assert board.run(program, {"a": 0.25, "b": 1}) == {"y": 0.75, "z": 0.25}
        assert board.run(program, [[0.25, 1], [0.5, -1]]) == {"y": [0.75, 0], "z": [0.25, 0.5]}
        assert board.load(program) == "nothing"
        assert board.run(skinny.compile("y = a/2"), np.array([[0.5]])) == [0.25]
        assert board.run(skinny.compile("y = a/2"), [0.5]) == 0.25


def test_what_cannot_be(line, program):
    with skinny.Board(line) as board:
        for call, message in (
            (
                lambda: board.run("y = a"),
                "a board takes a program that skinny.compile or skinny.load gives, not",
            ),
            (lambda: board.predict(skinny.compile("y = a"), [[1]]), "predict takes the program of a trained model"),
            (lambda: board.run(skinny.compile("a0*a1*a2*a3*a4*a5*a6*a7*a8"), [1] * 9), "do not fit a memory of"),
            (
                lambda: board.run(skinny.compile("state s = 0; next s = x; y = s"), [1]),
                "keeps nothing between runs",
            ),
        ):
            with pytest.raises(skinny.InputError, match=message):
                call()
    with pytest.raises(skinny.InputError, match="the port /dev/none cannot be opened"):
        skinny.Board("/dev/none")
    with pytest.raises(skinny.InputError, match="a board is at a serial port like '/dev/ttyUSB1', not at 3"):
        skinny.Board(3)

"""Models of windows on streams: the same numbers as on rows that overlap."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import skinny
from skinny.model.errors import InputError
from skinny.model.frontends.windowed import windowed
from skinny.model.program.text import dumps, loads
from sklearn.linear_model import Ridge
from sklearn.neural_network import MLPClassifier

SAMPLES = np.round(np.sin(np.arange(60) ** 1.5 / 9) * 512) / 512
ROWS = np.stack([SAMPLES[end - 6 : end] for end in range(6, 61)])


@pytest.fixture(scope="module")
def network():
    labels = (ROWS[:, 0] * ROWS[:, 5] > 0).astype(int)
    model = MLPClassifier((4,), max_iter=2000, tol=0.01, random_state=0).fit(ROWS, labels)
    return skinny.compile(model, ring="fixed:16", calibration=ROWS)


@pytest.mark.parametrize("hop", [1, 2, 3, 6])
def test_a_stream_gives_what_rows_give(network, hop):
    stream = network.windowed(hop)
    assert (stream.model.window, stream.model.hop) == (8, hop)
    found = stream.run_stream(SAMPLES.reshape(-1, hop)[: 54 // hop + 1])
    rows = [row for end, row in enumerate(ROWS, 6) if end % hop == 0]
    first = -(-8 // hop) * hop  # the sample with which the window of eight words is full
    wanted = network.predict(np.array(rows))[(first - 6 + hop - 1) // hop :]
    assert found[: len(wanted)] == wanted.tolist()[: len(found)]
    assert len(found) > 5
    assert len(set(found)) == 2
    assert loads(dumps(stream.model)) == stream.model


def test_the_core_runs_it(network):
    stream = network.windowed(2)
    done = stream.simulate_stream(SAMPLES[:24].reshape(-1, 2), simulator="amaranth")
    assert done["match"]
    assert done["results"]["class"] == network.predict(ROWS[2:19:2]).tolist()


def test_weights_stay_settable(network):
    again = MLPClassifier((4,), max_iter=2000, tol=0.01, random_state=1).fit(ROWS, ROWS[:, 5] > 0)
    changed = network.set_weights(again).windowed(1)
    assert changed.model.settable
    assert changed.model.forms == network.windowed(1).model.forms
    assert changed.model.weights != network.windowed(1).model.weights


def test_inputs_that_cannot_matter_are_not_waited_for():
    model = Ridge().fit(ROWS * [0, 0, 0, 1, 0, 1], ROWS[:, 5])
    stream = skinny.compile(model).windowed(1)
    assert stream.model.inputs == ("x", "x[t-1]", "x[t-2]")
    assert stream.model.window == 4
    found = stream.run_stream(SAMPLES[:10, None], "real")
    blind = np.stack([np.zeros(7), *SAMPLES[[range(1, 8), range(2, 9), range(3, 10)]]], axis=1)
    assert found == pytest.approx(model.predict(np.pad(blind, ((0, 0), (2, 0)))))


def test_what_cannot_be(network):
    for hop in (0, 7):
        with pytest.raises(InputError, match=f"a window of 6 inputs takes 1 to 6 new words a sample, not {hop}"):
            network.windowed(hop)
    with pytest.raises(InputError, match="the hop must be a whole number"):
        network.windowed(1.5)
    model = replace(network.model, input_scales=(0, 0, 3, 0, 0, 0))
    with pytest.raises(InputError, match="x0 and x2 have ranges of another size, but are one word of a stream"):
        windowed(model, network.imported.inputs, 1)
    wide = replace(network.model, box=((Fraction(-1), Fraction(1)), *((Fraction(0), Fraction(1, 2)),) * 5))
    assert windowed(wide, network.imported.inputs, 1).box == ((-1, 1),) * 6

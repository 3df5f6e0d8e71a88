"""The networks that PyTorch and Keras exported, from their files to the simulated core, against onnxruntime."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import skinny
from skinny.model.formula.formula import postorder
from sklearn.datasets import load_digits, make_classification
from sklearn.model_selection import train_test_split

#: Rows outside of the ranges that were known, and pixels that are rounded, are what real data have.
pytestmark = pytest.mark.filterwarnings("ignore::skinny.PrecisionWarning")

FOLDER = Path(__file__).parents[2] / "examples" / "onnx"


def digits():
    images, labels = load_digits(return_X_y=True)
    return train_test_split(images / 16, labels, stratify=labels, random_state=0)


def jets():
    features, kinds = make_classification(4000, 16, n_informative=10, n_classes=5, class_sep=1.5, random_state=0)
    return features[:300] / 8, features[3000:] / 8, kinds[:300], kinds[3000:]


def waves():
    rng = np.random.default_rng(5)
    kinds = rng.integers(0, 3, 600)
    turns = rng.uniform(3, 6, (600, 1)) * np.arange(128) / 128 + rng.uniform(0, 1, (600, 1))
    pure = np.stack([np.sin(2 * np.pi * turns), np.sign(np.sin(2 * np.pi * turns)), 2 * (turns % 1) - 1])
    samples = (pure[kinds, np.arange(600)] + 0.1 * rng.normal(size=(600, 128))) / 2
    return samples[:200], samples[200:], kinds[:200], kinds[200:]


#: Rows to choose a format by, rows to test, and the labels of both.
ROWS = {"digits_cnn": digits, "digits_cnn_again": digits, "autoencoder": digits, "jets": jets, "waves": waves}


def reference(name, rows):
    """What onnxruntime gives, a row of outputs for each row."""
    session = onnxruntime.InferenceSession(FOLDER / f"{name}.onnx", providers=["CPUExecutionProvider"])
    (given,) = session.get_inputs()
    shape = [size if isinstance(size, int) else 1 for size in given.shape]
    inputs = rows.astype(np.float32)
    return np.stack([session.run(None, {given.name: row.reshape(shape)})[0][0] for row in inputs])


@pytest.mark.parametrize("name", ROWS)
def test_a_file_gives_what_onnxruntime_gives(name):
    _, rows, _, _ = ROWS[name]()
    program = skinny.compile(onnx.load(FOLDER / f"{name}.onnx"))
    wanted = reference(name, rows)
    found = program.predict(rows)
    if program.classes:
        assert (found == wanted.argmax(axis=1)).all()
    else:
        assert found == pytest.approx(wanted, abs=1e-4)
    products = sum(node.kind == "product" for node in postorder(*program.imported.outputs.values()))
    assert program.model.words <= {"jets": 1.1, "autoencoder": 1.1}.get(name, 1.35) * products


def test_a_small_cnn_in_fixed_point_is_within_half_a_point_of_onnxruntime():
    known, rows, _, labels = digits()
    program = skinny.compile(onnx.load(FOLDER / "digits_cnn.onnx"), ring="fixed", calibration=known)
    ours = np.mean(program.predict(rows) == labels)
    theirs = np.mean(reference("digits_cnn", rows).argmax(axis=1) == labels)
    assert theirs > 0.95
    assert abs(ours - theirs) <= 0.005
    assert int(program.model.ring.removeprefix("fixed:").partition(".")[0]) <= 12


def test_retrained_weights_are_new_words_of_the_weight_memory():
    known, rows, _, _ = digits()
    models = [onnx.load(FOLDER / f"{name}.onnx") for name in ("digits_cnn", "digits_cnn_again")]
    program = skinny.compile(models[0], ring="fixed:16", calibration=known)
    again = program.set_weights(models[1])
    wanted = reference("digits_cnn_again", rows).argmax(axis=1)
    assert np.mean(again.predict(rows) == wanted) >= 0.995
    assert np.mean(program.predict(rows) == wanted) < 0.99
    assert again.model.code == program.model.code
    assert again.model.forms == program.model.forms
    assert len(program.model.weights) <= 40 + 370 + 3  # those of the network, and powers of two of the pool


@pytest.mark.parametrize(
    ("name", "most", "tolerance"), [("jets", 4700, 0.05), ("autoencoder", 2600, 0.005), ("waves", 5400, 0)]
)
def test_a_network_of_the_usual_shape_runs_in_rtl(name, most, tolerance):
    """The simulated core is compared with the golden model in every cycle."""
    known, rows, _, _ = ROWS[name]()
    program = skinny.compile(onnx.load(FOLDER / f"{name}.onnx"), ring="fixed:16", calibration=known)
    assert program.cycles <= most
    done = program.simulate(rows[:8])
    assert done["match"]
    found = program.decoded(done["results"])
    assert (found == program.predict(rows[:8])).all()
    wanted = reference(name, rows[:8])
    if program.classes:
        assert (found == wanted.argmax(axis=1)).all()
    else:
        assert np.abs(found - wanted).max() <= tolerance * np.ptp(wanted)

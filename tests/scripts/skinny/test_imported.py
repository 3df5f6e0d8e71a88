"""Programs of trained models: rows in, labels out; reports; retrained weights in the same image, also on the core."""

import numpy as np
import pytest
import skinny
from skinny.hdl.core.core import Core
from skinny.model.machine.isa import Space
from skinny.model.parallel.image import ImageOptions, build_image
from skinny.model.program.units import Units
from skinny.model.rings import parse_ring
from skinny.sim.check.record import outputs
from skinny.sim.check.steps import LoadImage, ResetCore, RunStimulus
from skinny.sim.check.stimulus import Stimulus
from skinny.sim.simulators.amaranth import run_steps
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

ROWS, NUMBERS = load_iris(return_X_y=True)
LABELS = load_iris().target_names[NUMBERS]
SOME = np.arange(150) % 2 == 0


@pytest.fixture(scope="module")
def models():
    return [LogisticRegression(max_iter=500).fit(ROWS[chosen], LABELS[chosen]) for chosen in (SOME, NUMBERS < 9, ~SOME)]


@pytest.fixture(scope="module")
def program(models):
    return skinny.compile(models[0], ring="fixed:16", calibration=ROWS)


def test_rows_come_in_all_shapes(program, models):
    wanted = models[0].predict(ROWS)
    assert (program.predict(ROWS) == wanted).all()
    assert (program.predict(ROWS.tolist()) == wanted).all()
    assert (program.predict({f"x{n}": ROWS[:, n] for n in range(4)}) == wanted).all()
    assert program.predict(ROWS[0]).tolist() == [wanted[0]]
    with pytest.warns(skinny.PrecisionWarning, match="3 input values rounded"):
        assert program.run(ROWS[0]) == list(program.classes).index(wanted[0])
    assert program.cycles == program.model.words + 3
    with pytest.raises(skinny.InputError, match="inputs: the model has no input 'x9'"):
        program.predict({"x9": 1})


def test_columns_that_cannot_matter_may_be_given():
    rows = np.column_stack([ROWS[:, 0], np.zeros(150), ROWS[:, 1:]])
    model = LogisticRegression(max_iter=500).fit(rows, LABELS)
    made = skinny.compile(model)
    assert made.inputs == ("x0", "x2", "x3", "x4")
    assert (made.predict(rows) == model.predict(rows)).all()
    assert (made.predict(rows[:, [0, 2, 3, 4]]) == model.predict(rows)).all()
    assert (made.predict({f"x{n}": rows[:, n] for n in range(5)}) == model.predict(rows)).all()


def test_rows_outside_of_what_was_calibrated_are_said(program):
    with pytest.warns(skinny.PrecisionWarning, match="1 of 2 rows outside the box of the program"):
        program.predict([ROWS[0], ROWS[0] + 3])


PROBABLE = [
    LogisticRegression(max_iter=500),
    LinearDiscriminantAnalysis(),
    QuadraticDiscriminantAnalysis(),
    GaussianNB(),
    MLPClassifier((4,), max_iter=100, random_state=0),
    SGDClassifier(loss="log_loss", random_state=0),
]


@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("estimator", PROBABLE, ids=lambda estimator: type(estimator).__name__)
def test_probabilities_are_those_of_the_estimator(estimator, classes):
    some = classes > NUMBERS
    model = clone(estimator).fit(ROWS[some], LABELS[some])
    program = skinny.compile(model)
    if classes == 3 and isinstance(model, SGDClassifier):
        with pytest.raises(skinny.InputError, match=r"SGDClassifier, 4 inputs: it gives scores, but no probabilities"):
            program.predict_proba(ROWS)
        return
    wanted = model.predict_proba(ROWS)
    assert program.predict_proba(ROWS) == pytest.approx(wanted, abs=1e-9)
    sent = skinny.compile(model, probabilities=True)
    assert sent.predict_proba(ROWS) == pytest.approx(wanted, abs=1e-9)
    assert (sent.predict(ROWS) == model.predict(ROWS)).all()


def test_probabilities_of_a_format_are_within_the_error(models, tmp_path):
    """The format is chosen for them, and the core sends what the host makes them of."""
    model = models[0]
    program = skinny.compile(model, ring="fixed", calibration=ROWS, probabilities=True, error=0.02)
    wanted = model.predict_proba(ROWS)
    assert np.abs(program.predict_proba(ROWS) - wanted).max() <= 0.02
    assert (program.predict(ROWS) == model.predict(ROWS)).all()
    decides = skinny.compile(model, ring="fixed", calibration=ROWS)
    assert np.abs(decides.predict_proba(ROWS) - wanted).max() > 0.02, "which another format is enough for"
    names = ["probability0", "probability1", "probability2"]
    with pytest.warns(skinny.PrecisionWarning, match="input values rounded"):
        found = program.simulate(ROWS[:8])["results"]
    assert list(found) == names
    assert pytest.approx(program.predict_proba(ROWS[:8])) == np.array([found[name] for name in names]).T
    program.save(tmp_path / "p.skn")
    with pytest.warns(skinny.PrecisionWarning, match="input values rounded"):
        again = skinny.load(tmp_path / "p.skn").run(ROWS[:8].tolist())
    assert pytest.approx(program.predict_proba(ROWS[:8])) == np.array([again[name] for name in names]).T
    report = program.report(ROWS, LABELS, rtl=False).as_dict()
    assert [stage["accuracy"] for stage in report["stages"]] == [model.score(ROWS, LABELS)] * 2
    retrained = program.set_weights(models[2])
    assert np.abs(retrained.predict_proba(ROWS) - models[2].predict_proba(ROWS)).max() < 0.05


def test_models_without_probabilities_say_so():
    ridge = skinny.compile(Ridge().fit(ROWS, NUMBERS))
    with pytest.raises(skinny.InputError, match="Ridge, 4 inputs: it is no classifier, so that it has"):
        ridge.predict_proba(ROWS)
    with pytest.raises(skinny.InputError, match=r"LinearSVC, 4 inputs: it gives scores, but no probabilities"):
        skinny.compile(LinearSVC().fit(ROWS, LABELS), probabilities=True)


def test_weights_that_were_zero_can_be_kept():
    """A column that is constant has no weight in the first fit, and one in the second."""
    dark = ROWS * [1, 0, 1, 1]
    first, second = (LogisticRegression(max_iter=500).fit(rows, LABELS) for rows in (dark, ROWS))
    with pytest.raises(skinny.InputError, match=r"^LogisticRegression, value 0 of 3: its weight of x1 was zero"):
        skinny.compile(first).set_weights(second)
    program = skinny.compile(first, keep_zeros=True)
    assert program.inputs == ("x0", "x1", "x2", "x3")
    assert (program.predict(dark) == first.predict(dark)).all()
    assert (program.set_weights(second).predict(ROWS) == second.predict(ROWS)).all()
    there_and_back = program.set_weights(second).set_weights(first)
    assert there_and_back.model == program.model
    fixed = skinny.compile(first, keep_zeros=True, ring="fixed:24", calibration=ROWS)
    assert (fixed.set_weights(second).predict(ROWS) == second.predict(ROWS)).all()


def test_reports_have_all_ways_to_compute_side_by_side(program, models):
    report = program.report(ROWS, LABELS)
    figures = report.as_dict()
    assert [stage["name"] for stage in figures["stages"]] == ["floats", program.model.ring, "RTL"]
    right = models[0].score(ROWS, LABELS)
    assert [stage["accuracy"] for stage in figures["stages"]] == [right, right, right]
    assert [layer["name"] for layer in figures["layers"]] == ["inputs", "LogisticRegression"]
    scores = models[0].decision_function(ROWS)
    assert (figures["layers"][1]["low"], figures["layers"][1]["high"]) == pytest.approx((scores.min(), scores.max()))
    assert 0 < figures["layers"][1]["largest_error"] < 0.01
    bare = skinny.compile(models[0]).report(ROWS, LABELS)
    assert [stage.name for stage in bare.stages] == ["floats"]
    with pytest.raises(skinny.InputError, match="there are 150 rows and 3 labels"):
        program.report(ROWS, [1, 2, 3])


def test_retrained_weights_are_those_of_the_new_model(program, models):
    for again in models[1:]:
        changed = program.set_weights(again)
        assert (changed.predict(ROWS, "real") == again.predict(ROWS)).all()
        assert (changed.predict(ROWS) == again.predict(ROWS)).mean() > 0.98
        assert str(changed.model.code.arrays()) == str(program.model.code.arrays())
        assert changed.model.forms == program.model.forms
    assert (changed.set_weights(models[0]).predict(ROWS) == program.predict(ROWS)).all()


def test_the_core_takes_new_weights_and_nothing_else(program, models):
    """The image of the first model is loaded and runs; then the words of the weight memory that differ are written, and
    the same core decides as the second model."""
    changed = program.set_weights(models[2])
    ring = parse_ring(program.model.ring)
    options = ImageOptions(threads=4)
    before, after = (build_image(made.model, ring, options) for made in (program, changed))
    writes = [list(image.loads()) for image in (before, after)]
    differing = [new for old, new in zip(*writes, strict=True) if old != new]
    assert {write.space for write in differing} == {Space.WEIGHTS}
    rows = ROWS[48:104:7]
    columns = [rows[:, n].tolist() for n in range(4)]
    elements = Units(program.model, ring).encode_columns(columns, len(rows), float, str).elements
    vectors = before.config.pack(elements)
    first = Stimulus.steady(before, vectors)
    gaps = np.zeros(vectors.size, dtype=np.int64)
    gaps[0] = len(differing) + 4
    second = Stimulus(after, vectors, Stimulus.steady(after, vectors).sizes, gaps=gaps, loads=differing)
    steps = [ResetCore(), LoadImage(before), RunStimulus(first), RunStimulus(second)]
    records = run_steps(Core(before.config), steps)
    for record, stimulus, made in zip(records, (first, second), (program, changed), strict=True):
        sent = before.config.unpack(outputs(stimulus, record)[:, :1], len(rows))[:, 0]
        assert np.array(made.classes)[sent].tolist() == made.predict(rows).tolist()


def test_options_that_a_model_does_not_have_are_refused(models):
    for option in ({"calibration": ROWS}, {"probabilities": True}, {"keep_zeros": True}):
        with pytest.raises(skinny.InputError, match=f"{next(iter(option))} is about trained models: a formula is"):
            skinny.compile("y = a", **option)
    for options, message in (
        ({"contract": "in-place"}, "contract is about formulas: a trained model is compiled without it"),
        ({"ring": "fixed"}, r"ring='fixed' needs to know the inputs: give calibration=rows"),
        ({"ring": "modular:8", "box": (0, 1)}, "a model is compiled for fixed, fixed:BITS or fixed:BITS.FRAC, not"),
        ({"ring": "fixed", "calibration": ROWS[:, :3]}, r"rows must have the shape \(rows, 4\), not \(150, 3\)"),
        ({"ring": "fixed", "calibration": ROWS * np.nan}, "rows must be finite numbers"),
        ({"error": 0}, "error must be above zero, not 0"),
        ({"width": 2}, "the width must be 3 to 1024, not 2"),
        ({"width": 1025}, "the width must be 3 to 1024, not 1025"),
        ({"error": 0.1}, "it sends the number of a class, in which no error can be: leave error out, or ask for"),
    ):
        with pytest.raises(skinny.InputError, match=message):
            skinny.compile(models[0], **options)


@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
def test_promises_that_a_relu_breaks_are_refused_by_its_layer():
    model = MLPClassifier((2,), max_iter=2, random_state=0).fit(ROWS, LABELS)
    for keep in ("linear", "reversible"):
        with pytest.raises(skinny.InputError, match=r"^hidden layer 1: a relu is neither linear nor reversible: "):
            skinny.compile(model, keep=keep)


def test_models_of_another_shape_are_refused(program):
    for model, message in (
        (Ridge().fit(ROWS, NUMBERS), "compile it again"),
        (MLPClassifier((2,), max_iter=2000, random_state=0, tol=0.1).fit(ROWS, LABELS), r"layers of \[2, 3\] values"),
        (DecisionTreeClassifier().fit(ROWS, LABELS), "a program has no branches"),
        (3, "set_weights takes a trained model, not 3"),
    ):
        with pytest.raises(skinny.InputError, match=message):
            program.set_weights(model)
    wide = LogisticRegression(max_iter=500).fit(ROWS, LABELS)
    wide.coef_ = wide.coef_ * 1000
    with pytest.raises(
        skinny.InputError,
        match=r"^LogisticRegression: the weight of x0 is .* now and does not fit fixed:16\.\d+",
    ):
        program.set_weights(wide)

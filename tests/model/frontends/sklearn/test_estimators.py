"""Estimators as programs: the figures that must hold on digits and iris, and what users have in other shapes."""

import warnings

import numpy as np
import pytest
import skinny
from skinny.model.errors import CheckError, InputError
from skinny.model.frontends.find import import_model
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import ElasticNet, Lasso, LinearRegression, LogisticRegression, Ridge, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, PolynomialFeatures, StandardScaler
from sklearn.svm import LinearSVC, LinearSVR


def fitted(model, rows, labels):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(rows, labels)


def live(program):
    return len(program.inputs)


#: The model of a seed, and its most cycles from the program.
DIGITS = {
    "LogisticRegression": (lambda seed: LogisticRegression(max_iter=100), lambda program: (live(program) + 3) * 10),
    "LinearSVC": (lambda seed: LinearSVC(random_state=seed), lambda program: (live(program) + 3) * 10),
    "LDA": (lambda seed: LinearDiscriminantAnalysis(), lambda program: 670),
    "GaussianNB": (lambda seed: GaussianNB(var_smoothing=1e-2), lambda program: 1560),
    "PCA-16 + QDA": (
        lambda seed: make_pipeline(PCA(16, random_state=seed), QuadraticDiscriminantAnalysis(reg_param=0.1)),
        lambda program: 4300,
    ),
    "MLP 64-16-10": (lambda seed: MLPClassifier((16,), max_iter=40, random_state=seed), lambda program: 1250),
}
SEEDS = [(name, seed) for name in DIGITS for seed in (range(5) if name in ("LogisticRegression", "LDA") else (0, 4))]


@pytest.mark.parametrize(("name", "seed"), SEEDS)
def test_digits_in_floats(digits, name, seed):
    make, most = DIGITS[name]
    rows, test, labels, _ = digits(seed)
    model = fitted(make(seed), rows, labels)
    program = skinny.compile(model)
    assert program.cycles <= most(program)
    assert (program.predict(test, "real") == model.predict(test)).all()
    assert set(program.imported.idle) >= {f"x{n}" for n in np.flatnonzero(np.ptp(rows, axis=0) == 0)} or "MLP" in name


@pytest.mark.filterwarnings("ignore::skinny.PrecisionWarning")  # a few images leave the ranges of the others
@pytest.mark.parametrize("name", DIGITS)
def test_digits_in_the_format_that_is_picked(digits, name):
    """It is chosen by the rows that the model was fitted on, and does for others."""
    make, most = DIGITS[name]
    rows, test, labels, _ = digits(0)
    model = fitted(make(0), rows, labels)
    program = skinny.compile(model, ring="fixed", calibration=rows)
    assert program.model.ring.startswith("fixed:")
    assert program.cycles <= most(program)
    assert (program.predict(test) == model.predict(test)).all()


@pytest.mark.parametrize(
    ("model", "most"),
    [
        (LogisticRegression(max_iter=500), 21),
        (GaussianNB(), 46),
        (QuadraticDiscriminantAnalysis(), 105),
    ],
)
def test_iris(model, most):
    rows, labels = load_iris(return_X_y=True)
    names = load_iris().target_names
    model.fit(rows, names[labels])
    program = skinny.compile(model)
    assert program.cycles <= most
    assert (program.predict(rows) == model.predict(rows)).all()
    fixed = skinny.compile(model, ring="fixed", calibration=rows)
    assert (fixed.predict(rows) == model.predict(rows)).all()


RNG = np.random.default_rng(8)
ROWS = RNG.normal(size=(120, 5)) * [1, 20, 0.1, 3, 1]
NUMBERS = ROWS @ [1, 0.2, -5, 0, 2] + 0.1 * ROWS[:, 0] * ROWS[:, 3]


@pytest.mark.parametrize(
    "model",
    [
        LinearRegression(),
        Ridge(),
        Lasso(0.5),
        ElasticNet(0.1),
        LinearSVR(max_iter=5000),
        make_pipeline(StandardScaler(), PolynomialFeatures(2), Ridge()),
        make_pipeline(MinMaxScaler(), PCA(3), LinearRegression()),
        make_pipeline(StandardScaler(), MLPRegressor(hidden_layer_sizes=(6,), max_iter=50, random_state=0)),
    ],
    ids=lambda model: repr(model).replace("\n", " ")[:60],
)
def test_regressors_give_the_numbers_of_the_model(model):
    fitted(model, ROWS, NUMBERS)
    assert skinny.compile(model).predict(ROWS) == pytest.approx(model.predict(ROWS))
    fixed = skinny.compile(model, ring="fixed", calibration=ROWS, error=0.05)
    assert np.abs(fixed.predict(ROWS) - model.predict(ROWS)).max() <= 0.05


def test_several_outputs_are_columns():
    both = np.stack([NUMBERS, ROWS[:, 1]], axis=1)
    model = Ridge().fit(ROWS, both)
    program = skinny.compile(model)
    assert program.outputs == ("y0", "y1")
    assert program.predict(ROWS) == pytest.approx(model.predict(ROWS))


@pytest.mark.parametrize("activation", ["tanh", "logistic"])
def test_smooth_activations_state_their_error(activation):
    labels = (NUMBERS > 0).astype(int)
    net = MLPClassifier((4,), activation=activation, max_iter=100, random_state=0)
    model = fitted(make_pipeline(StandardScaler(), net), ROWS, labels)
    with pytest.raises(InputError, match=r"its activations become polynomials .*: give calibration=rows"):
        skinny.compile(model)
    program = skinny.compile(model, ring="fixed", calibration=ROWS, error=0.01)
    assert (program.predict(ROWS) == model.predict(ROWS)).mean() > 0.95
    name = {"tanh": "tanh", "logistic": "sigmoid"}[activation]
    assert program.notes[0].startswith(f"hidden layer 1: {name} became a polynomial of degree ")
    assert "with an error of at most 0.00" in program.notes[0]


def test_numbers_behind_activations_are_within_the_error():
    """Polynomials and format together, against what the model itself gives."""
    net = MLPRegressor(
        hidden_layer_sizes=(6,), activation="tanh", max_iter=600, learning_rate_init=0.05, random_state=0
    )
    model = fitted(make_pipeline(StandardScaler(), net), ROWS, NUMBERS)
    program = skinny.compile(model, ring="fixed", calibration=ROWS, error=0.1)
    assert np.abs(program.predict(ROWS) - model.predict(ROWS)).max() <= 0.1


def test_activations_behind_each_other_have_a_format():
    """With one bit in front of the binary point the scales of their polynomials grow beyond all bounds."""
    rows, labels = load_iris(return_X_y=True)
    net = MLPClassifier((6, 5, 4), activation="tanh", max_iter=60, random_state=0)
    model = fitted(make_pipeline(StandardScaler(), net), rows, labels)
    program = skinny.compile(model, ring="fixed", calibration=rows)
    assert (program.predict(rows) == model.predict(rows)).mean() > 0.97
    with pytest.raises(CheckError, match=r"need scales of more than 2\^256 .*; give fixed:BITS without fraction bits$"):
        skinny.compile(model, ring="fixed:20.18", calibration=rows)


def test_zero_weights_cost_nothing_and_are_named():
    model = Lasso(2.0).fit(ROWS, NUMBERS)
    zeros = [f"x{n}" for n in np.flatnonzero(model.coef_ == 0)]
    assert zeros
    program = skinny.compile(model)
    assert program.imported.idle == tuple(zeros)
    assert program.notes == (f"inputs that cannot matter and take no cycle: {', '.join(zeros)}",)
    assert program.cycles <= 2 + 2 * (5 - len(zeros))


class Frame:
    """What is asked of a DataFrame."""

    def __init__(self, values, columns):
        self.values, self.columns = values, columns

    def to_numpy(self):
        return self.values

    def __getitem__(self, name):
        return self.values[:, self.columns.index(name)]


def test_inputs_have_the_names_of_the_columns():
    columns = ["sepal length (cm)", "b", "c", "d", "e"]
    model = Ridge().fit(ROWS, NUMBERS)
    wanted = model.predict(ROWS)
    model.feature_names_in_ = np.array(columns, dtype=object)
    program = skinny.compile(model)
    assert program.imported.inputs == ("sepal_length_cm", "b", "c", "d", "e")
    assert program.predict(Frame(ROWS, columns)) == pytest.approx(wanted)
    model.feature_names_in_ = np.array(["a b", "a_b", "c", "d", "e"], dtype=object)
    assert import_model(model).inputs == ("x0", "x1", "x2", "x3", "x4"), "two names would be one"


def test_shapes_that_are_no_estimator_are_refused():
    with pytest.raises(InputError, match="StandardScaler: it transforms and predicts nothing; put an estimator behind"):
        import_model(StandardScaler().fit(ROWS))
    with pytest.raises(InputError, match="Pipeline: it has no step"):
        import_model(Pipeline([("none", "passthrough")]))
    model = fitted(MLPClassifier((2,), max_iter=2), ROWS, np.stack([NUMBERS > 0, ROWS[:, 0] > 0], axis=1).astype(int))
    with pytest.raises(
        InputError, match="MLPClassifier: it gives 2 outputs for 2 classes; fit it with one label a row"
    ):
        import_model(model)


def test_a_search_is_the_best_that_it_found():
    search = GridSearchCV(make_pipeline(StandardScaler(), Ridge()), {"ridge__alpha": [0.1, 1000]}, cv=2)
    with pytest.raises(InputError, match=r"GridSearchCV: it is not fitted; call fit\(X, y\)"):
        import_model(search)
    search.fit(ROWS, NUMBERS)
    assert skinny.compile(search).predict(ROWS) == pytest.approx(search.predict(ROWS))


def test_two_classes_are_one_score():
    labels = np.where(NUMBERS > 0, "up", "down")
    for model in (SGDClassifier(random_state=0), QuadraticDiscriminantAnalysis(), LinearSVC(), GaussianNB()):
        model.fit(ROWS, labels)
        program = skinny.compile(model)
        assert program.imported.outputs.keys() == {"score"}
        assert (program.predict(ROWS) == model.predict(ROWS)).all()


def test_layers_are_steps_that_have_values_of_their_own():
    """A scaler is folded into what follows, and a PCA in front of a linear model too; squares need its values."""
    labels = (NUMBERS > 0).astype(int)
    steps = (StandardScaler(), PCA(2))
    for last, names in ((LogisticRegression(), []), (QuadraticDiscriminantAnalysis(), ["PCA"])):
        imported = import_model(make_pipeline(*steps, last).fit(ROWS, labels))
        assert [layer.name for layer in imported.layers] == [*names, type(last).__name__]
        assert imported.title == f"StandardScaler → PCA → {type(last).__name__}, 5 inputs"

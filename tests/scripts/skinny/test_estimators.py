"""Estimators: the conventions of scikit-learn, and what they predict is what the core decides."""

import warnings

import numpy as np
import pytest
import skinny
from skinny.estimators import plain_names
from skinny.model.errors import InputError, PrecisionWarning
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

QUICK = {"restarts": 1, "effort": 0.02}


@pytest.mark.parametrize(("estimator", "effort"), [(skinny.SkinnyClassifier, 0.02), (skinny.SkinnyRegressor, 0.003)])
@pytest.mark.filterwarnings("ignore")
def test_conventions(estimator, effort):
    check_estimator(estimator(restarts=1, effort=effort))


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def classifier(iris):
    return skinny.SkinnyClassifier(budget=40, restarts=2, effort=0.1).fit(*iris)


def test_flowers_are_told_apart_in_few_cycles(classifier, iris):
    rows, classes = iris
    assert classifier.score(rows, classes) > 0.93
    program = classifier.program_.model
    assert program.ring == "fixed:16.14"
    assert program.words + program.emits <= 40
    assert classifier.program_.bound()["safe"]
    proba = classifier.predict_proba(rows)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert (proba.argmax(axis=1) == classifier.predict(rows)).all()


def test_the_core_decides_as_the_estimator(classifier, iris):
    """The simulated core and the golden run of the program with its argmax agree with ``predict``, row for row."""
    rows, _ = iris
    found = classifier.simulate(rows)
    assert found["match"]
    assert np.array_equal(classifier.classes_[np.array(found["results"]["class"], int)], classifier.predict(rows))


def test_a_single_sign_and_names_of_classes(iris):
    rows, classes = iris
    names = np.array(["no", "yes"])[(classes == 1).astype(int)]
    found = skinny.SkinnyClassifier(budget=60, restarts=2, effort=0.1).fit(rows, names)
    assert found.score(rows, names) > 0.9
    assert found.decision_function(rows).shape == (150,)
    assert set(found.predict(rows)) == {"no", "yes"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the rows are rounded
        decided = found.program_.run(rows[:, found.columns_])
    assert [str(name) for name in found.predict(rows)] == [("no", "yes")[number] for number in decided]


def test_the_curve_goes_down_to_few_cycles(classifier):
    budgets = [entry["budget"] for entry in classifier.curve_]
    assert budgets == [None, 80, 40, 20, 10]
    assert all(entry["budget"] is None or entry["cycles"] <= entry["budget"] for entry in classifier.curve_)
    assert all(entry["program"].bound()["safe"] for entry in classifier.curve_)
    assert classifier.curve_[2]["program"] == classifier.program_


def test_rows_outside_the_box_are_told_and_clipped(classifier, iris):
    rows = np.vstack([iris[0][:2], [[50, 3, 4, 1]], [[6, -30, 4, 100]]])
    with pytest.warns(PrecisionWarning, match="2 of 4 rows are outside the box of the training data"):
        classifier.predict(rows)
    clipping = clone(classifier).set_params(clip=True, restarts=1, effort=0.01).fit(*iris)
    with pytest.warns(PrecisionWarning, match="were clipped to it"):
        far = clipping.decision_function([[9e9, 9e9, 9e9, 9e9]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (far == clipping.decision_function([iris[0].max(axis=0)])).all()


def test_pipelines_searches_and_validation(iris):
    piped = make_pipeline(StandardScaler(), skinny.SkinnyClassifier(budget=30, **QUICK))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert cross_val_score(piped, *iris, cv=2).mean() > 0.8
        grid = GridSearchCV(piped, {"skinnyclassifier__budget": [20, 30]}, cv=2, refit=False).fit(*iris)
    assert set(grid.best_params_) == {"skinnyclassifier__budget"}


def test_numbers(tmp_path):
    rng = np.random.default_rng(0)
    rows = rng.uniform(0, 100, (150, 3))
    targets = rows[:, 0] * 20 - 3 * rows[:, 1] + 500
    found = skinny.SkinnyRegressor(budget=30, restarts=2, effort=0.1).fit(rows, targets)
    assert found.score(rows, targets) > 0.99
    found.save(tmp_path / "model.skn")
    loaded = skinny.load(tmp_path / "model.skn")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the rows are rounded
        assert loaded.run(rows[:5, found.columns_]) == found.predict(rows[:5]).tolist()


def test_several_numbers_and_an_explanation(iris):
    rows, _ = iris
    found = skinny.SkinnyRegressor(budget=40, **QUICK).fit(rows[:, :2], rows[:, 2:])
    assert found.predict(rows[:3, :2]).shape == (3, 2)
    shares = found.explain(rows[0, :2], rows[100, :2])["outputs"]["y0"]["shares"]
    assert set(shares) == {"x0", "x1"}


def test_constant_columns_are_dropped_and_named(iris):
    rows, classes = iris
    wide = np.column_stack([np.full(150, 7.0), rows])
    found = skinny.SkinnyClassifier(budget=30, **QUICK).fit(wide, classes)
    assert found.dropped_ == ["x0"]
    assert "x0" not in found.program_.inputs


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget": 5}, "a program of 3 outputs takes 9 cycles at least: the budget is 5"),
        ({"ring": "modular:16"}, "learned programs run in fixed:BITS"),
        ({"ring": "fixed:16.15"}, "holds no one"),
        ({"width": 2}, "the width must be 3 or more"),
        ({"images": (2, 3)}, "images of 2 times 3 pixels have 6 columns, not 4"),
        ({"effort": 0}, "must be above zero"),
    ],
)
def test_what_cannot_be_is_said(iris, options, message):
    with pytest.raises(InputError, match=message):
        skinny.SkinnyClassifier(**{**QUICK, **options}).fit(*iris)


def test_constant_tables_are_refused():
    with pytest.raises(InputError, match="all columns are constant"):
        skinny.SkinnyClassifier(**QUICK).fit(np.ones((6, 2)), [0, 1, 0, 1, 0, 1])


@pytest.mark.parametrize("kind", [skinny.SkinnyClassifier, skinny.SkinnyRegressor])
@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.nan, r"row 4, column 3: the value is missing \(NaN\)"),
        (-np.inf, "row 4, column 3: -inf is no finite number"),
        ("red", "row 4, column 3: 'red' is no number"),
    ],
)
def test_bad_values_are_said_in_one_line(iris, kind, value, message):
    rows = iris[0].astype(object)
    rows[3, 2] = value
    with pytest.raises(InputError, match=f"^{message}$"):
        kind(**QUICK).fit(rows, iris[1])


def test_bad_tables_are_said_in_one_line(iris, classifier):
    rows, classes = iris
    wide = np.random.default_rng(0).random((6, (1 << 16) + 1))
    for kind, given, message in (
        (
            skinny.SkinnyClassifier,
            (rows[:50], classes[:50]),
            "the rows have 1 class, 0: there is nothing to tell apart",
        ),
        (skinny.SkinnyClassifier, (rows[:1], classes[:1]), "the rows have 1 class, 0: there is nothing to tell apart"),
        (
            skinny.SkinnyRegressor,
            (rows[:1], classes[:1]),
            "1 sample is not enough: a program is fitted to 2 rows or more",
        ),
        (skinny.SkinnyRegressor, (wide, np.arange(6)), "65,537 columns are more than the 65,536 inputs of a core"),
    ):
        with pytest.raises(InputError, match=f"^{message}$"):
            kind(**QUICK).fit(*given)
    with pytest.raises(InputError, match=r"^row 1, column 2: the value is missing"):
        classifier.predict([[1, np.nan, 2, 3]])


def test_names_are_plain_and_different():
    assert plain_names(["sepal length (cm)", "R3", "1st", "a", "a", "", "S"]) == [
        "sepal_length_cm",
        "x_R3",
        "x_1st",
        "a",
        "a_2",
        "x",
        "x_S",
    ]


def test_patterns_are_searched_for_deep_targets(iris):
    rng = np.random.default_rng(0)
    rows = rng.uniform(-1, 1, (600, 3))
    targets = rows.prod(axis=1)
    found = skinny.SkinnyRegressor(budget=30, patterns="search", effort=0.2).fit(rows, targets)
    assert found.score(rows, targets) > 0.9
    assert found.program_.model.pure
    with pytest.raises(InputError, match="patterns are searched for one output"):
        skinny.SkinnyClassifier(patterns="search", **QUICK).fit(*iris)

"""From a table to a curve of programs."""

import numpy as np
import pytest
from skinny.model.errors import InputError
from skinny.model.learn.fitting import MANY, Job, Setting, best_of, fit, least_cycles, settings_for
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

QUICK = {"restarts": 2, "pace": 0.2}


def ring_data(count, seed=0):
    """Two classes, a disc and what is around it: no linear form tells them apart."""
    rng = np.random.default_rng(seed)
    rows = np.column_stack([rng.uniform(-3, 3, (count, 2)), np.zeros(count)])
    return rows, (np.hypot(rows[:, 0], rows[:, 1]) > 2).astype(int)


def test_the_family_that_fits_is_chosen_by_cross_validation():
    rows, classes = ring_data(200)
    settings = (Setting("linear", 0, 0.0, 0.02), Setting("squares", 2, 0.0, 0.02))
    (point,) = fit(Job(rows, classes, "sign", (24,), settings, 2, 0.3)).curve
    assert point.setting.family == "squares"
    assert point.cycles <= 24
    new, truth = ring_data(300, seed=1)
    assert ((point.program.values(new)[:, 0] > 0) == truth).mean() > 0.9
    assert not point.program.outputs[:, 2].any()  # the constant column has no weight


def test_a_program_without_a_limit_decides_as_the_discriminant_does():
    rng = np.random.default_rng(0)
    classes = np.arange(90) % 3
    rows = rng.normal(0, 1, (90, 4)) * [1, 5, 0.2, 1] + 2 * np.eye(3, 4)[classes]
    (setting,) = {s for s in settings_for("classes", 3, 16, 90) if s.discriminant and s.family == "linear"}
    assert str(setting) == "linear, discriminant, noise 0"
    (point,) = fit(Job(rows, classes, "classes", (1000,), (setting,), 1, 0.1)).curve
    theirs = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.01).fit(rows / np.ptp(rows, axis=0), classes)
    decided = point.program.values(rows).argmax(axis=1)
    assert (decided == theirs.predict(rows / np.ptp(rows, axis=0))).mean() > 0.97
    assert not any(s.discriminant for s in settings_for("sign", 1, 16, 90))


def test_the_curve_of_many_rows():
    rows, classes = ring_data(MANY)
    settings = (Setting("linear", 0, 0.9, 0.1), Setting("squares", 2, 0.9, 0.1))
    curve = fit(Job(rows, classes, "sign", (30, 14), settings, **QUICK)).curve
    assert [point.budget for point in curve] == [30, 14]
    assert all(point.cycles <= point.budget for point in curve)
    assert curve[0].setting.family == "squares"
    assert curve[0].score > 0.9


def test_numbers_of_several_outputs():
    rng = np.random.default_rng(0)
    rows = rng.normal(0, 1, (120, 3))
    targets = np.column_stack([100 + 5 * rows[:, 0], rows[:, 1] * 0.01])
    (point,) = fit(Job(rows, targets, "numbers", (100,), (Setting("linear", 0, 0.0, 0.02),), **QUICK)).curve
    wrong = point.program.values(rows) - targets
    assert (wrong.std(axis=0) < 0.1 * targets.std(axis=0)).all()
    assert point.score > 0.95


def test_the_same_seed_gives_the_same_bits():
    rows, classes = ring_data(100)
    job = Job(rows, classes, "sign", (20,), settings_for("sign", 1, 16, 100), 2, 0.05)
    first, again = (fit(job).curve[0].program for _ in range(2))
    assert first.outputs.tobytes() == again.outputs.tobytes()
    other = fit(job._replace(seed=1)).curve[0].program
    assert first.outputs.tobytes() != other.outputs.tobytes()


def test_images_are_copied_as_images():
    rng = np.random.default_rng(0)
    classes = np.arange(MANY) % 2
    rows = rng.random((MANY, 16)) * 0.2
    images = rows.reshape(-1, 4, 4)
    images[classes == 0, 1, :] += 1
    images[classes == 1, :, 1] += 1
    job = Job(rows, classes, "sign", (20,), (Setting("linear", 0, 0.9, 0.1),), image=(4, 4), **QUICK)
    assert fit(job).curve[0].score > 0.95


def test_few_registers_have_other_settings():
    assert {s.family for s in settings_for("classes", 5, 3, 100)} == {"linear", "squares", "products", "separate"}
    assert all(s.units <= 1 or s.family == "separate" for s in settings_for("classes", 5, 3, 1000))
    assert all(s.units <= 14 for s in settings_for("classes", 5, 16, 1000))


def test_a_budget_that_nothing_fits_is_refused():
    assert least_cycles("classes", 3) == 9
    rows, classes = ring_data(50)
    with pytest.raises(InputError, match="a program of 1 outputs takes 5 cycles at least, not 3"):
        fit(Job(rows, classes, "sign", (3,), (Setting("linear", 0, 0.0, 0.02),)))


def test_progress_is_told():
    rows, classes = ring_data(60)
    told = []
    fit(
        Job(rows, classes, "sign", (20,), (Setting("linear", 0, 0.0, 0.02),), **QUICK),
        lambda what, done: told.append(done),
    )
    assert told == sorted(told)
    assert 0 <= told[0] < told[-1] <= 1


def test_a_simpler_program_is_taken_unless_another_is_better_by_a_standard_error():
    rows = 100
    simple, noisy, deep = (
        Setting(*each) for each in (("linear", 0, 0.0, 0.1), ("linear", 0, 0.0, 0.2), ("squares", 2, 0.0, 0.1))
    )
    right = np.ones(rows)

    def wrong(count):
        return np.where(np.arange(rows) < count, 0.0, 1.0)

    # One row of 100 more: 0.01, and the standard error is 0.00995. Nine rows: 0.09 and 0.029.
    assert best_of([{simple: wrong(1), noisy: wrong(2)}, {deep: right}], 1) == deep
    assert best_of([{simple: wrong(9), noisy: wrong(10)}, {deep: right}], 1) == deep
    # Ten rows that only the first gets right and eleven that only the second does: 0.01 and 0.046.
    first, second = np.roll(wrong(11), 20), wrong(10)
    assert best_of([{simple: first, noisy: wrong(30)}, {deep: second}], 1) == simple
    assert best_of([{simple: first, noisy: wrong(30)}, {deep: second}], 0) == deep
    assert best_of([{simple: right, noisy: wrong(30)}, {deep: right}], 0) == simple

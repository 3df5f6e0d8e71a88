"""The narrowest format: found by trying all in order, and refused with a reason."""

from fractions import Fraction

import numpy as np
import pytest
from skinny.model.errors import CheckError, InputError
from skinny.model.formula.formula import constant, product, total, variables
from skinny.model.formula.function import apply
from skinny.model.frontends.calibration import Calibration
from skinny.model.frontends.choose import NARROWEST, choose_format
from skinny.model.frontends.imported import Imported, Layer
from skinny.model.frontends.measure import decided, scores
from skinny.model.rings import FixedPoint
from skinny.model.run.golden import run

NAMES = ("x", "y")


def form(coefficients, values, bias):
    return total([*(product([constant(c), v]) for c, v in zip(coefficients, values, strict=True)), constant(bias)])


def classifier(gap=1.0):
    x, y = variables("x y")
    hidden = tuple(apply("relu", form(row, (x, y), 0.5)) for row in ((1, -2), (3, 0.25), (-2, 1)))
    outputs = {"s0": form((1, 2, 3), hidden, 0), "s1": form((1 + gap, 2, 3 - gap), hidden, 0.01)}
    layers = (Layer("hidden layer 1", hidden), Layer("net", tuple(outputs.values())))
    return Imported(outputs, NAMES, "classifier", "net", layers, "class", ("no", "yes"))


def regressor():
    x, y = variables("x y")
    output = form((1, 2, 3), (x, y, x * y), 0.25)
    return Imported({"z": output}, NAMES, "regressor", "net", (Layer("net", (output,)),))


def rows(count=300, seed=0):
    x, y = np.random.default_rng(seed).uniform(-1, 1, (2, count))
    return {"x": x, "y": y}


def fixed_results(program, columns):
    """What the golden run sends, in the user's units, from inputs encoded one by one."""
    bits, frac = map(int, program.ring.removeprefix("fixed:").split("."))
    ring = FixedPoint(bits, frac)
    pairs = list(zip(program.inputs, program.input_scales, strict=True))
    elements = np.array(
        [
            [ring.encode(Fraction(float(columns[name][n])) / Fraction(2) ** e) for name, e in pairs]
            for n in range(len(columns["x"]))
        ]
    )
    sent = run(program, ring, elements).outputs
    if program.argmax:
        return sent.T
    return np.ldexp(sent.T.astype(float), program.outputs[0].scale - frac)


def test_decisions_are_those_of_floats_on_all_rows():
    model, columns = classifier(), rows()
    chosen = choose_format(model, 64, frozenset(), Calibration(columns, {}))
    program = chosen.compilation.program
    assert (fixed_results(program, columns) == decided(scores(model, columns))).all()
    bits = int(program.ring.partition(":")[2].partition(".")[0])
    for narrower in range(NARROWEST, bits):
        misses = [found for name, found in chosen.tried.items() if name.startswith(f"fixed:{narrower}.")]
        assert len(misses) > 1
        assert all(found > 0 for found in misses)
    assert program.box == tuple((Fraction(float(c.min())), Fraction(float(c.max()))) for c in columns.values())


def test_numbers_are_within_the_asked_error():
    model, columns = regressor(), rows()
    bits = []
    for error in (Fraction(1, 4), Fraction(1, 100), Fraction(1, 1000)):
        chosen = choose_format(model, 64, frozenset(), Calibration(columns, {}), error=error)
        program = chosen.compilation.program
        assert np.abs(fixed_results(program, columns) - scores(model, columns).T).max() <= error
        bits.append(int(program.ring.partition(":")[2].partition(".")[0]))
    assert bits == sorted(set(bits))


def test_a_box_is_proven():
    box = {"x": (Fraction(-1), Fraction(1)), "y": (Fraction(-1), Fraction(1))}
    chosen = choose_format(regressor(), 64, frozenset(), Calibration({}, box), error=Fraction(1, 50))
    program = chosen.compilation.program
    assert program.box == tuple(box.values())
    corners = {"x": np.array([-1.0, -1, 1, 1]), "y": np.array([-1.0, 1, -1, 1])}
    assert np.abs(fixed_results(program, corners) - scores(regressor(), corners).T).max() <= 0.05


def test_a_format_that_is_given_is_taken():
    for bits, frac in ((16, None), (16, 11), (20, 12)):
        chosen = choose_format(classifier(), 64, frozenset(), Calibration(rows(), {}), bits=bits, frac=frac)
        ring = chosen.compilation.program.ring
        assert ring == f"fixed:{bits}.{frac}" if frac else ring.startswith("fixed:16.")


def test_refusals_say_what_comes_nearest():
    with pytest.raises(InputError, match=r"fixed:16\.15 does not hold one, which a register starts with: take \.14"):
        choose_format(classifier(), 64, frozenset(), Calibration(rows(), {}), bits=16, frac=15)
    with pytest.raises(CheckError, match=r"net: fixed:8\.\d comes nearest and decides \d+ of 2,000 rows otherwise"):
        choose_format(classifier(0.01), 64, frozenset(), Calibration(rows(2000), {}), bits=8)
    with pytest.raises(CheckError, match=r"net: fixed:8\.\d comes nearest and errs by [\d.e+]+ times what is allowed"):
        choose_format(regressor(), 64, frozenset(), Calibration(rows(), {}), bits=8, error=Fraction(1, 10**6))


def test_a_bound_that_does_not_hold_names_the_layer():
    """In three bits rounding may add as much as there is room for."""
    box = {"x": (Fraction(-1), Fraction(1)), "y": (Fraction(-1), Fraction(1))}
    with pytest.raises(
        CheckError,
        match=r"net: no format of 3 bits is proven safe on the box: (hidden layer 1|net) may overflow; allow",
    ):
        choose_format(regressor(), 64, frozenset(), Calibration({}, box), bits=3, error=Fraction(100))

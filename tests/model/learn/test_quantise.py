"""Programs in fixed point are safe for all inputs in the box, and near the floats."""

from fractions import Fraction

import numpy as np
import pytest
from skinny.model.bounds.bounds import bound
from skinny.model.errors import InputError
from skinny.model.learn.network import Shape, initial
from skinny.model.learn.quantise import quantise, refitted
from skinny.model.learn.sparse import sparse
from skinny.model.program.units import Units, scaled
from skinny.model.rings import parse_ring
from skinny.model.run.golden import run

SHAPES = [
    Shape("linear", 0, 4, 3),
    Shape("squares", 3, 4, 3),
    Shape("products", 3, 4, 3),
    Shape("separate", 6, 4, 3),
    Shape("relu", 3, 4, 3),
]
#: Far from zero, tiny, huge and negative.
BOX = [(Fraction(100), Fraction(110)), (Fraction(-1, 1000), Fraction(1, 500)), (Fraction(0), Fraction(40_000))]
BOX.append((Fraction(-7), Fraction(-3)))


def learned(shape, seed=0):
    models = initial(shape, 1, np.random.default_rng(seed), np.float64)
    models.forms[0, shape.factors :] *= 30
    center = np.array([float(low + high) / 2 for low, high in BOX])
    span = np.array([float(high - low) for low, high in BOX])
    return sparse(models, 0, center, span, "classes")


def rows_in_box(count=400):
    rng = np.random.default_rng(4)
    inside = rng.random((count, 4))
    inside[:20] = rng.random((20, 4)) < 0.5  # corners, where values are largest
    low, high = (np.array([float(end[side]) for end in BOX]) for side in (0, 1))
    return low + inside * (high - low)


@pytest.mark.parametrize("ring", ["fixed:16.14", "fixed:16.12", "fixed:24.22", "fixed:8.5"])
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.family)
def test_nothing_wraps_in_the_box(shape, ring):
    ring = parse_ring(ring)
    found = quantise(learned(shape), ring, BOX, "abcd", ["y0", "y1", "y2"], "class")
    program = found.program
    inside = [(scaled(low, -e), scaled(high, -e)) for (low, high), e in zip(BOX, program.input_scales, strict=True)]
    assert bound(program, ring, inside).safe
    elements = np.clip(
        np.floor(rows_in_box() * np.ldexp(1.0, ring.frac - np.array(program.input_scales)) + 0.5),
        *(
            np.array([ring.encode(scaled(end[side], -e)) for end, e in zip(BOX, program.input_scales, strict=True)])
            for side in (0, 1)
        ),
    ).astype(np.int64)
    assert not run(program, ring, elements, watched=True).wrapped.any()


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.family)
def test_decisions_are_those_of_the_floats(shape):
    exact = learned(shape)
    ring = parse_ring("fixed:24.22")
    program = quantise(exact, ring, BOX, "abcd", ["y0", "y1", "y2"], "class").program
    rows = rows_in_box()
    units = Units(program, ring)
    found = run(program, ring, units.encode_columns(list(rows.T), len(rows), float, str).elements).outputs[:, 0]
    assert (found == exact.values(rows).argmax(axis=1)).mean() > 0.99


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.family)
def test_numbers_are_in_the_units_of_the_user(shape):
    exact = learned(shape)
    ring = parse_ring("fixed:24.22")
    program = quantise(exact, ring, BOX, "abcd", ["y0", "y1", "y2"], "").program
    rows = rows_in_box()
    units = Units(program, ring)
    sent = run(program, ring, units.encode_columns(list(rows.T), len(rows), float, str).elements).outputs
    expected = exact.values(rows)
    found = np.array(list(units.decode_columns(sent).values())).T
    assert (np.abs(found - expected).max(axis=0) < 0.01 * np.abs(expected).max(axis=0)).all()


def test_each_number_has_a_scale_of_its_own():
    exact = learned(SHAPES[0])
    exact.outputs[1] *= 2.0**20
    ring = parse_ring("fixed:16.14")
    program = quantise(exact, ring, BOX, "abcd", ["y0", "y1", "y2"], "").program
    scales = [output.scale for output in program.outputs]
    assert scales[1] - scales[0] >= 15


def test_too_few_bits_are_named():
    with pytest.raises(InputError, match="holds no one: learned programs need 4 bits"):
        quantise(learned(SHAPES[1]), parse_ring("fixed:3.1"), BOX, "abcd", ["y0", "y1", "y2"], "class")


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.family)
def test_few_bits_are_fitted_again(shape):
    """Of inputs that depend on each other, one weight makes good what another one loses."""
    rng = np.random.default_rng(7)
    shape = shape._replace(inputs=12)
    models = initial(shape, 1, rng, np.float64)
    models.forms[0, shape.factors :] *= 30
    exact = sparse(models, 0, np.zeros(12), np.ones(12), "numbers")
    rows = rng.uniform(-1, 1, (200, 3)) @ rng.normal(0, 0.5, (3, 12))
    ring = parse_ring("fixed:8.4")

    def near(values):
        return np.floor(values * 16 + 0.5) / 16

    plain = exact._replace(factors=near(exact.factors), outputs=near(exact.outputs), reads=near(exact.reads))
    found = refitted(exact, ring, rows)
    wanted = exact.values(rows)
    before, after = (((each.values(rows) - wanted) ** 2).mean() for each in (plain, found))
    assert after < 0.9 * before
    for values in (found.factors, found.outputs, found.reads):
        assert (values * 16 == np.round(values * 16)).all()
    assert ((found.outputs != 0) <= (exact.outputs != 0)).all()

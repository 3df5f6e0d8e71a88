"""The user's units: what is encoded and decoded by scales is what was meant, in every ring that has halves."""

from fractions import Fraction

import numpy as np
import pytest
from skinny.model.errors import InputError
from skinny.model.program.forms import Input
from skinny.model.program.program import Columns, Output, Program
from skinny.model.program.units import Encoded, Units, scaled
from skinny.model.rings import Boolean, Exact, FixedPoint, Modular, PrimeField, Real, exact_number
from skinny.model.run.golden import run

#: y = v·t for v up to 4096 and small t: v enters as v/2^12, t as t·2^3, so the result counts times 2^9.
PROGRAM = Program(
    width=3,
    inputs=("v", "t"),
    weights=(),
    forms=(Input(0), Input(1)),
    code=Columns.of([2, 0], [1, 2], [1, 1], [0, 1]),
    outputs=(Output("y", 0, 2, scale=9),),
    input_scales=(12, -3),
)
ROWS = [[4000, Fraction(1, 16)], [-123.5, 0.1]]


def encoded(units, rows):
    return units.encode_columns(
        list(zip(*rows, strict=True)), len(rows), exact_number, lambda name, row: f"{name}{row}"
    )


@pytest.mark.parametrize("ring", [Exact(), Real()], ids=repr)
def test_rings_that_do_not_round_give_the_value_itself(ring):
    units = Units(PROGRAM, ring)
    found = units.decode_columns(run(PROGRAM, ring, encoded(units, ROWS).elements).outputs)
    expected = [exact_number(v) * exact_number(t) for v, t in ROWS]
    assert found == {"y": pytest.approx([float(value) for value in expected], rel=1e-15)}
    if isinstance(ring, Exact):
        assert found == {"y": expected}


def test_raw_words_mean_what_the_manifest_says():
    """value = raw · 2^(scale - frac), for inputs and outputs."""
    ring = FixedPoint(16, 14)
    units = Units(PROGRAM, ring)
    given = encoded(units, ROWS)
    for row, values in zip(given.elements.tolist(), ROWS, strict=True):
        for raw, value, scale in zip(row, values, PROGRAM.input_scales, strict=True):
            assert abs(raw * Fraction(2) ** (scale - 14) - exact_number(value)) <= Fraction(2) ** (scale - 15)
    assert given.rounded.tolist() == [[False, False], [False, True]]
    raw = run(PROGRAM, ring, given.elements).outputs
    assert units.decode_columns(raw)["y"] == [word * 2.0 ** (9 - 14) for (word,) in raw.tolist()]
    assert units.decode_row(raw[0]) == {"y": pytest.approx(250, abs=0.1)}


def test_only_fixed_point_rounds():
    assert not encoded(Units(PROGRAM, Real()), [[0.1, Fraction(1, 3)]]).rounded.any()
    assert encoded(Units(PROGRAM, FixedPoint(32, 8)), [[0.1, 0.5]]).rounded.tolist() == [[True, False]]


def test_what_does_not_fit_is_refused_in_the_users_units():
    units = Units(PROGRAM, FixedPoint(16, 15))
    with pytest.raises(InputError) as caught:
        encoded(units, [[4095, 0], [4096, 0]])
    assert str(caught.value) == "v2: 4096 does not fit fixed:16.15 times 2^12 (-4096.0 to 4095.875)"
    with pytest.raises(InputError, match=r"^t1: 1/4 does not fit fixed:16.15 times 2\^-3 \(-0.125 to 0.12499"):
        encoded(units, [[0, Fraction(1, 4)]])


@pytest.mark.parametrize("ring", [Modular(16), PrimeField(251), Boolean()], ids=repr)
def test_rings_without_halves_refuse_scales(ring):
    with pytest.raises(InputError, match=f"the program has scales, so it runs in .* not in {ring.name}"):
        Units(PROGRAM, ring)


def test_scales_are_exact_and_rows_can_be_taken():
    assert (scaled(Fraction(3, 7), 5), scaled(Fraction(3, 7), -5)) == (Fraction(96, 7), Fraction(3, 224))
    one = Encoded(np.array([[1], [2]]), np.array([[False], [True]])).row(1)
    assert (one.elements.tolist(), one.rounded.tolist()) == ([[2]], [[True]])


def test_probabilities_are_made_of_what_is_sent():
    scores = Program(
        width=3,
        inputs=("a", "b"),
        weights=(),
        forms=(Input(0), Input(1)),
        code=Columns.of([0, 2], [1, 1], [1, 1], [0, 1]),
        outputs=(Output("p0", 0, 2, scale=2), Output("p1", 2, 2, scale=2)),
        probabilities="softmax",
    )
    ring = FixedPoint(16, 8)
    elements = np.array([[128, 0], [0, 0], [-64, 64]])  # scores 2 and 0; 0 and 0; -1 and 1
    units = Units(scores, ring)
    found = units.decode_columns(elements)
    assert found["p0"] == pytest.approx([1 / (1 + np.exp(-2)), 0.5, 1 / (1 + np.exp(2))])
    assert found["p1"] == pytest.approx([1 - p for p in found["p0"]])
    assert units.decode_row(elements[0]) == {"p0": found["p0"][0], "p1": found["p1"][0]}
    assert units.decode(0, 128) == 2

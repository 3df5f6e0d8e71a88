"""What is known of inputs: rows, rows between them, and boxes."""

from fractions import Fraction

import numpy as np
import pytest
from skinny.model.formula.formula import variables
from skinny.model.frontends.calibration import DRAWN, Calibration

BOX = {"x": (Fraction(-1), Fraction(1)), "y": (Fraction(0), Fraction(3))}


def test_rows_between_others_are_of_two_classes():
    """Three rows of two classes, the corners of a triangle: the rows between them are on two of its sides."""
    known = Calibration({"x": np.array([0.0, 4, 0]), "y": np.array([0.0, 0, 2])}, {})
    x, y = known.between(np.array([0, 1, 1])).columns.values()
    assert len(x) == len(y)
    assert DRAWN / 2 < len(x) <= DRAWN
    assert ((x == 0) | (y == 0)).all(), "no row is on the side between the rows of one class"
    for values, most in ((x, 4), (y, 2)):
        inside = values[values > 0]
        assert 0 < inside.min() < most / 20
        assert most * 0.95 < inside.max() < most
    assert (known.between(np.array([0, 1, 1])).columns["x"] == x).all(), "each time the same"


def test_there_is_nothing_between_rows_of_one_class():
    assert Calibration({"x": np.array([0.0, 4, 0])}, {}).between(np.array([1, 1, 1])) is None


def test_many_rows_have_as_many_between_them():
    chance = np.random.default_rng(0)
    known = Calibration({"x": chance.normal(size=1000)}, {})
    assert len(known.between(chance.integers(0, 3, 1000)).columns["x"]) == 1000


def test_rows_are_drawn_from_a_box_when_there_are_no_others():
    drawn = Calibration({}, BOX).drawn()
    assert all(len(column) == DRAWN for column in drawn.columns.values())
    assert drawn.columns["y"].min() >= 0
    assert 2.9 < drawn.columns["y"].max() <= 3
    rows = Calibration({"x": np.zeros(2), "y": np.ones(2)}, BOX)
    assert rows.drawn() is rows
    assert Calibration({}, {}).drawn().columns == {}


def test_ranges_are_proven_on_a_box_and_seen_in_rows():
    x, y = variables("x y")
    node = x * y
    rows = {"x": np.array([-1.0, 0.5]), "y": np.array([1.0, 2])}
    seen, proven = (Calibration(rows, box) for box in ({}, BOX))
    assert seen.ranges([node])[id(node)] == (-1, 1)
    assert proven.ranges([node])[id(node)] == (-3, 3)
    assert seen.margin > proven.margin > 1 == pytest.approx(proven.margin, abs=0.02)

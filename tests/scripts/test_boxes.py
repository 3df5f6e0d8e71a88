"""Boxes: the range of each input from the texts of ``--box``, and what is said of texts that give none."""

import argparse
from fractions import Fraction

import pytest
from skinny.model.errors import InputError
from skinny.scripts.boxes import add_box_option, parse_box

HALF = Fraction(1, 2)


@pytest.mark.parametrize(
    ("given", "names", "wanted"),
    [
        (["-1:1"], ["x", "y"], [(-1, 1), (-1, 1)]),
        (["y=0:0.5"], ["y"], [(0, HALF)]),
        (["y=0:4095", "-1/2:.5"], ["x", "y"], [(-HALF, HALF), (0, 4095)]),
        (["y=0:2", "x=-3:1e2"], ["x", "y"], [(-3, 100), (0, 2)]),
        (["y=0:2,x=-3:1e2"], ["x", "y"], [(-3, 100), (0, 2)]),
        (["-1:1, y=0:2", "z=3:4"], ["x", "y", "z"], [(-1, 1), (0, 2), (3, 4)]),
        (["2:2"], ["x"], [(2, 2)]),
        (["x[0:2]=-1:1,x[2]=0:3"], ["x1", "x0", "x2"], [(-1, 1), (-1, 1), (0, 3)]),
        (["h1=0:1", "0:2"], ["h1_0", "a", "h1_7"], [(0, 1), (0, 2), (0, 1)]),
        (["0:1"], [], []),
        ([], [], []),
    ],
)
def test_the_box_of_each_input(given, names, wanted):
    assert parse_box(given, names) == wanted


def test_decimals_are_exact():
    assert parse_box(["0.1:0.3"], ["x"]) == [(Fraction(1, 10), Fraction(3, 10))]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["x[2:9]=0:1"], "--box x[2:9]=0:1: the program has no input 'x[2:9]', only x, y"),
        (["x=0:1", "x=1:2"], "--box x=1:2: this box is given twice"),
        (["5"], "--box: expected LO:HI or NAME=LO:HI, found '5'"),
        (["x=5"], "--box: expected LO:HI or NAME=LO:HI, found 'x=5'"),
        (["a:1"], "--box a:1: 'a' is not a finite number"),
        (["0:"], "--box 0:: '' is not a finite number"),
        (["0:1:2"], "--box 0:1:2: '1:2' is not a finite number"),
        (["0:inf"], "--box 0:inf: 'inf' is not a finite number"),
        (["x=2:1"], "--box x=2:1: the least value is above the greatest"),
        (["z=0:1"], "--box z=0:1: the program has no input 'z', only x, y"),
        (["=0:1"], "--box =0:1: the program has no input '', only x, y"),
        (["0:1", "0:2"], "--box 0:2: this box is given twice"),
        (["x=0:1,"], "--box: expected LO:HI or NAME=LO:HI, found ''"),
        (["x=0:1,x=0:2"], "--box x=0:2: this box is given twice"),
        (["x=0:1", "x=0:1"], "--box x=0:1: this box is given twice"),
        (["x=0:1"], "--box: the input 'y' has no box"),
        ([], "--box: the input 'x' has no box"),
    ],
)
def test_bad_boxes(given, message):
    with pytest.raises(InputError) as caught:
        parse_box(given, ["x", "y"])
    assert str(caught.value) == message


def test_the_option_is_repeatable():
    parser = argparse.ArgumentParser()
    add_box_option(parser, "all that fits")
    assert parser.parse_args([]).box == []
    assert parser.parse_args(["--box", "0:1", "--box", "x=0:2"]).box == ["0:1", "x=0:2"]
    assert "(default: all that fits)" in " ".join(parser.format_help().split())

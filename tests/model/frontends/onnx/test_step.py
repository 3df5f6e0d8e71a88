"""How an operator reads its node."""

import numpy as np
import pytest
from skinny.model.errors import InputError
from skinny.model.formula.formula import variables
from skinny.model.frontends.onnx.forms import Held
from skinny.model.frontends.onnx.step import Step


def step(given=(), **attributes):
    held = Held()
    values = [held.added(variables("a b"), (2,)) if isinstance(value, str) else value for value in given]
    return Step("Any", "here", attributes, values, 17, held, 1)


def refused(call, why):
    with pytest.raises(InputError, match=f"^Any 'here': {why}"):
        call()


def test_inputs():
    one = step(["x", None, np.array([1, 2]), np.array(["a"])])
    assert [one.has(index) for index in range(5)] == [True, False, True, True, False]
    assert [one.depends(index) for index in range(5)] == [True, False, False, False, False]
    assert one.forms(0).shape == (2,)
    assert one.forms(2).numbers.tolist() == [1, 2]
    assert one.constant(2, "shape").tolist() == [1, 2]
    refused(lambda: one.value(1), "its input 2 is missing: the file is not a valid model$")
    refused(lambda: one.constant(0, "shape"), "its shape must be constant.*: export it with a constant there$")
    refused(lambda: one.forms(3), "its input 4 is of the type <U1, not of numbers")


def test_whole_numbers_from_an_input_or_an_attribute():
    one = step(["x", np.array([1, 2])], axes=[3], bad=[0.5], single=1)
    assert one.wholes(1, "axes") == (1, 2)
    assert one.wholes(2, "axes") == (3,)
    assert one.wholes(2, "none") is None
    refused(lambda: one.wholes(2, "bad"), "its bad must be a list of whole numbers")
    refused(lambda: one.wholes(2, "single"), "its single must be a list of whole numbers")
    refused(lambda: one.wholes(0, "axes"), "its axes must be constant.*: export it with a constant there$")
    refused(lambda: step([np.array([0.5])]).wholes(0, "axes"), "its axes must be whole numbers, not float64")


def test_attributes():
    one = step(n=3, f=0.5, s="VALID", l=[1, 2])
    assert (one.whole("n", 7), one.whole("m", 7)) == (3, 7)
    assert (one.number("f", 1.0), one.number("n", 1.0), one.number("g", 1.0)) == (0.5, 3.0, 1.0)
    assert (one.text("s", ""), one.text("t", "NOTSET")) == ("VALID", "NOTSET")
    assert (one.list_of("l", (), 2), one.list_of("k", (5,), 1)) == ((1, 2), (5,))
    refused(lambda: one.whole("f", 0), "its f must be a whole number")
    refused(lambda: one.number("s", 0.0), "its s must be a number")
    refused(lambda: one.text("n", ""), "its n must be text")
    refused(lambda: one.list_of("l", (), 3), "its l must have 3 values, not 2")


def test_axes_count_from_the_end():
    one = step()
    assert [one.axis(given, 3) for given in (0, 2, -1, -3)] == [0, 2, 2, 0]
    assert one.axis(3, 3, extra=1) == 3
    for given in (3, -4):
        refused(lambda given=given: one.axis(given, 3), f"there is no axis {given} in a tensor of 3 axes")

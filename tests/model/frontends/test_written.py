"""What front ends give."""

from fractions import Fraction

from skinny.model.formula.definitions import StateFormula
from skinny.model.formula.formula import variables
from skinny.model.frontends.written import Writable, Written

A, B, S = variables("a b s")


def test_what_is_left_out_is_empty():
    written = Written({}, "nothing")
    assert (written.inputs, written.states, written.ring) == ((), (), "")
    assert (written.program, written.check) == (None, None)


def test_definitions_of_formulas():
    written = Written({"y": A + B}, "sum", ("b", "a"))
    assert written.definitions.samples == ("a", "b")
    assert not written.definitions.streaming


def test_words_of_a_sample_arrive_in_the_order_of_the_inputs():
    state = StateFormula("s", Fraction(1), S + B)
    written = Written({"y": A + S}, "stream", ("c", "b", "a"), (state,))
    assert written.definitions.samples == ("c", "b", "a")
    assert written.definitions.states == (state,)


def test_writable_says_what_it_is():
    class Mine(Writable):
        def written(self):
            return Written({"y": A}, "mine")

    assert Mine().written().title == "mine"

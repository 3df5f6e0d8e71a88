"""What front ends give."""

from skinny.model.frontends.written import Written


def test_what_is_left_out_is_empty():
    written = Written({}, "nothing")
    assert (written.inputs, written.states, written.ring, written.program) == ((), (), "", None)

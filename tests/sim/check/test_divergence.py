"""A divergence is named: cycle, thread, instruction, register, expected and got; the earliest one first."""

import re

import numpy as np
import pytest
from skinny.sim.check.divergence import first_divergence
from skinny.sim.check.record import expect


def divergence(stimulus, change):
    found = expect(stimulus)
    change(found)
    return first_divergence(stimulus, expect(stimulus), found)


def test_equal_records(stimulus):
    assert divergence(stimulus, lambda found: None) is None


def retire(row, column, value):
    def change(found):
        found.trace[column][row] = value

    return change


def result(row, column, value):
    def change(found):
        found.results[column][row] = value

    return change


# Words: R2 += b*R1, S = w[0]*a, R0 -= S*R2, emit y, emit z; two threads; the first retires in cycle 3 + 2 + 6.
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            retire(4, "value", 9),
            r"cycle 15, thread 0, word 2 \(R0 -= S\*R2\) of instruction 1: R0 -= f\[0\]\*R2: "
            r"R0 expected -105 \(0xff97\), got 9 \(0x9\)",
        ),
        (retire(3, "value", 9), r"cycle 14, thread 1, .*: S expected 6 \(0x6\), got 9 \(0x9\)"),
        (retire(1, "thread", 0), "cycle 12, thread 1, .*: thread expected 1, got 0"),
        (retire(1, "pc", 3), "cycle 12, thread 1, .*: pc expected 0, got 3"),
        (retire(0, "fault", 1), "cycle 11, .*: fault expected 0, got 1"),
        (retire(0, "cycle", 10), "cycle 10, .*: expected to retire in cycle 11, the next retirement is in cycle 10"),
        (result(0, "data", 1), r"cycle 20: result 0: data expected -105 \(0xff97\), got 1 \(0x1\)"),
        (result(3, "last", 0), "cycle 23: result 3: last expected 1, got 0"),
        (result(0, "taken", 21), "cycle 20: result 0: taken expected 20, got 21"),
        (lambda f: setattr(f, "fault", 5), "cycle 5: fault expected never, got in cycle 5"),
        (lambda f: setattr(f, "extra", 1), "1 results more than the 6 expected"),
        (lambda f: setattr(f, "accepted", f.accepted + 1), "cycle 0: input word 0 of vector 0 expected to be accepted"),
        (lambda f: setattr(f, "trace", f.trace[:-1]), "cycle .*, word 4 .* of output z: R2 expected .*nothing retired"),
        (lambda f: setattr(f, "results", f.results[:-1]), "cycle .*: result 5 is missing"),
        # Two batches: from cycle 5 to the last retirement, in cycle 5 + 2·10 - 1 + 6.
        (lambda f: setattr(f, "busy", np.array([6, 31])), "cycle 5: busy expected 1, got 0"),
        (lambda f: setattr(f, "busy", np.array([5, 30])), "cycle 30: busy expected 1, got 0"),
        (lambda f: setattr(f, "busy", np.array([5])), "cycle 31: busy expected 0, got 1"),
        (lambda f: setattr(f, "busy", np.array([5, 31, 40])), "cycle 40: busy expected 0, got 1"),
        (lambda f: setattr(f, "load_ready", np.array([4, 31])), "cycle 4: load_ready expected 1, got 0"),
        (lambda f: setattr(f, "load_ready", np.array([5, 33])), "cycle 31: load_ready expected 1, got 0"),
        (
            lambda f: setattr(f, "loaded", np.array([7])),
            "cycle 7: word 0 at the load port expected to be taken never, was",
        ),
        (lambda f: setattr(f, "changed", (22, 2, "last")), "cycle 22: last of result 2 changed while it waited"),
    ],
)
def test_what_differs_is_named(stimulus, change, message):
    assert re.fullmatch(f"{message}.*", divergence(stimulus, change))


def test_the_earliest_divergence_wins(stimulus):
    def change(found):
        result(0, "data", 1)(found)
        retire(15 - 1, "value", 1)(found)
        retire(4, "value", 9)(found)

    assert divergence(stimulus, change).startswith("cycle 15, thread 0, word 2 ")


def test_what_becomes_of_a_result_that_changed_is_no_news(stimulus):
    def change(found):
        found.changed = (22, 2, "valid")
        found.results = found.results[:2]

    assert divergence(stimulus, change) == "cycle 22: valid of result 2 changed while it waited"


def test_a_run_without_a_load_port_is_not_judged_by_it(stimulus):
    assert divergence(stimulus, lambda found: setattr(found, "load_ready", None)) is None

"""A divergence is named: cycle, thread, instruction, register, expected and got; the earliest one first."""

import re
from dataclasses import replace

import numpy as np
import pytest
from skinny.model.machine.assemble import assemble
from skinny.model.machine.isa import CoreConfig
from skinny.model.program.text import loads
from skinny.model.rings import Boolean, FixedPoint, Modular, PrimeField
from skinny.sim.check.divergence import first_divergence
from skinny.sim.check.record import expect, outputs
from skinny.sim.check.stimulus import Stimulus, random_elements, random_stimulus

PROGRAM = """\
skinny 1
width 3
inputs a b
weight w[0] = 3
form f[0] = w[0]*a
R2 += b*R1
R0 -= f[0]*R2
emit y = R0
emit z = R2
end
"""


@pytest.fixture
def stimulus():
    config = CoreConfig(Modular(16), threads=2, depth=16, inputs=2, weights=2)
    image = assemble(loads(PROGRAM), config)
    return Stimulus.steady(image, np.array([[5, 7], [2, 3], [1, 1]], dtype=np.uint64))


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


def test_a_cut_run_is_the_beginning_of_the_whole(stimulus):
    stalled = replace(stimulus, stalls=np.array([0, 3, 0, 0, 0, 0]))
    whole = expect(stalled)
    for cycles in range(whole.cycles + 2):
        part = expect(stalled, cycles=cycles)
        for name in ("accepted", "busy", "load_ready"):
            column = getattr(whole, name)
            assert getattr(part, name).tolist() == column[column < cycles].tolist()
        assert part.trace.tolist() == [row for row in whole.trace.tolist() if row[0] < cycles]
        seen = [(row["valid"], row["taken"] if row["taken"] < cycles else -1) for row in whole.results]
        assert part.results[["valid", "taken"]].tolist() == [pair for pair in seen if pair[0] < cycles]


def test_outputs_by_vector(stimulus):
    # By hand: z = b, y = -3ab.
    assert outputs(stimulus, expect(stimulus)).tolist() == [
        [(1 << 16) - 105, 7],
        [(1 << 16) - 18, 3],
        [(1 << 16) - 3, 1],
    ]


@pytest.mark.parametrize("ring", [Modular(5), FixedPoint(8, 4), PrimeField(13), Boolean()], ids=repr)
def test_random_elements_are_elements(ring):
    found = random_elements(np.random.default_rng(1), ring, (500, 3))
    low, high = {"modular:5": (-16, 15), "fixed:8.4": (-128, 127), "prime:13": (0, 12), "boolean": (0, 1)}[ring.name]
    assert (found.min(), found.max()) == (low, high)
    assert np.can_cast(found.dtype, ring.element_dtype, "safe")


def test_random_stimuli_reach_every_size(stimulus):
    rng = np.random.default_rng(1)
    vectors = np.zeros((50, 2), dtype=np.uint64)
    made = random_stimulus(rng, stimulus.image, vectors, 0.5, 0.5, 0.5)
    assert set(made.sizes) == {1, 2}
    assert sum(made.sizes) == 50
    assert made.gaps.shape == (100,)
    assert made.stalls.shape == (100,)
    ends = np.cumsum(made.sizes) - 1
    assert made.lasts().reshape(-1, 2)[ends, 1].tolist() == [int(size < 2) for size in made.sizes]
    assert made.lasts().sum() == sum(size < 2 for size in made.sizes)
    # Where ``last`` means something it is no noise: it ends a batch of one vector, and must not end one of two.
    noisy = made.lasts(rng).reshape(-1, 2)
    assert set(noisy[:, 0]) == {0, 1}
    assert [noisy[end, 1] for end, size in zip(ends, made.sizes, strict=True) if size == 1] == [1] * made.sizes.count(1)
    assert not any(noisy[end - 1, 1] for end, size in zip(ends, made.sizes, strict=True) if size == 2)
    assert {noisy[end, 1] for end, size in zip(ends, made.sizes, strict=True) if size == 2} == {0, 1}

"""The record that the cycle model expects, whole and cut off."""

from dataclasses import replace

import numpy as np
from skinny.sim.check.record import expect, outputs, utilisation


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


def test_the_multiplier_worked_for_every_instruction_but_emits(stimulus):
    # By hand: three of five words multiply, for three vectors. Two batches of two threads are issued in 2·2·5 cycles,
    # of which the last is that of thread 1, which the second batch does not have.
    record = expect(stimulus)
    assert record.worked == 9
    assert utilisation(record) == 9 / 19

"""The cycle model of the engine, worked out by hand from docs/parallel.md and docs/isa.md."""

import numpy as np
import pytest
from skinny.model.machine.image import Waits
from skinny.model.machine.isa import CoreConfig
from skinny.model.parallel.lane_cycles import combine_stages, lane_again, push_delay
from skinny.model.parallel.segments import EngineConfig, assemble_lanes
from skinny.model.program.text import loads
from skinny.model.rings import Modular

#: Lane 0: an instruction, then three registers. Lane 1: three instructions, then the output.
PROGRAM = loads(
    "skinny 1\nwidth 3\ninputs a\nR0 += a*R1\nR2 += a*R0\nR1 += a*R2\nR0 += a*R1\nemit y = R0\nend\n",
)


def two_lanes(threads):
    image = assemble_lanes(PROGRAM, EngineConfig.fit(PROGRAM, Modular(16), 2, threads=threads))
    assert [len(lane) for lane in image.lanes] == [4, 4]
    return image


@pytest.mark.parametrize(("threads", "stages"), [(3, 2), (4, 3), (5, 4), (6, 4), (16, 4)])
def test_delays_are_those_of_the_page(threads, stages):
    config = CoreConfig(Modular(16), threads=threads)
    assert (combine_stages(config), push_delay(config), lane_again(config)) == (stages, stages + 2, stages + 3)


def test_one_vector_a_batch():
    # The first batch starts in cycle 2. Lane 0's last word is issued in 2 + 3·3 = 11, retires in 11 + 7, is read 3
    # cycles later, in 21. Lane 1 is read in 21 + 5 to 28; its value is there in 28 + 4 and valid in 32 + 3 = 35.
    # The second batch starts 4·3 cycles after the first; its lane 0 is read in 28 + 5 to 35, lane 1 in 40 to 42.
    plan = two_lanes(threads=3).timetable([1, 1])
    assert plan.accepted.tolist() == [0, 1]
    assert plan.starts.tolist() == [2, 14]
    assert plan.valid.tolist() == plan.taken.tolist() == [35, 42 + 4 + 3]
    assert plan.busy.tolist() == [2, 42 + 4 + 1]


def test_two_vectors_a_batch():
    # Lane 0's last word: 3 + 3·6 + 1 = 22, retires 10 later, read in 35. Lane 1: six words from 35 + 7 on, the first
    # vector's column ends in 44. The second batch: lane 0 in 47 + 7 to 59, lane 1 in 66 to 71.
    plan = two_lanes(threads=6).timetable([2, 2])
    assert plan.starts.tolist() == [3, 27]
    assert plan.valid.tolist() == [44 + 6 + 3, 47 + 6 + 3, 68 + 6 + 3, 71 + 6 + 3]
    assert plan.busy.tolist() == [3, 71 + 6 + 1]


def test_waiting_ports():
    image = two_lanes(threads=3)
    late = image.timetable([1, 1], Waits(gaps=[5, 0]))
    assert (late.accepted.tolist(), late.starts.tolist()) == ([5, 6], [7, 19])
    held = image.timetable([1, 1], Waits(stalls=[20, 1]))
    assert (held.valid.tolist(), held.taken.tolist()) == ([35, 56], [55, 57])
    # A word is offered from cycle 1 on and taken at once; the batch starts two cycles later than it would.
    loaded = image.timetable([1], Waits(pauses=[1]))
    assert (loaded.loaded.tolist(), loaded.starts.tolist()) == ([1], [3])


def test_results():
    # With a: R0 = a, R2 = a², R1 = 1 + a³, R0 = a + a·(1 + a³) = 2·a + a⁴.
    vectors = np.array([[3], [0xFFFE], [5]], dtype=np.uint64)
    found = two_lanes(threads=6).predict(vectors, [2, 1])
    assert found.data.tolist() == [6 + 81, -4 + 16, 10 + 625]
    assert found.last.tolist() == [False, True, True]
    assert not found.fault.any()
    assert [len(lane.cycle) for lane in found.retired] == [4 * 3, 4 * 9]

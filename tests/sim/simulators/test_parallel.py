"""The verilated engine retires in every lane and sends in every cycle what its cycle model says."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from skinny.hdl.parallel import combiner as combiner_module
from skinny.hdl.parallel import engine as engine_module
from skinny.hdl.parallel.engine import ParallelEngine
from skinny.model.errors import CheckError
from skinny.model.machine.isa import CoreConfig
from skinny.model.parallel.combine import run_lanes
from skinny.model.parallel.image import ImageOptions, build_image
from skinny.model.parallel.segments import EngineConfig, Lane, assemble_lanes
from skinny.model.rings import Boolean, FixedPoint, Modular, PrimeField
from skinny.model.run import golden
from skinny.scripts.bench.parallel import measure, sized_program
from skinny.sim.check.divergence import first_divergence
from skinny.sim.check.generate import random_program
from skinny.sim.check.record import expect, outputs
from skinny.sim.check.scenarios import load_steps, reset_steps
from skinny.sim.check.steps import LoadImage, ResetCore, RunStimulus
from skinny.sim.check.stimulus import Stimulus, random_elements, random_stimulus
from skinny.sim.simulators import amaranth as amaranth_simulator
from skinny.sim.simulators import cocotb_runner
from skinny.sim.simulators.bulk import BulkCore
from skinny.sim.simulators.cocotb_runner import run_testbench

RING = FixedPoint(16, 8)
#: A program of 20,000 cycles, and the engine for it.
LONG = sized_program(20_000)
EIGHT = EngineConfig.fit(LONG, RING, 8)


def small(ring, cores, **given):
    return EngineConfig(CoreConfig(ring, depth=64, inputs=5, weights=6, check=False, **given), cores)


#: Every ring; widths 3 and 4; threads that leave some idle, and enough for two vectors; 2, 3 and 8 lanes.
MAIN = small(RING, 3, width=3, threads=6)
ENGINES = [
    MAIN,
    small(Modular(16), 2, width=3, threads=3),
    small(PrimeField(251), 3, width=4, threads=4, attention=False),
    small(Boolean(), 2, width=3, threads=4),
    small(FixedPoint(12, 5), 2, width=3, threads=3, assign=True),
    EIGHT,
]


def name_of(engine):
    return f"{engine.core.ring.name}-w{engine.core.width}-t{engine.core.threads}-k{engine.cores}"


@cache
def loadable(engine):
    return BulkCore(engine)


def make_image(rng, engine, length, outputs=1, restart=True):
    return assemble_lanes(random_program(rng, engine.core, length, outputs=outputs, restart=restart), engine)


def make_elements(rng, image, vectors):
    config = image.config
    rows = vectors * config.slices if isinstance(config.ring, Boolean) else vectors
    return random_elements(rng, config.ring, (rows, image.vector))


@pytest.mark.parametrize("engine", ENGINES, ids=name_of)
def test_every_cycle(engine, rng):
    core = loadable(engine)
    for number in range(24):
        image = make_image(rng, engine, int(rng.integers(0, 60)), outputs=1 + number % 4)
        core.load(image)
        elements = make_elements(rng, image, 15)
        waits = [0.4 * (number >> bit & 1) for bit in range(3)]
        stimulus = random_stimulus(rng, image, image.config.pack(elements), *waits)
        record, expected = core.run(stimulus), expect(stimulus)
        assert first_divergence(stimulus, expected, record) is None
        assert (record.cycles, record.worked) == (expected.cycles, expected.worked)
        found = image.config.unpack(outputs(stimulus, record), len(elements))
        assert np.array_equal(found, run_lanes(image, elements))
        if engine.core.ring.is_ring:
            assert np.array_equal(found, golden.run(image.program, engine.core.ring, elements).outputs)


@pytest.mark.parametrize("engine", ENGINES, ids=name_of)
def test_resets_and_loads_in_the_middle_of_runs(engine, rng):
    core = loadable(engine)
    for _ in range(3):
        image, other = (make_image(rng, engine, int(rng.integers(1, 40)), outputs=2) for _ in range(2))
        vectors, after = (each.config.pack(make_elements(rng, each, 9)) for each in (image, other))
        list(core.do([*reset_steps(rng, image, vectors), *load_steps(rng, image, other, vectors, after)]))


@pytest.mark.parametrize("rom", [False, True])
def test_initial_contents(rng, rom):
    image = make_image(rng, MAIN, 30, outputs=2)
    stimulus = random_stimulus(rng, image, image.config.pack(make_elements(rng, image, 5)), 0.3, 0.3)
    (record,) = amaranth_simulator.run_steps(ParallelEngine(MAIN, image, rom=rom), [ResetCore(), RunStimulus(stimulus)])
    assert len(record.results) == 10


def test_a_fault_sticks_to_its_vector_and_falls_with_a_load(rng):
    # A word that means nothing, in lane 1 before its first output: what follows is marked, what came before is not.
    core = loadable(MAIN)
    image = make_image(rng, MAIN, 40, outputs=4, restart=False)
    first, second, third = image.lanes
    words = np.concatenate([[np.uint64(0)], second.words])
    bad = replace(image, lanes=(first, replace(second, words=words, instructions=np.full(len(words), -1)), third))
    vectors = image.config.pack(make_elements(rng, image, 5))
    for each, marked in ((bad, True), (image, False)):
        core.load(each)
        stimulus = Stimulus.steady(each, vectors)
        record = core.run(stimulus)
        assert first_divergence(stimulus, expect(stimulus), record) is None
        assert (record.fault >= 0) is marked
        late = np.concatenate([np.repeat(np.arange(4) >= image.sent[0], size) for size in stimulus.sizes])
        assert (record.results["fault"] == (late & marked)).all()


def test_cocotb_whatever_source_and_sink_do(rng):
    images = [make_image(rng, MAIN, length, outputs=2) for length in (3, 30)]
    job = [(image, image.config.pack(make_elements(rng, image, 7))) for image in images]
    run_testbench(ParallelEngine(MAIN), job, ["matches_model", "load_waits_while_busy", "reset_drops_what_runs"])


def test_all_simulators_see_the_same(rng):
    image = make_image(rng, MAIN, 20, outputs=2)
    stimulus = random_stimulus(rng, image, image.config.pack(make_elements(rng, image, 5)), 0.3, 0.3)
    steps = [ResetCore(), LoadImage(image), RunStimulus(stimulus)]
    core = loadable(MAIN)
    core.load(image)
    record = core.run(stimulus)
    for run_steps in (cocotb_runner.run_steps, amaranth_simulator.run_steps):
        (other,) = run_steps(ParallelEngine(MAIN), steps)
        assert first_divergence(stimulus, record, other) is None


def shifted(image):
    """Lane 1 begins an instruction late."""
    first, second, third = image.lanes
    return replace(image, lanes=(first, replace(second, words=second.words[1:]), third))


MISTAKES = {
    "order of lanes": lambda image: replace(image, lanes=(image.lanes[1], image.lanes[0], image.lanes[2])),
    "segment shifted": shifted,
    "column copied": lambda image: replace(image, combined=(0, 0, 1)),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_an_image_with_a_mistake_is_not_the_program(rng, mistake):
    # The engine does what its image says, so the checks above hold for these too; their results are wrong.
    image = make_image(rng, small(Modular(16), 3, width=3, threads=3), 40, restart=False)
    elements = make_elements(rng, image, 9)
    expected = golden.run(image.program, Modular(16), elements).outputs
    for each, right in ((image, True), (MISTAKES[mistake](image), False)):
        stimulus = Stimulus.steady(each, image.config.pack(elements))
        found = image.config.unpack(outputs(stimulus, expect(stimulus)), len(elements))
        assert np.array_equal(found, expected) is right


def without_rest(config):
    """A combiner that reads a lane before the vector of the lane before is complete."""
    return min(config.threads - 1, 4) - 1


def test_a_broken_combiner_is_caught(monkeypatch, rng):
    image = make_image(rng, MAIN, 30, outputs=2)
    stimulus = Stimulus.steady(image, image.config.pack(make_elements(rng, image, 5)))
    steps = [ResetCore(), LoadImage(image), RunStimulus(stimulus)]
    monkeypatch.setattr(combiner_module, "combine_stages", without_rest)
    with pytest.raises(CheckError, match=r"cycle \d+: result 0"):
        amaranth_simulator.run_steps(ParallelEngine(MAIN), steps)


def test_a_broken_lane_is_caught(monkeypatch, rng):
    image = make_image(rng, MAIN, 30)
    stimulus = Stimulus.steady(image, image.config.pack(make_elements(rng, image, 5)))

    class Wrong(engine_module.Core):
        def __init__(self, *given, lane, **named):
            super().__init__(*given, lane=Lane(lane.vectors, lane.spread - (lane.spread > 1)), **named)

    monkeypatch.setattr(engine_module, "Core", Wrong)
    with pytest.raises(CheckError, match=r"cycle \d+, lane \d, thread \d"):
        amaranth_simulator.run_steps(ParallelEngine(MAIN), [ResetCore(), LoadImage(image), RunStimulus(stimulus)])


def test_speed_of_one_inference():
    assert 19_990 <= LONG.words <= 20_000
    images = [build_image(LONG, RING, ImageOptions(lanes=lanes)) for lanes in (1, 2, 8)]
    alone, two, eight = (measure(loadable(image.hardware), image) for image in images)
    assert two * 1.95 <= alone
    assert eight * 7.5 <= alone

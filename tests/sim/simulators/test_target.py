"""Targets: a core made of a device's own cells does in every cycle what the generic one does."""

import pytest
from skinny.hdl.core.core import Core
from skinny.model.machine.isa import CoreConfig
from skinny.model.rings import Boolean, FixedPoint, Modular, PrimeField
from skinny.sim.check.stimulus import random_stimulus
from skinny.sim.simulators.bulk import BulkCore
from skinny.sim.simulators.cocotb_runner import run_testbench

SMALL = {"inputs": 5, "weights": 6}
#: Every use of the multiplier's registers, of its signs and of its width; every shape of the memory.
CONFIGS = [
    CoreConfig(FixedPoint(16, 8), threads=4, depth=64, **SMALL),
    CoreConfig(Modular(18), width=4, threads=1, depth=2048, **SMALL),
    CoreConfig(FixedPoint(12, 5), threads=2, depth=4096, attention=False, **SMALL),
    CoreConfig(Modular(32), threads=3, depth=8192, inputs=5, weights=2048),
    CoreConfig(PrimeField(8191), threads=6, depth=16384, **SMALL),
    CoreConfig(PrimeField(65521), width=8, threads=4, depth=64, inputs=4096, weights=6),
    CoreConfig(Boolean(), threads=3, slices=20, depth=64, **SMALL),
    CoreConfig(FixedPoint(16, 8), threads=4, depth=256, assign=True, sums=True, relu=True, argmax=8, **SMALL),
    CoreConfig(FixedPoint(16, 8), width=256, threads=8, depth=256, registers="memory", pipeline=9, relu=True, **SMALL),
    CoreConfig(PrimeField(8191), width=9, threads=6, depth=256, registers="memory", pipeline=6, **SMALL),
]


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: f"{config.ring.name}-t{config.threads}-{config.depth}")
def test_ecp5_core_matches_the_model(differs, make_image, make_vectors, rng, config):
    """Program, weights and start vector from initial contents, then loaded."""
    length = min(config.depth // (8 if config.sums else 4), 2500)
    image = make_image(rng, config, length, outputs=3)
    core = BulkCore(config, image, target="ecp5")
    for next_image in (make_image(rng, config, 7), make_image(rng, config, length, outputs=2)):
        for idle in (0, 0.4):
            assert differs(core, random_stimulus(rng, image, make_vectors(rng, image, 25), idle, idle, 0.2)) is None
        core.load(next_image)
        image = next_image


def test_ecp5_core_passes_the_cocotb_bench(make_image, make_vectors, rng):
    images = [make_image(rng, CONFIGS[0], length, outputs=2) for length in (7, 12)]
    job = [(image, make_vectors(rng, image, 10)) for image in images]
    run_testbench(
        Core(CONFIGS[0], target="ecp5"), job, ["matches_model", "load_waits_while_busy", "reset_drops_what_runs"]
    )

"""Estimates: near to synthesis for designs that were not fitted, honest about their domain."""

import statistics

import pytest
from skinny.model.errors import InputError
from skinny.model.machine.assemble import assemble
from skinny.model.machine.isa import CoreConfig
from skinny.model.program.text import loads
from skinny.model.rings import FixedPoint, Modular, PrimeField
from skinny.sim.fpga.devices import DEVICES, ICE40
from skinny.sim.fpga.estimate import estimate, estimate_report, read_table
from skinny.sim.fpga.fit import shape_of, summary
from skinny.sim.fpga.report import Design
from skinny.sim.fpga.samples import held_out_set, measure
from skinny.sim.fpga.terms import Shape

PROGRAM = "skinny 1\nwidth 3\ninputs a\nweight w[0] = 1\nR2 += a*R1\nR0 += w[0]*R2\nemit y = R0\nend\n"


def test_within_15_percent_of_what_synthesis_gave_for_20_designs():
    table = read_table()
    designs = held_out_set()
    assert len(designs) == len(table["held_out"]) == 20
    errors = {"lut4": [], "cells": [], "mhz": []}
    for design, row in zip(designs, table["held_out"], strict=True):
        config = design.image.config
        assert (row["device"], row["ring"], row["threads"]) == (design.device.name, config.ring.name, config.threads)
        found = estimate(shape_of(design), table)
        for name, off in errors.items():
            if name in row:
                off.append(abs(getattr(found, name) / row[name]["measured"] - 1))
    assert len(errors["cells"]) == sum(design.device.family is ICE40 for design in designs) == 10
    assert max(errors["lut4"] + errors["cells"] + errors["mhz"]) <= 0.15
    assert max(statistics.median(off) for off in errors.values()) < 0.05
    worst, _ = summary(table["held_out"])
    assert table["worst"] == worst


def test_within_15_percent_of_a_synthesis_here_and_now(up5k):
    config = CoreConfig(Modular(12), width=4, threads=3, depth=64, inputs=8, weights=8, check=False)
    design = Design(assemble(loads(PROGRAM), config), up5k, inferred=True)
    found, real = estimate(shape_of(design), read_table()), measure(design, (1,), alone=True)
    assert found.lut4 == pytest.approx(real["lut4"], rel=0.15)
    assert found.cells == pytest.approx(real["cells"], rel=0.15)
    assert found.mhz == pytest.approx(real["mhz"], rel=0.15)


def test_report():
    config = CoreConfig(FixedPoint(16, 8))
    image = assemble(loads(PROGRAM), config)
    told = estimate_report(image, DEVICES["up5k"], "generic", rom=False)
    found = estimate(Shape(config, DEVICES["up5k"], "generic", False), read_table())
    assert told["core"] == {"lut4": found.lut4, "ff": found.ff, "cells": found.cells, "dsp": 1, "block_ram": 11}
    assert max(found.lut4, found.ff) < found.cells < found.lut4 + found.ff
    assert estimate_report(image, DEVICES["ecp5-25k"], "ecp5", rom=False)["core"]["cells"] is None
    assert told["mhz"] == {"median": found.mhz, "cap": 50, "effective": min(50, found.mhz)}
    # Three words a thread, four threads of three registers and the accumulator.
    assert (told["cycles_per_inference"], told["state_bits"], told["program_words"]) == (3, 4 * 4 * 16, 3)
    assert told["inferences_per_second"] == pytest.approx(told["mhz"]["effective"] * 1e6 / 3)
    assert told["outside"] == []


def test_outside_the_domain():
    table = read_table()
    wide = Shape(CoreConfig(Modular(4), width=7, threads=8), DEVICES["hx8k"], "generic", False)
    assert estimate(wide, table).outside == (
        "bits 4 (fitted: 7 to 32)",
        "threads 8 (fitted: 1 to 6)",
        "width 7 (fitted: 3 to 5)",
    )
    with pytest.raises(InputError, match=r"^there is no estimate for prime:251: only for primes of the form 2\^k - 1$"):
        estimate(wide._replace(config=CoreConfig(PrimeField(251))), table)
    with pytest.raises(InputError, match=r"^there is no estimate for prime:8191 with fewer than 4 threads$"):
        estimate(wide._replace(config=CoreConfig(PrimeField(8191), threads=3)), table)
    image = assemble(loads(PROGRAM), CoreConfig(Modular(32), depth=1 << 14))
    with pytest.raises(InputError, match=r"^the core does not fit up5k: it needs \d+ block RAMs, there are 30$"):
        estimate_report(image, DEVICES["up5k"], "generic", rom=False)
    image = assemble(loads(PROGRAM), CoreConfig(Modular(32), width=16, threads=16, depth=64, inputs=2, weights=2))
    with pytest.raises(
        InputError, match=r"^the core does not fit up5k: it needs about 1\d,\d{3} cells, there are 5,280$"
    ):
        estimate_report(image, DEVICES["up5k"], "generic", rom=False)

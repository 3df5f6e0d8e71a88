"""Estimates: near to synthesis for designs that were not fitted, honest about their domain."""

import statistics

import pytest
from skinny.model.errors import InputError
from skinny.model.machine.assemble import assemble
from skinny.model.machine.isa import CoreConfig
from skinny.model.program.text import loads
from skinny.model.rings import Boolean, FixedPoint, Modular, PrimeField
from skinny.sim.fpga.devices import DEVICES
from skinny.sim.fpga.estimate import estimate, estimate_report, read_table
from skinny.sim.fpga.fit import GUESS, fit_period, shape_of, solve, summary
from skinny.sim.fpga.report import Design
from skinny.sim.fpga.samples import fitting_set, held_out_set, measure
from skinny.sim.fpga.terms import Shape, paths, weigh

PROGRAM = "skinny 1\nwidth 3\ninputs a\nweight w[0] = 1\nR2 += a*R1\nR0 += w[0]*R2\nemit y = R0\nend\n"


def test_within_15_percent_of_what_synthesis_gave_for_20_designs():
    table = read_table()
    designs = held_out_set()
    assert len(designs) == len(table["held_out"]) == 20
    errors = {"lut4": [], "mhz": []}
    for design, row in zip(designs, table["held_out"], strict=True):
        config = design.image.config
        assert (row["device"], row["ring"], row["threads"]) == (design.device.name, config.ring.name, config.threads)
        found = estimate(shape_of(design), table)
        for name, off in errors.items():
            off.append(abs(getattr(found, name) / row[name]["measured"] - 1))
    assert max(errors["lut4"] + errors["mhz"]) <= 0.15
    assert max(statistics.median(off) for off in errors.values()) < 0.05
    worst, _ = summary(table["held_out"])
    assert table["worst"] == worst


def test_designs_that_are_judged_were_not_fitted_and_differ():
    fitted, judged = ([(shape_of(d)) for d in designs] for designs in (fitting_set(), held_out_set()))
    assert not set(judged) & set(fitted)
    assert {shape.device.name for shape in judged} == set(DEVICES)
    assert {type(shape.config.ring) for shape in judged} == {Modular, FixedPoint, PrimeField, Boolean}
    assert {shape.config.threads for shape in judged} == set(range(1, 7))
    assert {shape.config.width for shape in judged} == {3, 4, 5}
    for name in ("attention", "check"):
        assert {getattr(shape.config, name) for shape in judged} == {False, True}
    assert {shape.rom for shape in judged} == {False, True}
    assert min(shape.config.bits for shape in judged) == 8
    assert max(shape.config.bits for shape in judged) == 32


def test_within_15_percent_of_a_synthesis_here_and_now(up5k):
    config = CoreConfig(Modular(12), width=4, threads=3, depth=64, inputs=8, weights=8, check=False)
    design = Design(assemble(loads(PROGRAM), config), up5k, inferred=True)
    found, real = estimate(shape_of(design), read_table()), measure(design, (1,), alone=True)
    assert found.lut4 == pytest.approx(real["lut4"], rel=0.15)
    assert found.mhz == pytest.approx(real["mhz"], rel=0.15)


def test_report():
    config = CoreConfig(FixedPoint(16, 8))
    image = assemble(loads(PROGRAM), config)
    told = estimate_report(image, DEVICES["up5k"], "generic", rom=False)
    found = estimate(Shape(config, DEVICES["up5k"], "generic", False), read_table())
    assert told["core"] == {"lut4": found.lut4, "ff": found.ff, "dsp": 1, "block_ram": 11}
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


def test_fit_finds_the_coefficients_that_made_the_figures():
    rows = [{"a": 1, "b": n, "c": n * n} for n in range(1, 12)]
    measured = [100 + 20 * row["b"] + 3 * row["c"] for row in rows]
    found = solve(rows, measured, 0.02, {"a": 50, "b": 10, "c": 6})
    assert found == pytest.approx({"a": 100, "b": 20, "c": 3}, rel=0.1)
    # What cannot be negative is zero instead.
    falling = [200 - 5 * row["b"] for row in rows]
    assert solve(rows, falling, 0.02, {"a": 50, "b": 10, "c": 0.5})["b"] == 0
    assert solve(rows, falling, 0.02, {"a": 50, "b": -10, "c": 0.5})["b"] < -3


def test_fit_finds_the_slowest_paths():
    # Delays that are far from the guesses, so that other paths decide than those the guesses say.
    guess = GUESS["period"]["up5k"]
    delays = guess | {"control": 22.0, "sum": 4.0, "sum, bit": 0.6, "select": 9.0}

    def slowest(weights, shape):
        return max(paths(shape), key=lambda name: weigh(weights, paths(shape)[name]))

    shapes = [
        Shape(CoreConfig(FixedPoint(bits, bits // 2), threads=threads), DEVICES["up5k"], "generic", False)
        for bits in range(8, 33, 3)
        for threads in range(1, 6)
    ]
    assert {slowest(delays, shape) for shape in shapes} == {"control", "sum", "sum and write", "the whole instruction"}
    assert sum(slowest(delays, shape) != slowest(guess, shape) for shape in shapes) > 10
    real = [weigh(delays, paths(shape)[slowest(delays, shape)]) for shape in shapes]
    weights = fit_period([(paths(shape), period) for shape, period in zip(shapes, real, strict=True)], guess)
    for shape, period in zip(shapes, real, strict=True):
        assert weigh(weights, paths(shape)[slowest(weights, shape)]) == pytest.approx(period, rel=0.1)

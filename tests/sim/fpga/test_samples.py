"""Sample designs: the same every time, spread over the domain, and none is both fitted and judged."""

from skinny.model.rings import Boolean, FixedPoint, Modular, PrimeField
from skinny.sim.fpga.devices import DEVICES
from skinny.sim.fpga.estimate import LEAST_FOR_PRIMES, RANGES
from skinny.sim.fpga.fit import shape_of
from skinny.sim.fpga.samples import draw_designs, fitting_set, held_out_set


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


def test_designs_are_in_the_domain_and_fit_the_device():
    for design in draw_designs(7, 24, "up5k", inferred=True):
        config = design.image.config
        for name, (least, most) in RANGES.items():
            assert least <= getattr(config, name) <= most, name
        assert not isinstance(config.ring, PrimeField) or config.threads >= LEAST_FOR_PRIMES
        # Raises an error where it does not fit.
        design.expected()


def test_the_same_seed_gives_the_same_designs():
    one, two, other = (draw_designs(seed, 4, "hx8k", inferred=True) for seed in (3, 3, 4))
    assert [shape_of(design) for design in one] == [shape_of(design) for design in two]
    assert [shape_of(design) for design in one] != [shape_of(design) for design in other]

"""The terms of the estimates, counted by hand."""

import pytest
from skinny.model.machine.isa import CoreConfig
from skinny.model.rings import Boolean, FixedPoint, Modular, PrimeField
from skinny.sim.fpga.devices import DEVICES
from skinny.sim.fpga.terms import Shape, ff_terms, lut_terms, paths, weigh


def shape(config, device="up5k", rom=False):
    return Shape(config, DEVICES[device], "generic", rom)


@pytest.mark.parametrize(
    ("ring", "kept", "blocks", "wide"),
    [
        (Modular(8), 8, 0, 0),
        (FixedPoint(16, 8), 24, 1, 0),
        (Modular(32), 32, 3, 16),
        (PrimeField(8191), 26, 1, 0),
        (Boolean(), 1, 0, 0),
    ],
    ids=str,
)
def test_the_product(ring, kept, blocks, wide):
    found = shape(CoreConfig(ring))
    assert (found.kept, found.blocks, found.wide) == (kept, blocks, wide)
    assert found.in_luts == (not blocks and not isinstance(ring, Boolean))


def test_terms_by_hand():
    config = CoreConfig(FixedPoint(16, 8), width=3, threads=4, depth=1024, inputs=64)
    luts, registers = lut_terms(shape(config)), ff_terms(shape(config))
    # Address bits are 10 of the program and 6 of the inputs; gates join 2·3 registers with the accumulator: two LUTs.
    assert (luts["address bit"], luts["register"], luts["bit of a gate"]) == (16, 3, 2 * 16 * 2)
    assert (luts["load port"], lut_terms(shape(config, rom=True))["load port"]) == (True, False)
    # Four threads of three registers and the accumulator.
    assert (registers["bit of state"], registers["thread"]) == (4 * 4 * 16, 4)


@pytest.mark.parametrize(
    ("threads", "names"),
    [
        (1, {"the whole instruction"}),
        (2, {"operand selection and product", "sum and write"}),
        (3, {"operand selection", "product", "sum and write"}),
        (4, {"operand selection", "product", "sum", "write"}),
        (5, {"operand selection", "product", "sum", "write"}),
        (6, {"operand selection", "product", "sum", "fold", "write"}),
    ],
)
def test_more_threads_cut_the_way_round_more_often(threads, names):
    found = paths(shape(CoreConfig(FixedPoint(16, 8), threads=threads, check=False)))
    assert set(found) == {"control", "decoder", *names}


def test_weigh():
    assert weigh({"a": 2, "b": 0.5, "c": 9}, {"a": 3, "b": 4}) == 8

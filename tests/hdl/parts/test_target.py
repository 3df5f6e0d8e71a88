"""Targets differ in memory and multiplier only, and instantiated cells have models."""

import re

import pytest
from amaranth.back import rtlil
from skinny.hdl.core.core import Core
from skinny.hdl.parts.target import TARGETS
from skinny.model.machine.isa import CoreConfig
from skinny.model.rings import FixedPoint


@pytest.mark.parametrize("name", TARGETS)
def test_every_cell_that_is_instantiated_has_a_model(name):
    target = TARGETS[name]
    text = rtlil.convert(Core(CoreConfig(FixedPoint(16, 8)), target=name))
    cells = set(re.findall(r"cell \\([A-Z]\w+) ", text))
    assert cells == set(re.findall(r"^module (\w+)", target.models(), re.MULTILINE)) & cells
    assert bool(cells) == (name != "generic")

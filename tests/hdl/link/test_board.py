"""Clocks that the PLLs can make, and the pins that the boards have."""

import pytest
from skinny.hdl.link.board import BOARDS, BoardTop, ecp5_clock, ice40_clock, line_divisor
from skinny.model.compiler.pipeline import compile_formula
from skinny.model.errors import InputError
from skinny.model.formula.formula import variables
from skinny.model.machine.assemble import assemble
from skinny.model.machine.isa import CoreConfig
from skinny.model.rings import FixedPoint


def image():
    x, y = variables("x y")
    program = compile_formula({"z": x * y}).program
    return assemble(program, CoreConfig.fit(program, FixedPoint(16, 8)))


@pytest.mark.parametrize("wanted", [17, 24, 30, 36, 39.9, 48, 60, 100])
def test_ice40_clocks(wanted):
    clock = ice40_clock(12e6, wanted * 1e6)
    divr, divf, divq = (clock.parameters[name] for name in ("DIVR", "DIVF", "DIVQ"))
    vco = 12e6 / (divr + 1) * (divf + 1)
    assert 533e6 <= vco <= 1066e6
    assert clock.frequency == vco / 2**divq
    assert 0.95 * wanted * 1e6 < clock.frequency <= wanted * 1e6


@pytest.mark.parametrize("wanted", [12.5, 25, 66.6, 100, 125, 150, 200])
def test_ecp5_clocks(wanted):
    clock = ecp5_clock(25e6, wanted * 1e6)
    clki, clkfb, clkop = (clock.parameters[f"{name}_DIV"] for name in ("CLKI", "CLKFB", "CLKOP"))
    assert clock.frequency == 25e6 / clki * clkfb
    assert 400e6 <= clock.frequency * clkop <= 800e6
    assert 0.95 * wanted * 1e6 < clock.frequency <= wanted * 1e6


@pytest.mark.parametrize(("find", "reference", "wanted"), [(ice40_clock, 12e6, 1), (ecp5_clock, 25e6, 2000)])
def test_clocks_that_there_are_not(find, reference, wanted):
    with pytest.raises(InputError, match=f"the board has no clock of {wanted} MHz"):
        find(reference, wanted * 1e6)


@pytest.mark.parametrize("baud", [7_000_000, 20_000_000])
def test_speeds_that_there_are_not(baud):
    with pytest.raises(InputError, match=f"{baud:,} baud cannot be made of a clock of 30 MHz"):
        line_divisor(BOARDS["icebreaker"].clock(), baud)


def test_the_divisor_of_a_line():
    assert line_divisor(BOARDS["icebreaker"].clock(), 1_000_000) == 30
    assert line_divisor(BOARDS["ulx3s"].clock(), 3_000_000) == 33


@pytest.mark.parametrize(
    ("name", "file", "lines"),
    [
        (
            "icebreaker",
            "skinny.pcf",
            (
                "set_io clk12_0__io 35",
                "set_io button_0__io 10",
                "set_io uart_0__rx__io 6",
                "set_io uart_0__tx__io 9",
                "set_frequency core_clock 30.0",
            ),
        ),
        (
            "ulx3s",
            "skinny.lpf",
            (
                'LOCATE COMP "clk25_0__io" SITE "G2";',
                'LOCATE COMP "button_fire_0__io" SITE "R1";',
                'LOCATE COMP "uart_0__rx__io" SITE "M1";',
                'LOCATE COMP "uart_0__tx__io" SITE "L4";',
                'FREQUENCY NET "core_clock" 100000000.0 HZ;',
            ),
        ),
    ],
)
def test_pins_and_clock(name, file, lines):
    board = BOARDS[name]
    top = BoardTop(board, image(), board.clock(), 30)
    assert set(lines) <= set(board.platform().prepare(top, "skinny", emit_src=False).files[file].splitlines())


def test_the_same_design_is_built_from_the_same_text():
    board = BOARDS["icebreaker"]
    tops = [BoardTop(board, image(), board.clock(), 30) for _ in range(2)]
    first, second = (board.platform().prepare(top, "skinny", emit_src=False).digest() for top in tops)
    assert first == second

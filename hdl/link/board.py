"""Boards: pins, clock and reset around a :class:`skinny.hdl.link.linked.LinkedCore`.

A board sets the clock (``default``, in MHz). In cycles its core takes what every core takes (docs/isa.md, Timing), and
the serial line adds its own time (docs/link.md).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from amaranth import ClockDomain, ClockSignal, Elaboratable, Instance, Module, ResetSignal, Signal
from amaranth.build import Platform
from amaranth.lib import io
from amaranth.lib.cdc import FFSynchronizer
from amaranth_boards.icebreaker import ICEBreakerPlatform
from amaranth_boards.ulx3s import ULX3S_12F_Platform, ULX3S_25F_Platform, ULX3S_45F_Platform, ULX3S_85F_Platform
from skinny.model.errors import InputError
from skinny.model.link.wire import BoardInfo
from skinny.model.machine.assemble import Image
from skinny.model.machine.isa import CoreConfig

from .linked import LinkedCore
from .uart import LEAST_DIVISOR

__all__ = ["BOARDS", "Board", "BoardTop", "Clock", "ecp5_clock", "ice40_clock", "line_divisor"]

#: Cycles that reset outlasts the lock of the clock: iCE40's block RAM reads as zero for 3 µs after configuration, which
#: with a margin of five is 15 µs, at 60 MHz.
SETTLE = 1024
#: How far the two ends of a line may be apart in speed.
TOLERANCE = 0.02


@dataclass(frozen=True)
class Clock:
    """A frequency in Hz, and the parameters of the PLL that makes it."""

    frequency: float
    parameters: dict[str, int]


def ice40_clock(reference: float, wanted: float) -> Clock:
    """The fastest clock up to ``wanted`` that SB_PLL40 makes of ``reference`` (10 to 20 MHz, both in Hz)."""
    best = Clock(0, {})
    for divq in range(1, 7):
        for divf in range(128):
            vco = reference * (divf + 1)
            frequency = vco / 2**divq
            if 533e6 <= vco <= 1066e6 and best.frequency < frequency <= wanted:
                best = Clock(frequency, {"DIVR": 0, "DIVF": divf, "DIVQ": divq, "FILTER_RANGE": 1})
    return _expect_clock(best, wanted)


def ecp5_clock(reference: float, wanted: float) -> Clock:
    """The fastest clock up to ``wanted`` that EHXPLLL makes of ``reference`` (in Hz)."""
    best = Clock(0, {})
    for clki in range(1, 6):
        for clkfb in range(1, 81):
            frequency = reference / clki * clkfb
            clkop = round(600e6 / frequency)
            if 1 <= clkop <= 128 and 400e6 <= frequency * clkop <= 800e6 and best.frequency < frequency <= wanted:
                best = Clock(frequency, {"CLKI_DIV": clki, "CLKFB_DIV": clkfb, "CLKOP_DIV": clkop})
    return _expect_clock(best, wanted)


def _expect_clock(found: Clock, wanted: float) -> Clock:
    if not found.frequency > 0.9 * wanted:
        raise InputError(f"the board has no clock of {wanted / 1e6:g} MHz")
    return found


def line_divisor(clock: Clock, baud: int) -> int:
    """The number of cycles that a bit takes at ``baud``. Raises :exc:`InputError` when no number is close enough."""
    divisor = round(clock.frequency / baud)
    if divisor < LEAST_DIVISOR or abs(clock.frequency / divisor / baud - 1) > TOLERANCE:
        raise InputError(f"{baud:,} baud cannot be made of a clock of {clock.frequency / 1e6:g} MHz")
    return divisor


def _ice40_pll(clock: Clock, reference: Any, output: Signal, locked: Signal) -> Instance:
    return Instance(
        "SB_PLL40_PAD",
        **{f"p_{name}": value for name, value in clock.parameters.items()},
        p_FEEDBACK_PATH="SIMPLE",
        p_PLLOUT_SELECT="GENCLK",
        i_PACKAGEPIN=reference,
        i_RESETB=1,
        i_BYPASS=0,
        o_PLLOUTGLOBAL=output,
        o_LOCK=locked,
    )


def _ecp5_pll(clock: Clock, reference: Any, output: Signal, locked: Signal) -> Instance:
    return Instance(
        "EHXPLLL",
        **{f"p_{name}": value for name, value in clock.parameters.items()},
        # In phase with the reference: the output is delayed by a whole turn of its divider.
        p_CLKOP_CPHASE=clock.parameters["CLKOP_DIV"] - 1,
        p_CLKOP_ENABLE="ENABLED",
        p_FEEDBK_PATH="CLKOP",
        # Loop filter and charge pump for a reference of this order; nextpnr leaves them to the design.
        a_ICP_CURRENT="12",
        a_LPF_RESISTOR="8",
        a_MFG_ENABLE_FILTEROPAMP="1",
        a_MFG_GMCREF_SEL="2",
        i_CLKI=reference,
        i_CLKFB=output,
        i_RST=0,
        i_STDBY=0,
        o_CLKOP=output,
        o_LOCK=locked,
    )


@dataclass(frozen=True)
class Board:
    """The properties of a board. ``target`` names the parts that the core is made of, ``default`` is the clock of the
    core in MHz, and with ``pads`` the PLL takes the clock pin itself. ``button``, ``fault`` and ``busy`` are resources
    of the platform."""

    name: str
    platform: type[Platform]
    target: str
    default: float
    find_clock: Callable[[float, float], Clock]
    make_pll: Callable[[Clock, Any, Signal, Signal], Instance]
    pads: bool
    button: tuple[str, int]
    fault: tuple[str, int]
    busy: tuple[str, int]

    def clock(self, wanted: float | None = None) -> Clock:
        """The clock of ``wanted`` MHz, or the default one."""
        reference = self.platform().default_clk_frequency
        return self.find_clock(reference, (self.default if wanted is None else wanted) * 1e6)

    def info(self, config: CoreConfig, clock: Clock) -> BoardInfo:
        """What the board tells the host about itself and its core."""
        return BoardInfo(config, self.name, round(clock.frequency))

    def link_memories(self, config: CoreConfig, clock: Clock) -> tuple[int, int]:
        """Bits of the two memories of the serial link that are too large for anything but block RAM."""
        info = self.info(config, clock)
        return info.buffer * 8, info.results * (config.bits + 2)


ICEBREAKER = Board(
    name="icebreaker",
    platform=ICEBreakerPlatform,
    target="generic",
    default=30,
    find_clock=ice40_clock,
    make_pll=_ice40_pll,
    pads=True,
    button=("button", 0),
    fault=("led_r", 0),
    busy=("led_g", 0),
)
ULX3S = Board(
    name="ulx3s",
    platform=ULX3S_85F_Platform,
    target="ecp5",
    default=100,
    find_clock=ecp5_clock,
    make_pll=_ecp5_pll,
    pads=False,
    button=("button_fire", 0),
    fault=("led", 0),
    busy=("led", 1),
)
BOARDS = {
    board.name: board
    for board in (
        ICEBREAKER,
        ULX3S,
        replace(ULX3S, name="ulx3s-12f", platform=ULX3S_12F_Platform),
        replace(ULX3S, name="ulx3s-25f", platform=ULX3S_25F_Platform),
        replace(ULX3S, name="ulx3s-45f", platform=ULX3S_45F_Platform),
    )
}


class BoardTop(Elaboratable):
    """The design of a board: a core behind its serial port, started by the lock of its clock or by its button.

    ``clock`` is the clock of the core, ``divisor`` the number of its cycles that a bit takes on the line.
    """

    def __init__(self, board: Board, image: Image, clock: Clock, divisor: int):
        self.board = board
        self.clock = clock
        self.device = board.info(image.config, clock)
        self.linked = LinkedCore(self.device, image, divisor, board.target)

    def elaborate(self, platform):
        m = Module()
        board = self.board
        m.submodules.linked = linked = self.linked

        def pin(direction: str, port: Any) -> Signal:
            buffer = io.Buffer(direction, port)
            m.submodules += buffer
            return buffer.i if direction == "i" else buffer.o

        reference = platform.request(platform.default_clk, dir="-")
        output = Signal(name="core_clock")
        locked = Signal()
        m.submodules.pll = board.make_pll(
            self.clock, reference.io if board.pads else pin("i", reference), output, locked
        )
        platform.add_clock_constraint(output, self.clock.frequency)

        # Registers hold reset until the clock was good for a while; the button begins that anew.
        m.domains.boot = ClockDomain(reset_less=True)
        m.domains.sync = ClockDomain()
        pressed, steady = Signal(), Signal()
        button = pin("i", platform.request(*board.button, dir="-"))
        m.submodules.pressed = FFSynchronizer(button, pressed, o_domain="boot")
        m.submodules.steady = FFSynchronizer(locked, steady, o_domain="boot")
        settled = Signal(range(SETTLE))
        reset = Signal(init=1)
        m.d.comb += [ClockSignal("boot").eq(output), ClockSignal("sync").eq(output), ResetSignal("sync").eq(reset)]
        m.d.boot += reset.eq(settled != SETTLE - 1)
        with m.If(pressed | ~steady):
            m.d.boot += settled.eq(0)
        with m.Elif(settled != SETTLE - 1):
            m.d.boot += settled.eq(settled + 1)

        line = platform.request("uart", dir="-")
        m.d.comb += [
            linked.rx.eq(pin("i", line.rx)),
            pin("o", line.tx).eq(linked.tx),
            pin("o", platform.request(*board.fault, dir="-")).eq(linked.fault),
            pin("o", platform.request(*board.busy, dir="-")).eq(linked.busy),
        ]
        return m

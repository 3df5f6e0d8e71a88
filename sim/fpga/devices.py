"""The devices of the flow: the cells that they have, and how the tools are told about them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from skinny.model.errors import InputError
from skinny.model.machine.image import MachineImage
from skinny.model.parallel.image import ImageOptions, build_image
from skinny.model.program.program import Program
from skinny.model.rings import Ring

__all__ = ["DEVICES", "ECP5", "ICE40", "Device", "Family", "find_device"]


@dataclass(frozen=True)
class Family:
    """The properties that devices of one make share.

    ``operand`` and ``product``: bits of a multiplier block's operands, and of the narrowest product for which yosys
    takes one. ``shapes``: width and depth of a block RAM. ``placed`` is the option of place and route and the file that
    it writes, of which ``pack`` makes a bitstream; its name on a board ends in ``ending``. ``luts``, ``multipliers``
    and ``block_rams`` are nextpnr's names of these cells; ``logic`` is what it counts as LUTs.
    ``cells`` is what the family calls the places that LUTs and
    registers share, and ``site`` is how nextpnr's names of those places begin, after the position. ``target`` names the
    parts that the core has for the family, ``ripup`` are options to route late nets once more, and ``pipeline`` is that
    of registers in memory: the shortest that is fast there.
    """

    name: str
    place: str
    pack: str
    placed: tuple[str, str]
    operand: int
    product: int
    shapes: tuple[tuple[int, int], ...]
    ending: str
    luts: str
    logic: str
    multipliers: str
    block_rams: str
    cells: str
    site: str
    target: str = "generic"
    ripup: tuple[str, ...] = ()
    pipeline: int = 7

    def build_image(self, program: Program, ring: Ring, options: ImageOptions) -> MachineImage:
        """The image of ``program`` for a device of this family, with its pipeline, as far as the threads allow it,
        unless ``options`` say another."""
        image = build_image(program, ring, options)
        if image.config.deep and options.pipeline is None:
            pipeline = min(self.pipeline, image.config.threads + 1)
            image = build_image(program, ring, replace(options, registers="memory", pipeline=pipeline))
        return image

    @property
    def block_bits(self) -> int:
        """Bits that a block RAM holds in every shape."""
        return min(wide * deep for wide, deep in self.shapes)


ICE40 = Family(
    name="ice40",
    place="nextpnr-ice40",
    pack="icepack",
    placed=("--asc", "design.asc"),
    operand=16,
    product=11,
    shapes=((16, 256), (8, 512), (4, 1024), (2, 2048)),
    ending="bin",
    luts="ICESTORM_LC",
    logic="logic cells",
    multipliers="ICESTORM_DSP",
    block_rams="ICESTORM_RAM",
    cells="logic cells",
    site="lc",
)
ECP5 = Family(
    name="ecp5",
    place="nextpnr-ecp5",
    pack="ecppack",
    placed=("--textcfg", "design.config"),
    operand=18,
    product=2,
    shapes=((36, 512), (18, 1024), (9, 2048), (4, 4096), (2, 8192), (1, 16384)),
    ending="bit",
    luts="TRELLIS_COMB",
    logic="LUTs",
    multipliers="MULT18X18D",
    block_rams="DP16KD",
    cells="slices",
    site="SLICE",
    target="ecp5",
    ripup=("--tmg-ripup",),
    pipeline=9,
)


@dataclass(frozen=True)
class Device:
    """One FPGA.

    ``synth`` is the command of yosys, ``use_multipliers`` the option that makes it use multiplier blocks, where it
    needs one; ``place`` are options of nextpnr. ``frequency`` (MHz) is the aim of place and route unless another is
    given: a little more than is reached, so that it does its best. ``multipliers``, ``block_rams`` and ``cells`` (a LUT
    and a register each) count the cells of the device; without multiplier blocks products are made of LUTs. ``cap``
    (MHz) is the limit of the data sheet for the multiplier block, where nextpnr knows no timing for it, and
    ``block_delay`` (ns) its delay from the operands to the product.
    """

    name: str
    title: str
    family: Family
    synth: str
    place: tuple[str, ...]
    frequency: float
    multipliers: int
    block_rams: int
    cells: int
    use_multipliers: str = ""
    cap: float | None = None
    block_delay: float = 0.0

    def usable(self, mhz: float, *, blocks: int, bits: int, threads: int) -> float:
        """The frequency that a core may run at when nextpnr reports ``mhz``: a core with that many multiplier
        ``blocks``, words of ``bits`` bits and ``threads`` threads. Where a block has no registers before and behind it,
        because there are few threads or a product takes several blocks, a path may run through it that nextpnr believes
        to be shorter than it is. Nobody knows whether this path decides, so the delay of the block is added."""
        if self.cap is None or not blocks:
            return mhz
        if threads < 3 or bits > self.family.operand:
            mhz = 1000 / (1000 / mhz + self.block_delay)
        return min(mhz, self.cap)

    @property
    def tools(self) -> tuple[str, str, str]:
        """The names of the tools for synthesis, place and route, and the bitstream."""
        return ("yosys", self.family.place, self.family.pack)


def _ecp5(size: str, package: str, multipliers: int, block_rams: int, cells: int) -> Device:
    return Device(
        name=f"ecp5-{size}",
        title=f"Lattice ECP5-{size} {package}, speed 6",
        family=ECP5,
        synth="synth_ecp5",
        place=(f"--{size}", "--package", package, "--speed", "6", "--lpf-allow-unconstrained"),
        frequency=200,
        multipliers=multipliers,
        block_rams=block_rams,
        cells=cells,
    )


DEVICES = {
    device.name: device
    for device in (
        Device(
            name="up5k",
            title="Lattice iCE40 UP5K SG48",
            family=ICE40,
            synth="synth_ice40 -device u",
            place=("--up5k", "--package", "sg48", "--pcf-allow-unconstrained"),
            frequency=50,
            multipliers=8,
            block_rams=30,
            use_multipliers="-dsp",
            cells=5280,
            cap=50,
            # This is the delay in the data base of icestorm.
            block_delay=9.05,
        ),
        Device(
            name="hx8k",
            title="Lattice iCE40 HX8K CT256",
            family=ICE40,
            synth="synth_ice40 -device hx",
            place=("--hx8k", "--package", "ct256", "--pcf-allow-unconstrained"),
            frequency=100,
            multipliers=0,
            block_rams=32,
            cells=7680,
        ),
        _ecp5("25k", "CABGA256", 28, 56, 24_288),
        _ecp5("85k", "CABGA756", 156, 208, 83_640),
    )
}


def find_device(name: str) -> Device:
    """The device called ``name``."""
    if name not in DEVICES:
        raise InputError(f"unknown device {name!r}: there are {', '.join(DEVICES)}")
    return DEVICES[name]

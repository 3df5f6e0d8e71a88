"""Bitstreams: the design of a board through synthesis, place and route, and what the tools said of it."""

from __future__ import annotations

import json
import os
import re
import subprocess
from operator import methodcaller
from pathlib import Path
from typing import Any, NamedTuple

from amaranth.vendor import LatticeICE40Platform
from skinny.hdl.link.board import Board, BoardTop, Clock, line_divisor
from skinny.model.errors import CheckError, InputError
from skinny.model.machine.assemble import Image
from skinny.model.program.storage import write_file
from skinny.model.rings import FixedPoint, Modular
from skinny.sim.build import cached

from .devices import DEVICES, Device
from .synth import NO_COLLISION
from .tools import launcher, tool_version

__all__ = ["Bitstream", "build_board"]

#: The name of the design, and of the files that the tools make of it.
NAME = "skinny"


#: Products of up to so many bits are made of look-up tables; of larger ones all devices make some of multiplier cells.
SMALL_PRODUCT = 10


class _Family(NamedTuple):
    """Tools by the variables in which Amaranth looks for their names, the ending of a bitstream, options of synthesis,
    what nextpnr calls cells: look-up tables, multipliers, block RAMs of so many bits; and a device for what counts of
    nextpnr's MHz."""

    tools: dict[str, str]
    ending: str
    options: str
    luts: str
    multipliers: str
    rams: str
    ram_bits: int
    device: Device


ICE40 = _Family(
    {"YOSYS": "yosys", "NEXTPNR_ICE40": "nextpnr-ice40", "ICEPACK": "icepack"},
    *("bin", "-dsp", "ICESTORM_LC", "ICESTORM_DSP", "ICESTORM_RAM", 4096, DEVICES["up5k"]),
)
ECP5 = _Family(
    {"YOSYS": "yosys", "NEXTPNR_ECP5": "nextpnr-ecp5", "ECPPACK": "ecppack"},
    *("bit", "", "TRELLIS_COMB", "MULT18X18D", "DP16KD", 16384, DEVICES["ecp5-25k"]),
)


class Bitstream(NamedTuple):
    """What was built: names of ``files``; ``luts``, ``multipliers`` and block ``rams``, each used and available; the
    MHz that were ``reached`` and those of the ``clock``."""

    files: list[str]
    luts: tuple[int, int]
    multipliers: tuple[int, int]
    rams: tuple[int, int]
    reached: float
    clock: float


def build_board(board: Board, image: Image, clock: Clock, baud: int, folder: str | Path, seed: int = 1) -> Bitstream:
    """Build a board whose core holds ``image``, and put the bitstream, the tools' logs and a manifest into ``folder``.
    What was built before is taken from the cache of builds.

    Nothing is put there unless all went well. Raises :exc:`CheckError` when the timing is not met or the tools lost
    part of the design, :exc:`InputError` when a tool is missing or the design does not fit.
    """
    divisor = line_divisor(clock, baud)
    platform = board.platform()
    family = ICE40 if isinstance(platform, LatticeICE40Platform) else ECP5
    versions = [tool_version(tool) for tool in family.tools.values()]
    if Path(folder).exists() and not Path(folder).is_dir():
        raise InputError(f"{folder}: is no folder")
    top = BoardTop(board, image, clock, divisor)
    plan = platform.prepare(
        top,
        NAME,
        emit_src=False,
        script_after_read=NO_COLLISION,
        synth_opts=family.options,
        nextpnr_opts=f"--timing-allow-fail --report report.json --seed {seed}",
    )

    def make(work: Path) -> None:
        plan.extract(work)
        tools = {variable: str(launcher(tool, work)) for variable, tool in family.tools.items()}
        script = ["sh", f"{plan.script}.sh"]
        environment = os.environ | tools
        done = subprocess.run(script, cwd=work, env=environment, capture_output=True, text=True, errors="replace")
        _check_logs(work, top, done)

    work = cached(["board", *versions, plan.digest()], make)
    made = _read(family, top, json.loads((work / "report.json").read_text()))
    _check_cells(made, family, top)
    if made.reached < made.clock:
        raise CheckError(f"the timing is not met: {made.reached:.1f} MHz of {made.clock:g}; take --freq or --seed")
    contents = {name: (work / name).read_bytes() for name in made.files[:-1]}
    contents[made.files[-1]] = (json.dumps(_manifest(made, top), indent=2) + "\n").encode()
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be made ({error.strerror or error})") from None
    for name, content in contents.items():
        write_file(Path(folder) / name, methodcaller("write", content))
    return made


def _check_logs(work: Path, top: BoardTop, done: subprocess.CompletedProcess[str]) -> None:
    """Whether all tools came to their end, and synthesis kept all drivers: it may lose logic and report success."""
    texts = [path.read_text(errors="replace") for ending in ("rpt", "tim") for path in work.glob(f"{NAME}.{ending}")]
    said = "\n".join([*texts, done.stdout, done.stderr])
    if done.returncode:
        errors = re.findall(r"^\s*ERROR: (.*)", said, re.MULTILINE) or said.strip().splitlines() or ["no message"]
        if re.search(r"[Uu]nable to place|no BELs remaining|[Ff]ailed to (place|expand)|not enough", said):
            raise InputError(f"the design does not fit the {top.board.name}: {errors[0]}")
        raise CheckError(f"the tools failed on the {top.board.name}: {errors[0]}")
    if "Driver-driver conflict" in said:
        raise CheckError("synthesis lost part of the design (driver-driver conflict)")


def _read(family: _Family, top: BoardTop, report: dict[str, Any]) -> Bitstream:
    def cells(name: str) -> tuple[int, int]:
        counts = report["utilization"][name]
        return counts["used"], counts["available"]

    config = top.device.config
    # The core's is the only clock with registers.
    fastest = max(clock["achieved"] for clock in report["fmax"].values())
    blocks, _ = cells(family.multipliers)
    return Bitstream(
        files=[f"{NAME}.{family.ending}", f"{NAME}.rpt", f"{NAME}.tim", "report.json", "manifest.json"],
        luts=cells(family.luts),
        multipliers=cells(family.multipliers),
        rams=cells(family.rams),
        reached=family.device.usable(fastest, blocks=blocks, bits=config.bits, threads=config.threads),
        clock=top.clock.frequency / 1e6,
    )


def _check_cells(made: Bitstream, family: _Family, top: BoardTop) -> None:
    """Whether the memories that are too large for anything but block RAM are there, and a multiplier if need be."""
    device = top.device
    memories = (device.buffer * 8, device.results * (device.config.bits + 2))
    least = sum(-(-bits // family.ram_bits) for bits in memories)
    if made.rams[0] < least:
        raise CheckError(f"synthesis lost part of the design: {made.rams[0]} block RAMs, at least {least} expected")
    ring = device.config.ring
    if isinstance(ring, Modular | FixedPoint) and ring.bits > SMALL_PRODUCT and made.multipliers[0] == 0:
        raise CheckError("synthesis lost part of the design: no multiplier")


def _manifest(made: Bitstream, top: BoardTop) -> dict[str, Any]:
    return {
        "board": top.board.name,
        "device": top.device.text(),
        "baud": top.device.clock // top.linked.divisor,
        "clock_mhz": made.clock,
        "reached_mhz": made.reached,
        **{
            name: dict(zip(("used", "available"), getattr(made, name), strict=True))
            for name in ("luts", "multipliers", "rams")
        },
        "files": made.files,
    }

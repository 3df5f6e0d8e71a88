"""Bitstreams: the design of a board through synthesis, place and route, and the figures that the tools report."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

from amaranth.vendor import LatticeICE40Platform
from skinny.hdl.link.board import Board, BoardTop, Clock, line_divisor
from skinny.model.errors import CheckError, InputError
from skinny.model.files import write_folder
from skinny.model.machine.assemble import Image
from skinny.model.machine.isa import CoreConfig
from skinny.sim.cache import cached

from .devices import DEVICES, Device
from .expected import Expected, expected_cells, multipliers
from .place import is_full, shortage
from .synth import NO_COLLISION, check_blocks, check_log
from .tools import Done, launcher, tool_version

__all__ = ["Bitstream", "build_board"]

#: The name of the design, and of the files that the tools make of it.
NAME = "skinny"
#: Block RAMs of boards whose device is larger than the one that stands for it.
BLOCK_RAMS = {"ulx3s": 208, "ulx3s-45f": 108}


class Bitstream(NamedTuple):
    """The result of a build: names of ``files``; ``cells``, used and available, by name: logic_cells (of ECP5 luts),
    multipliers and rams; the MHz that were ``reached`` and those of the ``clock``."""

    files: list[str]
    cells: dict[str, tuple[int, int]]
    reached: float
    clock: float


def build_board(board: Board, image: Image, clock: Clock, baud: int, folder: str | Path, seed: int = 1) -> Bitstream:
    """Build a board whose core holds ``image``, and put the bitstream, the tools' logs and a manifest into ``folder``.
    A board that was built before is taken from the cache of builds.

    Nothing is put into ``folder`` unless all went well. Raises :exc:`CheckError` when the timing is not met or the
    tools lost part of the design, :exc:`InputError` when a tool is missing or the design does not fit.
    """
    divisor = line_divisor(clock, baud)
    platform = board.platform()
    # All ECP5 devices have the same kinds of cells and the same timing, so that any of them stands for the board's.
    device = DEVICES["up5k" if isinstance(platform, LatticeICE40Platform) else "ecp5-25k"]
    versions = [tool_version(tool) for tool in device.tools]
    _expect_fit(board, image.config, clock, device)
    top = BoardTop(board, image, clock, divisor)
    plan = platform.prepare(
        top,
        NAME,
        emit_src=False,
        script_after_read=NO_COLLISION,
        synth_opts=device.use_multipliers,
        nextpnr_opts=f"--timing-allow-fail --report report.json --seed {seed}",
    )

    def make(work: Path) -> None:
        plan.extract(work)
        # Amaranth looks for the names of tools in these variables.
        tools = {tool.upper().replace("-", "_"): str(launcher(tool, work)) for tool in device.tools}
        script = ["sh", f"{plan.script}.sh"]
        environment = os.environ | tools
        done = subprocess.run(script, cwd=work, env=environment, capture_output=True, text=True, errors="replace")
        _check_logs(work, top, device, done)

    work = cached(["board", *versions, plan.digest()], make)
    made = _read(device, top, json.loads((work / "report.json").read_text()))
    _check_cells(made, device, top)
    if made.reached < made.clock:
        raise CheckError(f"the timing is not met: {made.reached:.1f} MHz of {made.clock:g}; take --freq or --seed")
    contents = {name: (work / name).read_bytes() for name in made.files[:-1]}
    contents[made.files[-1]] = (json.dumps(_manifest(made, top), indent=2) + "\n").encode()
    write_folder(folder, contents)
    return made


def _check_logs(work: Path, top: BoardTop, device: Device, done: subprocess.CompletedProcess[str]) -> None:
    """Raise an error unless all tools came to their end and synthesis kept all drivers: it may lose logic and report
    success."""
    texts = [path.read_text(errors="replace") for ending in ("rpt", "tim") for path in work.glob(f"{NAME}.{ending}")]
    said = Done(done.returncode, "\n".join([*texts, done.stdout, done.stderr]))
    if said.code and is_full(said.log):
        raise InputError(f"the design does not fit the {top.board.name}: {shortage(said, device.family)}")
    if said.code:
        raise CheckError(f"the tools failed on the {top.board.name}: {said.complaint}")
    check_log(f"the {top.board.name}", said.log)


def _read(device: Device, top: BoardTop, report: dict[str, Any]) -> Bitstream:
    def cells(name: str) -> tuple[int, int]:
        counts = report["utilization"][name]
        return counts["used"], counts["available"]

    config = top.device.config
    # Only the clock of the core has registers.
    fastest = max(clock["achieved"] for clock in report["fmax"].values())
    blocks, _ = cells(device.family.multipliers)
    return Bitstream(
        files=[f"{NAME}.{device.family.ending}", f"{NAME}.rpt", f"{NAME}.tim", "report.json", "manifest.json"],
        cells={
            device.family.logic.lower().replace(" ", "_"): cells(device.family.luts),
            "multipliers": cells(device.family.multipliers),
            "rams": cells(device.family.block_rams),
        },
        reached=device.usable(fastest, blocks=blocks, bits=config.bits, threads=config.threads),
        clock=top.clock.frequency / 1e6,
    )


def _check_cells(made: Bitstream, device: Device, top: BoardTop) -> None:
    """Raise :exc:`CheckError` unless the memories that are too large for anything but block RAM are there, and the
    multiplier blocks of the core."""
    (blocks, all_blocks), (rams, all_rams) = made.cells["multipliers"], made.cells["rams"]
    least = multipliers(top.device.config.ring, device)[0]
    expected = Expected(
        range(least, all_blocks + 1), range(_link_rams(top.board, top.device.config, top.clock, device), all_rams + 1)
    )
    check_blocks(f"the {top.board.name}", expected, dsp=blocks, block_ram=rams)


def _link_rams(board: Board, config: CoreConfig, clock: Clock, device: Device) -> int:
    """The least number of block RAMs of the serial link's own memories."""
    return sum(-(-bits // device.family.block_bits) for bits in board.link_memories(config, clock))


def _expect_fit(board: Board, config: CoreConfig, clock: Clock, device: Device) -> None:
    """Refuse a core with more memory than the board, before the tools find out in minutes."""
    cells = expected_cells(config, device, target=board.target)
    rams = cells.block_ram[0] + _link_rams(board, config, clock, device)
    needs = {
        "block RAMs": (rams, BLOCK_RAMS.get(board.name, device.block_rams)),
        "multiplier blocks": (cells.dsp[0], device.multipliers),
    }
    for what, (needed, there) in needs.items():
        if needed > there:
            raise InputError(
                f"the design does not fit the {board.name}: it needs at least {needed:,} {what}, there are {there:,}; "
                "take fewer registers, threads, words of --depth, --inputs or --weights, or --roll"
            )


def _manifest(made: Bitstream, top: BoardTop) -> dict[str, Any]:
    return {
        "board": top.board.name,
        "device": top.device.text(),
        "baud": top.device.clock // top.linked.divisor,
        "clock_mhz": made.clock,
        "reached_mhz": made.reached,
        **{name: {"used": used, "available": available} for name, (used, available) in made.cells.items()},
        "files": made.files,
    }

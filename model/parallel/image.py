"""The one way from a program to an image, for a core or for an engine of several lanes."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

from skinny.model.errors import InputError
from skinny.model.machine.assemble import fit_image
from skinny.model.machine.image import MachineImage
from skinny.model.machine.isa import CoreConfig
from skinny.model.program.program import Program
from skinny.model.rings import Ring

from .segments import EngineConfig, assemble_lanes

__all__ = ["ImageOptions", "build_image"]


@dataclass(frozen=True)
class ImageOptions:
    """How an image is made. None stands for what the program needs.

    ``lanes`` is the number of cores that share one inference. ``self_check`` says whether every run undoes itself and
    checks; None leaves that to the program. The others are parameters of the core, see
    :class:`~skinny.model.machine.isa.CoreConfig`. Where they are None, memories are as small as the program allows, a
    core has the check unit, lanes have not, and a core that checks itself has the guard.
    """

    threads: int | None = None
    lanes: int = 1
    self_check: bool | None = None
    width: int | None = None
    depth: int | None = None
    inputs: int | None = None
    weights: int | None = None
    fifo: int | None = None
    slices: int | None = None
    attention: bool | None = None
    check: bool | None = None
    guard: bool | None = None
    assign: bool | None = None
    sums: bool | None = None
    relu: bool | None = None
    argmax: int | None = None
    registers: str | None = None
    pipeline: int | None = None
    state: bool | None = None
    window: bool | None = None
    repeat: int | None = None
    roll: bool | None = None

    @classmethod
    def of_core(cls, config: CoreConfig) -> ImageOptions:
        """The options that give images for a core that exists."""
        return cls(**{field.name: getattr(config, field.name) for field in fields(config) if field.name != "ring"})

    @property
    def core(self) -> dict[str, Any]:
        """The parameters of the core that are given."""
        others = ("lanes", "self_check", "roll")
        return {name: value for name, value in asdict(self).items() if value is not None and name not in others}


def build_image(program: Program, ring: Ring, options: ImageOptions) -> MachineImage:
    """The image of ``program`` for the smallest core or engine that holds it, except for what ``options`` set. Raises
    :exc:`InputError` naming what does not fit."""
    self_check = program.self_check if options.self_check is None else options.self_check
    if options.lanes == 1:
        return fit_image(program, ring, self_check=self_check, roll=options.roll, **options.core)
    if self_check:
        raise InputError("lanes have no self-check: their registers do not begin with the start vector")
    if options.roll:
        raise InputError("lanes do not repeat: their programs stay flat")
    return assemble_lanes(program, EngineConfig.fit(program, ring, options.lanes, **options.core))

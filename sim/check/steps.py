"""The steps that a test bench does with a core, one after the other, in any simulator."""

from __future__ import annotations

from dataclasses import dataclass

from skinny.model.machine.image import MachineImage

from .stimulus import Stimulus

__all__ = ["CoreStep", "LoadImage", "ResetCore", "RunStimulus"]


@dataclass(frozen=True)
class ResetCore:
    """Hold reset for a cycle."""


@dataclass(frozen=True)
class LoadImage:
    """Write an image at the load port."""

    image: MachineImage


@dataclass(frozen=True)
class RunStimulus:
    """Drive a stimulus and check every cycle, for ``cycles`` or until the core is idle."""

    stimulus: Stimulus
    cycles: int | None = None


CoreStep = ResetCore | LoadImage | RunStimulus

"""What a core and an engine of several cores have in common: what they are made from, and their ports."""

from typing import Any

from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from skinny.hdl.parts.target import TARGETS
from skinny.model.machine.image import Hardware, MachineImage

from .layout import RetireSignature, input_layout, load_layout, result_layout, retire_port

__all__ = ["Machine"]


class Machine(wiring.Component):
    """A core, or an engine of several.

    Parameters
    ----------
    config : Hardware
    image : MachineImage or None
    rom : bool
        There is no port ``load``.
    target : str
    others : dict
        Ports that are added to those of every machine.

    Members
    -------
    i, o, load, retire, retire1, …, fault, busy
        See :class:`~.core.Core`.

    Raises
    ------
    ValueError
        The image was made for another configuration; ``rom`` without an image; an unknown target.
    """

    def __init__(
        self, config: Hardware, image: MachineImage | None, rom: bool, target: str, others: dict[str, Any] | None = None
    ):
        if image is not None and image.hardware != config:
            raise ValueError(f"the image must be made for {config!r}, not {image.hardware!r}")
        if rom and image is None:
            raise ValueError("a design with rom must be given an image")
        if target not in TARGETS:
            raise ValueError(f"the target must be one of {', '.join(TARGETS)}, not {target!r}")
        self.rom = rom
        self.target = TARGETS[target]
        super().__init__(
            {
                "i": In(stream.Signature(input_layout(config.core))),
                "o": Out(stream.Signature(result_layout(config.core))),
                **({} if rom else {"load": In(stream.Signature(load_layout(config)))}),
                **{retire_port(number): Out(RetireSignature(config.core)) for number in range(config.cores)},
                "fault": Out(1),
                "busy": Out(1),
                **(others or {}),
            }
        )

"""The core: a program from memory on a few registers and one multiplier that is never idle."""

from amaranth import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from skinny.model.assemble import Image
from skinny.model.isa import CoreConfig

from .layout import RetireSignature, input_layout, load_layout, result_layout

__all__ = ["Core"]


class Core(wiring.Component):
    """Runs one program on vector after vector, ``threads`` of them at a time.

    Instruction ``p`` of thread ``t`` is issued in cycle ``t0 + p·T + t`` and retires :data:`RETIRE` ``+ T`` cycles later;
    ``skinny.model.cycles`` is the normative timing. Throughput: an instruction every cycle; batches follow each
    other without a gap when inputs are there and results are taken.

    Back-pressure: ``i`` is ready while one of the two input buffers is free. A batch starts only when the result FIFO
    has room for all its results, so ``o`` may stall as long as it likes without reaching the datapath. ``load`` is
    ready while nothing runs; while ``load.valid`` is high no batch starts.

    Parameters
    ----------
    config : CoreConfig
    image : Image or None
        Initial contents of the memories and settings; nothing useful without one until a program is loaded.
    rom : bool
        The image is all the core ever holds: memories have no write port, and there is no port ``load``.

    Members
    -------
    i : In(stream of input_layout)
        Vectors, ``vector`` words each, input 0 first. ``last`` on the last word of a vector ends the batch with fewer
        than ``threads`` vectors; on other words it means nothing.
    o : Out(stream of result_layout)
        Results: for each emit of the program, one word a thread in order. A word is valid two cycles after its
        instruction retires, or a cycle after the word before it was taken.
    load : In(stream of load_layout)
        Writes a program word, a weight, a register of the start vector or a setting (:class:`skinny.model.isa.Space`,
        :class:`skinny.model.isa.Setting`). Absent with ``rom``.
    retire : Out(RetireSignature)
        What each cycle completes. Costs nothing when unconnected.
    fault : Out(1)
        Rises a cycle after the first faulty retirement; falls with reset or with a write at ``load``.
    busy : Out(1)
        Instructions are in the pipeline; ``load`` is ready while it is low.

    Raises
    ------
    ValueError
        The image was made for another configuration; ``rom`` without an image.
    """

    def __init__(self, config: CoreConfig, image: Image | None = None, *, rom: bool = False):
        if image is not None and image.config != config:
            raise ValueError(f"the image must be made for {config!r}, not {image.config!r}")
        if rom and image is None:
            raise ValueError("a core with rom must be given an image")
        self.config = config
        self.image = image
        self.rom = rom
        ports = {
            "i": In(stream.Signature(input_layout(config))),
            "o": Out(stream.Signature(result_layout(config))),
            "load": In(stream.Signature(load_layout(config))),
            "retire": Out(RetireSignature(config)),
            "fault": Out(1),
            "busy": Out(1),
        }
        if rom:
            del ports["load"]
        super().__init__(ports)

    def elaborate(self, platform):
        return Module()

"""The parallel engine: several cores, a segment of the program each, for one inference in a fraction of the time."""

from collections.abc import Callable
from functools import reduce
from operator import and_, or_

from amaranth import Module, Signal
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import connect, flipped
from skinny.hdl.core.core import Core
from skinny.hdl.core.layout import retire_port
from skinny.hdl.core.machine import Machine
from skinny.hdl.core.results import ResultFIFO
from skinny.model.machine.image import Hardware, MachineImage
from skinny.model.machine.isa import MOST_BATCHES, index_bits
from skinny.model.parallel.segments import EngineConfig, EngineImage

from .combiner import Combiner

__all__ = ["ParallelEngine", "component"]


def component(
    config: Hardware,
    image: MachineImage | None = None,
    *,
    rom: bool = False,
    target: str = "generic",
) -> "Core | ParallelEngine":
    """The hardware of ``config``: a core, or an engine for the configuration of an engine."""
    make: Callable[..., Core | ParallelEngine] = ParallelEngine if isinstance(config, EngineConfig) else Core
    return make(config, image, rom=rom, target=target)


class ParallelEngine(Machine):
    """Runs one program on vector after vector, each on all lanes at once.

    Every lane keeps the whole input vector and runs its own segment of the program; all lanes begin in the same cycle.
    Then the combiner puts together what they found (:mod:`skinny.model.parallel.segments`), while the next batch runs.

    Latency: a batch takes as long as the longest lane (``words · T`` cycles), a constant, and for each lane the ``w²``
    cycles of the combiner and a few more; ``skinny.model.parallel.lane_cycles`` is the normative timing. Throughput:
    batches follow each other without a gap unless the combiner takes longer than the lanes.

    Ports and back-pressure are those of :class:`skinny.hdl.core.core.Core`, except: a batch has at most ``T // w``
    vectors; an address at ``load`` has the lane's number above the address in the lane, the number after the last lane
    stands for the combiner's settings (``EngineImage.settings``); ``load`` waits until the combiner is done, too.

    Parameters
    ----------
    config : EngineConfig
    image : EngineImage or None
        The initial contents of memories and settings.
    rom : bool
        The image is all that the engine ever holds; there is no port ``load``.
    target : str
        The target of the lanes, as for a core.

    Members
    -------
    i, o, load, fault
        The same ports as those of a core.
    retire, retire1, … : Out(RetireSignature)
        The instruction that each lane completes.
    busy : Out(1)
        A lane or the combiner is at work, or results of lanes wait for the combiner; ``load`` is ready while it is low.

    Raises
    ------
    ValueError
        The image was made for another configuration; ``rom`` without an image; an unknown target.
    """

    def __init__(
        self, config: EngineConfig, image: EngineImage | None = None, *, rom: bool = False, target: str = "generic"
    ):
        self.config = config
        self.image = image
        self.target_name = target
        super().__init__(config, image, rom, target)

    def elaborate(self, platform):
        m = Module()
        config = self.config
        lanes = []
        for number in range(config.cores):
            image = None if self.image is None else self.image.lanes[number]
            lane = Core(config.core, image, rom=self.rom, target=self.target_name, lane=config.lane(number))
            m.submodules[f"lane{number}"] = lane
            connect(m, lane.retire, flipped(getattr(self, retire_port(number))))
            lanes.append(lane)
        m.submodules.combiner = combiner = Combiner(config, self.target)
        m.submodules.results = results = ResultFIFO(config.core, self.target)
        connect(m, results.o, flipped(self.o))

        # A word is taken when all lanes can, a batch starts when all lanes can.
        start, hold = Signal(), Signal()
        m.d.comb += [
            self.i.ready.eq(reduce(and_, (lane.i.ready for lane in lanes))),
            start.eq(reduce(and_, (lane.able for lane in lanes)) & ~hold),
            results.push.eq(combiner.push),
            results.word.eq(combiner.word),
            self.busy.eq(combiner.live | ~reduce(and_, (lane.drained for lane in lanes))),
        ]
        for number, lane in enumerate(lanes):
            m.d.comb += [
                lane.i.payload.eq(self.i.payload),
                lane.i.valid.eq(self.i.valid & self.i.ready),
                lane.hold.eq(~start),
                combiner.lanes[number].payload.eq(lane.o.payload),
                combiner.lanes[number].valid.eq(lane.o.valid),
                lane.o.ready.eq(combiner.lanes[number].ready),
            ]
        if config.vectors > 1:
            m.submodules.counts = counts = SyncFIFOBuffered(width=len(combiner.count), depth=MOST_BATCHES)
            m.d.comb += [
                counts.w_data.eq(lanes[0].count),
                counts.w_en.eq(start),
                combiner.count.eq(counts.r_data),
                counts.r_en.eq(combiner.done),
            ]

        values = self.image.settings if self.image else [0] * (1 + 2 * config.cores)
        widths = [index_bits(MOST_BATCHES + 1)] + 2 * config.cores * [config.column_bits]
        settings = [
            Signal(bits, init=value, reset_less=True, name=f"setting{address}")
            for address, (bits, value) in enumerate(zip(widths, values, strict=True))
        ]
        batches, sent, combined = settings[0], settings[1::2], settings[2::2]
        waiting = Signal(len(batches))
        m.d.comb += combiner.room.eq((waiting != batches) & ~results.old)
        m.d.comb += [combiner.sent[number].eq(value) for number, value in enumerate(sent)]
        m.d.comb += [combiner.combined[number].eq(value) for number, value in enumerate(combined)]
        with m.If(combiner.begin & ~results.taken):
            m.d.sync += waiting.eq(waiting + 1)
        with m.Elif(~combiner.begin & results.taken):
            m.d.sync += waiting.eq(waiting - 1)

        write = Signal()
        m.d.comb += results.loaded.eq(write)
        with m.If(write & results.empty):
            m.d.sync += self.fault.eq(0)
        with m.Elif(reduce(or_, (lane.retire.valid & lane.retire.fault for lane in lanes))):
            m.d.sync += self.fault.eq(1)
        if not self.rom:
            self._load(m, write, hold, lanes, settings)
        return m

    def _load(self, m, write, hold, lanes, settings):
        item = self.load.payload
        low, number = item.address[: self.config.lane_bits], item.address[self.config.lane_bits :]
        m.d.comb += [self.load.ready.eq(~self.busy), hold.eq(self.load.valid), write.eq(self.load.valid & ~self.busy)]
        for which, lane in enumerate(lanes):
            m.d.comb += [
                lane.load.valid.eq(write & (number == which)),
                lane.load.payload.space.eq(item.space),
                lane.load.payload.address.eq(low),
                lane.load.payload.data.eq(item.data),
            ]
        for address, setting in enumerate(settings):
            with m.If(write & (number == len(lanes)) & (low == address)):
                m.d.sync += setting.eq(item.data)

"""The core: a program from memory on a few registers and one multiplier that is never idle."""

from amaranth import Module, Signal
from amaranth.lib.wiring import In, Out, connect, flipped
from skinny.model.errors import InputError
from skinny.model.machine.assemble import Image
from skinny.model.machine.isa import CoreConfig, Space, index_bits
from skinny.model.parallel.segments import Lane

from .argmax import Argmax
from .argmax_copy import ArgmaxCopy
from .datapath import Datapath
from .decoder import Decoder
from .deep_datapath import DeepDatapath
from .guard import Guard
from .inputs import InputBuffer
from .layout import word_layout
from .machine import Machine
from .repeat import Mover
from .results import ResultFIFO
from .sequencer import Sequencer, tag_layout
from .store import Store
from .window_buffer import WindowBuffer

__all__ = ["Core"]


def renews(item):
    """A value that is true when all streams begin anew because ``item`` is written: weights are set while they run."""
    return item.space != Space.WEIGHTS


class Core(Machine):
    """Runs one program on vector after vector, ``threads`` of them at a time.

    Latency: instruction ``p`` of thread ``t`` is issued in cycle ``t0 + p·T + t`` and retires ``T + 4`` cycles later,
    with registers in memory ``pipeline`` cycles later;
    ``skinny.model.machine.cycles`` is the normative timing. Throughput: one instruction in every cycle; batches follow
    each other without a gap when inputs are there and results are taken.

    Back-pressure: ``i`` is ready while one of the two input buffers is free. A batch starts only when the result FIFO
    has room for all its results, so ``o`` may stall as long as it likes without reaching the datapath. ``load`` is
    ready while nothing runs; while ``load.valid`` is high no batch starts.

    Parameters
    ----------
    config : CoreConfig
    image : Image or None
        The initial contents of memories and settings. Without an image the core does nothing until a program is loaded.
    rom : bool
        The image is all that the core ever holds: memories are never written, and there is no port ``load``.
    target : str
        The name of the memories and the multiplier that the core is made of, ``generic`` for any device; see
        :data:`skinny.hdl.parts.target.TARGETS`.
    lane : Lane or None
        The core is a lane of an engine (:mod:`skinny.hdl.parallel.engine`): a batch has ``lane.vectors`` vectors, each
        run by ``lane.spread`` threads; with several of them a run begins with their unit vectors.

    Members
    -------
    i : In(stream of input_layout)
        Vectors, ``vector`` words each, input 0 first. ``last`` on the last word of a vector ends the batch with fewer
        than ``threads`` vectors; on other words it means nothing.
    o : Out(stream of result_layout)
        Results: for each emit of the program, one word a thread in order. A word is valid three cycles after its
        instruction retires, or a cycle after the word before it was taken.
    load : In(stream of load_layout)
        Writes a program word, a weight, a register of the start vector or a setting (``Space`` and ``Setting`` in
        :mod:`skinny.model.machine.isa`). Vectors that are already in the input buffer run with what is loaded; a
        setting must not change in the middle of a vector. Absent with ``rom``.
    retire : Out(RetireSignature)
        The instruction that each cycle completes. The port costs nothing when it is not connected.
    fault : Out(1)
        Rises a cycle after the first faulty retirement, or when the guard (:mod:`~.guard`) finds an upset; falls with
        reset or with a write at ``load`` while no result waits. From an upset on every word at ``o`` has ``fault`` set.
    busy : Out(1)
        Instructions are in the pipeline; ``load`` is ready while it is low.
    able, count, hold, drained : Out(1), Out, In(1), Out(1)
        Only a lane has these: a batch could start; its last thread; no batch may start; nothing runs and no result
        waits.

    Raises
    ------
    ValueError
        The image was made for another configuration; ``rom`` without an image; an unknown target.
    """

    def __init__(
        self,
        config: CoreConfig,
        image: Image | None = None,
        *,
        rom: bool = False,
        target: str = "generic",
        lane: Lane | None = None,
    ):
        if config.repeat and lane is not None:
            raise InputError("only a core of its own repeats, not a lane of an engine")
        self.config = config
        self.image = image
        self.lane = lane
        others = {"able": Out(1), "count": Out(index_bits(config.threads)), "hold": In(1), "drained": Out(1)}
        super().__init__(config, image, rom, target, None if lane is None else others)

    def elaborate(self, platform):
        # Words are fetched in stages f0 (address), f1 (block RAM), f2 (its output register). There inputs and weights
        # are addressed; at f3, when they are read, the word is decoded and the datapath takes over. With registers in
        # memory the datapath takes over at f2, because it addresses the registers then.
        m = Module()
        config = self.config
        m.submodules.store = store = Store(config, self.image, self.rom, self.target)
        m.submodules.sequencer = sequencer = Sequencer(config)
        if not config.deep:
            m.submodules.decoder = decoder = Decoder(config)
        buffer = WindowBuffer if config.window else InputBuffer
        m.submodules.inputs = inputs = buffer(config, self.target, self.lane)
        if config.deep:
            m.submodules.datapath = datapath = DeepDatapath(config, self.target)
        else:
            m.submodules.datapath = datapath = Datapath(config, self.target, self.lane)
        m.submodules.results = results = ResultFIFO(config, self.target)
        connect(m, flipped(self.i), inputs.i)
        connect(m, results.o, flipped(self.o))
        connect(m, datapath.retire, flipped(self.retire))

        f1_tag, f2_tag, f3_tag = (Signal(tag_layout(config), name=f"f{stage}_tag") for stage in (1, 2, 3))
        f1_done = Signal()
        f2_done = Signal()
        word, word_tag, word_done = store.word, f2_tag, f2_done
        if config.repeat:
            # Indices are moved in a stage of its own, after f2; all that follows is a cycle later.
            m.submodules.mover = mover = Mover(config)
            word = mover.word_o
            word_tag, word_done = Signal(tag_layout(config), name="word_tag"), Signal(name="word_done")
            m.d.sync += [word_tag.eq(f2_tag), word_done.eq(f2_done)]
            m.d.comb += [
                sequencer.word.eq(store.word),
                mover.first.eq(f1_tag.first),
                mover.step.eq(sequencer.step),
                mover.looping.eq(sequencer.looping),
                mover.word.eq(store.word),
            ]
        f3_word = Signal(word_layout(config), reset_less=True)
        m.d.sync += [
            f1_tag.eq(sequencer.tag),
            f1_done.eq(sequencer.done),
            f2_tag.eq(f1_tag),
            f2_done.eq(f1_done),
            f3_tag.eq(word_tag),
            f3_word.eq(word),
        ]
        m.d.comb += [
            store.pc.eq(sequencer.tag.pc),
            store.k.eq(word.k),
            *([] if config.deep else [decoder.word.eq(f3_word)]),
            inputs.last_input.eq(store.last_input),
            inputs.begin.eq(sequencer.start),
            inputs.bank.eq(word_tag.bank),
            inputs.thread.eq(word_tag.thread),
            inputs.u.eq(word.u),
            inputs.release.eq(word_done),
        ]
        if config.deep:
            # The parity of the thread is made in f1, where the guard compares the tag.
            parity = Signal(reset_less=True)
            m.d.sync += parity.eq(f1_tag.thread.xor())
            if config.repeat:
                moved_parity = Signal(reset_less=True)
                m.d.sync += moved_parity.eq(parity)
                parity = moved_parity
            m.d.comb += [
                datapath.tag.eq(word_tag),
                datapath.word.eq(word),
                datapath.parity.eq(parity),
                inputs.x_clear.eq(datapath.x_clear),
                store.weight_clear.eq(datapath.weight_clear),
            ]
        else:
            m.d.comb += [datapath.tag.eq(f3_tag), datapath.control.eq(decoder.control)]
        m.d.comb += [datapath.x.eq(inputs.x), datapath.weight.eq(store.weight)]
        if not config.deep:
            m.d.comb += datapath.start.eq(store.start)
        if config.argmax:
            m.submodules.argmax = argmax = Argmax(config, self.target)
            m.d.comb += [
                argmax.sender.eq(datapath.sender),
                argmax.push.eq(datapath.push),
                argmax.word.eq(datapath.result),
                results.push.eq(argmax.push_o),
                results.word.eq(argmax.word_o),
            ]
        else:
            m.d.comb += [results.push.eq(datapath.push), results.word.eq(datapath.result)]

        # Instructions are in stage f1 or later, or with loops anywhere. This is a register, because a gate of so many
        # inputs would be slow on the way to the write ports.
        behind = Signal()
        fetched = f2_tag.live | word_tag.live | sequencer.start if config.repeat else f2_tag.live
        m.d.sync += behind.eq(sequencer.tag.live | f1_tag.live | fetched | datapath.live)

        # A load makes good what was found before, unless results wait to which the finding applies.
        cleared = Signal()
        m.d.comb += cleared.eq(store.write & results.empty)

        mismatch = Signal()
        if config.guard:
            m.submodules.guard = guard = Guard(config, self.image, self.rom)
            if config.argmax:
                m.submodules.argmax_copy = copy = ArgmaxCopy(config, self.target)
                control = datapath.decoded if config.deep else decoder.control
                m.d.comb += [
                    copy.live.eq(f1_tag.live),
                    copy.sender.emit.eq(control.emit),
                    copy.sender.last.eq(control.neg if config.deep else control.last),
                    copy.sender.sending.eq(control.route),
                    copy.push.eq(datapath.push),
                    copy.word.eq(datapath.result),
                    copy.push_o.eq(argmax.push_o),
                    copy.word_o.eq(argmax.word_o),
                    guard.argmax.eq(copy.mismatch),
                ]
            m.d.comb += [
                guard.accept.eq(self.i.valid & self.i.ready),
                guard.last.eq(self.i.p.last),
                guard.ready.eq(self.i.ready),
                guard.room.eq(sequencer.room),
                guard.hold.eq(sequencer.hold),
                guard.pointers.eq(inputs.pointers),
                guard.tag.eq(f1_tag),
                guard.done.eq(f1_done),
                guard.write.eq(store.write),
                guard.item.eq(store.item),
                guard.start.eq(store.start),
                guard.last_word.eq(store.last_word),
                guard.last_input.eq(store.last_input),
                guard.batches.eq(store.batches),
                guard.word_tag.eq(f3_tag),
                guard.word.eq(f3_word),
                guard.word_parity.eq(store.word_parity),
                *([guard.stored.eq(store.word)] if config.repeat else []),
                guard.x.eq(inputs.x),
                guard.x_parity.eq(inputs.x_parity),
                guard.weight.eq(store.weight),
                guard.weight_parity.eq(store.weight_parity),
                guard.echo.eq(datapath.mismatch),
                guard.numbering.eq(results.mismatch),
                guard.cleared.eq(cleared),
                results.alarm.eq(guard.alarm),
                mismatch.eq(guard.mismatch),
            ]

        # Batches whose last result was not taken yet. A program that marks no last result would count for ever, so the
        # count is zero when nothing is left.
        waiting = Signal.like(store.batches)
        # An engine is not busy after a reset, so its lanes are drained.
        drained = Signal(init=self.lane is not None)
        m.d.comb += [
            self.busy.eq(behind if config.repeat else sequencer.tag.live | behind),
            sequencer.full.eq(inputs.full),
            sequencer.count.eq(inputs.count),
            sequencer.bank.eq(inputs.begun),
            sequencer.last_word.eq(store.last_word),
            # Results of another program may fill the FIFO in another measure.
            sequencer.room.eq((waiting != store.batches) & ~results.old),
        ]
        m.d.sync += drained.eq(~self.busy & ~sequencer.start & results.empty)
        with m.If(drained):
            m.d.sync += waiting.eq(sequencer.start)
        with m.Elif(sequencer.start & ~results.taken):
            m.d.sync += waiting.eq(waiting + 1)
        with m.Elif(~sequencer.start & results.taken):
            m.d.sync += waiting.eq(waiting - 1)

        with m.If(cleared):
            m.d.sync += self.fault.eq(0)
        with m.Elif((datapath.fault if config.deep else self.retire.valid & self.retire.fault) | mismatch):
            m.d.sync += self.fault.eq(1)
        renew = 0 if self.rom else store.write & renews(store.item)
        if config.marks_state:
            m.d.comb += datapath.kept.eq(store.kept)
        if config.state:
            m.d.comb += sequencer.renew.eq(renew)
        if config.marks_state and config.guard:
            m.d.comb += guard.kept.eq(store.kept)
        if config.window:
            coming = f1_tag if config.repeat else sequencer.tag
            m.d.comb += [
                inputs.size.eq(store.size),
                inputs.renew.eq(renew),
                inputs.coming_bank.eq(coming.bank),
                inputs.coming_thread.eq(coming.thread),
            ]
            if config.guard:
                m.d.comb += [guard.size.eq(store.size), guard.astray.eq(inputs.astray)]
        if config.guard and config.streams:
            m.d.comb += guard.renew.eq(renew)
        if not self.rom:
            m.d.comb += [
                self.load.ready.eq(~self.busy),
                sequencer.hold.eq(self.load.valid),
                store.write.eq(self.load.valid & self.load.ready),
                store.item.eq(self.load.p),
                results.loaded.eq(store.write),
            ]
        if self.lane is not None:
            # All lanes start together, so the engine decides, not the lane's own load port.
            running = sequencer.tag.live & ~sequencer.done
            m.d.comb += [
                self.able.eq(sequencer.full & sequencer.room & ~running),
                self.count.eq(sequencer.count),
                self.drained.eq(drained),
                sequencer.hold.eq(self.hold),
            ]
        return m

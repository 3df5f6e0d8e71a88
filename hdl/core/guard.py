"""The guard: what makes upsets visible that the check of a run cannot see. Exists where ``CoreConfig.guard`` is set.

A run that is undone proves its registers, but not what it is told twice in the same way (memories, start vector,
settings), nor whose inputs it took, nor what happens to a word after it was sent. So memories carry parity, control
runs twice, what is sent is compared with its register, and results are numbered. See ``docs/faults.md``.
"""

from functools import reduce
from operator import or_

from amaranth import Cat, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from skinny.model.machine.assemble import Image
from skinny.model.machine.isa import MOST_BATCHES, CoreConfig, Setting, Space, index_bits

from .decoder import control_layout
from .inputs import InputBuffer
from .layout import load_layout, result_layout
from .sequencer import Sequencer, tag_layout

__all__ = ["ControlTwin", "Echo", "Numbering", "SettingsParity"]


class ControlTwin(wiring.Component):
    """A second sequencer and a second control of the input buffer, a cycle behind the first: whatever differs is odd.

    Being late, the twin shares no value with the original, so that synthesis does not merge the two.

    Members
    -------
    accept, last, ready : In(1)
        Of the stream of inputs: a word is taken; whether it has ``last``; the core is ready.
    room, hold, last_word, last_input : In
        As the sequencer and the input buffer get them.
    pointers : In
        Those of the input buffer.
    tag, done : In
        What the sequencer gave, a cycle late: the registers that follow it.
    odd : Out(1)
    """

    def __init__(self, config: CoreConfig):
        self.config = config
        self._inputs = InputBuffer(config, memory=False)
        super().__init__(
            {
                "accept": In(1),
                "last": In(1),
                "ready": In(1),
                "room": In(1),
                "hold": In(1),
                "last_word": In(index_bits(config.depth)),
                "last_input": In(index_bits(config.inputs)),
                "pointers": In(len(self._inputs.pointers)),
                "tag": In(tag_layout(config)),
                "done": In(1),
                "odd": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.sequencer = sequencer = Sequencer(self.config)
        m.submodules.inputs = inputs = self._inputs
        for port, value in (
            (inputs.i.valid, self.accept),
            (inputs.i.p.last, self.last),
            (sequencer.room, self.room),
            (sequencer.hold, self.hold),
        ):
            late = Signal()
            m.d.sync += late.eq(value)
            m.d.comb += port.eq(late)
        ready = Signal(init=1)
        # The input buffer hears of the end of a batch two cycles after it is issued.
        done = Signal(2)
        pointers = Signal.like(self.pointers)
        m.d.sync += [
            ready.eq(self.ready),
            pointers.eq(self.pointers),
            done.eq(Cat(sequencer.done, done[0])),
        ]
        m.d.comb += [
            sequencer.full.eq(inputs.full),
            sequencer.count.eq(inputs.count),
            sequencer.bank.eq(inputs.begun),
            sequencer.last_word.eq(self.last_word),
            inputs.last_input.eq(self.last_input),
            inputs.begin.eq(sequencer.start),
            inputs.release.eq(done[1]),
        ]
        mine, other = sequencer.tag, self.tag
        m.d.comb += self.odd.eq(
            (mine.live != other.live)
            | (mine.live & (mine.as_value() != other.as_value()))
            | (sequencer.done != self.done)
            | (inputs.i.ready != ready)
            | (inputs.pointers != pointers)
        )
        return m


class SettingsParity(wiring.Component):
    """The parity of each register of the start vector and of each setting, kept beside it.

    Members
    -------
    write, item : In
        What is written at the load port.
    start, last_word, last_input, batches : In
        What the store holds.
    odd : Out(1)
    """

    def __init__(self, config: CoreConfig, image: Image | None):
        self.config = config
        self.image = image
        super().__init__(
            {
                "write": In(1),
                "item": In(load_layout(config)),
                "start": In(data.ArrayLayout(config.bits, config.width)),
                "last_word": In(index_bits(config.depth)),
                "last_input": In(index_bits(config.inputs)),
                "batches": In(index_bits(MOST_BATCHES + 1)),
                "odd": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        image = self.image
        start = image.start.tolist() if image else [0] * self.config.width
        settings = image.settings if image else dict.fromkeys(Setting, 0)
        values = {Setting.LAST_WORD: self.last_word, Setting.LAST_INPUT: self.last_input, Setting.BATCHES: self.batches}
        odd = []
        registers, others = index_bits(self.config.width), index_bits(len(Setting))
        for space, bits, address, value, init in (
            *((Space.START, registers, register, self.start[register], word) for register, word in enumerate(start)),
            *((Space.SETTINGS, others, setting, value, settings[setting]) for setting, value in values.items()),
        ):
            held = Signal(init=init.bit_count() & 1, reset_less=True, name=f"{space.name.lower()}{int(address)}_parity")
            odd.append(value.xor() ^ held)
            with m.If(self.write & (self.item.space == space) & (self.item.address[:bits] == address)):
                m.d.sync += held.eq(self.item.data[: len(value)].xor())
        m.d.comb += self.odd.eq(Cat(odd).any())
        return m


class Echo(wiring.Component):
    """Compares what an ``EMIT`` sends with the register that it names, when both reach the end of the pipeline.

    Members
    -------
    push : In(1)
        An ``EMIT`` retires and sends its word.
    control, result : In
        The instruction that retires and its word.
    registers : In(array of width words)
        Those of its thread, not yet written.
    cleared : In(1)
        Another run begins: the registers are not there any more.
    odd : Out(1)
        A cycle later.
    """

    def __init__(self, config: CoreConfig):
        self.config = config
        super().__init__(
            {
                "push": In(1),
                "control": In(control_layout(config)),
                "result": In(config.bits),
                "registers": In(data.ArrayLayout(config.bits, config.width)),
                "cleared": In(1),
                "odd": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        count = range(self.config.width)
        chosen = reduce(
            or_, ((self.control.target == n).replicate(self.config.bits) & self.registers[n] for n in count)
        )
        # Half way down the tree there is a register: the result may come late in the cycle.
        different = Signal((self.config.bits + 1) // 2, reset_less=True)
        sent = Signal()
        bits = self.result ^ chosen
        m.d.sync += [
            different.eq(Cat(bits[at : at + 2].any() for at in range(0, self.config.bits, 2))),
            sent.eq(self.push & ~self.control.bad & ~self.cleared),
        ]
        m.d.comb += self.odd.eq(sent & different.any())
        return m


class Numbering(wiring.Component):
    """Numbers and seals the words of the result FIFO, so that one that is lost, doubled, old or changed is odd.

    A word of memory that was never written is odd, too. The numbers count to twice the depth of the FIFO: the word that
    was at the same place before has another one.

    Members
    -------
    push, word, seal : In, In, Out
        A word is stored, and what is to be stored with it.
    pop, valid, stored, stored_seal : In
        A word is taken; there is one; the word and its seal.
    odd : Out(1)
        The word is not the one that is expected here.
    """

    def __init__(self, config: CoreConfig):
        number = index_bits(2 * config.fifo)
        layout = data.StructLayout({"number": number, "parity": 1})
        super().__init__(
            {
                "push": In(1),
                "word": In(result_layout(config)),
                "seal": Out(layout),
                "pop": In(1),
                "valid": In(1),
                "stored": In(result_layout(config)),
                "stored_seal": In(layout),
                "odd": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        pushed, popped = Signal.like(self.seal.number), Signal.like(self.seal.number)
        m.d.sync += [pushed.eq(pushed + self.push), popped.eq(popped + self.pop)]
        m.d.comb += [
            self.seal.number.eq(pushed),
            self.seal.parity.eq(~(Value.cast(self.word).xor() ^ pushed.xor())),
            self.odd.eq(
                self.valid
                & (
                    (self.stored_seal.number != popped)
                    | ~Cat(self.stored.as_value(), self.stored_seal.as_value()).xor()
                )
            ),
        ]
        return m

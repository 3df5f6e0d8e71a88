"""The store: it holds program, weights, start vector and settings."""

from amaranth import Cat, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from skinny.hdl.parts.cleared import ClearedRAM
from skinny.hdl.parts.target import TARGETS, Target
from skinny.model.machine.assemble import Image
from skinny.model.machine.isa import MOST_BATCHES, CoreConfig, Setting, Space, index_bits

from .layout import load_layout, word_layout
from .register_memory import operand_latency

__all__ = ["Store"]


class Store(wiring.Component):
    """Holds everything that all threads and all batches share. Reset keeps it, as it keeps memories.

    Latency: ``word`` and ``weight`` follow their addresses by two cycles (block RAM and its output register); what is
    written can be read in the next cycle. Throughput: one word, one weight and one write in every cycle. No
    back-pressure. A read and a write of the same address in one cycle never matter, because writes come only while
    nothing runs.

    Parameters
    ----------
    config : CoreConfig
    image : Image or None
        The initial contents; without an image the settings let no batch start.
    rom : bool
        The store is never written: the write port does nothing.
    target : Target

    Members
    -------
    write, item : In
        ``item`` (load_layout) is written. Only the bits of its address that the space needs count.
    pc, word : In, Out(word_layout)
        The address of a program word, and the word two cycles later.
    k, weight : In, Out
        The number of a weight, and the weight two cycles later.
    weight_clear : In(1)
        Only with registers in memory: in the next cycle ``weight`` is zero. There weights follow their addresses by
        :func:`~.register_memory.operand_latency` cycles.
    word_parity, weight_parity : Out(1)
        The parity that word and weight had when they were written; for a core with the guard.
    start : Out(array of width words)
        The start vector.
    last_word, last_input, batches, kept, size : Out
        The settings (:class:`skinny.model.machine.isa.Setting`).
    """

    def __init__(self, config: CoreConfig, image: Image | None, rom: bool, target: Target = TARGETS["generic"]):
        self.config = config
        self.image = image
        self.rom = rom
        self.target = target
        super().__init__(
            {
                "write": In(1),
                "item": In(load_layout(config)),
                "pc": In(index_bits(config.depth)),
                "word": Out(word_layout(config)),
                "word_parity": Out(1),
                "k": In(index_bits(config.weights)),
                "weight": Out(config.bits),
                "weight_parity": Out(1),
                **({"weight_clear": In(1)} if config.deep else {}),
                "start": Out(data.ArrayLayout(config.bits, config.starts)),
                "last_word": Out(index_bits(config.depth)),
                "last_input": Out(index_bits(config.inputs)),
                "batches": Out(index_bits(MOST_BATCHES + 1)),
                **({"kept": Out(config.width)} if config.marks_state else {}),
                **({"size": Out(config.window_bits)} if config.window else {}),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config, image = self.config, self.image
        for space, name, bits, depth, address, value, parity in (
            (Space.PROGRAM, "program", config.word_bits, config.depth, self.pc, self.word, self.word_parity),
            (Space.WEIGHTS, "weights", config.bits, config.weights, self.k, self.weight, self.weight_parity),
        ):
            contents = getattr(image, {"program": "words"}.get(name, name)).tolist() if image else []
            if config.guard:
                contents = [word | (word.bit_count() & 1) << bits for word in contents]
            if config.deep and space == Space.WEIGHTS:
                memory = ClearedRAM(bits + config.guard, depth, operand_latency(config), contents, self.target)
                controls = [memory.clear.eq(self.weight_clear)]
            else:
                memory = self.target.memory(bits + config.guard, depth, contents)
                controls = [memory.fetch.eq(1), memory.take.eq(1)]
            m.submodules[name] = memory
            m.d.comb += [memory.addr.eq(address), *controls, Cat(value, parity).eq(memory.data)]
            if not self.rom:
                m.d.comb += [
                    memory.write.eq(self.write & (self.item.space == space)),
                    memory.write_addr.eq(self.item.address),
                    memory.write_data.eq(Cat(self.item.data[:bits], self.item.data[:bits].xor())),
                ]

        settings = image.settings if image else dict.fromkeys(Setting, 0)
        kept, size = ((Setting.STATE, "kept"),) * config.marks_state, ((Setting.WINDOW, "size"),) * config.window
        start = image.start.tolist() if image else [0] * config.starts
        registers, others = index_bits(config.starts), config.setting_bits
        for space, bits, address, value, init in (
            *((Space.START, registers, n, self.start[n], start[n]) for n in range(config.starts)),
            (Space.SETTINGS, others, Setting.LAST_WORD, self.last_word, settings[Setting.LAST_WORD]),
            (Space.SETTINGS, others, Setting.LAST_INPUT, self.last_input, settings[Setting.LAST_INPUT]),
            (Space.SETTINGS, others, Setting.BATCHES, self.batches, settings[Setting.BATCHES]),
            *((Space.SETTINGS, others, at, getattr(self, name), settings[at]) for at, name in (*kept, *size)),
        ):
            held = Signal(len(value), init=init, reset_less=True, name=f"{space.name.lower()}{int(address)}")
            m.d.comb += value.eq(held)
            if not self.rom:
                with m.If(self.write & (self.item.space == space) & (self.item.address[:bits] == address)):
                    m.d.sync += held.eq(self.item.data)
        return m

"""The guard: it makes upsets visible that the check of a run cannot see. It exists where ``CoreConfig.guard`` is set.

A run that is undone proves its registers. It does not prove what it is told twice in the same way (memories, start
vector, settings), nor whose inputs it took, nor what happens to a word after it was sent. Therefore memories carry
parity bits, control and argmax run twice, what is sent is compared with its register, and results are numbered. See
``docs/faults.md``.
"""

from amaranth import Cat, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from skinny.model.machine.assemble import Image
from skinny.model.machine.isa import MOST_BATCHES, CoreConfig, index_bits

from .control_copy import ControlCopy
from .layout import load_layout, word_layout
from .register_memory import operand_latency
from .sequencer import tag_layout
from .settings_parity import SettingsParity
from .word_copy import WordCopy

__all__ = ["Guard"]


class Guard(wiring.Component):
    """Collects what all parts of the guard find, and keeps the alarm.

    Latency: ``mismatch`` is high one cycle after a part of the guard has found a mismatch, ``alarm`` from the next
    cycle on. The guard judges in every cycle; no back-pressure. ``Echo`` and ``Numbering`` are parts of the guard
    that sit in the datapath and in the result FIFO; the guard gets what they find.

    Parameters
    ----------
    config : CoreConfig
    image : Image or None
        The initial contents of the store.
    rom : bool
        Start vector and settings are constants, so that they need no parity.

    Members
    -------
    accept, last, ready, room, hold, pointers, tag, done, renew : In
        For :class:`~.control_copy.ControlCopy`.
    write, item, start, last_word, last_input, batches, kept, size : In
        For :class:`~.settings_parity.SettingsParity`.
    word_tag, word : In
        The instruction that is decoded, and its word.
    word_parity : In(1)
        The parity of that word when it was written, one cycle before the word; in a core that repeats, that of
        ``stored``.
    stored : In(word_layout)
        Only in a core that repeats: the word that is read from memory.
    x, x_parity, weight, weight_parity : In
        The operands, one cycle after ``word_tag``, and their parity when they were written; with registers in memory
        when they are read (:func:`~.register_memory.operand_latency`).
    echo, numbering : In(1)
        The mismatches of the datapath and of the result FIFO.
    astray : In(1)
        Only with a window: the port of the same name of the input buffer, one cycle before ``word_tag``.
    argmax : In(1)
        The mismatches of :class:`~.argmax_copy.ArgmaxCopy`; only with argmax.
    cleared : In(1)
        Something is loaded that makes good what was found: forget it.
    mismatch : Out(1)
        Some part found a mismatch one cycle ago.
    alarm : Out(1)
        There was a mismatch since the last reset and the last ``cleared``.
    """

    def __init__(self, config: CoreConfig, image: Image | None, rom: bool):
        self.config = config
        self.image = image
        self.rom = rom
        self._control = ControlCopy(config)
        super().__init__(
            {
                "accept": In(1),
                "last": In(1),
                "ready": In(1),
                "room": In(1),
                "hold": In(1),
                "pointers": In(len(self._control.pointers)),
                "tag": In(tag_layout(config)),
                "done": In(1),
                "write": In(1),
                "item": In(load_layout(config)),
                "start": In(data.ArrayLayout(config.bits, config.starts)),
                "last_word": In(index_bits(config.depth)),
                "last_input": In(index_bits(config.inputs)),
                "batches": In(index_bits(MOST_BATCHES + 1)),
                **({"kept": In(config.width)} if config.marks_state else {}),
                **({"size": In(config.window_bits), "astray": In(1)} if config.window else {}),
                **({"renew": In(1)} if config.streams else {}),
                "word_tag": In(tag_layout(config)),
                "word": In(word_layout(config)),
                "word_parity": In(1),
                **({"stored": In(word_layout(config))} if config.repeat else {}),
                "x": In(config.bits),
                "x_parity": In(1),
                "weight": In(config.bits),
                "weight_parity": In(1),
                "echo": In(1),
                "numbering": In(1),
                **({"argmax": In(1)} if config.argmax else {}),
                "cleared": In(1),
                "mismatch": Out(1),
                "alarm": Out(1),
            }
        )

    def elaborate(self, platform):
        # Memories are judged only when an instruction reads them, because otherwise they may be written meanwhile.
        # Inputs are judged only for threads that have a vector, because nothing was written for the others.
        m = Module()
        m.submodules.control = self._control
        self._connect(m, self._control, "accept last ready room hold pointers tag done last_word last_input")
        if self.config.streams:
            self._connect(m, self._control, "renew")
        if self.config.window:
            self._connect(m, self._control, "size")
        if self.config.repeat:
            m.submodules.words = words = WordCopy(self.config)
            m.d.comb += [
                words.tag.eq(self._control.tag_o),
                words.step.eq(self._control.step),
                words.looping.eq(self._control.looping),
                words.stored.eq(self.stored),
                words.parity.eq(self.word_parity),
                words.executed.eq(self.word),
                self._control.word.eq(words.word),
            ]
            word_differs = words.mismatch
        else:
            word_parity = Signal(reset_less=True)
            m.d.sync += word_parity.eq(self.word_parity)
            word_differs = self.word_tag.live & (self.word.as_value().xor() ^ word_parity)
        valid = self.word_tag.valid
        for cycle in range(operand_latency(self.config) - 1 if self.config.deep else 1):
            held = Signal(name=f"valid{cycle or ''}")
            m.d.sync += held.eq(valid)
            valid = held
        found = [
            self._control.mismatch,
            word_differs,
            valid & (self.x.xor() ^ self.x_parity),
            valid & (self.weight.xor() ^ self.weight_parity),
            self.echo,
            self.numbering,
        ]
        if self.config.argmax:
            found.append(self.argmax)
        if self.config.window:
            astray = Signal(reset_less=True)
            m.d.sync += astray.eq(self.astray)
            found.append(self.word_tag.valid & astray)
        if not self.rom:
            m.submodules.settings = settings = SettingsParity(self.config, self.image)
            self._connect(m, settings, "write item start last_word last_input batches")
            if self.config.marks_state:
                self._connect(m, settings, "kept")
            if self.config.window:
                self._connect(m, settings, "size")
            found.append(settings.mismatch)

        # In the cycle in which the last wrong setting is written it is still wrong: that must not raise the alarm.
        mismatches = Signal(len(found))
        m.d.comb += self.mismatch.eq(mismatches.any())
        with m.If(self.cleared):
            m.d.sync += [mismatches.eq(0), self.alarm.eq(0)]
        with m.Else():
            m.d.sync += [mismatches.eq(Cat(found)), self.alarm.eq(self.alarm | self.mismatch)]
        return m

    def _connect(self, m: Module, part: wiring.Component, names: str) -> None:
        """Connect inputs of ``part`` with the inputs of the guard that have the same names."""
        m.d.comb += [getattr(part, name).eq(getattr(self, name)) for name in names.split()]

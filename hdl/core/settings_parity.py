"""The parity of the start vector and of the settings."""

from amaranth import Cat, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from skinny.model.machine.assemble import Image
from skinny.model.machine.isa import MOST_BATCHES, CoreConfig, Setting, Space, index_bits

from .layout import load_layout

__all__ = ["SettingsParity"]


class SettingsParity(wiring.Component):
    """Keeps a parity bit for each register of the start vector and for each setting, and compares it in every cycle.

    Latency: ``mismatch`` is combinational; a parity bit changes in the same cycle as the register that it belongs to.
    No back-pressure. Reset keeps the parity bits, as it keeps the settings.

    Parameters
    ----------
    config : CoreConfig
    image : Image or None
        The initial contents of the store.

    Members
    -------
    write, item : In
        What is written at the load port.
    start, last_word, last_input, batches, kept, size : In
        What the store holds.
    mismatch : Out(1)
        Some register does not have the parity of what was written to it.
    """

    def __init__(self, config: CoreConfig, image: Image | None):
        self.config = config
        self.image = image
        super().__init__(
            {
                "write": In(1),
                "item": In(load_layout(config)),
                "start": In(data.ArrayLayout(config.bits, config.starts)),
                "last_word": In(index_bits(config.depth)),
                "last_input": In(index_bits(config.inputs)),
                "batches": In(index_bits(MOST_BATCHES + 1)),
                **({"kept": In(config.width)} if config.marks_state else {}),
                **({"size": In(config.window_bits)} if config.window else {}),
                "mismatch": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        image = self.image
        start = image.start.tolist() if image else [0] * self.config.starts
        settings = image.settings if image else dict.fromkeys(Setting, 0)
        values = {Setting.LAST_WORD: self.last_word, Setting.LAST_INPUT: self.last_input, Setting.BATCHES: self.batches}
        if self.config.marks_state:
            values[Setting.STATE] = self.kept
        if self.config.window:
            values[Setting.WINDOW] = self.size
        mismatches = []
        registers, others = index_bits(self.config.starts), self.config.setting_bits
        for space, bits, address, value, init in (
            *((Space.START, registers, register, self.start[register], word) for register, word in enumerate(start)),
            *((Space.SETTINGS, others, setting, value, settings[setting]) for setting, value in values.items()),
        ):
            held = Signal(init=init.bit_count() & 1, reset_less=True, name=f"{space.name.lower()}{int(address)}_parity")
            mismatches.append(value.xor() ^ held)
            with m.If(self.write & (self.item.space == space) & (self.item.address[:bits] == address)):
                m.d.sync += held.eq(self.item.data[: len(value)].xor())
        m.d.comb += self.mismatch.eq(Cat(mismatches).any())
        return m

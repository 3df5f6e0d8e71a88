"""Memory and multiplier of the Lattice ECP5, instantiated with the registers they have inside.

Inference leaves those registers unused and puts others beside the cells, which does not help against the slow way out
of an unregistered block RAM (5.8 ns). ``ecp5_cells.v`` holds models of the cells for simulation.
"""

from typing import Any

from amaranth import Cat, ClockSignal, Const, Instance, Module, Signal

from .generic import BlockRAM, Multiplier

__all__ = ["ECP5BlockRAM", "ECP5Multiplier"]

#: Bits of a word of a DP16KD and how many it has then. Words of 9 and 18 bits use its parity bits.
SHAPES = {18: 1024, 9: 2048, 4: 4096, 2: 8192, 1: 16384}
ROWS = 1024


class ECP5BlockRAM(BlockRAM):
    """A memory of ``DP16KD`` blocks side by side; port A writes, port B reads, through its output register if it is to
    have one. A memory that is deeper than one block is inferred."""

    def elaborate(self, platform):
        width = next((width for width, words in SHAPES.items() if self.depth <= words), None)
        if width is None:
            return super().elaborate(platform)
        m = Module()
        for low in range(0, self.bits, width):
            part = slice(low, min(low + width, self.bits))
            self._add_block(m, part, width)
        return m

    def _add_block(self, m: Module, part: slice, width: int) -> None:
        # The low bits of an address are those inside a word of 16 bits; for words of 18 bits the lowest two enable the
        # bytes that are written.
        skip = 14 - (SHAPES[width].bit_length() - 1)
        spare = 14 - skip - len(self.addr)
        ports = {"i_CLKA": ClockSignal(), "i_CLKB": ClockSignal()}
        bytes_written = Const(0b11 if width == 18 else 0, skip)
        ports |= _bits("i_ADA", Cat(bytes_written, self.write_addr, Const(0, spare)))
        ports |= _bits("i_ADB", Cat(Const(0, skip), self.addr, Const(0, spare)))
        ports |= _bits("i_DIA", Cat(self.write_data[part], Const(0, 18 - (part.stop - part.start))))
        ports |= _bits("o_DOB", self.data[part])
        ports |= {"i_CEA": 1, "i_WEA": self.write, "i_OCEA": 1, "i_RSTA": 0}
        ports |= {"i_CEB": self.fetch, "i_WEB": 0, "i_OCEB": self.take, "i_RSTB": 0}
        ports |= {f"i_CS{port}{n}": 0 for port in "AB" for n in range(3)}
        mask = (1 << part.stop - part.start) - 1
        rows = _rows([word >> part.start & mask for word in self.init], width)
        contents = {
            f"p_INITVAL_{number:02X}": Const(
                sum(row << 20 * at for at, row in enumerate(rows[16 * number :][:16])), 320
            )
            for number in range(ROWS // 16)
        }
        m.submodules += Instance(
            "DP16KD",
            p_DATA_WIDTH_A=width,
            p_DATA_WIDTH_B=width,
            p_REGMODE_A="NOREG",
            p_REGMODE_B="OUTREG" if self.registered else "NOREG",
            p_WRITEMODE_A="NORMAL",
            p_WRITEMODE_B="NORMAL",
            p_RESETMODE="SYNC",
            p_GSR="DISABLED",
            **contents,
            **ports,
        )


def _bits(port: str, value: Any) -> dict[str, Any]:
    """The wires of ``value``, each under the name of ``port`` with its number."""
    return {f"{port}{n}": bit for n, bit in enumerate(value)}


def _rows(words: list[int], width: int) -> list[int]:
    """The contents of a block as rows of 18 bits. Words of 9 and 18 bits fill the rows; smaller words leave bit 8 of
    each half, the parity, empty."""
    step = 16 // width if width < 9 else 18 // width
    rows = [0] * ROWS
    for at, word in enumerate(words):
        position = at % step * width
        rows[at // step] |= word << (position + position // 8 if width < 9 else position)
    return rows


class ECP5Multiplier(Multiplier):
    """One ``MULT18X18D`` for operands of up to 18 bits, which uses as many of its registers as the pipeline needs;
    wider products are inferred."""

    def elaborate(self, platform):
        if self.bits > 18:
            return super().elaborate(platform)
        m = Module()
        operands = "CLK0" if self.operand_registers else "NONE"
        ports = {"i_CLK0": ClockSignal(), "i_CE0": 1, "i_RST0": 0, "i_SIGNEDA": self.signed, "i_SIGNEDB": self.signed}
        ports |= {"i_SOURCEA": 0, "i_SOURCEB": 0}
        for port, value in (("A", self.a), ("B", self.b)):
            wide = value.as_signed() if self.signed else value
            extended = Signal(18, name=f"wide_{port.lower()}")
            m.d.comb += extended.eq(wide)
            ports |= _bits(f"i_{port}", extended)
        ports |= _bits("o_P", self.product)
        m.submodules += Instance(
            "MULT18X18D",
            p_REG_INPUTA_CLK=operands,
            p_REG_INPUTB_CLK=operands,
            p_REG_PIPELINE_CLK="NONE",
            p_REG_OUTPUT_CLK="CLK0" if self.product_registers else "NONE",
            p_GSR="DISABLED",
            **ports,
        )
        return m

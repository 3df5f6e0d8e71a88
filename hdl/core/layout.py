"""Layouts and port signatures of the core, all derived from :class:`skinny.model.machine.isa.CoreConfig`."""

from amaranth import unsigned
from amaranth.lib import data
from amaranth.lib.wiring import Out, Signature
from skinny.model.machine.image import Hardware
from skinny.model.machine.isa import CoreConfig, Op, Space, index_bits

__all__ = ["RetireSignature", "input_layout", "load_layout", "result_layout", "retire_port", "word_layout"]


def word_layout(config: CoreConfig) -> data.StructLayout:
    """The layout of a program word, with the fields of :attr:`CoreConfig.fields`."""
    return data.StructLayout({name: unsigned(bits) for name, bits in config.fields.items()})


def input_layout(config: CoreConfig) -> data.StructLayout:
    """The payload of ``i``: a hardware word, and ``last``, which ends the batch on the last word of a vector."""
    return data.StructLayout({"data": unsigned(config.bits), "last": 1})


def result_layout(config: CoreConfig) -> data.StructLayout:
    """The payload of ``o``: a hardware word, ``last`` on the last word of a batch, and ``fault`` when the run had met a
    malformed word or a failed check before the word was sent."""
    return data.StructLayout({"data": unsigned(config.bits), "last": 1, "fault": 1})


def load_layout(config: Hardware) -> data.StructLayout:
    """The payload of ``load``: the :class:`Space` and the address that are written, and the data."""
    return data.StructLayout(
        {
            "space": unsigned(index_bits(len(Space))),
            "address": unsigned(config.address_bits),
            "data": unsigned(config.load_bits),
        }
    )


def retire_port(lane: int) -> str:
    """The name of the port that reports what ``lane`` of an engine, or the only core, completes."""
    return f"retire{lane or ''}"


class RetireSignature(Signature):
    """The report of one instruction that leaves the pipeline.

    Members
    -------
    valid : Out(1)
        There is an instruction, and its thread takes part in the batch.
    thread, pc : Out
        The thread of the instruction, and its address in the program memory.
    op : Out(3)
        The operation (:class:`Op`). The multiplier was at work for operations 1 to 5.
    dst : Out
        Field ``dst`` of the word; the width (one past the last register) for the accumulator ``S``; with registers in
        memory, the field, in which 1 stands for ``S``.
    value : Out
        The word that is written or, for ``EMIT``, sent. Zero for malformed words and, unless it names a register,
        for ``CHECK``.
    fault : Out(1)
        The word is malformed, or a check failed; nothing was written.
    """

    def __init__(self, config: CoreConfig):
        super().__init__(
            {
                "valid": Out(1),
                "thread": Out(index_bits(config.threads)),
                "pc": Out(index_bits(config.depth)),
                "op": Out(index_bits(len(Op))),
                "dst": Out(index_bits(config.width + (not config.deep))),
                "value": Out(config.bits),
                "fault": Out(1),
            }
        )

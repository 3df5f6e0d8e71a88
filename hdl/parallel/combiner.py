"""The combiner: it multiplies vector and matrix, lane after lane."""

from amaranth import Array, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from skinny.hdl.core.layout import result_layout
from skinny.hdl.parts.arithmetic import Arithmetic
from skinny.hdl.parts.target import TARGETS, Target
from skinny.model.machine.isa import index_bits
from skinny.model.parallel.lane_cycles import combine_stages
from skinny.model.parallel.segments import EngineConfig
from skinny.model.rings import Boolean, PrimeField

__all__ = ["Combiner"]


class Combiner(wiring.Component):
    """Reads the columns that the lanes send and makes the engine's results of them
    (:mod:`skinny.model.parallel.combine`).

    Lane 0 of every batch is read first. Its words, one for each vector, are results or entries of the vector that goes
    to lane 1. A column of another lane has ``width`` words for each vector: their products with the vector are added
    up, or the first of them is copied.

    Throughput: a word a cycle, but the first word of a lane is read only when all values of the lane before it are in
    the vector. Latency from the last word of a column to its value: ``combine_stages + 2`` cycles. Back-pressure: lanes
    wait; a batch is begun only while ``room`` is high, and what was read is never stopped.

    Parameters
    ----------
    config : EngineConfig
    target : Target

    Members
    -------
    lanes : In(streams of result_layout)
        The results of each lane; ``last`` ends a lane's part of a batch.
    sent, combined : In, for each lane
        How many of its columns are results, and how many depend on the vector.
    count : In
        The last vector of the batch that is read.
    room : In(1)
        The results of one more batch have room.
    begin, done : Out(1)
        The first, the last word of a batch is read.
    push, word : Out
        A result of the engine.
    live : Out(1)
        A batch is being read, or values are on their way.
    """

    def __init__(self, config: EngineConfig, target: Target = TARGETS["generic"]):
        self.config = config
        self.target = target
        super().__init__(
            {
                "lanes": In(stream.Signature(result_layout(config.core))).array(config.cores),
                "sent": In(config.column_bits).array(config.cores),
                "combined": In(config.column_bits).array(config.cores),
                "count": In(index_bits(config.vectors)),
                "room": In(1),
                "begin": Out(1),
                "done": Out(1),
                "push": Out(1),
                "word": Out(result_layout(config.core)),
                "live": Out(1),
            }
        )

    def elaborate(self, platform):
        # In stage 0 a word is read and its factor chosen, in stage 1 both are operands. Then comes the multiplier. Its
        # last register holds the product, which is added to the sum; in the last stage the sum is a value.
        m = Module()
        config, core = self.config, self.config.core
        lane = Signal(index_bits(config.cores))
        column = Signal(config.column_bits)
        vector = Signal(index_bits(config.vectors))
        unit = Signal(index_bits(core.width))
        register = Signal(index_bits(core.width))
        fresh = Signal(init=1)
        # The vectors that are multiplied, and the vectors of the next lane, which are being made.
        entries, coming = (
            [
                [Signal(core.bits, reset_less=True, name=f"{name}{n}_{r}") for r in range(core.width)]
                for n in range(config.vectors)
            ]
            for name in ("v", "next")
        )
        stains = Signal(config.vectors)

        offered = Array(self.lanes[n].valid for n in range(config.cores))[lane]
        word = Array(self.lanes[n].payload for n in range(config.cores))[lane]
        take, first_lane, last_lane = Signal(), Signal(), Signal()
        column_end, lane_end, is_sent, is_combined = Signal(), Signal(), Signal(), Signal()
        flight = Signal(combine_stages(core) + 2)
        m.d.comb += [
            first_lane.eq(lane == 0),
            last_lane.eq(lane == config.cores - 1),
            take.eq(offered & (~fresh | (~flight.any() & (~first_lane | self.room)))),
            column_end.eq(first_lane | (unit == core.width - 1)),
            lane_end.eq(take & word.last),
            is_sent.eq(column < Array(self.sent[n] for n in range(config.cores))[lane]),
            is_combined.eq(column < Array(self.combined[n] for n in range(config.cores))[lane]),
            self.begin.eq(take & fresh & first_lane),
            self.done.eq(lane_end & last_lane),
            self.live.eq(flight.any() | ~fresh | ~first_lane),
        ]
        m.d.comb += [self.lanes[n].ready.eq(take & (lane == n)) for n in range(config.cores)]

        with m.If(take):
            m.d.sync += [fresh.eq(0), unit.eq(Mux(column_end, 0, unit + 1))]
            with m.If(column_end):
                m.d.sync += vector.eq(vector + 1)
                with m.If(vector == self.count):
                    m.d.sync += [vector.eq(0), column.eq(column + 1), register.eq(register + ~is_sent)]
        with m.If(lane_end):
            m.d.sync += [fresh.eq(1), column.eq(0), register.eq(0), lane.eq(Mux(last_lane, 0, lane + 1))]

        # A fault that was met stays with its vector until the next batch.
        stained = Signal()
        m.d.comb += stained.eq(word.fault | (stains.bit_select(vector, 1) & ~(first_lane & (column == 0))))
        with m.If(take):
            m.d.sync += stains.bit_select(vector, 1).eq(stained)

        tag_layout = data.StructLayout(
            {"first": 1, "sent": 1, "kept": 1, "last": 1, "fault": 1, "register": len(register), "vector": len(vector)}
        )
        tags = [Signal(tag_layout, name="t0_tag")]
        m.d.comb += [
            tags[0].first.eq(unit == 0),
            tags[0].sent.eq(take & column_end & is_sent),
            tags[0].kept.eq(take & column_end & ~is_sent),
            tags[0].last.eq(word.last),
            tags[0].fault.eq(stained),
            tags[0].register.eq(register),
            tags[0].vector.eq(vector),
        ]
        for stage in range(1, len(flight) + 1):
            tags.append(Signal(tag_layout, name=f"t{stage}_tag"))
            m.d.sync += tags[-1].eq(tags[-2])
        m.d.sync += flight.eq((flight << 1) | take)

        one, sign = config.unit
        known = Array(Array(entry for entry in row) for row in entries)[vector][unit]
        a, b = Signal(core.bits, reset_less=True), Signal(core.bits, reset_less=True)
        m.submodules.arithmetic = unit_ = Arithmetic(core.ring, core.bits, combine_stages(core), self.target.multiplier)
        total = Signal(core.bits, reset_less=True)
        m.d.sync += [
            a.eq(Mux(is_combined, known, Mux(unit == 0, one, 0))),
            b.eq(word.data),
        ]
        with m.If(flight[-2]):
            m.d.sync += total.eq(_added(core.ring, unit_.o, Mux(tags[-2].first, 0, total)))
        m.d.comb += [unit_.a.eq(a), unit_.b.eq(b), unit_.acc.eq(0), unit_.neg.eq(sign < 0)]

        tag = tags[-1]
        for n, row in enumerate(entries):
            for r, entry in enumerate(row):
                value = Mux((tag.vector == n) & (tag.register == r), total, coming[n][r])
                with m.If(tag.kept):
                    m.d.sync += coming[n][r].eq(value)
                with m.If(tag.kept & tag.last):
                    m.d.sync += entry.eq(value)
        m.d.comb += [
            self.push.eq(tag.sent),
            self.word.data.eq(total),
            self.word.last.eq(tag.last),
            self.word.fault.eq(tag.fault),
        ]
        return m


def _added(ring, a, b):
    """The sum of two hardware words in ``ring``."""
    match ring:
        case PrimeField(p):
            total = a + b
            less = total - p
            return Mux(less[-1], total, less)[: len(a)]
        case Boolean():
            return a ^ b
        case _:
            return (a + b)[: len(a)]

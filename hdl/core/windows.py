"""Windows: where the last words of each thread are in the input memory."""

from itertools import pairwise

from amaranth import Cat, Const, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from skinny.model.machine.isa import CoreConfig

__all__ = ["Windows"]


class Windows(wiring.Component):
    """Keeps for each thread the place of its newest word, and whether its window was full before.

    The words of a thread go round a part of the input memory of its own, upwards, so that the word ``i`` before the
    newest one is ``i`` places below it. The places of all threads travel round a ring, the one of the thread that a
    vector is for in front; threads that get none in a batch pass by.

    Latency: ``place`` is combinational; ``newest`` and ``full`` follow ``vector_end`` by a cycle. Throughput: a word a
    cycle, but for a cycle for each thread that passes by, and one after each batch. No back-pressure.

    Parameters
    ----------
    config : CoreConfig

    Members
    -------
    accept, vector_end : In(1)
        A word comes in; it is the last one of its vector.
    batch_ended : In(1)
        A batch came in, and its last word was accepted in the cycle before. No word is accepted in this one.
    u : In
        The number of the word in its vector; zero between vectors.
    passing : In(1)
        The thread in front passes by.
    size : In(window_bits)
        The words of a window, a power of two.
    renew : In(1)
        All windows are emptied; if a batch has begun to come in, after its last word, and when nothing of what came in
        is still to be read.
    used : In(1)
        There is a batch that came in and was not released.
    waits : Out(1)
        No word may come in before the windows are emptied.
    place : Out(window_bits)
        Where the word that comes in goes.
    newest : Out(window_bits)
        Where the last word of the vector that ended is.
    full : Out(1)
        With that vector, the window of its thread is full.
    front : Out(window_bits + 1)
        What is kept of the thread in front, for the guard.
    """

    def __init__(self, config: CoreConfig):
        self.config = config
        super().__init__(
            {
                "accept": In(1),
                "vector_end": In(1),
                "batch_ended": In(1),
                "u": In(config.window_bits - 1),
                "passing": In(1),
                "size": In(config.window_bits),
                "renew": In(1),
                "used": In(1),
                "waits": Out(1),
                "place": Out(config.window_bits),
                "newest": Out(config.window_bits),
                "full": Out(1),
                "front": Out(config.window_bits + 1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        threads = range(self.config.threads)
        # After n words the newest one is at place n, so that a bit of n tells when the window is full. That is known a
        # cycle after the vector, when its thread is the last one of the ring.
        places = [Signal(self.config.window_bits, name=f"place{thread}") for thread in threads]
        were_full = [Signal(name=f"full{thread}") for thread in threads]
        # Whether a batch has begun to come in; whether windows are yet to be emptied.
        amid = Signal()
        due = Signal()
        empty = Signal()
        m.d.comb += [
            empty.eq(due & ~amid & ~self.used),
            self.waits.eq(due & ~amid),
            # A thread that passes by keeps its place: only a word adds the carry.
            self.place.eq((Cat(Const(1, 1), places[0]) + Cat(~self.passing, self.u))[1:]),
            self.newest.eq(places[-1]),
            self.full.eq(were_full[-1] | (places[-1] & self.size).any()),
            self.front.eq(Cat(places[0], were_full[0])),
        ]
        m.d.sync += [
            amid.eq(self.accept | (amid & ~self.batch_ended)),
            due.eq(self.renew | (due & ~empty)),
        ]
        with m.If(empty):
            m.d.sync += [*(place.eq(0) for place in places), *(full.eq(0) for full in were_full)]
        with m.Elif(self.vector_end | self.passing):
            m.d.sync += [front.eq(behind) for front, behind in (*pairwise(places), (places[-1], self.place))]
            m.d.sync += were_full[-1].eq(were_full[0])
            m.d.sync += [front.eq(behind) for front, behind in pairwise(were_full[:-1])]
            m.d.sync += were_full[max(0, len(threads) - 2)].eq(self.full)
        return m

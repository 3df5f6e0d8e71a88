"""Windows: where the last words of each thread are in the input memory."""

from itertools import pairwise

from amaranth import Cat, Const, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from skinny.model.machine.isa import CoreConfig

__all__ = ["Windows"]


class Windows(wiring.Component):
    """Keeps for each thread the place of its newest word, and whether its window was full before.

    The words of a thread go round a part of the input memory of its own, downwards, so that the word ``i`` before the
    newest one is ``i`` places above it. The places of all threads travel round a ring, the one of the thread that a
    vector is for in front; threads that get none in a batch pass by.

    Latency: ``place`` and ``full`` are combinational. Throughput: a word a cycle, but for a cycle for each thread that
    passes by. No back-pressure.

    Parameters
    ----------
    config : CoreConfig

    Members
    -------
    accept, vector_end, batch_end : In(1)
        A word comes in; it is the last one of its vector, of its batch.
    left : In
        Minus one for the first word of a vector and one less for each that follows; minus one between vectors.
    passing : In(1)
        The thread in front passes by.
    size : In(window_bits)
        The words of a window, a power of two.
    renew : In(1)
        All windows are emptied; if a batch has begun to come in, after its last word, and when nothing of what came in
        is still to be read.
    used : In(1)
        In the next cycle there is a batch that came in and was not released.
    waits : Out(1)
        No word may come in before the windows are emptied.
    place : Out(window_bits)
        Where the word that comes in goes.
    full : Out(1)
        With the vector that ends, the window of its thread is full.
    front : Out(window_bits + 1)
        What is kept of the thread in front, zero for an empty window, for the guard.
    """

    def __init__(self, config: CoreConfig):
        self.config = config
        super().__init__(
            {
                "accept": In(1),
                "vector_end": In(1),
                "batch_end": In(1),
                "left": In(config.window_bits - 1),
                "passing": In(1),
                "size": In(config.window_bits),
                "renew": In(1),
                "used": In(1),
                "waits": Out(1),
                "place": Out(config.window_bits),
                "full": Out(1),
                "front": Out(config.window_bits + 1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        threads = range(self.config.threads)
        # Empty windows have their newest word at the highest place, so that after n words it is at ~n.
        places = [Signal(self.config.window_bits, init=-1, name=f"place{thread}") for thread in threads]
        were_full = [Signal(name=f"full{thread}") for thread in threads]
        # Whether a batch has begun to come in; whether windows are yet to be emptied.
        amid, due = Signal(), Signal()
        amid_next, due_next, empty = Signal(), Signal(), Signal()
        m.d.comb += [
            amid_next.eq((amid | self.accept) & ~self.batch_end),
            empty.eq(~amid_next & ~self.used),
            due_next.eq((self.renew | due) & ~empty),
            self.front.eq(Cat(~places[0], were_full[0])),
            self.waits.eq(due & ~amid),
            # A thread that passes by keeps its place: the carry takes back the minus one.
            self.place.eq((Cat(Const(1, 1), places[0]) + Cat(self.passing, self.left, Const(1, 1)))[1:]),
            self.full.eq(were_full[0] | (~self.place & self.size).any()),
        ]
        m.d.sync += [amid.eq(amid_next), due.eq(due_next)]
        with m.If((self.renew | due) & empty):
            m.d.sync += [*(place.eq(-1) for place in places), *(full.eq(0) for full in were_full)]
        with m.Elif(self.vector_end | self.passing):
            m.d.sync += [front.eq(behind) for front, behind in (*pairwise(places), (places[-1], self.place))]
            m.d.sync += [front.eq(behind) for front, behind in (*pairwise(were_full), (were_full[-1], self.full))]
        return m

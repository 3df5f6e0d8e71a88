"""Serial lines: eight data bits, least significant first, no parity, one stop bit."""

from amaranth import Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.wiring import In, Out

__all__ = ["UartReceiver", "UartTransmitter"]

#: Below this there is no middle of a bit to sample.
LEAST_DIVISOR = 4


def _expect_divisor(divisor: int) -> None:
    if not isinstance(divisor, int) or divisor < LEAST_DIVISOR:
        raise ValueError(f"the divisor must be an integer of at least {LEAST_DIVISOR}, not {divisor!r}")


class UartReceiver(wiring.Component):
    """Receives bytes from a line.

    A start bit must still be low in its middle; every bit is sampled in its middle, in steps of ``divisor`` cycles from
    the edge of the start bit, so the sender's clock may be off by 3 % (divisor 24; 4 % for 100). The next start bit is
    looked for from the middle of the stop bit on, where ``valid`` is high for a cycle; there is no back-pressure.

    Parameters
    ----------
    divisor : int
        The number of cycles that a bit takes.

    Members
    -------
    rx : In(1)
        The line; asynchronous.
    data, valid : Out
        A byte that was received.
    error : Out(1)
        With ``valid``: the stop bit was low. No byte is looked for before the line is high again.
    """

    def __init__(self, divisor: int):
        _expect_divisor(divisor)
        self.divisor = divisor
        super().__init__({"rx": In(1, init=1), "data": Out(8), "valid": Out(1), "error": Out(1)})

    def elaborate(self, platform):
        m = Module()
        line = Signal(init=1)
        m.submodules.synchronizer = FFSynchronizer(self.rx, line, init=1)
        timer = Signal(range(self.divisor))
        count = Signal(range(8))
        m.d.sync += [timer.eq(timer - 1), self.valid.eq(0)]
        with m.FSM():
            with m.State("Idle"):
                m.d.sync += [timer.eq(self.divisor // 2 - 1), count.eq(0)]
                with m.If(~line):
                    m.next = "Start"
            with m.State("Start"), m.If(timer == 0):
                m.d.sync += timer.eq(self.divisor - 1)
                with m.If(line):
                    m.next = "Idle"
                with m.Else():
                    m.next = "Data"
            with m.State("Data"), m.If(timer == 0):
                m.d.sync += [timer.eq(self.divisor - 1), self.data.eq(Cat(self.data[1:], line)), count.eq(count + 1)]
                with m.If(count == 7):
                    m.next = "Stop"
            with m.State("Stop"), m.If(timer == 0):
                m.d.sync += [self.valid.eq(1), self.error.eq(~line)]
                m.next = "Quiet"
            with m.State("Quiet"), m.If(line):
                m.next = "Idle"
        return m


class UartTransmitter(wiring.Component):
    """Sends bytes on a line.

    Throughput: a byte takes ten bits of ``divisor`` cycles. Back-pressure: ``i`` is ready in the last of these cycles,
    so that bytes follow each other without a gap.

    Parameters
    ----------
    divisor : int
        The number of cycles that a bit takes.

    Members
    -------
    i : In(stream of 8 bits)
        The bytes.
    tx : Out(1)
        The line; high when idle.
    """

    def __init__(self, divisor: int):
        _expect_divisor(divisor)
        self.divisor = divisor
        super().__init__({"i": In(stream.Signature(8)), "tx": Out(1, init=1)})

    def elaborate(self, platform):
        m = Module()
        bits = Signal(9, init=0x1FF)
        left = Signal(range(10))
        timer = Signal(range(self.divisor))
        m.d.comb += [self.tx.eq(bits[0]), self.i.ready.eq((left == 0) & (timer == 0))]
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += [bits.eq(Cat(0, self.i.payload)), left.eq(9), timer.eq(self.divisor - 1)]
        with m.Elif(timer != 0):
            m.d.sync += timer.eq(timer - 1)
        with m.Elif(left != 0):
            m.d.sync += [bits.eq(Cat(bits[1:], 1)), left.eq(left - 1), timer.eq(self.divisor - 1)]
        return m

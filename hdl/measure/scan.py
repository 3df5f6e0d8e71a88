"""The scan wrapper: any component behind four pins, so that it can be placed, routed and measured on its own."""

from amaranth import Cat, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["ScanWrapper"]


class ScanWrapper(wiring.Component):
    """``core`` with every input from a shift register and every output captured and mixed into one pin.

    So paths from and to the pins begin and end in registers beside the logic, and no output is optimised away. Ports
    named ``retire``, if there are any, stay open: they serve simulation and cost nothing then. Latency: an output of
    the core reaches ``q`` two cycles later at the earliest. No back-pressure.

    Parameters
    ----------
    core : wiring.Component
        The component that is measured.

    Members
    -------
    d : In(1)
        Is shifted into the inputs, a bit a cycle.
    q : Out(1)
        A signature of all outputs of all cycles.
    """

    def __init__(self, core: wiring.Component):
        self.core = core
        super().__init__({"d": In(1), "q": Out(1)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.core = self.core
        inputs: list[Value] = []
        outputs: list[Value] = []
        for path, member, port in self.core.signature.flatten(self.core):
            if not path[0].startswith("retire"):
                (inputs if member.flow is In else outputs).append(Value.cast(port))

        scanned = Signal(len(Cat(inputs)), reset_less=True)
        m.d.sync += scanned.eq(Cat(self.d, scanned[:-1]))
        at = 0
        for port in inputs:
            m.d.comb += port.eq(scanned[at : at + len(port)])
            at += len(port)

        captured = Signal(len(Cat(outputs)), reset_less=True)
        folded = Signal.like(captured)
        m.d.sync += [captured.eq(Cat(outputs)), folded.eq(captured ^ Cat(self.d, folded[:-1]))]
        m.d.comb += self.q.eq(folded[-1])
        return m

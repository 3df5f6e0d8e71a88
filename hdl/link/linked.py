"""A core behind a serial line: everything of a board except its pins and its clock."""

from amaranth import Module, ResetInserter
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect
from skinny.hdl.core.core import Core
from skinny.model.link.wire import BoardInfo, seal
from skinny.model.machine.assemble import Image

from .frames import FrameReceiver, FrameTransmitter
from .link import Link
from .uart import UartReceiver, UartTransmitter

__all__ = ["LinkedCore"]


class LinkedCore(wiring.Component):
    """A core that is loaded and run over a serial line.

    Back-pressure: the line has none; requests wait in ``device.buffer`` bytes, and a frame that finds no room is lost.

    Parameters
    ----------
    device : BoardInfo
        The description that the board gives of itself, with the configuration of the core.
    image : Image or None
        The image that the core holds from the beginning.
    divisor : int
        The number of cycles that a bit takes on the line.
    target : str
        The target of the core.

    Members
    -------
    rx, tx : In(1), Out(1)
        The line; ``rx`` is asynchronous.
    fault, busy : Out(1)
        The state of the core.
    """

    def __init__(self, device: BoardInfo, image: Image | None, divisor: int, target: str = "generic"):
        self.device = device
        self.image = image
        self.divisor = divisor
        self.target = target
        super().__init__({"rx": In(1, init=1), "tx": Out(1, init=1), "fault": Out(1), "busy": Out(1)})

    def elaborate(self, platform):
        m = Module()
        core = Core(self.device.config, self.image, target=self.target)
        m.submodules.link = link = Link(self.device, seal(self.image) if self.image else 0)
        m.submodules.core = ResetInserter(link.reset)(core)
        m.submodules.receiver = receiver = UartReceiver(self.divisor)
        m.submodules.transmitter = transmitter = UartTransmitter(self.divisor)
        m.submodules.requests = requests = FrameReceiver(self.device.buffer)
        m.submodules.replies = replies = FrameTransmitter()
        connect(m, requests.o, link.i)
        connect(m, link.o, replies.i)
        connect(m, replies.o, transmitter.i)
        connect(m, link.words, core.i)
        connect(m, link.load, core.load)
        connect(m, core.o, link.results)
        m.d.comb += [
            receiver.rx.eq(self.rx),
            requests.data.eq(receiver.data),
            requests.valid.eq(receiver.valid),
            requests.error.eq(receiver.error),
            link.garbled.eq(requests.garbled),
            replies.finish.eq(link.finish),
            link.fault.eq(core.fault),
            link.busy.eq(core.busy),
            self.tx.eq(transmitter.tx),
            self.fault.eq(core.fault),
            self.busy.eq(core.busy),
        ]
        return m

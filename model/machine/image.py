"""What images of a core and of an engine of several cores have in common: all that simulators, exports and commands
need of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from skinny.model.program.program import Program
from skinny.model.rings import Array

from .isa import CoreConfig, Space, Words

if TYPE_CHECKING:
    from .assemble import Image
    from .cycles import Prediction, Timetable

__all__ = ["NO_WAITS", "Hardware", "MachineImage", "Waits", "Write"]


class Write(NamedTuple):
    """One write at the load port."""

    space: Space
    address: int
    data: int


class Waits(NamedTuple):
    """How long the ports of a core or an engine are kept waiting.

    ``gaps[n]`` are idle cycles before the source offers input word ``n`` (counted from the word before), ``stalls[n]``
    the cycles that result ``n`` is valid before the sink is ready, ``pauses[n]`` those before word ``n`` is offered at
    the load port; ``renews[n]`` says that it is no weight, so that streams begin anew, and ``tunes[n]`` is the address
    and the word of one that is. Without them, source and sink never wait, and the load port is idle.
    """

    gaps: Sequence[int] | None = None
    stalls: Sequence[int] | None = None
    pauses: Sequence[int] = ()
    renews: Sequence[bool] = ()
    tunes: Sequence[tuple[int, int] | None] = ()


NO_WAITS = Waits()


class Hardware(Protocol):
    """The size of a core, or of an engine of ``cores`` lanes that are ``core`` each."""

    @property
    def core(self) -> CoreConfig: ...

    @property
    def cores(self) -> int: ...

    @property
    def address_bits(self) -> int:
        """Bits of an address at the load port."""

    @property
    def load_bits(self) -> int:
        """Bits of a word at the load port."""


class MachineImage(Protocol):
    """What a core or an engine holds to run a program.

    Its length is the number of program words of the longest lane, ``steps`` the number of words that a run issues;
    ``lanes`` are the images of all cores (a core has one
    lane: itself), ``config`` is the size of each, ``hardware`` that of the whole. ``vector`` is the number of words of
    an input vector, ``batch`` the number of vectors that run together, ``emits`` the number of result words of a run,
    ``batches`` the number of batches whose results fit the result FIFO together. ``outputs`` names the results of a
    run in order; with ``self_check`` a status word follows them.
    """

    def __len__(self) -> int: ...

    @property
    def steps(self) -> int: ...

    @property
    def program(self) -> Program: ...

    @property
    def hardware(self) -> Hardware: ...

    @property
    def config(self) -> CoreConfig: ...

    @property
    def lanes(self) -> tuple[Image, ...]: ...

    @property
    def vector(self) -> int: ...

    @property
    def outputs(self) -> tuple[str, ...]: ...

    @property
    def self_check(self) -> bool: ...

    @property
    def batch(self) -> int: ...

    @property
    def emits(self) -> int: ...

    @property
    def batches(self) -> int: ...

    def reassemble(self, program: Program) -> MachineImage:
        """The image of another program for the same hardware, without a self-check."""

    def loads(self) -> Iterator[Write]:
        """The writes that put the image into the hardware over its load port."""

    def listing(self) -> str:
        """All program words as text, a line each."""

    def golden(self, elements: Array) -> Array:
        """The outputs that the golden model gives for ``elements`` of shape ``(batch, inputs)``; their shape is
        ``(batch, outputs)``. Those of a stream program have the shapes ``(streams, samples, words)`` and ``(streams,
        runs, outputs)``."""

    def timetable(self, sizes: Sequence[int], waits: Waits = NO_WAITS) -> Timetable:
        """When everything happens, from cycle 0 after reset, with batches of ``sizes`` vectors."""

    def predict(self, vectors: Words, sizes: Sequence[int], waits: Waits = NO_WAITS) -> Prediction:
        """All that happens with ``vectors``, hardware words of shape ``(vectors, vector)``, in batches of ``sizes``."""

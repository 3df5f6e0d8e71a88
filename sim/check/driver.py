"""The input pins of a core, driven by a simulator that runs Python in every cycle.

A reset and a load are generators: each ``yield`` waits for the next cycle. ``read(name)`` gives an output of the core
in this cycle, ``write(name, value)`` drives an input from this cycle on. The names are those of ``Pins`` in
``hdl/export``. No output depends on an input of the same cycle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from random import Random

import numpy as np
from skinny.model.errors import CheckError
from skinny.model.machine.image import MachineImage

__all__ = ["PinDriver"]


class PinDriver:
    """Drives the inputs of a core; pins have ``widths`` bits. Pins that mean nothing in a cycle get random bits."""

    def __init__(
        self, read: Callable[[str], int], write: Callable[[str, int], None], widths: Mapping[str, int]
    ) -> None:
        self.read = read
        self._write = write
        self._driven: dict[str, int] = {}
        self.widths = widths
        self.rom = "load_valid" not in widths
        self.rng = np.random.default_rng(1)
        self.bits = Random(1).getrandbits

    def write(self, name: str, value: int) -> None:
        """Drive an input. A value that is there already costs no time."""
        if self._driven.get(name) != value:
            self._driven[name] = value
            self._write(name, value)

    def noise(self, *names: str) -> None:
        """Drive new random bits on pins that mean nothing in this cycle."""
        for name in names:
            self.write(name, self.bits(self.widths[name]))

    def offer_nothing(self) -> None:
        """No word is offered at the input."""
        self.write("i_valid", 0)
        self.noise("i_data", "i_last")

    def load_nothing(self) -> None:
        """No word is offered at the load port."""
        if not self.rom:
            self.write("load_valid", 0)
            self.noise("load_space", "load_address", "load_data")

    def load_word(self, item: tuple[int, int, int]) -> None:
        """Offer space, address and data at the load port."""
        for name, value in zip(("space", "address", "data"), item, strict=True):
            self.write(f"load_{name}", int(value))
        self.write("load_valid", 1)

    def rest(self) -> None:
        """Nothing moves at any port."""
        self.offer_nothing()
        self.load_nothing()
        self.write("o_ready", 0 if self.read("o_valid") else self.bits(1))

    def reset(self) -> Iterator[None]:
        """Hold reset for a cycle, in which the pins of ``i`` and ``o`` are random."""
        self.load_nothing()
        self.noise("i_valid", "i_data", "i_last", "o_ready")
        self.write("rst", 1)
        yield
        self.write("rst", 0)
        self.rest()

    def load(self, image: MachineImage) -> Iterator[None]:
        """Write ``image`` at the load port, with pauses. Windows become empty in the cycle after the last word."""
        for number, item in enumerate(image.loads()):
            while not self.bits(3):
                self.rest()
                yield
            self.rest()
            self.load_word(item)
            if not self.read("load_ready"):
                raise CheckError(f"word {number} of the image: load_ready expected 1, got 0")
            yield
        self.rest()
        yield
        self.rest()

"""Upsets of a simulated board behind the host library, and how often a user gets right results all the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from skinny.model.errors import CheckError
from skinny.model.link.host import Host
from skinny.model.link.wire import BoardInfo
from skinny.model.machine.assemble import Image
from skinny.sim.check.generate import golden_words, random_vectors
from skinny.sim.link.board import TOP, SimulatedBoard

from .campaign import BATCHES, draw_bits

__all__ = ["Recovery", "recover_board"]

CLOCK = 24_000_000
#: The scope of the core among the modules of a simulated board.
CORE = f"{TOP}.core.core"
#: Simulated seconds that a reply may take. The board gives up after 2.7 ms of no progress.
PATIENCE = 0.005


class Recovery(NamedTuple):
    """Counts of runs with an upset each: ``upsets`` runs in all, ``recoveries`` in which the host reset and loaded the
    core and sent all again, and ``right`` ones that returned the results of the golden model without a fault."""

    upsets: int
    recoveries: int
    right: int


def recover_board(image: Image, count: int, seed: int, progress: Callable[[int], None] = lambda done: None) -> Recovery:
    """Run ``image`` ``count`` times through the host library; in each run one bit of a register or memory of the core
    flips, in turn in any cycle and in one in which the core runs. Nobody mends anything between the runs. ``progress``
    is told how many are done."""
    rng = np.random.default_rng(seed)
    board = SimulatedBoard(BoardInfo(image.config, "simulated", CLOCK), exposed=True)
    elements = board.state.elements
    core = [number for number, element in enumerate(elements) if element.scope.startswith(CORE)]
    memories = [number for number in core if elements[number].words > 1]
    registers = [number for number in core if elements[number].words == 1]
    bits = np.concatenate(
        [
            draw_bits(rng, elements, np.array(registers), count - count // 2),
            draw_bits(rng, elements, np.array(memories), count // 2),
        ]
    )
    rng.shuffle(bits)
    host = Host(board, seconds=PATIENCE)
    vectors = random_vectors(rng, image, BATCHES * image.batch)
    host.load(image)
    before = board.cycles
    host.run(image, vectors)
    cycles = board.cycles - before
    right = 0
    places: list[tuple[int, int, int]] = bits.tolist()
    for done, bit in enumerate(places, 1):
        vectors = random_vectors(rng, image, BATCHES * image.batch)
        busy = bool(done % 2)
        board.flip(*bit, int(rng.integers(BATCHES * len(image) * image.config.threads if busy else cycles)), busy)
        try:
            found = host.run(image, vectors)
        except CheckError:
            continue
        right += np.array_equal(found.words, golden_words(image, vectors)) and not found.faults.any()
        progress(done)
    return Recovery(count, host.recoveries, right)

"""Sound static bounds of a program in fixed point: does what it reads fit the word, and how wrong can an output be.

The values that are bounded
    Inputs are elements of the ring; the box is rounded to the grid the way inputs are. The *exact* value of a
    register is the value that the program gives it over the rationals, with unrounded weights, at those inputs. The
    *actual* value is the one that the machine holds. The error of an output is |actual - exact|: it comes from the
    rounding of products and of weights, not from the rounding of the inputs themselves.

The values that must fit the word
    Every value that is *read*: a register when an instruction multiplies it, the accumulator S when an instruction
    multiplies with it, a register when it is sent. Nothing else: sums are taken modulo 2^bits and may wrap.

    The argument is an induction over the instructions. Think of a machine with unlimited words beside the actual one,
    and suppose that each actual register is that of the unlimited machine modulo 2^bits, as it is at the start. An
    instruction multiplies two words. As both fit in the unlimited machine, and are congruent to the actual ones, they
    are equal to them; so the rounded products are equal, and the sums are congruent again. S is a sum of products of
    weights, inputs and registers, which fit: a register in S is read, and so is a value whose relu is taken. What is
    sent is congruent and fits, so it is equal. The self-check of a program takes away the same products that were
    added, so that it restores the registers modulo 2^bits whether they fit or not.

The files of this room
    ``bounds`` holds this question and its answer, ``suggest`` the search for the smallest format, ``analysis`` the
    choice between six ways to find the answer. Programs with state are the matter of ``streams``: their ``recurrence``,
    its ``poles``, and its ``responses``, which give ranges in the ``steady`` run. Others that are not pure are
    followed forwards by ``layers``, with the values as ``affine`` enclosures. Of the pure ones, those of few variables
    are evaluated at ``nodes``, along the ``graph`` of their distinct values, with its ``measures`` and ``degrees``. For
    many variables the ``terms`` of the ``polynomials`` along the graph are written down. Others are followed
    instruction by instruction, with the ``registers`` and the ``scalars`` as ``enclosures``; ``recurring`` finds where
    that may forget. ``structure`` bounds long and deeply nested programs in another way. Each of them counts its work
    and gives up when that is too much, whatever the clock says; what is not proven by then is infinite.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from skinny.model.program.program import Program
from skinny.model.rings import FixedPoint

from .analysis import Analysis, Overflow
from .box import Box

__all__ = ["Bound", "bound"]


@dataclass(frozen=True, eq=False)
class Bound:
    """Bounds that hold for every run of a program in ``ring`` from inputs in the box.

    ``low[t]`` and ``high[t]`` bound the register that instruction ``t`` writes, after it; the others keep their range.
    ``ranges[r]`` is the least and the greatest value register ``r`` has at any time. ``errors`` bounds the error of
    each output, provided that everything that is read fits: ``overflow`` is the first value for which that is not
    certain. Ranges and errors are those of an unlimited word; they are infinite once a value may exceed 2^64.
    ``reason`` says why something in a stream has no bound, if it has none.
    ``seconds`` is what the analysis took, as it counts its work.
    """

    ring: FixedPoint
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    ranges: NDArray[np.float64]
    errors: dict[str, float]
    overflow: Overflow | None
    reason: str | None
    seconds: float

    @property
    def safe(self) -> bool:
        return self.overflow is None


def bound(program: Program, ring: FixedPoint, box: Box) -> Bound:
    """Bound ``program`` in ``ring`` on ``box``; a weight, a start value or a box that does not fit is an error."""
    analysis = Analysis(program, ring, box)
    return Bound(
        ring,
        analysis.low,
        analysis.high,
        analysis.ranges(),
        analysis.errors,
        analysis.first_overflow(ring.bits),
        analysis.reason,
        analysis.spent,
    )

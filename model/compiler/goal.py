"""Goals: the wishes that the compiler was given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from skinny.model.errors import InputError
from skinny.model.formula.formula import Formula, Operations, operations
from skinny.model.program.program import MOST_WIDTH

from .contracts import Contract, Promise

__all__ = ["PASSES", "PURE", "Ends", "Goal", "Precision", "expect_width", "parse_keep"]

#: The passes, each of which can be switched off by name. All are files in ``passes/`` but two, which are decisions of
#: the shaper: contracts (blocks may leave dirt that their counterparts remove) and telescope (sums of products step
#: from one linear form to the next).
PASSES = (
    "contracts",
    "associate",
    "telescope",
    "factor",
    "rebalance",
    "rescale",
    "chain",
    "univariate",
    "ladder",
    "peephole",
    "prune",
    "schedule",
    "search",
)
#: What a program may promise of its registers: for fixed inputs they are multiplied by a matrix, which can be undone.
#: A program that keeps both promises is pure.
PURE = frozenset(("linear", "reversible"))
#: The least and the greatest value of an input or a form.
Ends = tuple[Fraction, Fraction]


def expect_width(width: int) -> None:
    """Refuse a number of registers that no compiled program has."""
    if not 3 <= width <= MOST_WIDTH:
        raise InputError(f"the width must be 3 to {MOST_WIDTH}, not {width}")


def parse_keep(text: str) -> frozenset[str]:
    """The promises in a text like ``linear,reversible``; ``none`` are none of them."""
    promises = frozenset(str(text).split(","))
    if promises == {"none"}:
        return frozenset()
    if not promises <= PURE:
        raise InputError(f"keep must be linear,reversible or one of linear, reversible, none; not {text!r}")
    return promises


@dataclass(frozen=True)
class Precision:
    """What is asked of a program in fixed point: ``bits`` in a word, ``frac`` of them behind the binary point (none:
    the compiler chooses), for inputs in ``box``, with an error of at most ``errors`` of each output (none: within twice
    the least that any candidate has). With ``scale`` inputs and outputs are divided by powers of two, so that the bits
    are used well."""

    bits: int
    frac: int | None
    box: Mapping[str, Ends]
    error: Fraction | None = None
    scale: bool = False


@dataclass(frozen=True)
class Goal:
    """The wishes that the compiler was given. ``box`` are the ranges of the variables, by their numbers, and ``bits``
    those of the word, when the program is for fixed point. ``inputs`` are names of inputs that come before all others,
    in this order."""

    contract: str
    width: int
    attention: bool
    without: frozenset[str]
    start: tuple[int, ...]
    box: tuple[Ends, ...] | None = None
    bits: int = 0
    inputs: tuple[str, ...] = ()

    def operations(self, outputs: Mapping[str, Formula]) -> Operations:
        """The operations of ``outputs``, the inputs first: they are numbered in the order in which they are met."""
        written = operations(*outputs.values())
        if not self.inputs:
            return written
        place = {name: number for number, name in enumerate(self.inputs)}
        return sorted(
            written, key=lambda pair: place.get(pair[0].value, len(place)) if pair[0].kind == "variable" else len(place)
        )

    def uses(self, name: str) -> bool:
        return name not in self.without

    @property
    def clean(self) -> bool:
        return self.contract == "clean"

    @property
    def allows_graph(self) -> bool:
        """Whether a program that holds parts of the formula in registers would do."""
        return self.clean and self.attention and self.start == self.code_start

    @property
    def block_contract(self) -> Contract:
        """The contract of the block that computes a whole output."""
        extra = self.width - 3
        if self.clean:
            return Contract(Promise.SPEND_ZERO, fresh=True, last=True, extra=extra)
        return Contract(Promise.RESTORE, extra=extra)

    @property
    def code_start(self) -> tuple[int, ...]:
        """The start vector that code is written for: clean code needs (0, 1, 0, …), code in place needs none."""
        return tuple(int(register == 1) for register in range(self.width)) if self.clean else self.start

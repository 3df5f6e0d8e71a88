"""Structure: bounds of a long program from the products of its matrices, where cancellation is exact.

An instruction is a matrix ``I ± s·E``, so the error that step ``t`` makes reaches a later register multiplied by an
entry of the matrices in between. With ``M`` the product of all matrices so far, ``N`` its inverse and ``d_t`` the error
of step ``t`` in register ``dst_t``,

    error = Σ_t d_t · row dst_t of N(t) · M,        at most  Σ_c (Σ_t |d_t|·|N(t)[dst_t, c]|) · |M[c, register]|:

sums over the program of entries that are polynomials in the inputs. A value that a program computes and takes away
again cancels in them, however deep it is nested, so they stay small where stepwise bounds double with every level. The
enclosures that follow each rounding through the program (``analysis``) are tighter, but in long programs they must
forget; these bounds hold then. For an output the entries themselves are taken, from the end backwards.

Coefficients are whole numbers of steps of 2^-400. Products are rounded to steps and coefficients below 2^-360 dropped,
so that what is taken away again is gone. The polynomials are therefore those of a machine that errs by less than
2^-359 a term. Its errors obey the formula above: with fewer than 2^30 terms in all, entries up to 2^64 before a step
and scalars below 2^90 they stay below width·2^-100; :data:`_PAD` makes up for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from skinny.model.program.program import Program

from .enclosures import UNIT, Algebra

__all__ = ["Factor", "Structure", "dyadic", "follow"]

_SCALE, _DROPPED = 400, 1 << 40
_PAD = 2.0**-50
#: Entries beyond this bound nothing that fits a word.
_HOPELESS = 1 << 64
#: Multiplications of terms that the analysis may take each way, some five seconds; an eighth of it ahead of its share.
_WORK = 5_000_000
_AHEAD = 1 / 8


class Factor(NamedTuple):
    """A scalar as it is used: ``Σ n·variable / 2^shift``, at most ``size``. Reading a register that holds at most ``a``
    errs by at most ``rounding + change·a``."""

    terms: list[tuple[int, int]]
    shift: int
    size: float
    rounding: float
    change: float


class Structure(NamedTuple):
    """Bounds of the register each instruction writes, after it, and of each output's error; infinite where the analysis
    gave up."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    errors: dict[str, float]


def dyadic(polynomial: dict[int, Fraction]) -> tuple[list[tuple[int, int]], int]:
    """Coefficients, whose denominators are powers of two, as whole numbers over one of them."""
    shift = max((c.denominator.bit_length() - 1 for c in polynomial.values()), default=0)
    return [(variable, int(c * (1 << shift))) for variable, c in polynomial.items() if c], shift


class _Entry:
    """A polynomial in variables between -1 and 1, in steps of ``2^-scale``. ``spread`` sums the absolute coefficients
    of the monomials that have both signs, ``above`` and ``below`` the coefficients of squares by their own sign."""

    __slots__ = ("above", "below", "spread", "terms")

    def __init__(self, constant: int = 0) -> None:
        self.terms = {0: constant} if constant else {}
        self.spread = self.above = self.below = 0

    def add(self, other: _Entry, factor: Factor, sign: int, algebra: Algebra) -> int:
        """Add ``sign·factor·other`` and return the number of terms that were multiplied."""
        terms, spread, squares, shift = self.terms, self.spread, algebra.squares, factor.shift
        least = _DROPPED if shift else 1
        for variable, n in factor.terms:
            n *= sign
            keys = algebra.multiples(other.terms, variable) if variable else other.terms
            for key, c in zip(keys, other.terms.values(), strict=True):
                change = c * n >> shift
                old = terms.get(key, 0)
                new = old + change
                if -least < new < least:
                    new = 0
                    terms.pop(key, None)
                else:
                    terms[key] = new
                if key in squares:
                    self.above += max(new, 0) - max(old, 0)
                    self.below += min(new, 0) - min(old, 0)
                elif key:
                    spread += abs(new) - abs(old)
        self.spread = spread
        return len(factor.terms) * len(other.terms)

    def range(self) -> tuple[int, int]:
        """The least and the greatest value, in steps."""
        middle = self.terms.get(0, 0)
        return middle + self.below - self.spread, middle + self.above + self.spread

    def size(self) -> int:
        low, high = self.range()
        return max(-low, high)


def follow(program: Program, factors: Sequence[Factor], start: Sequence[Fraction], algebra: Algebra) -> Structure:
    """Bounds of ``program`` with the scalars ``factors``, one for each form, in variables of ``algebra``."""
    walk = _Walk(program, factors, start, algebra)
    errors: dict[str, float] = {}
    done = begun = 0
    going = True
    for output in program.outputs:
        going = going and walk.run(done, output.at)
        # Without fractions nothing was rounded, so that what the entries were before does not matter.
        valid = going or walk.scale == 0
        error = walk.output_error(begun, output.at, output.register) if valid else float("inf")
        errors[output.name] = min(error, walk.errors[output.register]) if going else error
        done = output.at
        if output.restart:
            begun, going = output.at, True
            walk.start()
    if going:
        walk.run(done, len(program))
    return Structure(walk.low, walk.high, errors)


class _Walk:
    """The state after some instructions: ``m`` and ``n`` are the product of the matrices and its inverse, ``values``
    the registers without errors, ``sizes`` and ``errors`` bounds of the actual values and of their errors, ``made`` the
    sums of errors made so far, in the coordinates of the start."""

    def __init__(
        self, program: Program, factors: Sequence[Factor], start: Sequence[Fraction], algebra: Algebra
    ) -> None:
        self.factors, self.algebra, self.width = factors, algebra, program.width
        whole = all(factor.shift == 0 for factor in factors) and all(value.denominator == 1 for value in start)
        self.scale = 0 if whole else _SCALE
        self.initial = [int(value * (1 << self.scale)) for value in start]
        self.code = list(zip(*(column.tolist() for column in program.code.arrays()[:4]), strict=True))
        self.low = np.full(len(program), -np.inf)
        self.high = np.full(len(program), np.inf)
        #: Known in advance where a step's error does not depend on what it reads.
        known = [float("inf") if factor.change else factor.rounding for factor in factors]
        self.step_errors = [known[form] for _, _, _, form in self.code]
        self.work = self.back = 0
        #: Sums of floats that are never negative round by less than this in all.
        self.growth = 1 + (len(program) + program.width) * UNIT
        self.start()

    def start(self) -> None:
        self.m = [self._unit(c) for c in range(self.width)]
        self.n = [self._unit(c) for c in range(self.width)]
        self.values = [_Entry(constant) for constant in self.initial]
        self.sizes = [self._upper(abs(constant)) if constant else 0.0 for constant in self.initial]
        self.errors = [0.0] * self.width
        self.made = [0.0] * self.width

    def _unit(self, place: int) -> list[_Entry]:
        return [_Entry((r == place) << self.scale) for r in range(self.width)]

    def _upper(self, steps: int) -> float:
        """A float that is not below so many steps, nor below the exact polynomial whose bound they are."""
        value = steps / (1 << self.scale)
        return value + abs(value) * UNIT + _PAD

    def run(self, begin: int, end: int) -> bool:
        """Follow the instructions from ``begin`` to ``end - 1``; return false when that was given up."""
        for t in range(begin, end):
            dst, src, sign, form = self.code[t]
            factor = self.factors[form]
            self._multiply(dst, src, sign, factor)
            changed = (*(row[dst] for row in self.m), *self.n[src], self.values[dst])
            if self._too_much(self.work, t) or any(entry.size() >> self.scale >= _HOPELESS for entry in changed):
                return False
            error = factor.rounding if self.sizes[src] else 0.0
            if factor.change:
                error += factor.change * (self.sizes[src] + self.errors[src])
            self.step_errors[t] = error * self.growth
            self._err(dst, src, factor, error)
            least, most = self.values[dst].range()
            low, high = -self._upper(-least) - self.errors[dst], self._upper(most) + self.errors[dst]
            self.sizes[dst] = max(-low, high) if self.values[dst].terms or self.errors[dst] else 0.0
            if not self.sizes[dst] < _HOPELESS:
                return False
            self.low[t], self.high[t] = low, high
        return True

    def _too_much(self, work: int, done: int) -> bool:
        """Whether ``work`` multiplications are too many for the first ``done`` instructions."""
        return work > _WORK * (_AHEAD + done / len(self.code))

    def _multiply(self, dst: int, src: int, sign: int, factor: Factor) -> None:
        for row in self.m:
            if row[src].terms:
                self.work += row[dst].add(row[src], factor, sign, self.algebra)
        for entry, other in zip(self.n[src], self.n[dst], strict=True):
            if other.terms:
                self.work += entry.add(other, factor, -sign, self.algebra)
        self.work += self.values[dst].add(self.values[src], factor, sign, self.algebra)

    def _err(self, dst: int, src: int, factor: Factor, error: float) -> None:
        """The error of ``dst``: by the formula of this module, or that of one step if it is less."""
        for c, entry in enumerate(self.n[dst]):
            self.made[c] += error * self._upper(entry.size())
        whole = sum(made * self._upper(row[dst].size()) for made, row in zip(self.made, self.m, strict=True))
        step = self.errors[dst] + factor.size * self.errors[src] + error
        self.errors[dst] = min(whole * self.growth, step * (1 + 4 * UNIT))

    def output_error(self, begin: int, end: int, register: int) -> float:
        """The error that instructions ``begin`` to ``end - 1`` make in ``register``, by their entries themselves."""
        entries = self._unit(register)
        total = 0.0
        for t in range(end - 1, begin - 1, -1):
            dst, src, sign, form = self.code[t]
            if entries[dst].terms:
                total += self.step_errors[t] * self._upper(entries[dst].size())
                self.back += entries[src].add(entries[dst], self.factors[form], sign, self.algebra)
                if self._too_much(self.back, begin + end - t) or entries[src].size() >> self.scale > _HOPELESS**4:
                    return float("inf")
        return total * self.growth

"""Estimate: how precise a code would be in fixed point, seen at sample points of the box.

Precondition: code that is to be judged, and the box of the inputs. Postcondition: an :class:`Estimate`, from which the
bits and the error follow for any number of fraction bits. Nothing is proven here: the estimate sorts candidates, and
``skinny.model.bounds`` proves those that are chosen. Cost: a few array operations an instruction.

An instruction errs by the rounding of its product and by what its scalar lost. Run backwards from the output, the code
tells how much of that reaches the output. A product that is computed again, from the same scalar and the same word, is
rounded the same way, so what a program adds and takes away again cancels here as it does on the machine.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from math import frexp, inf

import numpy as np
from numpy.typing import NDArray

from .code import Affine, Code, is_simple

__all__ = ["Estimate", "sample_points"]

Floats = NDArray[np.float64]
#: Sample points: corners of the box, points of a grid when there is one input, and random points.
CORNERS, GRID, RANDOM = 64, 65, 64
#: Trailing zero bits of a word that is zero.
MANY_ZEROS = 64


def sample_points(box: Sequence[tuple[Fraction, Fraction]]) -> Floats:
    """Points of the box, one column each: corners, random points and, for one input, a grid that is dense at the ends
    of its range, where polynomials are steepest."""
    count = len(box)
    chance = np.random.default_rng(count)
    if 2**count <= CORNERS:
        corners = np.array([[n >> u & 1 for n in range(2**count)] for u in range(count)], dtype=float)
    else:
        corners = chance.integers(0, 2, (count, CORNERS)).astype(float)
    parts = [corners.reshape(count, min(2**count, CORNERS)), chance.random((count, RANDOM))]
    if count == 1:
        parts.append((1 - np.cos(np.linspace(0, np.pi, GRID))[None, :]) / 2)
    low = np.array([float(ends[0]) for ends in box])
    high = np.array([float(ends[1]) for ends in box])
    points: Floats = low[:, None] + np.concatenate(parts, axis=1) * (high - low)[:, None]
    return points


class Estimate:
    """The ranges of a code and the ways in which errors reach its output, at sample points.

    ``largest`` is the largest value that is read, a source, a scalar or the output, and ``given`` the largest input or
    constant. What is too large for a float is infinite. ``weights`` are the sizes of the named weights among the
    points, alone or times an input: the word of such a weight holds it times its constant.
    """

    @np.errstate(over="ignore", invalid="ignore")
    def __init__(self, code: Code, points: Floats, weights: Mapping[int, float] | None = None) -> None:
        self.code, self.points = code, points
        self.weights = weights or {}
        self.scalars = [_values(scalar, points) for scalar in code.scalars]
        chance = random.Random(0)
        numbers: dict[tuple[int, int], int] = {}
        one = chance.getrandbits(64)
        count = points.shape[1]
        registers = [np.full(count, float(value)) for value in code.start]
        held = [value * one for value in code.start]
        counts: list[dict[int, int]] = [{} for _ in code.start]
        fractions = [0] * code.width
        sizes = [1.0]
        reads: list[tuple[int, int, int, int, Floats, int]] = []
        #: Products that are never rounded, because their source is a whole number.
        self.exact: set[int] = set()
        for dst, src, sign, number in code.rows():
            source = registers[src]
            if held[src]:
                product = numbers.setdefault((number, held[src]), chance.getrandbits(64))
                reads.append((dst, src, sign, number, source, product))
                registers[dst] = registers[dst] + sign * self.scalars[number] * source
                held[dst] += sign * product
                whole = fractions[src] == 0
                if whole:
                    self.exact.add(product)
                if not (whole and _is_whole(code.scalars[number])):
                    fractions[dst] += _count(counts[dst], product, sign)
                sizes.append(_size(source))
        used = {number for _, _, _, number, _, _ in reads}
        sizes += [_size(self.scalars[number]) for number in used]
        self.largest = max([*sizes, _size(registers[code.output])])
        inputs = [u for u in range(len(points)) if u not in self.weights]
        given = [size for number in used for size in self._given(code.scalars[number])]
        self.given = max([float(np.abs(points[inputs]).max(initial=0.0)), *given])
        self._trace_back(reads)
        self._errors: dict[int, float] = {}

    def _given(self, scalar: Affine) -> Iterator[float]:
        """The sizes of the constants of a scalar, which are words; named weights are inside them."""
        if not (is_simple(scalar) and scalar.terms):
            yield abs(float(scalar.bias))
            for u, c in scalar.terms:
                yield abs(float(c)) * self.weights.get(u, 1.0)

    def _trace_back(self, reads: list[tuple[int, int, int, int, Floats, int]]) -> None:
        """Find how the rounding of each product, and a change of each scalar, reaches the output."""
        count = self.points.shape[1]
        back: list[Floats | None] = [None] * self.code.width
        back[self.code.output] = np.ones(count)
        products: dict[int, tuple[int, Floats]] = {}
        self.changes: dict[int, Floats] = {}
        for dst, src, sign, number, source, product in reversed(reads):
            reached = back[dst]
            if reached is None:
                continue
            signed = reached if sign > 0 else -reached
            known = products.get(product)
            products[product] = (number, signed if known is None else known[1] + signed)
            changed = self.changes.get(number)
            self.changes[number] = signed * source if changed is None else changed + signed * source
            before = back[src]
            step = signed * self.scalars[number]
            back[src] = step if before is None else before + step
        self._gather(products)

    def _gather(self, products: dict[int, tuple[int, Floats]]) -> None:
        """Lay out what reaches the output, so that errors are a few products of matrices for each number of fraction
        bits: the loss of each constant, and the roundings that happen unless a constant is a whole number."""
        scalars, count = self.code.scalars, self.points.shape[1]
        losses: dict[tuple[Fraction, int], Floats] = {}
        noises: dict[tuple[Fraction, int], Floats] = {}
        for number, reached in self.changes.items():
            scalar = scalars[number]
            if is_simple(scalar) and scalar.terms:
                continue
            for u, c in (*scalar.terms, (-1, scalar.bias)):
                if c:
                    key = Fraction(c), u
                    loss = reached if u < 0 else reached * self.points[u]
                    losses[key] = losses[key] + loss if key in losses else loss
                    if u >= 0:
                        noises[key] = noises[key] + reached if key in noises else reached
        rounded = [(c, np.abs(reached)) for (c, _), reached in noises.items()]
        #: The sum of all roundings that happen in any format with a fraction.
        self.always = np.zeros(count)
        for product, (number, reached) in products.items():
            if product in self.exact:
                continue
            if scalars[number].terms:
                self.always += np.abs(reached)
            else:
                rounded.append((Fraction(scalars[number].bias), np.abs(reached)))
        self.loss_constants = np.array([float(c) for c, _ in losses])
        self.losses = np.array(list(losses.values())).reshape(len(losses), count)
        self.rounded_constants = np.array([float(c) for c, _ in rounded])
        self.rounded = np.array([reached for _, reached in rounded]).reshape(len(rounded), count)

    @np.errstate(over="ignore", invalid="ignore")
    def slope(self) -> float:
        """By how many times the rounding of the inputs may reach the output, at any sample point."""
        slopes: dict[int, Floats] = {}
        for number, reached in self.changes.items():
            for u, c in self.code.scalars[number].terms:
                slopes[u] = slopes[u] + float(c) * reached if u in slopes else float(c) * reached
        total = np.zeros(self.points.shape[1])
        for slope in slopes.values():
            total += np.abs(slope)
        return _size(total)

    def bits(self, frac: int) -> int:
        """The word that holds all that is read, with ``frac`` fraction bits."""
        most = min(max(self.largest + self.error(frac), self.given), sys.float_info.max)
        # A word of ``bits`` holds values below 2^(bits - 1 - frac); one, in the start vector, is always there.
        return frac + 1 + frexp(max(most, 1.0))[1]

    @np.errstate(over="ignore", invalid="ignore")
    def error(self, frac: int) -> float:
        """The largest error of the output, with ``frac`` fraction bits, at any sample point."""
        if frac not in self._errors:
            total = np.abs((_rounded(self.loss_constants, frac) - self.loss_constants) @ self.losses)
            if frac:
                fractions = _rounded(self.rounded_constants, frac) % 1 != 0
                total = total + (self.always + fractions @ self.rounded) * 2.0 ** -(frac + 1)
            self._errors[frac] = _size(total)
        return self._errors[frac]


def _count(counts: dict[int, int], product: int, sign: int) -> int:
    """Count ``product`` once more, or once less; return by how much the number of counted products changes."""
    before = counts.get(product, 0)
    counts[product] = before + sign
    return (counts[product] != 0) - (before != 0)


def _size(values: Floats) -> float:
    """The largest size of values; infinite when one is no number."""
    size = float(np.abs(values).max(initial=0.0))
    return size if size == size else inf


def _values(scalar: Affine, points: Floats) -> Floats:
    out = np.full(points.shape[1], float(scalar.bias))
    for u, c in scalar.terms:
        out += float(c) * points[u]
    return out


def _rounded(values: Floats, frac: int) -> Floats:
    """Constants as they are quantised."""
    quantised: Floats = np.floor(values * 2.0**frac + 0.5) * 2.0**-frac
    return quantised


def _is_whole(scalar: Affine) -> bool:
    """Whether the scalar is a whole number, whose products are never rounded."""
    return not scalar.terms and Fraction(scalar.bias).denominator == 1

"""Scalars of the analysis: the forms of a program as enclosures, with exact and with rounded weights."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import floor, frexp
from typing import NamedTuple

from skinny.model.program.forms import Form, Input, Linear, Weight
from skinny.model.program.program import Program

from .enclosures import TINY, UNIT, Algebra, Enclosure
from .registers import MANY_ZEROS
from .structure import Factor, dyadic

__all__ = ["Scalar", "Scalars"]

#: Coefficients of scalars below this are added to the slop, so that products of the others never underflow.
_SMALL = 2.0**-100


class Scalar(NamedTuple):
    """A form of the program in variables between -1 and 1.

    ``exact`` and ``used`` are its polynomials with exact and with rounded weights, as ``(variable, coefficient)``, each
    with the bound ``size`` and up to ``slop``. ``change`` is the difference that the rounding of weights and of the
    form's own products makes, as ``(noise, variable, coefficient)``, with the bound ``change_size``; ``noise`` bounds
    the part of it that is not in ``used``. ``low`` and ``high`` bound the actual scalar. ``zeros`` is the number of
    trailing zero bits that its word is certain to have. ``precise`` and ``rational`` are ``exact`` and ``used`` without
    any slop, ``noises`` the roundings of the form's own products by noise.
    """

    exact: list[tuple[int, float]]
    used: list[tuple[int, float]]
    size: float
    slop: float
    change: list[tuple[int, int, float]]
    change_size: float
    noise: float
    low: float
    high: float
    zeros: int
    precise: dict[int, Fraction]
    rational: dict[int, Fraction]
    noises: dict[int, float]

    def rounding(self, enclosure: Enclosure) -> float:
        """A bound of the loss in floats when an enclosure is multiplied by ``exact`` or ``used``."""
        if len(self.exact) == 1 and self.exact == self.used and abs(frexp(self.exact[0][1])[0]) == 0.5:
            return 0.0
        return UNIT * (1 + max(len(self.exact), len(self.used))) * self.size * enclosure.norm()


class Scalars:
    """The scalars of ``program``, made when they are first asked for.

    ``box`` and ``weights`` are raw words with ``frac`` fraction bits. A scalar of more than ``limit`` terms is
    collapsed into one variable. ``known`` holds the scalars that were asked for, by the number of their form.

    A word that comes from a named weight may be any of ``named``, its least and its greatest raw value. Like an input,
    it is taken to be on the grid: its rounding is no error. What it makes of an input is the input times the middle of
    its range, and the rest is a variable of its own.
    """

    def __init__(
        self,
        program: Program,
        box: Sequence[tuple[int, int]],
        weights: Sequence[int],
        frac: int,
        algebra: Algebra,
        limit: int,
    ) -> None:
        self.program, self.box, self.weights, self.frac = program, box, weights, frac
        self.unit = Fraction(1, 1 << frac)
        self.algebra, self.limit = algebra, limit
        self.known: dict[int, Scalar] = {}
        self._input_variables = [algebra.variable() for _ in program.inputs]
        #: The middle and the radius of the range of each input, by its variable.
        self.inputs = {
            variable: (self.unit * (low + high) / 2, self.unit * (high - low) / 2)
            for variable, (low, high) in zip(self._input_variables, box, strict=True)
        }
        self._term_noises: dict[tuple[int, bool, int], int] = {}
        ranges = program.weight_ranges()
        self.named = {
            k: (_nearest(ranges[k][0], frac), _nearest(ranges[k][1], frac))
            for weight in program.named
            for k, _ in weight.words
        }
        self._named_variables: dict[tuple[int, int], int] = {}

    def scalar(self, number: int) -> Scalar:
        """The scalar of form ``number``."""
        known = self.known.get(number)
        if known is None:
            known = self.known[number] = self._make(self.program.forms[number])
        return known

    def factor(self, number: int) -> Factor:
        """The scalar of form ``number`` as the analysis of the structure takes it."""
        scalar = self.scalar(number)
        rounding = float(self.unit) / 2 if scalar.zeros < self.frac else 0.0
        return Factor(*dyadic(scalar.rational), scalar.size, rounding, scalar.change_size)

    def _make(self, form: Form) -> Scalar:
        weights, half_ulp = self.program.weights, float(self.unit) / 2
        exact: dict[int, Fraction] = {0: Fraction(0)}
        change: dict[int, Fraction] = {0: Fraction(0)}
        rounded: dict[int, float] = {}
        zeros = MANY_ZEROS

        def add(variable: int, factor: Fraction, k: int) -> None:
            if k in self.named:
                least, most = self.named[k]
                exact[variable] = exact.get(variable, 0) + self.unit * (least + most) / 2 * factor
                return
            exact[variable] = exact.get(variable, 0) + weights[k] * factor
            change[variable] = change.get(variable, 0) + (self.weights[k] * self.unit - weights[k]) * factor

        def tune(k: int, u: int, size: Fraction) -> None:
            """The part of a named weight beside the middle of its range, times input ``u`` (-1: one) of at most
            ``size``."""
            least, most = self.named.get(k, (0, 0))
            if least < most:
                if (k, u) not in self._named_variables:
                    self._named_variables[k, u] = self.algebra.variable()
                variable = self._named_variables[k, u]
                exact[variable] = exact.get(variable, 0) + self.unit * (most - least) / 2 * size

        match form:
            case Input(u):
                low, high = self.box[u]
                exact = {0: self.unit * (low + high) / 2, self._input_variables[u]: self.unit * (high - low) / 2}
                zeros = _trailing_zeros(low) if low == high else 0
            case Weight(k):
                add(0, Fraction(1), k)
                tune(k, -1, Fraction(1))
                zeros = self._zeros(k)
            case Linear(terms, bias):
                if bias is not None:
                    add(0, Fraction(1), bias)
                    tune(bias, -1, Fraction(1))
                    zeros = self._zeros(bias)
                for k, u in terms:
                    low, high = self.box[u]
                    add(0, self.unit * (low + high) / 2, k)
                    add(self._input_variables[u], self.unit * (high - low) / 2, k)
                    tune(k, u, self.unit * max(abs(low), abs(high)))
                    spare = self._zeros(k) - self.frac
                    if low == high:
                        spare += _trailing_zeros(low)
                    zeros = min(zeros, max(0, spare))
                    if spare < 0:
                        # This rounding is equal in every use of the weight with the input: one noise for all forms.
                        key = (k, True, u) if k in self.named else (self.weights[k], False, u)
                        if key not in self._term_noises:
                            self._term_noises[key] = self.algebra.noise()
                        noise = self._term_noises[key]
                        rounded[noise] = rounded.get(noise, 0.0) + half_ulp
        return self._enclosed(exact, change, rounded, zeros)

    def _zeros(self, k: int) -> int:
        """The number of zero bits that the word of weight ``k`` is certain to end with."""
        least, most = self.named.get(k, (self.weights[k], self.weights[k]))
        return _trailing_zeros(least) if least == most else 0

    def _enclosed(
        self, exact: dict[int, Fraction], change: dict[int, Fraction], rounded: dict[int, float], zeros: int
    ) -> Scalar:
        """The scalar of exact coefficients, of their changes by rounded weights, and of the noises of its products."""
        terms, slop = _floats(exact)
        rational = {variable: c + change.get(variable, 0) for variable, c in exact.items()}
        used, used_slop = _floats(rational)
        shifts, shift_slop = _floats(change)
        slop = max(slop, used_slop, shift_slop)
        changes = [(0, variable, c) for variable, c in shifts] + [(noise, 0, c) for noise, c in rounded.items()]
        noise = sum(rounded.values()) * (1 + UNIT)
        change_size = sum(abs(c) for _, _, c in changes) * (1 + UNIT) + shift_slop
        middle = sum(c for variable, c in used if not variable)
        radius = sum(abs(c) for variable, c in used if variable) * (1 + UNIT) + used_slop + noise
        low, high = middle - radius - UNIT * abs(middle), middle + radius + UNIT * abs(middle)
        if len(terms) + len(changes) > self.limit:
            collapsed = [(0, middle), (self.algebra.variable(), radius + change_size)]
            terms = used = [term for term in collapsed if term[1]]
            changes, noise = [(self.algebra.noise(), 0, change_size)], change_size
        size = max(sum(abs(c) for _, c in terms), sum(abs(c) for _, c in used)) * (1 + UNIT) + slop
        return Scalar(terms, used, size, slop, changes, change_size, noise, low, high, zeros, exact, rational, rounded)


def _nearest(value: Fraction, frac: int) -> int:
    """The raw word of ``value``."""
    return floor(value * (1 << frac) + Fraction(1, 2))


def _trailing_zeros(raw: int) -> int:
    """The number of zero bits at the end of ``raw``."""
    return (raw & -raw).bit_length() - 1 if raw else MANY_ZEROS


def _floats(exact: dict[int, Fraction]) -> tuple[list[tuple[int, float]], float]:
    """The coefficients as floats, and a bound of the loss. Coefficients that are too small to be multiplied safely are
    left out."""
    out = [(variable, float(c)) for variable, c in exact.items()]
    kept = [(variable, c) for variable, c in out if abs(c) > _SMALL]
    lost = sum((abs(exact[variable] - Fraction(c if abs(c) > _SMALL else 0)) for variable, c in out), Fraction(0))
    return kept, float(lost) * (1 + UNIT) + (TINY if lost else 0.0)

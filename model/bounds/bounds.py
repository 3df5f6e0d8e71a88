"""Sound static bounds of a program in fixed point: can a register overflow, how wrong can an output be.

What is bounded
    Inputs are elements of the ring; the box is rounded to the grid the way inputs are. The *exact* value of a
    register is that of the program over the rationals with its unrounded weights, at those inputs; the *actual*
    value is what the machine holds. The error of an output is |actual - exact|: rounding of products and of weights,
    not the rounding of the inputs themselves.

What must fit the word
    Every register after every instruction, and every scalar form (the accumulator S). Nothing else: sums are taken
    modulo 2^bits, so a product or a partial sum that wraps on the way to a value that fits does no harm. Induction
    over the instructions then lets the actual run be read as one without any wrap. (A value out of range that is
    never read would be harmless as well; it counts as overflow here.)

How
    Stepwise intervals explode because programs compute and uncompute. Here both values and errors are followed as
    polynomials, so that what cancels in the program cancels in the bound. With ``s`` the exact scalar, ``s'`` the one
    that is used, ``X`` the exact value and ``E`` = actual - exact, an instruction does

        X[dst] += ±s·X[src]        E[dst] += ±(s'·E[src] + (s' - s)·X[src] + rounding)

    in variables between -1 and 1: the inputs, centred in the box, and a noise for each rounding. Nothing is left
    out: what is not a polynomial with one noise a term (a rounding in ``s'`` times one in ``E``) and what the floats
    of this module lose is added to the product's own rounding.

    A rounded product is a function of its scalar and of the word it reads. Values are therefore numbered: a register
    is a multiset of products, a product a pair (form, value read), and equal products share their noise. Values are
    compared by random 128-bit sums, which mistake one for another with probability below length² / 2^128.

    A polynomial with too many terms is replaced by ``middle + radius·symbol``. That forgets what it has in common
    with others, so in long programs it is done where little is left to cancel, see :func:`_homes`. Short programs are
    expanded in full; the work is linear in the length. Where forgetting has cost too much, in deeply nested programs,
    the bounds of ``structure`` are taken as well.
"""

from __future__ import annotations

import itertools
import random
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import frexp
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from skinny.model.errors import InputError
from skinny.model.program.program import Form, Input, Linear, Program, Weight
from skinny.model.rings import FixedPoint, Number

from .enclosures import UNIT, Algebra, Polynomial
from .structure import Factor, dyadic, follow

__all__ = ["Bound", "Box", "Overflow", "bound", "suggest"]

#: The least and the greatest value of each input, in the order of ``program.inputs``.
Box = Sequence[tuple[Number, Number]]

_MAX_BITS = 32
#: A polynomial that is read may have ``_WORK / length`` terms, or ``_LEAST_TERMS`` if that is more. Where registers
#: come home those with more than ``_HOME / length³``, or ``_LEAST_HOME``, are folded. So a few hundred instructions are
#: expanded in full, in a second or so; in long programs nearly everything is folded after each term of a sum.
_WORK, _LEAST_TERMS = 40_000_000, 512
_HOME, _LEAST_HOME = 3 * 10**12, 4
#: Products remembered between the places where registers come home.
_KEPT_PRODUCTS = 10_000
#: An output's error in steps for each instruction, above which forgetting may be to blame: the structure is asked then.
_PLAUSIBLE = 16
#: A value beyond this fits no word we have; following it further would only overflow the floats.
_HOPELESS = 2.0**64
#: Stands for the trailing zero bits of a word that is zero.
_MANY = 64
_PRIME = (1 << 61) - 1
#: Smaller coefficients go to the slop, of scalars and of products: what is left never underflows when multiplied.
_SMALL, _TINY = 2.0**-100, 1e-200


class Overflow(NamedTuple):
    """Instruction ``instruction`` may leave in ``register`` (``None``: in the accumulator S) a value that does not
    fit; without a limit it would lie between ``low`` and ``high``."""

    instruction: int
    register: int | None
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Bound:
    """What is known of every run of a program in ``ring`` from inputs in the box.

    ``low[t]`` and ``high[t]`` bound the register that instruction ``t`` writes, after it; the others keep their range.
    ``ranges[r]`` is the least and the greatest value register ``r`` has at any time. ``errors`` bounds the error of
    each output, provided that nothing overflows: ``overflow`` is the first instruction at which that is not certain.
    Ranges and errors are those of an unlimited word; they are infinite once a value may exceed 2^64.
    """

    ring: FixedPoint
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    ranges: NDArray[np.float64]
    errors: dict[str, float]
    overflow: Overflow | None

    @property
    def safe(self) -> bool:
        return self.overflow is None


def bound(program: Program, ring: FixedPoint, box: Box) -> Bound:
    """Bounds of ``program`` in ``ring`` on ``box``; a weight, a start value or a box that does not fit is an error."""
    analysis = _Analysis(program, ring, box)
    return Bound(
        ring,
        analysis.low,
        analysis.high,
        analysis.ranges(),
        analysis.errors,
        analysis.first_overflow(ring.bits),
    )


def suggest(program: Program, box: Box, error: Number | None = None) -> FixedPoint:
    """The format of fewest bits that is safe and whose error is at most ``error``; without ``error``, whose error is
    the least that 32 bits allow. Takes about ten times as long as :func:`bound`.

    The error of a format is the largest bound of an output, or half a step when there are inputs and that is more: a
    format without fraction bits computes with integers exactly, but not with the inputs that were meant. The search
    relies on errors falling with the fraction bits, as they do because grids are nested.
    """
    tried: dict[int, tuple[float, int] | str] = {}

    def attempt(frac: int) -> tuple[float, int] | str:
        """The error and the bits that are needed, or why 32 bits are not enough."""
        if frac not in tried:
            try:
                analysis = _Analysis(program, FixedPoint(_MAX_BITS, frac), box)
                half_step = 2.0 ** -(frac + 1) if program.inputs else 0.0
                tried[frac] = max(half_step, *analysis.errors.values()), analysis.bits_needed()
            except InputError as problem:
                tried[frac] = str(problem)
        return tried[frac]

    def too_fine(frac: int) -> bool:
        outcome = attempt(frac)
        return isinstance(outcome, str) or outcome[1] > _MAX_BITS

    finest = bisect_left(range(_MAX_BITS), True, key=too_fine) - 1
    best = attempt(max(0, finest))
    if isinstance(best, str):
        raise InputError(f"no format up to {_MAX_BITS} bits holds what is given: {best}")
    if finest < 0:
        raise InputError(f"no format up to {_MAX_BITS} bits is proven safe on this box")
    wanted = best[0] if error is None else error
    if not best[0] <= wanted:
        raise InputError(
            f"no format up to {_MAX_BITS} bits has an error of at most {error}: the least is {best[0]:.3g}"
        )

    def good(frac: int) -> bool:
        outcome = attempt(frac)
        return not isinstance(outcome, str) and outcome[0] <= wanted and outcome[1] <= _MAX_BITS

    frac = bisect_left(range(finest), True, key=good)
    outcome = attempt(frac)
    assert not isinstance(outcome, str)
    return FixedPoint(outcome[1], frac)


class _Scalar(NamedTuple):
    """A scalar form. ``exact`` and ``used`` are its polynomials with exact and with rounded weights, as ``(variable,
    coefficient)``, each with the bound ``size`` and up to ``slop``. ``change`` is what the rounding of weights and of
    the form's own products adds, as ``(noise, variable, coefficient)``, with the bound ``change_size``; ``noise``
    bounds the part of it that is not in ``used``. ``low`` and ``high`` bound the actual scalar; ``zeros`` counts the
    trailing zero bits its word is certain to have. ``rational`` is ``used`` without any slop."""

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
    rational: dict[int, Fraction]

    def rounding(self, polynomial: Polynomial) -> float:
        """A bound of what the floats lose when a polynomial is multiplied by ``exact`` or ``used``."""
        if len(self.exact) == 1 and self.exact == self.used and abs(frexp(self.exact[0][1])[0]) == 0.5:
            return 0.0
        return UNIT * (1 + max(len(self.exact), len(self.used))) * self.size * polynomial.norm()


class _Product(NamedTuple):
    """A rounded product as it is added to registers: a random number to know it by, its exact value, its error, and
    the trailing zero bits that its word is certain to have."""

    number: int
    value: Polynomial
    error: Polynomial
    zeros: int


class _Register:
    """A sum of products: ``counts`` says how often each is present, ``number`` is the sum of their numbers.

    ``whole`` holds the polynomials of value and error. A view is the same polynomial for reading when the whole is
    too large: what was there at some time is folded into one symbol and what came since is kept apart, so that
    differences between later values stay visible. ``ages`` tells the views of one value apart.
    """

    __slots__ = ("ages", "algebra", "counts", "number", "views", "whole")

    def __init__(self, algebra: Algebra, one: _Product, start: int) -> None:
        self.algebra = algebra
        self.counts: dict[int, tuple[int, int]] = {one.number: (start, one.zeros)} if start else {}
        self.number = start * one.number
        self.whole = (algebra.polynomial({0: float(start)} if start else {}), Polynomial({}))
        self.views: list[Polynomial | None] = [None, None]
        self.ages = [0, 0]

    def add(self, product: _Product, sign: int) -> None:
        before, _ = self.counts.get(product.number, (0, 0))
        if before + sign:
            self.counts[product.number] = (before + sign, product.zeros)
        else:
            del self.counts[product.number]
        self.number += sign * product.number
        squares = self.algebra.squares
        for whole, view, part in zip(self.whole, self.views, (product.value, product.error), strict=True):
            whole.add(part, sign, squares)
            if view is not None:
                view.add(part, sign, squares)

    def read(self, part: int, limit: int) -> Polynomial:
        """The value (part 0) or the error (1) as a polynomial of at most ``limit`` terms."""
        view = self.views[part]
        polynomial = self.whole[part] if view is None else view
        return polynomial if len(polynomial.terms) <= limit else self._fold(part)

    def settle(self, limit: int) -> None:
        """Forget the views that are not needed and begin new ones of what has more than ``limit`` terms."""
        for part, (whole, view) in enumerate(zip(self.whole, self.views, strict=True)):
            if len(whole.terms) > limit:
                if view is None or len(view.terms) > limit:
                    self._fold(part)
            elif view is not None:
                self.views[part], self.ages[part] = None, 0

    def _fold(self, part: int) -> Polynomial:
        view = self.views[part] = self.algebra.folded(*self.whole[part].range(), noise=part == 1)
        self.ages[part] = max(view.terms, default=0)
        return view

    def zeros(self, wanted: int) -> int:
        """Trailing zero bits that the word is certain to have, or some number below ``wanted`` if it has fewer."""
        least = _MANY
        for _, zeros in self.counts.values():
            least = min(least, zeros)
            if least < wanted or least == 0:
                break
        return least

    def range(self) -> tuple[float, float]:
        """An enclosure of the actual value."""
        (low, high), (least, most) = (polynomial.range() for polynomial in self.whole)
        pad = UNIT * (abs(low) + abs(high) + abs(least) + abs(most))
        return low + least - pad, high + most + pad


class _Analysis:
    """One pass over a program, for a number of fraction bits. Ranges and errors do not depend on ``ring.bits``; only
    the inputs, the weights and the start vector must fit."""

    def __init__(self, program: Program, ring: FixedPoint, box: Box) -> None:
        self.program, self.frac = program, ring.frac
        self.unit = Fraction(1, 1 << ring.frac)
        self.box = _encoded_box(program, ring, box)
        self.weights: list[int] = program.quantise(ring).tolist()
        self.start = [_named("start vector", ring, value) for value in program.start]
        length = max(1, len(program))
        self.limit = max(_LEAST_TERMS, _WORK // length)
        self.settled = min(self.limit // 2, max(_LEAST_HOME, _HOME // length**3))
        self.random = random.Random(0)
        self.algebra = Algebra()
        self.input_variables = [self.algebra.variable() for _ in program.inputs]
        self.term_noises: dict[tuple[int, int], int] = {}
        self.scalars: dict[int, _Scalar] = {}
        self.numbers: dict[tuple[int, int], int] = {}
        self.products: dict[tuple[int, ...], _Product] = {}
        self.one = _Product(self.random.getrandbits(128), Polynomial({}), Polynomial({}), ring.frac)
        self.low = np.full(len(program), -np.inf)
        self.high = np.full(len(program), np.inf)
        self.errors = {output.name: float("inf") for output in program.outputs}
        self._run()
        plausible = _PLAUSIBLE * len(program) * float(self.unit)
        if self.algebra.folds and not max(self.errors.values(), default=0.0) < plausible:
            self._narrow()
        steps = 2.0**ring.frac
        # Actual values are on the grid.
        self.low = np.ceil(self.low * steps) / steps
        self.high = np.floor(self.high * steps) / steps

    def _run(self) -> None:
        code, outputs = self.program.code, self.program.outputs
        registers = self._started()
        low, high = self.low, self.high
        homes = _homes(self.program)
        done = 0
        columns = zip(code.dst.tolist(), code.src.tolist(), code.sign.tolist(), code.form.tolist(), strict=True)
        for t, (dst, src, sign, form) in enumerate(columns):
            while done < len(outputs) and outputs[done].at <= t:
                registers = self._send(registers, done)
                done += 1
            if homes[t]:
                for register in registers:
                    register.settle(self.settled)
                if len(self.products) > _KEPT_PRODUCTS:
                    self.products.clear()
            source, target = registers[src], registers[dst]
            if source.counts:
                key = (form, source.number, *source.ages)
                product = self.products.get(key)
                if product is None:
                    product = self.products[key] = self._product(form, source)
                target.add(product, sign)
            else:
                self._scalar(form)
            low[t], high[t] = target.range()
            if not max(-low[t], high[t]) < _HOPELESS:
                low[t:], high[t:] = -np.inf, np.inf
                return
        while done < len(outputs):
            registers = self._send(registers, done)
            done += 1

    def _narrow(self) -> None:
        """What the structure of the program says where this analysis had to forget."""
        factors = [self._factor(number) for number in range(len(self.program.forms))]
        start = [value * self.unit for value in self.start]
        low, high, errors = follow(self.program, factors, start, self.algebra)
        self.low, self.high = np.maximum(self.low, low), np.minimum(self.high, high)
        self.errors = {name: min(error, errors[name]) for name, error in self.errors.items()}

    def _factor(self, number: int) -> Factor:
        scalar = self._scalar(number)
        rounding = float(self.unit) / 2 if scalar.zeros < self.frac else 0.0
        return Factor(*dyadic(scalar.rational), scalar.size, rounding, scalar.change_size)

    def _started(self) -> list[_Register]:
        return [_Register(self.algebra, self.one, value) for value in self.program.start]

    def _send(self, registers: list[_Register], number: int) -> list[_Register]:
        output = self.program.outputs[number]
        sent = registers[output.register]
        self.errors[output.name] = self.algebra.joint_size(sent.whole[1])
        return self._started() if output.restart else registers

    def _product(self, form: int, source: _Register) -> _Product:
        scalar = self._scalar(form)
        value, error = source.read(0, self.limit), source.read(1, self.limit)
        value_terms: dict[int, float] = {}
        error_terms: dict[int, float] = {}
        for variable, factor in scalar.exact:
            self.algebra.add_times(value_terms, value.terms, factor, variable)
        for variable, factor in scalar.used:
            self.algebra.add_times(error_terms, error.terms, factor, variable)
        value_slop = scalar.size * value.slop + scalar.slop * value.size() + scalar.rounding(value)
        error_slop = scalar.size * error.slop + (scalar.slop + scalar.noise) * error.size() + scalar.rounding(error)
        if scalar.change:
            pure, noisy = self.algebra.without_noise(value.terms)
            for noise, variable, factor in scalar.change:
                self.algebra.add_times(error_terms, pure, factor, variable, noise)
            error_slop += scalar.change_size * (noisy + value.slop) + scalar.slop * value.size()
            added = scalar.change_size * value.norm() + scalar.size * error.norm()
            error_slop += UNIT * (1 + len(scalar.used) + len(scalar.change)) * added
        zeros = scalar.zeros + source.zeros(self.frac - scalar.zeros) - self.frac
        rounding = float(self.unit) / 2 if zeros < 0 else 0.0
        return _Product(
            self.numbers.setdefault((form, source.number), self.random.getrandbits(128)),
            self._enclosed(value_terms, value_slop, noise=False),
            self._enclosed(error_terms, error_slop + rounding, noise=True),
            max(0, min(_MANY, zeros)),
        )

    def _enclosed(self, terms: dict[int, float], rest: float, noise: bool) -> Polynomial:
        """``terms`` and a new symbol for anything between ``-rest`` and ``rest``; a symbol for all when the terms
        are too many. As a symbol the rest cancels wherever the program takes the product away again, though not
        bit for bit; as an interval it would grow exponentially with the length."""
        kept = {key: c for key, c in terms.items() if abs(c) > _TINY}
        if len(kept) < len(terms):
            rest += _TINY * sum(1 for c in terms.values() if 0 < abs(c) <= _TINY)
        if rest:
            kept[self.algebra.noise()] = rest * (1 + UNIT)
        new = self.algebra.polynomial(kept)
        return new if len(kept) <= self.limit else self.algebra.folded(*new.range(), noise)

    def _scalar(self, number: int) -> _Scalar:
        known = self.scalars.get(number)
        if known is None:
            known = self.scalars[number] = self._make_scalar(self.program.forms[number])
        return known

    def _make_scalar(self, form: Form) -> _Scalar:
        weights, half_ulp = self.program.weights, float(self.unit) / 2
        exact: dict[int, Fraction] = {0: Fraction(0)}
        change: dict[int, Fraction] = {0: Fraction(0)}
        rounded: dict[int, float] = {}
        zeros = _MANY

        def add(variable: int, factor: Fraction, k: int) -> None:
            exact[variable] = exact.get(variable, 0) + weights[k] * factor
            change[variable] = change.get(variable, 0) + (self.weights[k] * self.unit - weights[k]) * factor

        match form:
            case Input(u):
                low, high = self.box[u]
                exact = {0: self.unit * (low + high) / 2, self.input_variables[u]: self.unit * (high - low) / 2}
                zeros = _trailing_zeros(low) if low == high else 0
            case Weight(k):
                add(0, Fraction(1), k)
                zeros = _trailing_zeros(self.weights[k])
            case Linear(terms, bias):
                if bias is not None:
                    add(0, Fraction(1), bias)
                    zeros = _trailing_zeros(self.weights[bias])
                for k, u in terms:
                    low, high = self.box[u]
                    add(0, self.unit * (low + high) / 2, k)
                    add(self.input_variables[u], self.unit * (high - low) / 2, k)
                    spare = _trailing_zeros(self.weights[k]) - self.frac
                    if low == high:
                        spare += _trailing_zeros(low)
                    zeros = min(zeros, max(0, spare))
                    if spare < 0:
                        # The same for every use of this weight with this input: one noise for all forms.
                        key = (self.weights[k], u)
                        if key not in self.term_noises:
                            self.term_noises[key] = self.algebra.noise()
                        noise = self.term_noises[key]
                        rounded[noise] = rounded.get(noise, 0.0) + half_ulp
        return self._enclosed_scalar(exact, change, rounded, zeros)

    def _enclosed_scalar(
        self, exact: dict[int, Fraction], change: dict[int, Fraction], rounded: dict[int, float], zeros: int
    ) -> _Scalar:
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
            folded = [(0, middle), (self.algebra.variable(), radius + change_size)]
            terms = used = [term for term in folded if term[1]]
            changes, noise = [(self.algebra.noise(), 0, change_size)], change_size
        size = max(sum(abs(c) for _, c in terms), sum(abs(c) for _, c in used)) * (1 + UNIT) + slop
        return _Scalar(terms, used, size, slop, changes, change_size, noise, low, high, zeros, rational)

    def ranges(self) -> NDArray[np.float64]:
        """The least and the greatest value of each register at any time."""
        out = np.repeat(np.array(self.start, dtype=np.float64)[:, None], 2, axis=1) * float(self.unit)
        np.minimum.at(out[:, 0], self.program.code.dst, self.low)
        np.maximum.at(out[:, 1], self.program.code.dst, self.high)
        return out

    def first_overflow(self, bits: int) -> Overflow | None:
        """The first value that may not fit ``bits`` bits, S before the register in the same instruction."""
        least, most = -(2.0 ** (bits - 1 - self.frac)), 2.0 ** (bits - 1 - self.frac) - float(self.unit)
        limits = np.zeros((2, len(self.program.forms)))
        for number, scalar in self.scalars.items():
            limits[:, number] = scalar.low, scalar.high
        steps = 2.0**self.frac
        limits = np.stack([np.ceil(limits[0] * steps), np.floor(limits[1] * steps)]) / steps
        form_bad = ((limits[0] < least) | (limits[1] > most))[self.program.code.form]
        # Not the other way round: what is no number must count as bad.
        register_bad = ~((self.low >= least) & (self.high <= most))
        bad = form_bad | register_bad
        if not bad.any():
            return None
        t = int(np.argmax(bad))
        if form_bad[t]:
            form = self.program.code.form[t]
            return Overflow(t, None, float(limits[0, form]), float(limits[1, form]))
        return Overflow(t, int(self.program.code.dst[t]), float(self.low[t]), float(self.high[t]))

    def bits_needed(self) -> int:
        """The fewest bits that hold everything; more than 32 stand for any number above."""
        given = [end for ends in self.box for end in ends] + self.weights + self.start
        widest = max((max(raw, ~raw).bit_length() + 1 for raw in given), default=2)
        bits = max(2, self.frac + 1, widest)
        while bits <= _MAX_BITS and self.first_overflow(bits) is not None:
            bits += 1
        return bits


def _encoded_box(program: Program, ring: FixedPoint, box: Box) -> list[tuple[int, int]]:
    if len(box) != len(program.inputs):
        raise InputError(f"the box must have a range for each of the {len(program.inputs)} inputs, not {len(box)}")
    for name, (low, high) in zip(program.inputs, box, strict=True):
        if not low <= high:
            raise InputError(f"input {name}: the range {low} to {high} is empty")
    return [
        (_named(f"input {name}", ring, low), _named(f"input {name}", ring, high))
        for name, (low, high) in zip(program.inputs, box, strict=True)
    ]


def _named(what: str, ring: FixedPoint, value: Number) -> int:
    try:
        return ring.encode(value)
    except InputError as error:
        raise InputError(f"{what}: {error}") from None


def _homes(program: Program) -> list[bool]:
    """Before which instructions all registers but one are where they often are, so that hardly anything is about to
    be taken away again: between the terms of a long sum, say, where bounds may forget what they have in common.

    The product of all matrices so far is followed at a random point modulo a prime; columns that come back are the
    registers that come back. A wrong answer costs tightness, never soundness.
    """
    width = program.width
    point = random.Random(1)
    inputs = [point.randrange(_PRIME) for _ in program.inputs]
    weights = [w.numerator * pow(w.denominator % _PRIME or 1, -1, _PRIME) for w in program.weights]
    values = [_residue(form, inputs, weights) for form in program.forms]
    restarts = {output.at for output in program.outputs if output.restart} | {0}
    unit = [[int(r == c) for r in range(width)] for c in range(width)]
    columns: list[list[int]] = []
    marks: list[int] = []
    moving = range(width) if width <= 16 else sorted({output.register for output in program.outputs})
    states = []
    for t, (dst, src, sign, form) in enumerate(
        zip(*(column.tolist() for column in program.code.arrays()), strict=True)
    ):
        if t in restarts:
            columns = unit.copy()
            marks = [hash((c, *column)) for c, column in enumerate(columns)]
        total = sum(marks)
        states.append([total - marks[r] for r in moving])
        factor = sign * values[form]
        columns[dst] = [(a + factor * b) % _PRIME for a, b in zip(columns[dst], columns[src], strict=True)]
        marks[dst] = hash((dst, *columns[dst]))
    seen = Counter(itertools.chain.from_iterable(states))
    often = max(seen.values(), default=0) / 2
    return [any(seen[state] >= often for state in others) for others in states]


def _residue(form: Form, inputs: list[int], weights: list[int]) -> int:
    match form:
        case Input(u):
            return inputs[u]
        case Weight(k):
            return weights[k]
        case Linear(terms, bias):
            return sum(weights[k] * inputs[u] for k, u in terms) + (0 if bias is None else weights[bias])


def _trailing_zeros(raw: int) -> int:
    return (raw & -raw).bit_length() - 1 if raw else _MANY


def _floats(exact: dict[int, Fraction]) -> tuple[list[tuple[int, float]], float]:
    """The coefficients as floats, and a bound of all that this loses. Coefficients too small to multiply safely are
    left out."""
    out = [(variable, float(c)) for variable, c in exact.items()]
    kept = [(variable, c) for variable, c in out if abs(c) > _SMALL]
    lost = sum((abs(exact[variable] - Fraction(c if abs(c) > _SMALL else 0)) for variable, c in out), Fraction(0))
    return kept, float(lost) * (1 + UNIT) + (_TINY if lost else 0.0)

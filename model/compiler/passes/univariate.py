"""Univariate: a polynomial in one form by a three-term recurrence.

Precondition: a clean program is asked for and the polynomial has one variable, or one linear form in its place.
Postcondition: instructions that leave it in the returned register. Registers A (one at the start) and B (zero) play
ping-pong, ``B += x·A``, ``A -= x·B``, …: what they hold is monic of degree 1, 2, 3, … up to sign, whatever the signs,
so the polynomial has integer coordinates in that basis; the output register collects them. At most ``2d + 1``
instructions for degree ``d``; the sign pattern with the fewest coordinates is taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from math import floor
from typing import NamedTuple

from skinny.model.compiler.code import Affine, Code, Instruction, affine_scalar
from skinny.model.compiler.goal import Ends
from skinny.model.compiler.polynomial import Coefficient, Polynomial, plain
from skinny.model.limits import check

__all__ = ["coordinates", "in_one_form", "recurrence", "recurrences"]

#: Beyond this degree the coordinates cost too much to find; the polynomial is then treated like any other.
HIGHEST_DEGREE = 512
#: All sign patterns are tried up to this degree, then only periodic ones.
SEARCHED_DEGREE = 9
PERIODS = ((1,), (1, -1), (1, -1, -1), (1, -1, -1, 1), (1, 1, -1, -1))
HALF = Fraction(1, 2)
#: The significant bits of the factor that maps a form to a small range.
FEW_BITS = 6

Coefficients = list[Coefficient]


def in_one_form(polynomial: Polynomial, sums: list[Polynomial], variables: int) -> tuple[Affine, Coefficients] | None:
    """``(form, coefficients)`` when the polynomial is ``Σ c_n·form^n`` with degree at least 2."""
    powers = [(m, c) for m, c in polynomial.items() if m and (len(m) > 1 or m[0][0] >= variables or m[0][1] > 1)]
    atoms = {atom for monomial, _ in powers for atom, _ in monomial}
    if len(atoms) != 1 or not 2 <= max(m[0][1] for m, _ in powers) <= HIGHEST_DEGREE:
        return None
    (atom,) = atoms
    linear = {m[0][0]: c for m, c in polynomial.items() if m and m[0][0] < variables and m[0][1] == 1 and len(m) == 1}
    inner: Polynomial = {((atom, 1),): 1} if atom < variables else sums[atom - variables]
    if any(m and (len(m) > 1 or m[0][1] > 1 or m[0][0] >= variables) for m in inner):
        return None
    terms = {m[0][0]: c for m, c in inner.items() if m}
    bias = inner.get((), 0)
    ratio: Coefficient = 0
    if linear:
        first = min(terms)
        ratio = plain(linear.get(first, 0) * (1 / _fraction(terms[first])))
        if set(linear) != set(terms) or any(linear[u] != ratio * c for u, c in terms.items()):
            return None
        if _fraction(ratio).denominator != 1 and all(_fraction(c).denominator == 1 for c in polynomial.values()):
            return None
    degree = max(m[0][1] for m, _ in powers)
    out: Coefficients = [0] * (degree + 1)
    for monomial, c in powers:
        out[monomial[0][1]] += c
    out[1] += ratio
    out[0] += polynomial.get((), 0) - ratio * bias
    return Affine(tuple(sorted(terms.items())), bias), out


def _fraction(value: Coefficient) -> Fraction:
    return Fraction(value)


def coordinates(
    coefficients: Coefficients, signs: tuple[int, ...], unit_top: bool, first: Coefficient = 1
) -> Coefficients:
    """The polynomial in the basis ``p_0 = 1, p_1 = ±first·x, p_(n+1) = p_(n-1) ± x·p_n``.

    With ``unit_top`` the last element is ``±x·p_(d-1)`` alone: it goes straight to the output register.
    """
    degree = len(coefficients) - 1
    basis: list[Coefficients] = [[1]]
    previous: Coefficients = []
    for n, sign in enumerate(signs, 1):
        shifted = [0, *(sign * (first if n == 1 else 1) * c for c in basis[-1])]
        if not (unit_top and n == degree):
            for power, c in enumerate(previous):
                shifted[power] += c
        previous = basis[-1]
        basis.append(shifted)
    rest = list(coefficients)
    out: Coefficients = [0] * (degree + 1)
    for n in range(degree, -1, -1):
        check()
        if rest[n]:
            out[n] = plain(rest[n] / Fraction(basis[n][n]))
            for power, c in enumerate(basis[n]):
                rest[power] -= out[n] * c
    return out


def _patterns(degree: int) -> list[tuple[int, ...]]:
    if degree <= SEARCHED_DEGREE:
        return list(product((1, -1), repeat=degree))
    return [tuple(period[n % len(period)] for n in range(degree)) for period in PERIODS]


def recurrence(form: Affine, coefficients: Coefficients, start: tuple[int, ...], attention: bool) -> Code:
    """The shortest code on registers 0, 1, 2; ``start`` is (0, 1, 0, …). Nothing is halved that was not written with
    halves, so that a formula over the integers stays one."""
    halved = any(c.denominator % 2 == 0 for c in (*coefficients, form.bias, *(c for _, c in form.terms)))
    best: Code | None = None
    for steps in _steps(form, coefficients) if attention else [Steps(form, coefficients)]:
        for signs in _patterns(len(coefficients) - 1):
            for weights, ending in _endings(steps, signs):
                if not halved and any(c.denominator % 2 == 0 for c in weights):
                    continue
                length = len(signs) + sum(c != 0 for c in weights) - (ending != "collected")
                if best is None or length < len(best):
                    code = _code(steps, weights, signs, ending, start)
                    best = code if best is None or code.cycles < best.cycles else best
    assert best is not None
    return best


def recurrences(form: Affine, coefficients: Coefficients, ends: Ends, start: tuple[int, ...]) -> Iterator[Code]:
    """Codes whose values stay small while the form lies between its ``ends``, for fixed point.

    The form is mapped to -2 … 2 or -1 … 1, in the middle or about zero, by factors of few bits, which a word holds
    exactly. With alternating signs and -2 … 2 the registers hold ± Chebyshev's polynomials: those of the second kind,
    which stay below their degree plus one, or those of the first kind, which stay between -1 and 1, when the first step
    is half as large.
    """
    degree = len(coefficients) - 1
    for mapped, rebased in _mapped(form, coefficients, ends):
        for period in PERIODS:
            signs = tuple(period[n % len(period)] for n in range(degree))
            for first in (Fraction(1), HALF):
                steps = Steps(mapped, rebased, first)
                for weights, ending in _endings(steps, signs):
                    yield _code(steps, weights, signs, ending, start)


class Steps(NamedTuple):
    """The form of the steps, the coefficients of the polynomial in it, and what the first step multiplies it with."""

    form: Affine
    coefficients: Coefficients
    first: Coefficient = 1


def _steps(form: Affine, coefficients: Coefficients) -> Iterator[Steps]:
    """The form as it is; and twice the form, for Chebyshev's polynomials of the first kind."""
    yield Steps(form, coefficients)
    yield Steps(form.scaled(2), _substituted(coefficients, Fraction(2), Fraction(0)), HALF)


def _mapped(form: Affine, coefficients: Coefficients, ends: Ends) -> Iterator[tuple[Affine, Coefficients]]:
    """The form and other forms in its place, each with the coefficients of the polynomial in it."""
    yield form, coefficients
    low, high = ends
    if low == high:
        return
    seen = {(Fraction(1), Fraction(0))}
    for middle, reach in ((Fraction(0), max(-low, high)), ((low + high) / 2, (high - low) / 2)):
        for most in (2, 1):
            factor = _few_bits(Fraction(most) / reach)
            shift = -Fraction(round(middle * factor * (1 << FEW_BITS)), 1 << FEW_BITS)
            if (factor, shift) not in seen:
                seen.add((factor, shift))
                moved = form.scaled(factor)
                yield moved._replace(bias=plain(moved.bias + shift)), _substituted(coefficients, factor, shift)


def _few_bits(value: Fraction) -> Fraction:
    """The greatest number up to ``value`` that has :data:`FEW_BITS` significant bits."""
    scale = Fraction(2) ** (FEW_BITS - 1 - (value.numerator.bit_length() - value.denominator.bit_length()))
    return Fraction(floor(value * scale)) / scale


def _substituted(coefficients: Coefficients, factor: Fraction, shift: Fraction) -> Coefficients:
    """The coefficients in ``g`` of a polynomial in ``x``, where ``g = factor·x + shift``."""
    out: list[Fraction] = []
    for c in reversed(coefficients):
        times_x = [Fraction(0), *(b / factor for b in out)]
        for n, b in enumerate(out):
            times_x[n] -= shift / factor * b
        times_x[0] += c
        out = times_x
    return [plain(c) for c in out[: len(coefficients)]]


def _endings(steps: Steps, signs: tuple[int, ...]) -> Iterator[tuple[Coefficients, str]]:
    """The weights and the way to end of each program with these signs."""
    degree = len(signs)
    weights = coordinates(steps.coefficients, signs, False, steps.first)
    direct = sum(c != 0 for c in weights) == 1 and abs(weights[degree]) == 1
    yield weights, "direct" if direct and weights[degree] == 1 else "collected"
    if degree > 1:
        weights = coordinates(steps.coefficients, signs, True, steps.first)
        if abs(weights[degree]) == 1:
            yield weights, "top"


def _code(steps: Steps, weights: Coefficients, signs: tuple[int, ...], ending: str, start: tuple[int, ...]) -> Code:
    degree = len(weights) - 1
    scalars = [affine_scalar(steps.form.scaled(steps.first))] + [affine_scalar(steps.form)] * (degree - 1)
    out: list[Instruction] = []
    for n in range(degree + 1):
        holder = 1 if n % 2 == 0 else 2
        if n == degree and ending == "top":
            lead, scalar = scalars[n - 1]
            out.append(Instruction(0, 3 - holder, lead * signs[n - 1] * int(weights[n]), scalar))
            break
        if n:
            lead, scalar = scalars[n - 1]
            out.append(Instruction(holder, 3 - holder, lead * signs[n - 1], scalar))
        if weights[n] and ending != "direct":
            sign, weight = affine_scalar(Affine((), weights[n]))
            out.append(Instruction(0, holder, sign, weight))
    return Code.of(out, start, 0 if ending != "direct" else 1 if degree % 2 == 0 else 2)

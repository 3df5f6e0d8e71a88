"""Explanations why two inputs give different outputs: the place where their traces part, and the share of each input in
the difference.

The shares belong to the function, not to the program that computes it: every correct program gives the same ones.
``docs/explain.md`` says what they are and which properties they have.
"""

from __future__ import annotations

import heapq
from dataclasses import replace
from fractions import Fraction
from math import factorial
from typing import Any, NamedTuple

import numpy as np
from skinny.model.errors import CheckError, InputError
from skinny.model.program.forms import Input, Linear, Weight
from skinny.model.program.program import Mode, Program
from skinny.model.rings import Array, Boolean, Exact, FixedPoint, Modular, Number, PrimeField, Real, Ring, exact_number

from .golden import run, trace_chunks
from .gradient import gradient

__all__ = ["METHODS", "Divergence", "Growth", "Shares", "degrees", "divergence", "shares"]

METHODS = ("line", "order")
#: The greatest degree along the line; the gradient is taken at as many points.
MOST_DEGREE = 64
#: Degrees are found modulo a prime that is no likely constant of a program.
PRIME = 2_147_483_629
#: Random directions in which the degree is measured.
DIRECTIONS = 2


class Growth(NamedTuple):
    """An instruction that took two runs apart: number ``step``, counted from 1, increased the distance of ``register``
    by ``growth``, to the elements ``a`` and ``b``."""

    step: int
    register: int
    growth: Number
    a: Any
    b: Any


class Divergence(NamedTuple):
    """The way in which two runs part: ``first`` is the first step after which the registers differ, None if they never
    do; ``steps`` are those that took the runs apart the most, the greatest first."""

    first: int | None
    steps: list[Growth]


class Shares(NamedTuple):
    """For each output its ``difference``, the share of each input in it, ``inputs[output][input]``, and the part that
    comes from rounding, ``remainder``: ``difference = sum of shares + remainder``, exactly, in the ring's own sum."""

    method: str
    difference: list[Number]
    inputs: list[list[Number]]
    remainder: list[Number]


class _Rationals(Exact):
    """The rationals with whole numbers as Python integers, which are much faster than fractions."""

    def encode(self, value: Number) -> int | Fraction:  # type: ignore[override]
        exact = exact_number(value)
        return exact.numerator if exact.denominator == 1 else exact

    embed = encode  # type: ignore[assignment]


def _wraps(ring: Ring) -> bool:
    """Whether differences are elements of a finite ring; otherwise they are rational numbers."""
    return isinstance(ring, Modular | PrimeField | Boolean)


def _distance(ring: Ring, a: Array, b: Array) -> Array:
    """``|b - a|`` as Python numbers; in a finite ring the shorter way round the circle of residues."""
    apart = b.astype(object) - a.astype(object)
    if _wraps(ring):
        modulus = ring.p if isinstance(ring, PrimeField) else 1 << ring.bits
        out: Array = np.minimum(apart % modulus, -apart % modulus)
        return out
    return abs(apart) / (1 << ring.frac) if isinstance(ring, FixedPoint) else abs(apart)


def divergence(program: Program, ring: Ring, a: Array, b: Array, most: int = 20) -> Divergence:
    """The place where the runs from ``a`` and ``b``, elements of shape ``(inputs,)``, part, and the ``most`` steps that
    take them apart the most: those that increase the distance of the written registers most."""
    first: int | None = None
    largest: list[tuple[Number, int, int, Any, Any]] = []
    restarts = [output.at for output in program.outputs if output.restart]
    before = np.zeros((2, program.width), dtype=ring.element_dtype)
    for begin, seen in trace_chunks(program, ring, np.stack([a, b])):
        if isinstance(ring, Real) and not np.isfinite(seen).all():
            step = begin + int(np.argmin(np.isfinite(seen).all(axis=(1, 2))))
            raise InputError(f"the registers overflow {ring.name} at step {step}, so they have no difference")
        # The piece begins with step 0, which is the start, or continues where the one before ended.
        states = seen if begin == 0 else np.concatenate([before[None], seen])
        before = seen[-1]
        steps = np.arange(begin + (begin == 0), begin + len(seen))
        target = program.code.dst[steps - 1]
        row = np.arange(len(steps))
        ends = states[row + 1, 0, target], states[row + 1, 1, target]
        later = _distance(ring, *ends)
        earlier = _distance(ring, states[row, 0, target], states[row, 1, target])
        earlier[np.isin(steps - 1, restarts)] = 0
        parted = np.flatnonzero(later)
        if first is None and len(parted):
            first = int(steps[parted[0]])
        grown = zip(*(column.tolist() for column in (later - earlier, -steps, target, *ends)), strict=True)
        largest = heapq.nlargest(most, [*largest, *(entry for entry in grown if entry[0] > 0)])
    return Divergence(first, [Growth(-step, register, growth, x, y) for growth, step, register, x, y in largest])


def shares(program: Program, ring: Ring, a: Array, b: Array, method: str | None = None) -> Shares:
    """The share of every input in the change of each output from ``a`` to ``b``, elements of shape ``(inputs,)``.

    ``line``: all inputs move together on the straight line; a share is the integral of its input's partial derivative.
    It needs division, so it is for ``Exact``, and for ``FixedPoint`` and ``Real`` taken exactly, the rounding
    being the remainder; and a degree of at most :data:`MOST_DEGREE`. ``order``: the inputs move one after the other,
    in the program's order. By default ``line`` where it can be had.

    Time: ``line`` about four runs for each degree and output, ``order`` a run for each input that differs.
    """
    if method not in (None, *METHODS):
        raise InputError(f"the method must be {' or '.join(METHODS)}, not {method!r}")
    if method == "line" and _wraps(ring):
        raise InputError(f"shares along the line need division, which {ring.name} lacks: use exact, or the order")
    program = replace(program, argmax="")
    relu = np.flatnonzero(program.code.mode == Mode.RELU)
    if method == "line" and len(relu):
        raise InputError(
            f"shares along the line need a polynomial, but instruction {relu[0]} takes the relu: use the order"
        )
    if method == "order" or _wraps(ring) or len(relu):
        return _order_shares(program, ring, a, b)
    exact = _over_rationals(program, ring)
    x, y = (_Rationals().encode_all([ring.decode(v) for v in given]) for given in (a, b))
    found = degrees(exact, x, x != y)
    if max(found) > MOST_DEGREE:
        if method == "line":
            raise InputError(f"the outputs have a degree above {MOST_DEGREE}, too high for the line: use the order")
        return _order_shares(program, ring, a, b)
    sent = _numbers(ring, run(program, ring, np.stack([a, b])).outputs)
    difference = [later - earlier for earlier, later in sent.T]
    parts = [_line_shares(exact, x, y, number, degree) for number, degree in enumerate(found)]
    plain = run(exact, _Rationals(), np.stack([x, y])).outputs
    for output, part, (earlier, later) in zip(program.outputs, parts, plain.T, strict=True):
        if sum(part) != later - earlier:
            raise CheckError(f"the shares of {output.name} do not add up: its degree was found too low")
    return Shares("line", difference, parts, [d - sum(part) for d, part in zip(difference, parts, strict=True)])


def _numbers(ring: Ring, elements: Array) -> Array:
    """Elements as rationals, so that no difference is rounded."""
    return np.frompyfunc(lambda element: exact_number(ring.decode(element)), 1, 1)(elements)  # type: ignore[no-any-return]


def _order_shares(program: Program, ring: Ring, a: Array, b: Array) -> Shares:
    moved = np.flatnonzero(a != b)
    path = np.repeat(a[None], len(moved) + 1, axis=0)
    for place, u in enumerate(moved.tolist(), 1):
        path[place:, u] = b[u]
    sent = run(program, ring, path).outputs.T

    def minus(later: Array, earlier: Array) -> Array:
        """Differences of elements, shape ``(outputs, batch)``, as Python numbers."""
        if not _wraps(ring):
            return _numbers(ring, later) - _numbers(ring, earlier)
        packed = ring.sub(ring.pack(later), ring.pack(earlier))
        return ring.unpack(packed, later.shape[1]).astype(object)

    inputs = np.full((len(program.outputs), len(program.inputs)), 0, dtype=object)
    inputs[:, moved] = minus(sent[:, 1:], sent[:, :-1])
    difference = minus(sent[:, -1:], sent[:, :1])[:, 0].tolist()
    return Shares("order", difference, inputs.tolist(), [0] * len(difference))


def _over_rationals(program: Program, ring: Ring) -> Program:
    """``program`` with its weights rounded to elements of ``ring``."""
    weights = tuple(exact_number(ring.decode(weight)) for weight in program.quantise(ring))
    return replace(program, weights=weights)


def degrees(program: Program, x: Array, moved: Array) -> list[int]:
    """The total degree of each output in the inputs that the mask ``moved`` chooses, the others being those of
    ``x``; one more than :data:`MOST_DEGREE` if it is higher.

    The outputs are evaluated in a prime field at equidistant points on random lines, and differences taken until
    they vanish. A degree is too low with a probability of at most ``(degree / PRIME)^DIRECTIONS``, never too high.
    """
    field = PrimeField(PRIME)
    rng = np.random.default_rng(1)
    base = np.array([field.embed(value) for value in x], dtype=np.int64)
    count = MOST_DEGREE + 6
    way = rng.integers(1, PRIME, (DIRECTIONS, 1, len(x))) * moved
    points = (base + way * np.arange(count)[:, None]) % PRIME
    start = np.array([field.embed(value) for value in program.start], dtype=np.int64)
    wrapped = replace(program, derived=(True,) * len(program.weights))
    sent = run(wrapped, field, points.reshape(-1, len(x)), start).outputs.reshape(DIRECTIONS, count, -1)
    out = np.full(len(program.outputs), -1)
    for _ in range(MOST_DEGREE + 2):
        out += sent.any(axis=(0, 1))
        sent = np.diff(sent, axis=1) % PRIME
    return [max(0, int(degree)) for degree in out]


def _line_shares(program: Program, x: Array, y: Array, number: int, degree: int) -> list[Number]:
    """The shares of output ``number``, of degree at most ``degree`` on the line from ``x`` to ``y``, over the
    rationals.

    The forms are taken for the inputs: on the line they too are straight, so that an instruction costs the same
    however many terms its form has, and the terms are looked at only once. Forms that read registers are not straight.
    """
    ring = _Rationals()
    out: list[Number] = [0] * len(program.inputs)
    if degree == 0:
        return out
    nodes = np.array(range(degree), dtype=object)[:, None]
    mean_weights = _mean_weights(degree)
    if program.summing:
        slopes = gradient(program, ring, x + nodes * (y - x), program.outputs[number].name).inputs
        return ((mean_weights @ slopes) * (y - x)).tolist()  # type: ignore[no-any-return]
    begin, end = (ring.encode_all([_form_value(program, form, point) for form in program.forms]) for point in (x, y))
    lifted = replace(
        program,
        inputs=tuple(str(form) for form in range(len(program.forms))),
        forms=tuple(form if isinstance(form, Weight) else Input(at) for at, form in enumerate(program.forms)),
        input_scales=(),
        box=None,
    )
    slopes = gradient(lifted, ring, begin + nodes * (end - begin), program.outputs[number].name).inputs
    mean = mean_weights @ slopes
    for form, slope in zip(program.forms, mean.tolist(), strict=True):
        match form:
            case Input(u):
                out[u] += slope * (y[u] - x[u])
            case Linear(terms, _):
                for k, u in terms:
                    out[u] += program.weights[k] * slope * (y[u] - x[u])
    return out


def _form_value(program: Program, form: Input | Weight | Linear, x: Array) -> Number:
    """The value of ``form`` at ``x``; zero for a weight, whose value is not needed."""
    match form:
        case Input(u):
            return x[u]  # type: ignore[no-any-return]
        case Weight():
            return 0
        case Linear(terms, bias):
            return sum((program.weights[k] * x[u] for k, u in terms), 0 if bias is None else program.weights[bias])


def _mean_weights(count: int) -> Array:
    """Numbers ``c`` with ``Σ c[j]·f(j) = ∫ f(t) dt`` from 0 to 1 for every polynomial ``f`` of degree below
    ``count``. Whole points, because they bring no new denominators into the program."""
    product = [1]  # t·(t - 1)·…, the constant term first
    for root in range(count):
        product = [below - root * same for below, same in zip([0, *product], [*product, 0], strict=True)]
    out = []
    for j in range(count):
        # Without its factor t - j it vanishes at the other points only; divided by its value at j it is 1 there.
        quotient = [product[-1]]
        for coefficient in product[-2:0:-1]:
            quotient.append(coefficient + j * quotient[-1])
        height = (-1) ** (count - 1 - j) * factorial(j) * factorial(count - 1 - j)
        integral = sum((Fraction(q, count - at) for at, q in enumerate(quotient)), Fraction(0))
        out.append(integral / height)
    return np.array(out, dtype=object)

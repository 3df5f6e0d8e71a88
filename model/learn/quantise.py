"""Fixed point: scales and words for a learned program, so that nothing overflows for inputs in its box.

A unit may be as large as it likes, because what reads it is divided by as much: each form is scaled so that its values
in the box, its unit and its weights fill the word. Outputs that are compared may all be scaled by one number, outputs
that are numbers by powers of two. The bounds that are used here are those of each form by itself; the program is then
proven by :mod:`skinny.model.bounds`, which takes the rounding into account, and made smaller until that succeeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import ceil, frexp
from typing import NamedTuple

import numpy as np
from skinny.model.bounds.bounds import bound
from skinny.model.errors import InputError
from skinny.model.program.program import Program
from skinny.model.program.units import scaled
from skinny.model.rings import FixedPoint

from .network import FAMILIES, Array, Models, Shape
from .sparse import Sparse, build
from .training import Adam, with_one

__all__ = ["Quantised", "Words", "input_scale", "quantise", "refitted"]

#: The part of the word that is used at first.
FILLED = 0.98
#: What that part is multiplied by when the bounds, which count roundings, do not agree, and how often.
SMALLER, ATTEMPTS = 0.97, 20
#: Outputs that differ by this part of their size are near enough, and steps of fitting words again where they are not.
GOOD, REFITTED = 2e-3, 600
#: Bits with which the scales make sense: one more than the fraction for the sign, one for the number one.
FEWEST_BITS = 4


class Words(NamedTuple):
    """What a raw word means: ``scales`` of the inputs, and what each factor and each output is multiplied by."""

    scales: tuple[int, ...]
    factors: Array
    outputs: Array


class Quantised(NamedTuple):
    """A proven program, its ring, and its arrays as the words that it computes with."""

    program: Program
    ring: FixedPoint
    words: Words


def quantise(
    found: Sparse,
    ring: FixedPoint,
    box: Sequence[tuple[Fraction, Fraction]],
    inputs: Sequence[str],
    outputs: Sequence[str],
    argmax: str,
    title: str = "",
    rows: Array | None = None,
) -> Quantised:
    """The program of ``found`` in ``ring``, proven for inputs in ``box``. With ``rows`` of training data, weights
    that a few bits hold badly are fitted again, as words, to what ``found`` computes there."""
    if ring.bits < FEWEST_BITS or ring.frac > ring.bits - 2:
        raise InputError(
            f"{ring.name} holds no one: learned programs need {FEWEST_BITS} bits or more, two of them before the point"
        )
    part = FILLED
    for _ in range(ATTEMPTS):
        words = _words(found, ring, box, part, compared=bool(argmax))
        powers = [0 if argmax else -round(float(np.log2(factor))) for factor in words.outputs]
        named = list(zip(outputs, powers, strict=True))
        program = build(_rounded(found, ring, words, rows), inputs, named, argmax, title)
        program = replace(program, ring=ring.name, box=tuple(box), input_scales=words.scales)
        inside = [(scaled(low, -e), scaled(high, -e)) for (low, high), e in zip(box, words.scales, strict=True)]
        if bound(program, ring, inside).safe:
            return Quantised(program, ring, words)
        part *= SMALLER
    raise InputError(f"{ring.name} has too few bits: no scale is safe for all inputs in the box of the training data")


def _words(
    found: Sparse, ring: FixedPoint, box: Sequence[tuple[Fraction, Fraction]], part: float, *, compared: bool
) -> Words:
    """Scales with which values and weights fill ``part`` of the word."""
    limit = part * 2.0 ** (ring.bits - 1 - ring.frac)
    scales = tuple(input_scale(low, high, ring) for low, high in box)
    powers = np.ldexp(1.0, np.array(scales, dtype=int))
    ends = np.array([[float(low), float(high)] for low, high in box]).reshape(-1, 2) / powers[:, None]
    middle, half = ends.mean(axis=1), (ends[:, 1] - ends[:, 0]) / 2

    def sizes(rows: Array) -> tuple[Array, Array, Array]:
        """The least and the greatest values of forms in the box, and the size of their largest word."""
        weights = rows[..., :-1] * powers
        at, spread = weights @ middle + rows[..., -1], np.abs(weights) @ half
        largest = np.maximum(np.abs(weights).max(axis=-1, initial=0), np.abs(rows[..., -1]))
        return at - spread, at + spread, largest

    low, high, largest = sizes(found.factors)
    reach = np.maximum(np.abs(low), np.abs(high))
    per = found.factors.shape[1] if found.factors.size else 1
    # A square is as large as its form times itself; the forms of a product share what the word holds evenly.
    most = limit if found.family == "relu" else min(limit, limit**0.5)
    factors = np.minimum(most / np.maximum(reach, 1e-300), limit / np.maximum(largest, 1e-300))
    low_out, high_out, largest_out = sizes(found.outputs)
    if found.family == "separate":
        # The units of an output are added as they are, so that all forms share the scale of the outputs.
        units = np.where((low < 0) & (high > 0), 0, np.minimum(low**2, high**2)), np.maximum(low**2, high**2)
        low_out, high_out = _with_units(found.reads, low_out, high_out, units[0][:, 0], units[1][:, 0])
        most = np.maximum(np.maximum(np.abs(low_out), np.abs(high_out)), largest_out)
        owner = np.abs(found.reads).argmax(axis=0)
        outputs = limit / np.maximum(most, 1e-300)
        np.minimum.at(outputs, owner, factors.min(axis=1, initial=np.inf) ** 2)
        outputs = _settled(outputs, compared)
        return Words(scales, np.sqrt(outputs)[owner][:, None] * np.ones(factors.shape), outputs)
    products = _products(found.family, factors)
    reads = found.reads / products
    if len(factors):
        low_f, high_f = low * factors, high * factors
        if per == 2:
            corners = np.stack([a[:, 0] * b[:, 1] for a in (low_f, high_f) for b in (low_f, high_f)])
            low_u, high_u = corners.min(axis=0), corners.max(axis=0)
        elif found.family == "relu":
            low_u, high_u = np.maximum(low_f, 0)[:, 0], np.maximum(high_f, 0)[:, 0]
        else:
            low_u = np.where((low_f < 0) & (high_f > 0), 0, np.minimum(low_f**2, high_f**2))[:, 0]
            high_u = np.maximum(low_f**2, high_f**2)[:, 0]
        low_out, high_out = _with_units(reads, low_out, high_out, low_u, high_u)
    words = np.maximum(largest_out, np.abs(reads).max(axis=1, initial=0))
    most = np.maximum(np.maximum(np.abs(low_out), np.abs(high_out)), words)
    return Words(scales, factors, _settled(limit / np.maximum(most, 1e-300), compared))


def _products(family: str, factors: Array) -> Array:
    """What each unit is multiplied by when its forms are multiplied by ``factors``."""
    if not factors.size:
        return np.ones(0)
    return np.asarray(factors[:, 0] if family == "relu" else factors[:, 0] * factors[:, -1])


def _settled(outputs: Array, compared: bool) -> Array:
    """Outputs that are compared have one scale, others powers of two."""
    return np.full(outputs.shape, outputs.min()) if compared else np.exp2(np.floor(np.log2(outputs)))


def _with_units(reads: Array, low: Array, high: Array, low_units: Array, high_units: Array) -> tuple[Array, Array]:
    """The ranges of outputs with those of their units added."""
    ends = np.stack([reads * low_units, reads * high_units])
    return low + ends.min(axis=0).sum(axis=1), high + ends.max(axis=0).sum(axis=1)


def input_scale(low: Fraction, high: Fraction, ring: FixedPoint) -> int:
    """The least exponent with which the inputs from ``low`` to ``high`` fit the word."""
    most = (1 << (ring.bits - 1)) - 1
    size = max(abs(low), abs(high))
    if not size:
        return 0
    exponent = frexp(float(size))[1] - (ring.bits - 1 - ring.frac)
    while ceil(scaled(size, ring.frac - exponent)) > most:
        exponent += 1
    return exponent


def _rounded(found: Sparse, ring: FixedPoint, words: Words, rows: Array | None) -> Sparse:
    """``found`` in words of the ring, as rationals."""
    powers = np.append(np.ldexp(1.0, np.array(words.scales, dtype=int)), 1.0)
    if found.family == "separate":
        reads = np.sign(found.reads)
    else:
        reads = found.reads / _products(found.family, words.factors) * words.outputs[:, None]
    factors = found.factors * powers * words.factors[..., None]
    held = Sparse(found.family, factors, found.outputs * powers * words.outputs[:, None], reads)
    near = _nearest(held, ring) if rows is None else refitted(held, ring, rows / powers[:-1])

    def exactly(values: Array) -> Array:
        out = np.empty(values.shape, dtype=object)
        for place, value in np.ndenumerate(values):
            out[place] = Fraction(float(value))
        return out

    return Sparse(found.family, exactly(near.factors), exactly(near.outputs), exactly(near.reads))


def _nearest(held: Sparse, ring: FixedPoint) -> Sparse:
    """The nearest words, as floats, which hold them exactly."""
    step = 2.0**ring.frac
    return held._replace(**{n: np.floor(getattr(held, n) * step + 0.5) / step for n in ("factors", "outputs", "reads")})


def refitted(held: Sparse, ring: FixedPoint, rows: Array) -> Sparse:
    """Words for the weights ``held``, which are floats, so that the outputs of ``rows`` come near to those of the
    floats. Where the nearest words do that they are taken; else descent moves the floats by the slope at their nearest
    words."""
    wanted = held.values(rows)
    size = float(np.sqrt((wanted * wanted).mean()))
    best = _nearest(held, ring)
    least = _distance(best, rows, wanted)
    if least <= GOOD * size:
        return best
    units, inputs = len(held.factors), rows.shape[1] + 1
    shape = Shape(held.family, units, inputs - 1, len(held.outputs))
    forms = np.concatenate([held.factors.reshape(-1, inputs), held.outputs])[None]
    reads = held.reads[None].astype(np.float64)
    models = Models(shape, forms, reads, forms != 0, reads != 0)
    rng = np.random.default_rng(0)
    adam, unit = Adam(models), 2.0**-ring.frac
    ends = forms.copy(), reads.copy()
    for step in range(REFITTED):
        near = _nearest(_as_sparse(models), ring)
        near_forms, near_reads = _arrays(near)
        moved = Models(shape, near_forms[None], near_reads[None], models.kept, models.read)
        chosen = rng.integers(0, len(rows), 256)
        batch = with_one(rows[chosen])
        factors, products, outputs = moved.values(batch)
        errors = (outputs - wanted[chosen].T) / size
        adam.step(moved.backwards(batch, factors, products, errors), unit * (1 - step / REFITTED))
        # A weight stays within a few words of where the scales were chosen for it.
        for values, start in zip((models.forms, models.reads), ends, strict=True):
            np.clip(values, start - 3 * unit, start + 3 * unit, out=values)
        models.mask()
        if step % 20 == 19:
            found = _nearest(_as_sparse(models), ring)
            distance = _distance(found, rows, wanted)
            if distance < least:
                best, least = found, distance
    return best


def _arrays(found: Sparse) -> tuple[Array, Array]:
    inputs = found.outputs.shape[1]
    return np.concatenate([found.factors.reshape(-1, inputs), found.outputs]), found.reads


def _as_sparse(models: Models) -> Sparse:
    """The only model, with all its units."""
    shape = models.shape
    per = FAMILIES[shape.family]
    factors = models.forms[0, : shape.factors].reshape(shape.units, per, shape.inputs + 1)
    return Sparse(shape.family, factors, models.forms[0, shape.factors :], models.reads[0])


def _distance(found: Sparse, rows: Array, wanted: Array) -> float:
    return float(np.sqrt(((found.values(rows) - wanted) ** 2).mean()))

"""Forms: tensors whose elements are affine forms of values computed earlier.

What a network computes is a row of steps that are affine, with a few in between that are not. Affine steps are
gathered here as numbers, so that a scale or a normalisation behind a layer costs nothing; whatever is not affine, and
what is better computed once, becomes a *held* value: a formula that later forms refer to.

A number is one constant of the formulas wherever it comes from the same weights, such as the kernel of a convolution,
and another one where it only happens to be equal, so that a network that was trained again has the same formulas with
other constants. *Marks* tell that: numbers modulo 2^64, random for each weight, that go through the same arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from skinny.model.errors import InputError
from skinny.model.formula.formula import Formula, product, total
from skinny.model.limits import check, checked, current

from ..affine import kept, number
from ..imported import Layer

__all__ = ["NOTHING", "Forms", "Held", "Numbers", "claim", "joined"]

Whole = NDArray[np.int64]
Floats = NDArray[np.float64]
Marks = NDArray[np.uint64]
#: A column of :meth:`Held.combined` or an element of :meth:`Forms.taken` that is not there: zero.
NOTHING = -1
#: Bytes of memory at most for each entry of a form while it is made.
ENTRY = 128
#: Two affine steps are multiplied out only when that takes fewer products than this.
MOST_PRODUCTS = 10_000_000


def claim(entries: int) -> None:
    """Refuse tensors and forms of so many entries when they do not fit the memory that is allowed."""
    check()
    if entries > (most := current().memory // ENTRY):
        raise InputError(f"{entries:,} entries are more than the limit, {most:,}: --limit memory=SIZE raises it")


class Numbers(NamedTuple):
    """Numbers with their marks, in the same shape."""

    values: Floats
    marks: Marks

    @classmethod
    def plain(cls, values: NDArray[Any] | float) -> Numbers:
        """Numbers that are no weights; equal ones have equal marks."""
        found = np.asarray(values, np.float64)
        flat = found.ravel()
        small = np.isin(flat, (-1, 0, 1))
        mixed = flat.view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
        marks = np.where(small, np.where(small, flat, 0).astype(np.int64).view(np.uint64), mixed)
        return cls(found, marks.reshape(found.shape))

    def each(self, shape: tuple[int, ...]) -> Numbers:
        """One number for each element of a tensor of ``shape``, in the order of memory."""
        return Numbers(np.broadcast_to(self.values, shape).ravel(), np.broadcast_to(self.marks, shape).ravel())

    def reshape(self, *shape: int) -> Numbers:
        """The same numbers in another shape."""
        return Numbers(self.values.reshape(shape), self.marks.reshape(shape))

    def times(self, other: Numbers) -> Numbers:
        """The products of numbers of the same shape."""
        return Numbers(self.values * other.values, self.marks * other.marks)

    def plus(self, other: Numbers) -> Numbers:
        """The sums of numbers of the same shape."""
        return Numbers(self.values + other.values, self.marks + other.marks)

    def at(self, places: Any) -> Numbers:
        """The numbers at ``places``."""
        return Numbers(self.values[places], self.marks[places])

    def and_then(self, other: Numbers) -> Numbers:
        """These numbers and then others."""
        return Numbers(np.concatenate([self.values, other.values]), np.concatenate([self.marks, other.marks]))


@dataclass(frozen=True, eq=False)
class Forms:
    """A tensor of the given ``shape``. Element ``e``, in the order of memory, is ``offsets[e]`` and the sum of
    ``factors[i]`` times the held value ``values[i]`` for ``i`` from ``starts[e]`` to ``starts[e + 1]``; the held values
    of an element rise, and no factor is zero."""

    shape: tuple[int, ...]
    starts: Whole
    values: Whole
    factors: Numbers
    offsets: Numbers

    @classmethod
    def of_numbers(cls, numbers: Numbers) -> Forms:
        """Constants as forms."""
        size = numbers.values.size
        claim(size)
        none = np.zeros(0, np.int64)
        return cls(numbers.values.shape, np.zeros(size + 1, np.int64), none, Numbers.plain(none), numbers.reshape(-1))

    @property
    def size(self) -> int:
        return len(self.offsets.values)

    @property
    def lengths(self) -> Whole:
        """The number of held values in each element."""
        return np.diff(self.starts)

    @property
    def constant(self) -> bool:
        """Whether no element depends on an input."""
        return len(self.values) == 0

    @property
    def numbers(self) -> Floats:
        """The elements of a constant tensor."""
        return self.offsets.values.reshape(self.shape)

    @property
    def trivial(self) -> NDArray[np.bool_]:
        """Which elements are a number or a held value itself."""
        single = self.lengths == 1
        single[single] = (self.factors.values[self.starts[:-1][single]] == 1) & (self.offsets.values[single] == 0)
        return np.asarray(single | (self.lengths == 0))

    @property
    def places(self) -> Whole:
        """The number of every element, in the shape of the tensor."""
        return np.arange(self.size).reshape(self.shape)

    def reshape(self, shape: Sequence[int]) -> Forms:
        """The same elements in another shape."""
        return Forms(tuple(shape), self.starts, self.values, self.factors, self.offsets)

    def taken(self, elements: Whole) -> Forms:
        """The tensor of the shape of ``elements`` that has these elements of this one, :data:`NOTHING` for zero."""
        both = joined([self, Forms.of_numbers(Numbers.plain(np.zeros(1)))]) if (elements == NOTHING).any() else self
        chosen = elements.ravel()  # NOTHING is the last element of both
        places, starts = _runs(both.starts[:-1][chosen], both.lengths[chosen])
        return Forms(elements.shape, starts, both.values[places], both.factors.at(places), both.offsets.at(chosen))

    def scaled(self, factors: Numbers | float, offsets: Numbers | float = 0.0) -> Forms:
        """Every element times its own factor, with an offset; both fit the shape of this tensor."""
        factor, offset = (
            (given if isinstance(given, Numbers) else Numbers.plain(given)).each(self.shape)
            for given in (factors, offsets)
        )
        rows = np.repeat(np.arange(self.size), self.lengths)
        products = self.factors.times(factor.at(rows))
        return _collected(self.shape, rows, self.values, products, self.offsets.times(factor).plus(offset))

    def plus(self, other: Forms) -> Forms:
        """The sum with a tensor of the same shape."""
        rows = np.concatenate([np.repeat(np.arange(self.size), forms.lengths) for forms in (self, other)])
        values = np.concatenate([self.values, other.values])
        factors = self.factors.and_then(other.factors)
        return _collected(self.shape, rows, values, factors, self.offsets.plus(other.offsets))


def _runs(begins: Whole, lengths: Whole) -> tuple[Whole, Whole]:
    """The places ``begin, begin + 1, …`` of all runs one after the other, and where each run starts among them."""
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    claim(int(starts[-1]) + len(lengths))
    return np.repeat(begins - starts[:-1], lengths) + np.arange(starts[-1]), starts


def _collected(shape: tuple[int, ...], rows: Whole, values: Whole, factors: Numbers, offsets: Numbers) -> Forms:
    """The forms with these entries in any order: equal ones of a row are added, those that vanish left out."""
    order = np.lexsort((values, rows))
    rows, values, factors = rows[order], values[order], factors.at(order)
    if len(rows):
        begins = np.flatnonzero(np.concatenate([[True], (rows[1:] != rows[:-1]) | (values[1:] != values[:-1])]))
        factors = Numbers(*(np.add.reduceat(part, begins) for part in factors))
        kept = np.flatnonzero(factors.values)
        rows, values, factors = rows[begins[kept]], values[begins[kept]], factors.at(kept)
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(offsets.values)))]).astype(np.int64)
    return Forms(shape, starts, values, factors, offsets)


class Held:
    """The held values of a network: its inputs first, then one after the other what is computed. ``layers`` are those
    that came to be, in order. With ``keep_zeros`` weights that are zero stay terms."""

    def __init__(self, keep_zeros: bool = False) -> None:
        self.keep_zeros = keep_zeros
        self.formulas: list[Formula] = []
        self.layers: list[Layer] = []
        self._positive: list[bool] = []
        self._numbers: dict[tuple[float, int], Formula] = {}
        self._chance = np.random.default_rng(0)
        self._known: dict[int, tuple[Forms, Forms]] = {}  # tensors that were held, by identity

    def added(self, formulas: Sequence[Formula], shape: Sequence[int], positive: bool = False) -> Forms:
        """The tensor of new held values; ``positive`` says that they are never below zero."""
        claim(len(formulas))
        count = len(formulas)
        values = np.arange(len(self.formulas), len(self.formulas) + count)
        self.formulas += formulas
        self._positive += [positive] * count
        ones, zeros = Numbers.plain(np.ones(count)), Numbers.plain(np.zeros(count))
        return Forms(tuple(shape), np.arange(count + 1), values, ones, zeros)

    def weights(self, values: NDArray[Any]) -> Numbers:
        """Weights of the network, each of which is a constant of its own; a single number is none."""
        if values.size == 1:
            return Numbers.plain(values)
        weights = kept(values.astype(np.float64), self.keep_zeros)
        return Numbers(weights, self._chance.integers(1 << 64, size=values.shape, dtype=np.uint64))

    def written(self, forms: Forms) -> list[Formula]:
        """Every element as a formula: the products in the order of the held values, then the offset."""
        out: list[Formula] = []
        starts, values = forms.starts.tolist(), [self.formulas[value] for value in forms.values.tolist()]
        factors = list(zip(*(part.tolist() for part in forms.factors), strict=True))
        offsets = list(zip(*(part.tolist() for part in forms.offsets), strict=True))
        for element in checked(range(forms.size)):
            terms = [
                values[place] if factors[place][0] == 1 else product((self._number(factors[place]), values[place]))
                for place in range(starts[element], starts[element + 1])
            ]
            if offsets[element][0] or not terms:
                terms.append(self._number(offsets[element]))
            out.append(terms[0] if len(terms) == 1 else total(terms))
        return out

    def _number(self, found: tuple[float, int]) -> Formula:
        """The one constant for a number with its mark."""
        if found not in self._numbers:
            if not np.isfinite(found[0]):
                raise InputError(f"a number of the network is {found[0]}: export it with finite weights")
            self._numbers[found] = number(found[0])
        return self._numbers[found]

    def held(self, forms: Forms, name: str) -> Forms:
        """The same tensor, with every element that is more than a number or a held value as a held value of its own.
        The same tensor is held once."""
        wide = ~forms.trivial
        if id(forms) not in self._known:
            self._known[id(forms)] = forms, self.replaced(forms, wide, self.written, name) if wide.any() else forms
        return self._known[id(forms)][1]

    def applied(self, forms: Forms, function: Callable[[Formula], Formula], name: str, positive: bool = False) -> Forms:
        """``function``, which is not affine, of every element, as new held values."""
        everywhere = np.ones(forms.size, bool)
        return self.replaced(
            forms, everywhere, lambda chosen: [function(one) for one in self.written(chosen)], name, positive
        )

    def replaced(
        self,
        forms: Forms,
        which: NDArray[np.bool_],
        make: Callable[[Forms], list[Formula]],
        name: str,
        positive: bool = False,
    ) -> Forms:
        """The same tensor with new held values, what ``make`` makes of the old elements, in the places ``which``."""
        chosen = np.flatnonzero(which)
        formulas = make(forms.taken(chosen))
        new = self.added(formulas, chosen.shape, positive)
        self.record(name, formulas)
        elements = np.arange(forms.size)
        elements[chosen] = forms.size + np.arange(len(chosen))
        return joined([forms, new]).taken(elements.reshape(forms.shape))

    def relu(self, forms: Forms, name: str) -> Forms:
        """The positive part of every element."""
        known = forms.lengths == 0
        below = known & (forms.offsets.values < 0)
        offsets = Numbers(*(np.where(below, np.zeros(1, part.dtype), part) for part in forms.offsets))
        forms = Forms(forms.shape, forms.starts, forms.values, forms.factors, offsets)
        open_ = ~known & ~self.positive(forms)
        if not open_.any():
            return forms
        return self.replaced(
            forms, open_, lambda chosen: [Formula("relu", (one,)) for one in self.written(chosen)], name, True
        )

    def positive(self, forms: Forms) -> NDArray[np.bool_]:
        """Which elements are plain sums of values that cannot be below zero. Weights are not looked at: a network that
        is trained again keeps its rectifiers."""
        known = np.array(self._positive, bool)
        others = np.concatenate([[0], np.cumsum((forms.factors.values != 1) | ~known[forms.values])])
        return np.asarray((others[forms.starts[1:]] == others[forms.starts[:-1]]) & (forms.offsets.values == 0))

    def leaky(self, forms: Forms, slope: float, name: str) -> Forms:
        """Every element, times ``slope`` where it is below zero."""
        forms = self.settled(forms, forms.lengths > 1, name)
        return self.relu(forms, name).scaled(1 - slope).plus(forms.scaled(slope))

    def multiplied(self, first: Forms, second: Forms, name: str) -> Forms:
        """The products of the elements of two tensors of the same shape."""
        if first is second:
            return self.applied(first, lambda one: one**2, name, True)
        pairs = zip(self.written(first), self.written(second), strict=True)
        formulas = [product(pair) for pair in pairs]
        self.record(name, formulas)
        return self.added(formulas, first.shape)

    def record(self, name: str, formulas: Sequence[Formula]) -> None:
        """Values of the layer ``name``; those of one node are one layer."""
        before = self.layers.pop().values if self.layers and self.layers[-1].name == name else ()
        self.layers.append(Layer(name, (*before, *formulas)))

    def settled(self, forms: Forms, which: NDArray[np.bool_], name: str) -> Forms:
        """The same tensor with the elements ``which`` as held values, because they are used again."""
        which = which & ~forms.trivial
        return self.replaced(forms, which, self.written, name) if which.any() else forms

    def largest(self, forms: Forms, columns: Whole, name: str) -> Forms:
        """The largest of the elements ``columns`` of ``forms`` over the last axis, those that are there: one after the
        other, by ``max(a, b) = b + relu(a - b)``, which keeps what is not settled yet two products wide."""
        claim(columns.size)
        shape = columns.shape[:-1]
        columns = columns.reshape(-1, columns.shape[-1])
        # Of the two, b is written twice; so numbers come last, and what is missing after them.
        rank = np.where(columns == NOTHING, 2, forms.lengths[columns] == 0)
        columns = np.take_along_axis(columns, np.argsort(rank, axis=1, kind="stable"), axis=1)
        there = columns != NOTHING
        if not there[:, 0].all():
            raise InputError("a window lies outside of the tensor and has no largest element: take smaller pads")
        uses = np.bincount(columns[there], minlength=forms.size)
        twice = np.bincount(columns[:, 1:][there[:, 1:]], minlength=forms.size)
        forms = self.settled(forms, (forms.lengths > 1) & ((uses > 1) | (twice > 0)), name)
        out = forms.taken(columns[:, 0])
        for place in range(1, columns.shape[1]):
            check()
            rows = np.flatnonzero(there[:, place])
            if not len(rows):
                break
            new = forms.taken(columns[rows, place])
            better = new.plus(self.relu(out.taken(rows).plus(new.scaled(-1)), name))
            elements = np.arange(out.size)
            elements[rows] = out.size + np.arange(len(rows))
            out = joined([out, better]).taken(elements)
        return out.reshape(shape)

    def combined(self, forms: Forms, columns: Whole, factors: Numbers, name: str) -> Forms:
        """An affine step: the tensor whose elements are the sums, over the last axis, of ``factors`` times the elements
        ``columns`` of ``forms`` (:data:`NOTHING` for none).

        What is summed is held first, unless multiplying out takes no more multiplications.
        """
        shape = np.broadcast_shapes(columns.shape, factors.values.shape)
        claim(int(np.prod(shape, dtype=object)))
        elements, weights = np.broadcast_to(columns, shape).ravel(), factors.each(shape)
        rows = np.repeat(np.arange(int(np.prod(shape[:-1], dtype=np.int64))), shape[-1])
        there = np.flatnonzero((elements != NOTHING) & (weights.values != 0))
        elements, weights, rows = elements[there], weights.at(there), rows[there]

        forms = self._known.get(id(forms), (forms, forms))[1]
        apart = int(forms.lengths[~forms.trivial].sum())
        if int(forms.lengths[elements].sum()) <= MOST_PRODUCTS:
            out = _products(forms, elements, weights, rows, shape[:-1])
            if not apart or len(out.values) <= len(elements) + apart:
                return out
        return _products(self.held(forms, f"input of {name}"), elements, weights, rows, shape[:-1])


def joined(tensors: Sequence[Forms]) -> Forms:
    """The elements of all tensors, one after the other."""
    begins = np.cumsum([0, *(len(forms.values) for forms in tensors)])
    claim(int(begins[-1]) + sum(forms.size for forms in tensors))
    return Forms(
        (sum(forms.size for forms in tensors),),
        np.concatenate([[0], *(forms.starts[1:] + begin for forms, begin in zip(tensors, begins, strict=False))]),
        np.concatenate([forms.values for forms in tensors]),
        Numbers(*(np.concatenate(parts) for parts in zip(*(forms.factors for forms in tensors), strict=True))),
        Numbers(*(np.concatenate(parts) for parts in zip(*(forms.offsets for forms in tensors), strict=True))),
    )


def _products(forms: Forms, elements: Whole, weights: Numbers, rows: Whole, shape: tuple[int, ...]) -> Forms:
    """The sums of ``weights`` times ``elements`` of ``forms``, by row."""
    lengths = forms.lengths[elements]
    places, _ = _runs(forms.starts[:-1][elements], lengths)
    count = int(np.prod(shape, dtype=np.int64))
    offsets = Numbers(np.zeros(count), np.zeros(count, np.uint64))
    for sums, parts in zip(offsets, weights.times(forms.offsets.at(elements)), strict=True):
        np.add.at(sums, rows, parts)
    factors = forms.factors.at(places).times(weights.at(np.repeat(np.arange(len(elements)), lengths)))
    return _collected(shape, np.repeat(rows, lengths), forms.values[places], factors, offsets)

"""Contracts: what a block of instructions promises, and the cheapest word of smaller blocks that keeps it.

A block works on roles, not registers: it adds ``f·R_i`` to ``R_j`` with the help of ``R_k`` and of ``extra`` further
registers, which it treats as it treats ``R_k``. Contracts, from the strictest:

===========  ==========================================================================================
``P``        everything but ``R_j`` is restored
``L``        may also add some ``σ·R_k`` to ``R_j``
``R``        may also add some ``τ·R_i`` to ``R_k``
``RZ``       as ``R`` with the same ``τ``, but ``R_k`` is zero before
``Zr``       ``R_k`` and the extras are zero before and after (``fresh``: so is ``R_j`` before)
``Zd``       ``R_k`` and the extras are zero before and of no interest after (``last``: so is ``R_i``)
===========  ==========================================================================================

A *word* is a sequence of instructions and of smaller blocks, each with its contract, its roles and a direction; the
reverse of a block is its exact inverse. Costs are cycles. Over a commutative ring ``L`` and ``R`` cost the same.

With attention a linear form is a scalar that must first be built in the accumulator. ``scalar_form`` of an expression
is the only form its blocks use (then its costs leave the building out: ``build`` is paid once by whoever uses it),
``None`` when they use none, :data:`MIXED` when they use several (then the costs contain the building).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

from .polynomial import Coefficient

__all__ = [
    "CEILING",
    "MIXED",
    "Affine",
    "Best",
    "Contract",
    "Expression",
    "Item",
    "Leaf",
    "Pair",
    "Scalar",
    "Step",
    "Sum",
    "Telescope",
    "TextbookPair",
    "Word",
    "affine_scalar",
    "form_size",
]

#: Costs are cut here, so that hopeless shapes stay comparable and numpy can hold them.
CEILING = 1 << 60


class Affine(NamedTuple):
    """``Σ c·x_u + bias`` with ``terms`` sorted by input."""

    terms: tuple[tuple[int, Coefficient], ...]
    bias: Coefficient = 0

    def minus(self, other: Affine) -> Affine:
        difference = dict(self.terms)
        for u, c in other.terms:
            difference[u] = difference.get(u, 0) - c
        return Affine(tuple(sorted((u, c) for u, c in difference.items() if c)), self.bias - other.bias)

    def scaled(self, scale: Coefficient) -> Affine:
        return Affine(tuple((u, c * scale) for u, c in self.terms), self.bias * scale)


#: One scalar of an instruction: an affine form with a positive leading coefficient.
Scalar = Affine
NOTHING = Affine(())


class Contract(NamedTuple):
    kind: str
    fresh: bool = False
    last: bool = False
    extra: int = 0


P = Contract("P")
L = Contract("L")
R = Contract("R")
RZ = Contract("RZ")


class Step(NamedTuple):
    """One instruction ``R_dst += sign·scalar·R_src`` on roles."""

    dst: int
    src: int
    sign: int
    scalar: Scalar


class Item(NamedTuple):
    """A block inside a word: ``roles[r]`` is the parent's role of the block's role ``r``. ``reverse`` is the exact
    inverse; ``negate`` turns ``f`` into ``-f`` under any contract (the target is read with the other sign)."""

    block: Expression
    contract: Contract
    roles: tuple[int, ...] = (0, 1, 2)
    reverse: bool = False
    negate: bool = False


Word = list["Item | Step"]
Moves = Callable[[Affine], "Expression"]
#: Roles: source, target, third; extras follow.
SOURCE, J, K = 0, 1, 2
MIXED = Affine((), Fraction(-1, 7))


def form_size(form: Affine) -> int:
    """Accumulator steps that build the form."""
    return len(form.terms) + (form.bias != 0)


def is_simple(form: Affine) -> bool:
    """Whether an instruction can use the form as it is: one input or one constant."""
    return form_size(form) == 1 and (not form.terms or abs(form.terms[0][1]) == 1)


def affine_scalar(form: Affine) -> tuple[int, Scalar]:
    """``(sign, scalar)`` with a positive leading coefficient, so that a form and its negative are one scalar."""
    leading = form.terms[0][1] if form.terms else form.bias
    return (1, form) if leading > 0 else (-1, form.scaled(-1))


def used_forms(parts: Iterable[Expression]) -> tuple[Affine | None, int]:
    """The ``scalar_form`` and ``build`` of something made of ``parts``."""
    form: Affine | None = None
    build = 0
    for part in parts:
        if part.scalar_form is not None and part.scalar_form != form:
            form = part.scalar_form if form is None else MIXED
            build = part.build
    return form, 0 if form is MIXED else build


class Expression:
    """A polynomial with a decided shape. ``p`` and ``l`` are its costs under ``P`` and under ``L`` or ``R``."""

    __slots__ = ("_words", "build", "l", "p", "scalar_form")

    def __init__(self, strict: int, loose: int, scalar_form: Affine | None, build: int) -> None:
        self.p = min(strict, CEILING)
        self.l = min(loose, CEILING)
        self.scalar_form = scalar_form
        self.build = build
        self._words: dict[Contract, tuple[int, Word]] = {}

    def compose(self, contract: Contract) -> Word:
        """The word that keeps ``contract``; written by each kind of expression."""
        raise AssertionError(f"{type(self).__name__} has no word for {contract}")

    def word(self, contract: Contract) -> Word:
        return self._planned(contract)[1]

    def cost(self, contract: Contract) -> int:
        if not contract.extra and contract.kind == "P":
            return self.p
        if not contract.extra and contract.kind in "LR":
            return self.l
        return self._planned(contract)[0]

    def _planned(self, contract: Contract) -> tuple[int, Word]:
        found = self._words.get(contract)
        if found is None:
            word = self.compose(contract)
            found = self._words[contract] = (self.price(word), word)
        return found

    def price(self, word: Word) -> int:
        """The cycles of ``word`` as a word of this expression."""
        mixed = self.scalar_form is MIXED
        total = 0
        for item in word:
            if isinstance(item, Step):
                total += 1 + (form_size(item.scalar) if mixed and not is_simple(item.scalar) else 0)
            else:
                total += item.block.full(item.contract) if mixed else item.block.cost(item.contract)
        return total

    def full(self, contract: Contract) -> int:
        """The cost with its own form built."""
        return self.cost(contract) + self.build


class Leaf(Expression):
    """One scalar: one instruction under every contract."""

    __slots__ = ("scalar", "sign")

    def __init__(self, form: Affine) -> None:
        simple = is_simple(form)
        self.sign, self.scalar = affine_scalar(form)
        super().__init__(1, 1, None if simple else self.scalar, 0 if simple else form_size(form))

    def compose(self, contract: Contract) -> Word:
        return [Step(J, SOURCE, self.sign, self.scalar)]


class Sum(Expression):
    """Blocks one after the other. ``terms`` are ``(sign, expression)``."""

    __slots__ = ("terms",)

    def __init__(self, terms: Sequence[tuple[int, Expression]]) -> None:
        self.terms = list(terms)
        form, build = used_forms(part for _, part in self.terms)
        built = sum(part.build for _, part in self.terms) if form is MIXED else 0
        strict = built + sum(part.p for _, part in self.terms)
        loose = built + sum(part.l for _, part in self.terms)
        super().__init__(strict, loose, form, build)

    def compose(self, contract: Contract) -> Word:
        roles = tuple(range(3 + contract.extra))
        terms = self.terms
        match contract.kind:
            case "P" | "L" | "R":
                contracts = [contract] * len(terms)
            case "RZ":
                contracts = [RZ] + [R] * (len(terms) - 1)
            case "Zr":
                contracts = [contract] + [contract._replace(fresh=False)] * (len(terms) - 1)
            case _:
                terms, contracts = self._clean_order(contract)
        return [
            Item(part, wanted, roles[: 3 + wanted.extra], negate=sign < 0)
            for (sign, part), wanted in zip(terms, contracts, strict=True)
        ]

    def _clean_order(self, contract: Contract) -> tuple[list[tuple[int, Expression]], list[Contract]]:
        """Terms that leave the third register zero, then one that spoils it, then terms that do not mind."""
        count = len(self.terms)
        keep = Contract("Zr", extra=contract.extra)
        kept = [part.full(keep) for _, part in self.terms]
        free = [part.full(R) for _, part in self.terms]
        spoilt = [part.full(contract._replace(fresh=count == 1)) for _, part in self.terms]
        calm = [part.full(contract._replace(fresh=count == 1, last=False)) for _, part in self.terms]
        pivot = max(range(count), key=lambda t: kept[t] - spoilt[t])
        late_pivot = max(range(count), key=lambda t: min(kept[t], free[t]) - calm[t])
        late = [t for t in range(count) if t != late_pivot and free[t] < kept[t]]
        all_early = sum(kept) - kept[pivot] + spoilt[pivot]
        mixed = sum(map(min, kept, free)) - min(kept[late_pivot], free[late_pivot]) + calm[late_pivot]
        if late and mixed < all_early:
            pivot = late_pivot
        else:
            late = []
        early = [t for t in range(count) if t != pivot and t not in set(late)]
        contracts = [keep] * len(early) + [contract._replace(last=contract.last and not late)] + [R] * len(late)
        contracts[1:] = [wanted._replace(fresh=False) for wanted in contracts[1:]]
        contracts[0] = contracts[0]._replace(fresh=contract.fresh)
        return [self.terms[t] for t in [*early, pivot, *late]], contracts


class Pair(Expression):
    """``f·g``. ``shapes`` are ways to split the product in two; every contract takes the cheapest."""

    __slots__ = ("shapes",)

    def __init__(self, shapes: Sequence[tuple[Expression, Expression]]) -> None:
        self.shapes = list(shapes)
        form, build = used_forms(self.shapes[0])
        mixed = form is MIXED
        strict = loose = CEILING
        for f, g in self.shapes:
            fb, gb = (f.build, g.build) if mixed else (0, 0)
            strict = min(strict, 2 * (f.l + fb) + 2 * (g.l + gb))
            loose = min(loose, 2 * (f.l + fb) + g.p + gb, 2 * (g.l + gb) + f.p + fb)
        super().__init__(strict, loose, form, build)

    def compose(self, contract: Contract) -> Word:
        orders = [order for a, b in self.shapes for order in ((a, b), (b, a))]
        if contract.kind == "RZ":
            # The dirt of RZ must be the dirt of R, so it takes the order that R takes.
            orders = [min(orders, key=lambda order: self.price(next(product_words(order[0], order[1], R))))]
        return min((word for f, g in orders for word in product_words(f, g, contract)), key=self.price)


class TextbookPair(Pair):
    """``f·g`` as Ben-Or and Cleve write it: every block restores everything, whatever is asked."""

    __slots__ = ()

    def __init__(self, shapes: Sequence[tuple[Expression, Expression]]) -> None:
        super().__init__(shapes[:1])
        ((f, g),) = self.shapes
        built = 2 * (f.build + g.build) if self.scalar_form is MIXED else 0
        self.p = self.l = min(2 * f.p + 2 * g.p + built, CEILING)

    def compose(self, contract: Contract) -> Word:
        ((f, g),) = self.shapes
        over, forward = Item(g, P, (SOURCE, K, J)), Item(f, P, (K, J, SOURCE))
        return [forward._replace(reverse=True), over, forward, over._replace(reverse=True)]


def product_words(f: Expression, g: Expression, contract: Contract) -> Iterator[Word]:
    """The words that add ``f·g·R_i`` to ``R_j``, with ``g: i -> k`` (third j) and ``f: k -> j`` (third i)."""
    f_roles, g_roles = (K, J, SOURCE), (SOURCE, K, J)
    extra = contract.extra
    match contract.kind:
        case "P":
            forward = Item(f, L, f_roles)
            back = Item(g, Contract("R", extra=extra), (*g_roles, *_extras(0, extra)))
            yield [forward._replace(reverse=True), back, forward, back._replace(reverse=True)]
        case "L":
            over = Item(g, R, g_roles)
            yield [over, Item(f, P, f_roles), over._replace(reverse=True)]
        case "R":
            forward = Item(f, L, f_roles)
            middle = Item(g, Contract("P", extra=extra), (*g_roles, *_extras(0, extra)))
            yield [forward._replace(reverse=True), middle, forward]
            if extra and isinstance(f, Pair):
                # f = a·b by way of an extra register e: what k and e held before cancels, both keep a multiple of i.
                for a, b in [order for pair in f.shapes for order in (pair, pair[::-1])]:
                    first, second = Item(b, P, (K, 3, SOURCE)), Item(a, P, (3, J, SOURCE))
                    yield [second._replace(reverse=True), first._replace(reverse=True), middle, first, second]
        case "RZ":
            # The same split as R: its dirt on k is g, and k is zero, so nothing has to be taken away first.
            yield [Item(g, P, g_roles), Item(f, P, f_roles)]
        case "Zr":
            for used in range(extra + 1):
                inner = Item(f, Contract("Zr", extra=extra - used - 1), (K, J, *_extras(used, extra)))
                middle = inner if used < extra else Item(f, P, f_roles)
                if used:
                    over = Item(g, Contract("Zd", fresh=True, extra=used - 1), (SOURCE, K, *_extras(0, used)))
                    yield [over, middle, over._replace(reverse=True)]
                else:
                    over = Item(g, R, g_roles)
                    yield [over._replace(contract=RZ) if contract.fresh else over, middle, over._replace(reverse=True)]
        case _:
            for used in range(extra + 1):
                if used:
                    over = Item(g, Contract("Zd", True, contract.last, used - 1), (SOURCE, K, *_extras(0, used)))
                elif contract.fresh:
                    over = Item(g, Contract("Zr", True), g_roles)
                else:
                    over = Item(g, P, g_roles)
                if used < extra:
                    ending = Contract("Zd", contract.fresh, True, extra - used - 1)
                    yield [over, Item(f, ending, (K, J, *_extras(used, extra)))]
                else:
                    yield [over, Item(f, R if contract.last else P, f_roles)]


def _extras(first: int, end: int) -> tuple[int, ...]:
    return tuple(range(3 + first, 3 + end))


class Telescope(Expression):
    """``Σ F_m·ℓ_m`` with forms ``ℓ_m`` that lie close together: one register steps from ``ℓ_m`` to ``ℓ_(m+1)``.

    ``parts`` are ``(F_m, ℓ_m)`` in the order of the steps; ``moves`` turns a difference of forms into an expression.
    Under L the register ``k`` carries ``ℓ_m·R_i`` and each ``F_m`` reads it; under R ``k`` gathers the ``F_m`` and the
    differences read it (Abel's summation), so that each leaves the dirt it may.
    """

    __slots__ = ("first", "last", "parts", "steps")

    def __init__(self, parts: Sequence[tuple[Expression, Affine]], moves: Moves) -> None:
        self.parts = [part for part, _ in parts]
        forms = [form for _, form in parts]
        self.first = moves(forms[0])
        self.last = moves(forms[-1])
        self.steps = [moves(after.minus(before)) for before, after in pairwise(forms)]
        form, build = used_forms([*self.parts, self.first, self.last, *self.steps])
        bare = form is not MIXED
        fixed = sum(step.p + (0 if bare else step.build) for step in [self.first, self.last, *self.steps])
        once = sum(part.p + (0 if bare else part.build) for part in self.parts)
        twice = sum(2 * (part.l + (0 if bare else part.build)) for part in self.parts)
        super().__init__(twice + fixed, once + fixed, form, build)

    def compose(self, contract: Contract) -> Word:
        up, down = (SOURCE, K, J), (K, J, SOURCE)
        first, last = Item(self.first, P, up), Item(self.last, P, up, reverse=True)
        steps = [Item(step, P, up) for step in self.steps]
        match contract.kind:
            case "L" | "Zr":
                return [first, *_alternate([Item(part, P, down) for part in self.parts], steps), last]
            case "P":
                taken = [Item(part, L, down, reverse=True) for part in self.parts]
                return [*taken, first, *_alternate([Item(part, L, down) for part in self.parts], steps), last]
            case "Zd":
                readers = [Item(part, P, down) for part in self.parts]
                readers[-1] = readers[-1]._replace(contract=R if contract.last else P)
                return [first, *_alternate(readers, steps)]
            case "R" | "RZ":
                gather = [Item(part, P, up) for part in self.parts]
                spread = [Item(step, P, down, negate=True) for step in self.steps]
                word: Word = [*_alternate(gather, spread), Item(self.last, P, down)]
                return word if contract.kind == "RZ" else [Item(self.first, P, down, reverse=True), *word]
            case _:
                return super().compose(contract)


def _alternate(a: Sequence[Item], b: Sequence[Item]) -> Iterator[Item]:
    for position, item in enumerate(a):
        yield item
        if position < len(b):
            yield b[position]


class Best(Expression):
    """Several shapes of one polynomial; every contract takes the cheapest."""

    __slots__ = ("shapes",)

    def __init__(self, shapes: Sequence[Expression]) -> None:
        self.shapes = list(shapes)
        forms = {shape.scalar_form for shape in self.shapes}
        form = self.shapes[0].scalar_form if len(forms) == 1 else MIXED
        build = self.shapes[0].build if len(forms) == 1 else 0
        cost = (lambda shape: shape.build) if form is MIXED else (lambda shape: 0)
        super().__init__(
            min(shape.p + cost(shape) for shape in self.shapes),
            min(shape.l + cost(shape) for shape in self.shapes),
            form,
            build,
        )

    def compose(self, contract: Contract) -> Word:
        roles = tuple(range(3 + contract.extra))
        key = Contract("R") if contract.kind == "RZ" else contract
        chosen = min(self.shapes, key=lambda shape: shape.full(key))
        return [Item(chosen, contract, roles)]

"""Contracts: what a block of instructions promises, and the cheapest word of smaller blocks that keeps it.

A block works on roles, not registers: it adds ``f·R_i`` to the target ``R_j`` from the source ``R_i`` with the help of
the third register ``R_k`` and of ``extra`` further registers, which it treats as it treats ``R_k``. The promises, from
the strictest:

====================  =================================================================================================
``RESTORE``           everything but ``R_j`` is restored
``DIRTY_TARGET``      may also add some ``σ·R_k`` to ``R_j``
``DIRTY_THIRD``       may also add some ``τ·R_i`` to ``R_k``
``DIRTY_ZERO_THIRD``  as ``DIRTY_THIRD`` with the same ``τ``, but ``R_k`` is zero before
``KEEP_ZERO``         ``R_k`` and the extras are zero before and after (``fresh``: so is ``R_j`` before)
``SPEND_ZERO``        ``R_k`` and the extras are zero before and of no interest after (``last``: so is ``R_i``)
====================  =================================================================================================

A *word* is a sequence of instructions and of smaller blocks, each with its contract, its roles and a direction; the
reverse of a block is its exact inverse. Costs are cycles. Under ``RESTORE`` a block has its *strict* cost, under
``DIRTY_TARGET`` and ``DIRTY_THIRD`` its *loose* cost: over a commutative ring these two cost the same.

With attention a linear form is a scalar that must first be built in the accumulator. ``scalar_form`` of an expression
is the only form its blocks use (then its costs leave the building out: ``build`` is paid once by whoever uses it),
``None`` when they use none, :data:`MIXED` when they use several (then the costs contain the building).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum, IntEnum
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .code import Affine, Instruction, affine_scalar, form_size, is_simple

__all__ = [
    "CEILING",
    "MIXED",
    "SOURCE",
    "TARGET",
    "THIRD",
    "Best",
    "Contract",
    "Expression",
    "Item",
    "Leaf",
    "Pair",
    "Promise",
    "Sum",
    "Telescope",
    "TextbookPair",
    "Word",
    "product_costs",
]

#: Costs are cut here, so that hopeless shapes stay comparable and numpy can hold them.
CEILING = 1 << 60


class Promise(IntEnum):
    """The treatment of the registers that a block only borrows."""

    #: Everything but the target is restored.
    RESTORE = 0
    #: Some multiple of the source may be left in the third register.
    DIRTY_THIRD = 1
    #: The third register and the extras are zero before, and of no interest after.
    SPEND_ZERO = 2
    #: Some multiple of the third register may be left in the target.
    DIRTY_TARGET = 3
    #: As ``DIRTY_THIRD``, and the same multiple, but the third register is zero before.
    DIRTY_ZERO_THIRD = 4
    #: The third register and the extras are zero before and after.
    KEEP_ZERO = 5


class Contract(NamedTuple):
    """The full promise of a block. ``fresh``: the target is zero before; ``last``: the source is of no interest after;
    ``extra``: the number of extra registers."""

    promise: Promise
    fresh: bool = False
    last: bool = False
    extra: int = 0


RESTORE = Contract(Promise.RESTORE)
DIRTY_TARGET = Contract(Promise.DIRTY_TARGET)
DIRTY_THIRD = Contract(Promise.DIRTY_THIRD)
DIRTY_ZERO_THIRD = Contract(Promise.DIRTY_ZERO_THIRD)


class Item(NamedTuple):
    """A block inside a word: ``roles[r]`` is the parent's role of the block's role ``r``. ``reverse`` is the exact
    inverse; ``negate`` turns ``f`` into ``-f`` under any contract (the target is read with the other sign)."""

    block: Expression
    contract: Contract
    roles: tuple[int, ...] = (0, 1, 2)
    reverse: bool = False
    negate: bool = False


Word = list["Item | Instruction"]
Moves = Callable[[Affine], "Expression"]
#: Roles: source, target, third; extras follow.
SOURCE, TARGET, THIRD = 0, 1, 2


class Mixed(Enum):
    """Stands in the place of a form where blocks use several forms."""

    MIXED = "mixed"


MIXED = Mixed.MIXED
#: The only form that blocks use, :data:`MIXED` when they use several, none when they use none.
UsedForm = Affine | Mixed | None


def used_forms(parts: Iterable[Expression]) -> tuple[UsedForm, int]:
    """The ``scalar_form`` and ``build`` of something made of ``parts``."""
    form: UsedForm = None
    build = 0
    for part in parts:
        if part.scalar_form is not None and part.scalar_form != form:
            form = part.scalar_form if form is None else MIXED
            build = part.build
    return form, 0 if form is MIXED else build


class Expression:
    """A polynomial with a decided shape, and its costs; see above."""

    __slots__ = ("_words", "build", "loose_cost", "most_extra", "scalar_form", "strict_cost")

    def __init__(self, strict: int, loose: int, scalar_form: UsedForm, build: int, most_extra: int) -> None:
        self.strict_cost = min(strict, CEILING)
        self.loose_cost = min(loose, CEILING)
        self.scalar_form = scalar_form
        self.build = build
        #: Extra registers that its words can use; with more of them they would be the same words.
        self.most_extra = most_extra
        self._words: dict[Contract, tuple[int, Word]] = {}

    def compose(self, contract: Contract) -> Word:
        """The word that keeps ``contract``; written by each kind of expression."""
        raise AssertionError(f"{type(self).__name__} has no word for {contract}")

    def word(self, contract: Contract) -> Word:
        return self._planned(contract)[1]

    def cost(self, contract: Contract) -> int:
        if not contract.extra and contract.promise == Promise.RESTORE:
            return self.strict_cost
        if not contract.extra and contract.promise in (Promise.DIRTY_TARGET, Promise.DIRTY_THIRD):
            return self.loose_cost
        return self._planned(contract)[0]

    def _planned(self, contract: Contract) -> tuple[int, Word]:
        if contract.extra > self.most_extra:
            contract = contract._replace(extra=self.most_extra)
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
            if isinstance(item, Instruction):
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
        super().__init__(1, 1, None if simple else self.scalar, 0 if simple else form_size(form), 0)

    def compose(self, contract: Contract) -> Word:
        return [Instruction(TARGET, SOURCE, self.sign, self.scalar)]


class Sum(Expression):
    """Blocks one after the other. ``terms`` are ``(sign, expression)``."""

    __slots__ = ("terms",)

    def __init__(self, terms: Sequence[tuple[int, Expression]]) -> None:
        self.terms = list(terms)
        form, build = used_forms(part for _, part in self.terms)
        built = sum(part.build for _, part in self.terms) if form is MIXED else 0
        strict = built + sum(part.strict_cost for _, part in self.terms)
        loose = built + sum(part.loose_cost for _, part in self.terms)
        super().__init__(strict, loose, form, build, max((part.most_extra for _, part in self.terms), default=0))

    def compose(self, contract: Contract) -> Word:
        roles = tuple(range(3 + contract.extra))
        terms = self.terms
        match contract.promise:
            case Promise.RESTORE | Promise.DIRTY_TARGET | Promise.DIRTY_THIRD:
                contracts = [contract] * len(terms)
            case Promise.DIRTY_ZERO_THIRD:
                contracts = [DIRTY_ZERO_THIRD] + [DIRTY_THIRD] * (len(terms) - 1)
            case Promise.KEEP_ZERO:
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
        keep = Contract(Promise.KEEP_ZERO, extra=contract.extra)
        kept = [part.full(keep) for _, part in self.terms]
        free = [part.full(DIRTY_THIRD) for _, part in self.terms]
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
        contracts = (
            [keep] * len(early) + [contract._replace(last=contract.last and not late)] + [DIRTY_THIRD] * len(late)
        )
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
            strict = min(strict, 2 * (f.loose_cost + fb) + 2 * (g.loose_cost + gb))
            loose = min(
                loose, 2 * (f.loose_cost + fb) + g.strict_cost + gb, 2 * (g.loose_cost + gb) + f.strict_cost + fb
            )
        most_extra = max(sum(map(_wanted_extras, shape)) for shape in self.shapes)
        super().__init__(strict, loose, form, build, most_extra)

    def compose(self, contract: Contract) -> Word:
        orders = [order for a, b in self.shapes for order in ((a, b), (b, a))]
        if contract.promise == Promise.DIRTY_ZERO_THIRD:
            # Its dirt must be the dirt of DIRTY_THIRD, so it takes the order that DIRTY_THIRD takes.
            orders = [min(orders, key=lambda order: self.price(next(product_words(order[0], order[1], DIRTY_THIRD))))]
        return min((word for f, g in orders for word in product_words(f, g, contract)), key=self.price)


def _wanted_extras(factor: Expression) -> int:
    """The extra registers that a factor of a product can use: one in place of its dirty third, and its own."""
    return 0 if isinstance(factor, Leaf) else factor.most_extra + 1


class TextbookPair(Pair):
    """``f·g`` as Ben-Or and Cleve write it: every block restores everything, whatever is asked."""

    __slots__ = ()

    def __init__(self, shapes: Sequence[tuple[Expression, Expression]]) -> None:
        super().__init__(shapes[:1])
        ((f, g),) = self.shapes
        built = 2 * (f.build + g.build) if self.scalar_form is MIXED else 0
        self.strict_cost = self.loose_cost = min(2 * f.strict_cost + 2 * g.strict_cost + built, CEILING)

    def compose(self, contract: Contract) -> Word:
        ((f, g),) = self.shapes
        over, forward = Item(g, RESTORE, (SOURCE, THIRD, TARGET)), Item(f, RESTORE, (THIRD, TARGET, SOURCE))
        return [forward._replace(reverse=True), over, forward, over._replace(reverse=True)]


def product_words(f: Expression, g: Expression, contract: Contract) -> Iterator[Word]:
    """The words that add ``f·g·R_i`` to ``R_j``, with ``g: i -> k`` (third j) and ``f: k -> j`` (third i)."""
    f_roles, g_roles = (THIRD, TARGET, SOURCE), (SOURCE, THIRD, TARGET)
    extra = contract.extra
    match contract.promise:
        case Promise.RESTORE:
            forward = Item(f, DIRTY_TARGET, f_roles)
            back = Item(g, Contract(Promise.DIRTY_THIRD, extra=extra), (*g_roles, *_extras(0, extra)))
            yield [forward._replace(reverse=True), back, forward, back._replace(reverse=True)]
        case Promise.DIRTY_TARGET:
            over = Item(g, DIRTY_THIRD, g_roles)
            yield [over, Item(f, RESTORE, f_roles), over._replace(reverse=True)]
        case Promise.DIRTY_THIRD:
            forward = Item(f, DIRTY_TARGET, f_roles)
            middle = Item(g, Contract(Promise.RESTORE, extra=extra), (*g_roles, *_extras(0, extra)))
            yield [forward._replace(reverse=True), middle, forward]
            if extra and isinstance(f, Pair):
                # f = a·b by way of an extra register e: what k and e held before cancels, both keep a multiple of i.
                for a, b in [order for pair in f.shapes for order in (pair, pair[::-1])]:
                    first, second = Item(b, RESTORE, (THIRD, 3, SOURCE)), Item(a, RESTORE, (3, TARGET, SOURCE))
                    yield [second._replace(reverse=True), first._replace(reverse=True), middle, first, second]
        case Promise.DIRTY_ZERO_THIRD:
            # The same split as DIRTY_THIRD: its dirt on k is g, and k is zero, so nothing has to be taken away first.
            yield [Item(g, RESTORE, g_roles), Item(f, RESTORE, f_roles)]
        case Promise.KEEP_ZERO:
            for used in range(extra + 1):
                inner = Item(
                    f, Contract(Promise.KEEP_ZERO, extra=extra - used - 1), (THIRD, TARGET, *_extras(used, extra))
                )
                middle = inner if used < extra else Item(f, RESTORE, f_roles)
                if used:
                    over = Item(
                        g, Contract(Promise.SPEND_ZERO, fresh=True, extra=used - 1), (SOURCE, THIRD, *_extras(0, used))
                    )
                    yield [over, middle, over._replace(reverse=True)]
                else:
                    over = Item(g, DIRTY_THIRD, g_roles)
                    yield [
                        over._replace(contract=DIRTY_ZERO_THIRD) if contract.fresh else over,
                        middle,
                        over._replace(reverse=True),
                    ]
        case _:
            for used in range(extra + 1):
                if used:
                    over = Item(
                        g,
                        Contract(Promise.SPEND_ZERO, True, contract.last, used - 1),
                        (SOURCE, THIRD, *_extras(0, used)),
                    )
                elif contract.fresh:
                    over = Item(g, Contract(Promise.KEEP_ZERO, True), g_roles)
                else:
                    over = Item(g, RESTORE, g_roles)
                if used < extra:
                    ending = Contract(Promise.SPEND_ZERO, contract.fresh, True, extra - used - 1)
                    yield [over, Item(f, ending, (THIRD, TARGET, *_extras(used, extra)))]
                else:
                    yield [over, Item(f, DIRTY_THIRD if contract.last else RESTORE, f_roles)]


def _extras(first: int, end: int) -> tuple[int, ...]:
    return tuple(range(3 + first, 3 + end))


class Telescope(Expression):
    """``Σ F_m·ℓ_m`` with forms ``ℓ_m`` that lie close together: one register steps from ``ℓ_m`` to ``ℓ_(m+1)``.

    ``parts`` are ``(F_m, ℓ_m)`` in the order of the steps; ``moves`` turns a difference of forms into an expression.
    Under ``DIRTY_TARGET`` the register ``k`` carries ``ℓ_m·R_i`` and each ``F_m`` reads it; under ``DIRTY_THIRD`` it
    gathers the ``F_m`` and the differences read it (Abel's summation), so that each leaves the dirt it may.
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
        fixed = sum(step.strict_cost + (0 if bare else step.build) for step in [self.first, self.last, *self.steps])
        once = sum(part.strict_cost + (0 if bare else part.build) for part in self.parts)
        twice = sum(2 * (part.loose_cost + (0 if bare else part.build)) for part in self.parts)
        super().__init__(twice + fixed, once + fixed, form, build, 0)

    def compose(self, contract: Contract) -> Word:
        up, down = (SOURCE, THIRD, TARGET), (THIRD, TARGET, SOURCE)
        first, last = Item(self.first, RESTORE, up), Item(self.last, RESTORE, up, reverse=True)
        steps = [Item(step, RESTORE, up) for step in self.steps]
        match contract.promise:
            case Promise.DIRTY_TARGET | Promise.KEEP_ZERO:
                return [first, *_alternate([Item(part, RESTORE, down) for part in self.parts], steps), last]
            case Promise.RESTORE:
                taken = [Item(part, DIRTY_TARGET, down, reverse=True) for part in self.parts]
                return [
                    *taken,
                    first,
                    *_alternate([Item(part, DIRTY_TARGET, down) for part in self.parts], steps),
                    last,
                ]
            case Promise.SPEND_ZERO:
                readers = [Item(part, RESTORE, down) for part in self.parts]
                readers[-1] = readers[-1]._replace(contract=DIRTY_THIRD if contract.last else RESTORE)
                return [first, *_alternate(readers, steps)]
            case Promise.DIRTY_THIRD | Promise.DIRTY_ZERO_THIRD:
                gather = [Item(part, RESTORE, up) for part in self.parts]
                spread = [Item(step, RESTORE, down, negate=True) for step in self.steps]
                word: Word = [*_alternate(gather, spread), Item(self.last, RESTORE, down)]
                return (
                    word
                    if contract.promise == Promise.DIRTY_ZERO_THIRD
                    else [Item(self.first, RESTORE, down, reverse=True), *word]
                )
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
            min(shape.strict_cost + cost(shape) for shape in self.shapes),
            min(shape.loose_cost + cost(shape) for shape in self.shapes),
            form,
            build,
            max(shape.most_extra for shape in self.shapes),
        )

    def compose(self, contract: Contract) -> Word:
        roles = tuple(range(3 + contract.extra))
        key = Contract(Promise.DIRTY_THIRD) if contract.promise == Promise.DIRTY_ZERO_THIRD else contract
        chosen = min(self.shapes, key=lambda shape: shape.full(key))
        return [Item(chosen, contract, roles)]


def product_costs(most: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The strict and the loose costs of products of single variables, by count."""
    strict = np.ones(most + 1, dtype=np.int64)
    loose = np.ones(most + 1, dtype=np.int64)
    for n in range(2, most + 1):
        strict[n] = (2 * loose[1:n] + 2 * loose[n - 1 : 0 : -1]).min()
        loose[n] = (2 * loose[1:n] + strict[n - 1 : 0 : -1]).min()
    return strict, loose

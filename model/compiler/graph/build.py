"""Build: formulas to a graph of values.

Precondition: the operations of formulas. Postcondition: a :class:`Graph` that computes them, in which every part that
is used several times is one value. Cost: linear, unless products of values are written without sums of registers
(:mod:`.skew`), which may multiply the graph.

Parts of the formula that are used once stay *expressions* until they are needed in a register: sums of inputs and
values and products of two factors, so that terms with a common factor become one group.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from skinny.model.compiler.polynomial import Coefficient, plain, raised
from skinny.model.errors import InputError
from skinny.model.formula.formula import Formula, Operations
from skinny.model.limits import check
from skinny.model.named_weight import NamedWeight

from .expressions import Expression, Factor, add, fits, has_values, reference, scaled, sum_of
from .grouping import grouped, hubs
from .power import power_steps
from .skew import transposed
from .values import CONSTANT, NONE, ONE, UNIT, Graph, Group, Key, Step, TermForm, Value, form_of, operands, pruned

__all__ = ["NotLinearError", "Style", "TooLargeError", "build"]

#: Groups of a graph at most; only products of values without sums of registers make more of them than were written.
MOST_GROUPS = 400_000
#: Terms of forms that are used several times, at most; only forms that are made of others have more than were written.
MOST_TERMS = 50_000
#: A form with so many terms is squared as it is, from the accumulator, and the square then multiplied, so that it is
#: built once; a shorter one is built again with the coefficient in it.
LONG_SQUARE = 3


class TooLargeError(Exception):
    """The graph would have more than :data:`MOST_GROUPS` groups or :data:`MOST_TERMS` terms."""


class NotLinearError(Exception):
    """Values that depend on states are multiplied, which needs sums of registers."""


@dataclass(frozen=True)
class Style:
    """How a graph is written. ``sums``: forms may have registers. ``gather``: a sum of values that is multiplied is
    built in the accumulator; otherwise in a register of its own, so that its members need not be held together.
    ``whole_forms``: forms of inputs that are used several times are not merged with others, so that the accumulator may
    still hold them the next time. ``hold_forms``: they are values, so that a long one is built once."""

    sums: bool
    gather: bool = True
    whole_forms: bool = False
    hold_forms: bool = False


def build(
    outputs: Mapping[str, Formula],
    operations: Operations,
    style: Style,
    states: Mapping[str, Formula] | None = None,
    inputs: Sequence[str] = (),
) -> Graph:
    """The graph of ``outputs`` and of the next values of ``states``, whose ``operations`` are given, written in
    ``style``. Inputs are numbered in order of first use, after those that are given."""
    nexts = states or {}
    builder = _Builder(style, list(nexts), inputs)
    uses: dict[int, int] = {}
    for _, args in operations:
        for arg in args:
            uses[id(arg)] = uses.get(id(arg), 0) + 1
    for formula in (*outputs.values(), *nexts.values()):
        uses[id(formula)] = uses.get(id(formula), 0) + 1
    known: dict[int, Expression] = {}
    for node, args in operations:
        check()
        found = builder.expression(node, [known[id(arg)] for arg in args])
        known[id(node)] = builder.once(found) if uses.get(id(node), 0) > 1 else found
    numbers = {name: builder.value(known[id(formula)]) for name, formula in outputs.items()}
    steps = tuple(Step(builder.states[name], builder.value(known[id(formula)])) for name, formula in nexts.items())
    weights = list(builder.weights.values())
    return pruned(Graph(builder.values, numbers, list(builder.inputs), weights, steps, builder.shares))


class _Builder:
    def __init__(self, style: Style, states: Sequence[str], inputs: Sequence[str]) -> None:
        self.style = style
        self.values: list[Value] = []
        #: For each value whether it depends on what was there before the sample.
        self.recalls: list[bool] = []
        #: For each value about the instructions that compute it and all it needs, nothing shared.
        self.sizes: list[int] = []
        self.numbers: dict[Value, int] = {}
        self.inputs: dict[str, int] = {name: u for u, name in enumerate(inputs)}
        self.weights: dict[str, NamedWeight] = {}
        self.shared_forms: set[TermForm] = set()
        #: Whether a form of inputs is used several times, so that the styles of forms differ.
        self.shares = False
        #: The terms of such forms.
        self.spread = 0
        self.groups = 0
        self.states = {name: self.number(Value((), state=number)) for number, name in enumerate(states)}

    def expression(self, node: Formula, args: list[Expression]) -> Expression:
        match node.kind:
            case "constant":
                return Expression({CONSTANT: plain(node.value)} if node.value else {})
            case "variable" if node.value in self.states:
                return reference(self.states[node.value])
            case "variable":
                return Expression({(NONE, self.inputs.setdefault(node.value, len(self.inputs)), NONE): 1})
            case "weight":
                if self.weights.setdefault(node.value.name, node.value) != node.value:
                    raise InputError(f"the weight {node.value.name!r} is defined in two ways")
                return Expression({(list(self.weights).index(node.value.name), NONE, NONE): 1})
            case "sum":
                return self.total(args)
            case "power":
                return self.product([(args[0], node.value)])
            case "relu":
                return reference(self.relu(args[0]))
            case _:
                return self.product([(arg, 1) for arg in args])

    def once(self, expression: Expression) -> Expression:
        """An expression that is used several times: it becomes a value, unless it is a form of inputs."""
        long = self.style.hold_forms and len(expression.linear) > 1
        self.shares |= expression.is_form and len(expression.linear) > 1
        if expression.is_form and not long and fits(expression.terms()):
            out = Expression(expression.terms(), shared=True)
            if len(out.linear) > 1:
                self.shared_forms.add(form_of(out.linear))
                self.spread += len(out.linear)
                if self.spread > MOST_TERMS:
                    raise TooLargeError
            return out
        return reference(self.value(expression))

    def total(self, args: Iterable[Expression]) -> Expression:
        out = Expression()
        for arg in args:
            if arg.shared and self.style.whole_forms and len(arg.linear) > 1:
                add(out.whole, form_of(arg.linear), 1)
                continue
            for key, c in arg.linear.items():
                add(out.linear, key, c)
            for pair, c in arg.pairs.items():
                add(out.pairs, pair, c)
            for form, c in arg.whole.items():
                add(out.whole, form, c)
        return out

    def product(self, args: list[tuple[Expression, int]]) -> Expression:
        """The product of powers of ``args``."""
        scale: Coefficient = 1
        others: list[tuple[Expression, int]] = []
        for arg, exponent in args:
            if not exponent:
                continue
            terms = arg.terms() if arg.is_form else None
            if terms is not None and not any(terms.values()):
                return Expression()
            if terms is not None and list(terms) == [CONSTANT]:
                value = terms[CONSTANT] if exponent == 1 else raised(terms[CONSTANT], exponent)
                scale = value if scale == 1 else plain(scale * value)
            else:
                others.append((arg, exponent))
        if not others:
            return Expression({CONSTANT: scale})
        if len(others) == 1 and others[0][1] == 1:
            return scaled(others[0][0], scale)
        factors: dict[Factor, int] = {}
        named: list[int] = []
        for arg, exponent in others:
            c, parts, weight = self.factors(arg, exponent)
            scale = plain(scale * raised(c, exponent))
            named += [weight] * exponent if weight != NONE else []
            for part in parts:
                factors[part] = factors.get(part, 0) + exponent
        self.take_weights(named, factors)
        return self.chain(factors, scale)

    def factors(self, arg: Expression, exponent: int) -> tuple[Coefficient, list[Factor], int]:
        """An expression as a coefficient, factors, and a named weight that is one more of them. A product stays one
        factor when it is raised to a power."""
        if len(arg.linear) == 1 and not arg.pairs and not arg.whole:
            (((weight, u, value), c),) = arg.linear.items()
            if exponent > 1 and (weight, u, value).count(NONE) < 2:
                return 1, [self.value(arg)], NONE
            if value == NONE and u == NONE:
                return c, [], weight
            parts: list[Factor] = [] if u == NONE else [(((NONE, u, NONE), 1),)]
            return c, parts + ([] if value == NONE else [value]), weight
        if len(arg.pairs) == 1 and exponent == 1 and not arg.linear and not arg.whole:
            ((pair, c),) = arg.pairs.items()
            return c, list(pair), NONE
        held = arg.is_form or (self.style.sums and self.style.gather and not arg.pairs)
        if held and fits(arg.terms()):
            return 1, [form_of(arg.terms())], NONE
        return 1, [self.value(arg)], NONE

    def take_weights(self, named: list[int], factors: dict[Factor, int]) -> None:
        """Multiply named weights into forms that have none, or make them factors of their own."""
        for weight in named:
            for factor, exponent in factors.items():
                if isinstance(factor, tuple) and exponent == 1 and all(k == v == NONE for (k, _, v), _ in factor):
                    del factors[factor]
                    fused = form_of({(weight, u, NONE): c for (_, u, _), c in factor})
                    factors[fused] = factors.get(fused, 0) + 1
                    break
            else:
                own: TermForm = (((weight, NONE, NONE), 1),)
                factors[own] = factors.get(own, 0) + 1

    def chain(self, factors: dict[Factor, int], scale: Coefficient) -> Expression:
        """The product of powers of factors, one multiplication after the other; the last is left to who needs it."""
        degree = sum(factors.values())
        if len(factors) == 1 and degree == 1:
            (factor,) = factors
            if isinstance(factor, int):
                return scaled(reference(factor), scale)
            return Expression({key: plain(c * scale) for key, c in factor})
        if len(factors) == 2 and degree == 2:
            for factor, other in (tuple(factors), tuple(factors)[::-1]):
                if (
                    isinstance(factor, tuple)
                    and isinstance(other, int)
                    and len(factor) == 1
                    and factor[0][0][2] == NONE
                ):
                    (((weight, u, _), c),) = factor
                    return Expression({(weight, u, other): plain(c * scale)})
        sequence: list[Factor] = []
        for factor, exponent in factors.items():
            steps = power_steps(exponent) if self.style.sums else None
            if len(factors) == 1 and exponent > 2 and steps is not None:
                return Expression(pairs={self.power(factor, steps): scale})
            if steps is not None and 2 * len(steps) - steps.count("run") + 2 < exponent:
                sequence.append(self.value(Expression(pairs={self.power(factor, steps): 1})))
            else:
                sequence += [factor] * exponent
        sequence.sort(key=lambda factor: not isinstance(factor, int))
        reached = sequence[0]
        for factor in sequence[1:-1]:
            reached = self.value(Expression(pairs={(factor, reached): 1}))
        return Expression(pairs={(sequence[-1], reached): scale})

    def power(self, factor: Factor, steps: list[str]) -> tuple[Factor, Factor]:
        """The last multiplication of a power of ``factor``, which ``steps`` describe."""
        first = factor if isinstance(factor, int) else self.accumulated(factor)
        reached: int = first
        pair: tuple[Factor, Factor] = (factor, first)
        for number, step in enumerate(steps):
            pair = {"run": (factor, reached), "square": (reached, reached), "times": (first, reached)}[step]
            if number + 1 < len(steps):
                reached = self.value(Expression(pairs={pair: 1}))
        return pair

    def relu(self, arg: Expression) -> int:
        terms = arg.terms()
        if arg.pairs or not fits(terms) or not ((self.style.sums and self.style.gather) or arg.is_form):
            return self.number(Value((Group(UNIT, self.value(arg)),), relu=True))
        if len(terms) == 1 and (key := next(iter(terms)))[2] != NONE:
            return self.number(Value((Group((((*key[:2], NONE), terms[key]),), key[2]),), relu=True))
        return self.number(Value((Group(form_of(terms) or ((CONSTANT, 0),), ONE),), relu=True))

    def value(self, expression: Expression) -> int:
        """The value that holds an expression."""
        linear = expression.linear
        if len(linear) == 1 and not expression.pairs and not expression.whole:
            (((weight, u, value), c),) = linear.items()
            if c == 1 and weight == u == NONE != value:
                return value
        bases: dict[int, dict[Key, Coefficient]] = {}
        for (weight, u, value), c in linear.items():
            add(bases.setdefault(value, {}), (weight, u, NONE), c)
        fixed = [Group(tuple((key, plain(c * d)) for key, d in form), ONE) for form, c in expression.whole.items()]
        traversed: list[tuple[int, int]] = []
        for hub, members in hubs(expression.pairs, self.sizes):
            self.multiply(hub, members, bases, fixed, traversed)
        if traversed:
            fixed += transposed(self.values, traversed, self.number)
        groups = [*fixed, *grouped(bases)]
        return self.number(Value(tuple(groups or [Group(((CONSTANT, 0),), ONE)])))

    def multiply(
        self,
        hub: Factor,
        members: dict[Factor, Coefficient],
        bases: dict[int, dict[Key, Coefficient]],
        fixed: list[Group],
        traversed: list[tuple[int, int]],
    ) -> None:
        """The product of a factor and of a sum of others, as groups."""
        if isinstance(hub, tuple):
            (member, c), *more = members.items()
            if not more and member == hub and self.style.sums and abs(c) != 1 and len(hub) >= LONG_SQUARE:
                square = self.value(Expression(pairs={(hub, hub): 1}))
                add(bases.setdefault(square, {}), CONSTANT, c)
                return
            if not more and isinstance(member, tuple):
                factor, held = (member, hub) if has_values(hub) and not has_values(member) else (hub, member)
                base = self.accumulated(held) if factor == held else self.value(Expression(dict(held)))
                fixed.append(Group(tuple((key, plain(c * d)) for key, d in factor), base))
                return
            if len(hub) == 1 or hub not in self.shared_forms:
                fixed.append(Group(hub, self.value(sum_of(members))))
                return
            hub = self.value(Expression(dict(hub)))
        whole = {
            factor: c
            for factor, c in members.items()
            if self.style.whole_forms and isinstance(factor, tuple) and factor in self.shared_forms
        }
        for form, c in whole.items():
            fixed.append(Group(tuple((key, plain(c * d)) for key, d in form), hub))
        rest = {factor: c for factor, c in members.items() if factor not in whole}
        if self.style.sums or not any(isinstance(factor, int) for factor in rest):
            for key, c in sum_of(rest).linear.items():
                add(bases.setdefault(hub, {}), key, c)
            return
        other = sum_of(rest)
        for (weight, u, _), c in bases.pop(hub, {}).items():
            add(other.linear, (weight, u, NONE), c)
        walked, multiplier = hub, self.value(other)
        if self.recalls[walked]:  # a state is not made of anything, so that it cannot be walked
            walked, multiplier = multiplier, walked
        if self.recalls[walked]:
            raise NotLinearError
        traversed.append((walked, multiplier))

    def accumulated(self, form: TermForm) -> int:
        """The value of a form, from the accumulator, which then still holds the form."""
        return self.number(Value((Group(form, ONE),)))

    def number(self, value: Value) -> int:
        """The number of a value; equal values are one."""
        found = self.numbers.get(value)
        if found is None:
            found = self.numbers[value] = len(self.values)
            self.values.append(value)
            self.groups += len(value.groups)
            if self.groups > MOST_GROUPS and not self.style.sums:
                raise TooLargeError
            self.recalls.append(value.state != NONE or any(self.recalls[o] for g in value.groups for o in operands(g)))
            used = {group.base for group in value.groups} - {ONE}
            self.sizes.append(min(len(value.groups) + sum(self.sizes[base] for base in used), 1 << 60))
        return found

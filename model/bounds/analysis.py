"""The analysis of one program: ranges of every register and errors of its outputs.

Programs with state are bounded at all times of a stream (``streams``); a window alone is a number of inputs. Programs
that assign, take the relu or multiply registers with registers are followed forwards (``layers``). Of the
others, those of few variables are bounded by values at nodes (``nodes``), tightly and in milliseconds. Where there
would be too many nodes, or errors grow too much from node to node, the polynomials of the values are written down
(``terms``). Where these have too many terms, and in short programs, enclosures of every register and of its error are
followed, instruction by instruction, as follows.

Stepwise intervals explode because programs compute and uncompute. Here both values and errors are followed as
polynomials, so that everything that cancels in the program cancels in the bound. With ``s`` the exact scalar, ``s'``
the one that is used, ``X`` the exact value and ``E`` = actual - exact, an instruction does

    X[dst] += ±s·X[src]        E[dst] += ±(s'·E[src] + (s' - s)·X[src] + rounding)

in variables between -1 and 1: the inputs, centred in the box, and a noise for each rounding. Nothing is left out: terms
with two noises (a rounding in ``s'`` times one in ``E``) and the losses of the floats are added to the product's own
rounding.

An enclosure with too many terms is collapsed: it is replaced by ``middle + radius·symbol``. That forgets what it has in
common with others, so in long programs it is done where little is left to cancel, see ``recurring``. Short programs are
expanded in full; the work is linear in the length. Where forgetting has cost too much, in deeply nested programs, the
bounds of ``structure`` are taken as well.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from skinny.model.program.program import Program
from skinny.model.rings import FixedPoint

from .box import Box, encoded, encoded_box
from .case import Case
from .enclosures import TINY, UNIT, Algebra, Enclosure
from .graph import Graph, value_graph
from .layers import Followed, follow_layers
from .measures import Factor as NodeFactor
from .nodes import Nodes
from .recurring import recurring_states
from .registers import MANY_ZEROS, Product, Register
from .scalars import Scalars
from .streams import follow_stream
from .structure import MOST_STRUCTURE_WORK, follow
from .terms import Factor as TermFactor
from .terms import Terms

__all__ = ["MOST_BITS", "MOST_SECONDS", "Analysis", "Overflow"]

#: The widest word of fixed point.
MOST_BITS = 32
#: An enclosure that is read may have ``_WORK / length`` terms, or ``_LEAST_TERMS`` if that is more. In a state that
#: recurs, enclosures of more than ``_RECURRING_WORK / length³`` terms, or ``_LEAST_RECURRING``, are collapsed. So a
#: few hundred instructions are expanded in full, in a second or so; in long programs nearly everything is collapsed
#: after each term of a sum.
_WORK, _LEAST_TERMS = 40_000_000, 512
_RECURRING_WORK, _LEAST_RECURRING = 3 * 10**12, 4
#: Programs that are bounded by values at nodes have at most so many instructions, and edges in their graph.
_MOST_EVALUATED, _MOST_EDGES = 30_000, 2_000_000
#: Longer programs are not followed by enclosures when the terms of their polynomials were written down.
_MOST_FOLLOWED = 400
#: The structure has some twenty polynomials for each value: beyond so many terms of values it would give up.
_MOST_STRUCTURED = 250_000
#: Terms of products that are added in all, which takes some five seconds; an instruction takes as long as so many.
_MOST_WORK, _STEP_WORK = 4_000_000, 20
#: Work of each analysis, as it counts it, that takes about a second: at nodes, with terms, with enclosures, and with
#: the structure. The last two are not begun when they might end after ``MOST_SECONDS``, counted so, not by the clock.
_NODES_SECOND, _TERMS_SECOND, _RUN_SECOND, _STRUCTURE_SECOND = 10**8, 2_000_000, 800_000, 10**6
#: Program words of a program that is not pure that are followed in about a second.
_LAYERS_SECOND = 40_000
#: Program words of a program with state whose recurrence and responses are found in about a second.
_STREAM_SECOND = 1_000
MOST_SECONDS = 18.0
#: Products that are remembered from one state that recurs to the next.
_KEPT_PRODUCTS = 10_000
#: When the error of an output exceeds so many steps for each instruction, forgetting may be the cause: the structure is
#: asked then.
_PLAUSIBLE = 16
#: A value beyond this fits no word we have; following it further would only overflow the floats.
_HOPELESS = 2.0**64


class Overflow(NamedTuple):
    """A value that is read and may not fit the word: ``register`` as ``instruction`` multiplies it, the accumulator S
    that it multiplies with if there is no register, or ``register`` as it is sent as ``output``. In an unlimited word
    it would lie between ``low`` and ``high``."""

    instruction: int | None
    register: int | None
    output: str | None
    low: float
    high: float


class Reads(NamedTuple):
    """Ranges of the register that each instruction reads, that of the widest range if it reads several, with its
    number, and of the register of each output."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    register: NDArray[np.int64]
    sent: list[tuple[float, float]]


class Analysis:
    """One pass over a program, for a number of fraction bits. Ranges and errors do not depend on ``ring.bits``; only
    the inputs, the weights and the start vector must fit."""

    def __init__(self, program: Program, ring: FixedPoint, box: Box) -> None:
        self.program, self.frac = program, ring.frac
        self.unit = Fraction(1, 1 << ring.frac)
        self.box = encoded_box(program, ring, box)
        self.weights: list[int] = program.quantise(ring).tolist()
        self.start = [encoded("start vector", ring, value) for value in program.start]
        for weight in program.named:
            for _, factor in weight.words:
                for end in (weight.low, weight.high):
                    encoded(f"the range of weight {weight.name}", ring, factor * end)
        length = max(1, len(program))
        self.limit = max(_LEAST_TERMS, _WORK // length)
        self.settled = min(self.limit // 2, max(_LEAST_RECURRING, _RECURRING_WORK // length**3))
        self.random = random.Random(0)
        self.algebra = Algebra()
        self.scalars = Scalars(program, self.box, self.weights, ring.frac, self.algebra, self.limit)
        self.numbers: dict[tuple[int, int], int] = {}
        self.products: dict[tuple[int, ...], Product] = {}
        self.one = Product(self.random.getrandbits(128), Enclosure({}), Enclosure({}), ring.frac)
        self.low = np.full(len(program), -np.inf)
        self.high = np.full(len(program), np.inf)
        self.errors = {output.name: float("inf") for output in program.outputs}
        #: Whether the structure need not be asked: it has been, or the values have too many terms.
        self.crowded = False
        #: The seconds that the work so far takes, as it is counted.
        self.spent = 0.0
        #: Why a stream has no bounds, if it has none.
        self.reason: str | None = None
        if program.state:
            self._bound_stream()
        elif program.pure:
            self._bound_pure()
        else:
            self._bound_layers()

    def _bound_pure(self) -> None:
        """Bound a program that only adds, with scalars that read no registers."""
        if not self._evaluate():
            steps = _STEP_WORK * len(self.program)
            if self.spent + (_MOST_WORK + steps) / _RUN_SECOND <= MOST_SECONDS:
                known = self.low.copy(), self.high.copy(), self.errors
                self._run()
                self._intersect(*known)
            plausible = _PLAUSIBLE * len(self.program) * float(self.unit)
            implausible = not max(self.errors.values(), default=0.0) < plausible
            if implausible and self.algebra.collapses:
                self._narrow()
        scalars = [self.scalars.scalar(number) for number in range(len(self.program.forms))]
        fits = (self.low > -_HOPELESS) & (self.high < _HOPELESS)
        self.low = self._on_grid(np.where(fits, self.low, -np.inf), np.ceil)
        self.high = self._on_grid(np.where(fits, self.high, np.inf), np.floor)
        self.errors = {name: error if error < _HOPELESS else float("inf") for name, error in self.errors.items()}
        forms = self.program.code.form
        self.scalar_low = self._on_grid(np.array([scalar.low for scalar in scalars])[forms], np.ceil)
        self.scalar_high = self._on_grid(np.array([scalar.high for scalar in scalars])[forms], np.floor)
        self.reads = self._reads()

    def _bound_layers(self) -> None:
        """Bound a program that assigns, takes the relu, or multiplies registers with registers."""
        self.spent += self.program.words / _LAYERS_SECOND
        self._adopt(follow_layers(self._case()))

    def _bound_stream(self) -> None:
        """Bound all samples of a stream of a program with state."""
        self.spent += self.program.words / _STREAM_SECOND
        found, self.reason = follow_stream(self._case())
        self._adopt(found)

    def _case(self) -> Case:
        return Case(self.program, self.frac, self.box, self.weights, self.start, self.scalars.named)

    def _adopt(self, found: Followed) -> None:
        """Take the bounds that were found by following the program forwards."""
        self.errors = found.errors
        self.low, self.scalar_low, low = (
            self._on_grid(ends, np.ceil) for ends in (found.low, found.scalar_low, found.read_low)
        )
        self.high, self.scalar_high, high = (
            self._on_grid(ends, np.floor) for ends in (found.high, found.scalar_high, found.read_high)
        )
        self.reads = Reads(low, high, found.read_register, found.sent)

    def _on_grid(self, ends: NDArray[np.float64], nearest: np.ufunc) -> NDArray[np.float64]:
        """Ends of ranges of actual values, which are on the grid."""
        steps = 2.0**self.frac
        inside: NDArray[np.float64] = nearest(ends * steps) / steps
        return inside

    def _evaluate(self) -> bool:
        """Bound everything by values at nodes, and by terms where that is not enough; false when bounds that follow the
        program may be tighter, or nothing was found."""
        if len(self.program) > _MOST_EVALUATED:
            return False
        scalars = [self.scalars.scalar(number) for number in range(len(self.program.forms))]
        try:
            graph = value_graph(self.program, scalars, self.frac, _MOST_EDGES)
        except ValueError:
            return False
        if graph is None:
            return False
        half_step, wanted = float(self.unit) / 2, [*graph.read, *graph.sent]
        factors = [NodeFactor(scalar.precise, scalar.rational, scalar.noises) for scalar in scalars]
        nodes = Nodes(graph, factors, half_step)
        settled = nodes.known and nodes.settle(wanted)
        terms = None
        if not settled:
            term_factors = [TermFactor(scalar.rational, scalar.size, scalar.change_size) for scalar in scalars]
            terms = Terms(graph, term_factors, self.scalars.inputs, half_step)
            self.crowded = terms.work >= _MOST_STRUCTURED
            self.spent += terms.monomials.work / _TERMS_SECOND
            if nodes.known and terms.known:
                nodes.error_sizes = list(map(min, nodes.error_sizes, terms.errors))
        if nodes.known:
            self._take(graph, nodes.range, nodes.error)
        self.spent += nodes.later / _NODES_SECOND
        if terms is not None and terms.known:
            self._take(graph, terms.range, terms.errors.__getitem__)
            largest = max(max(map(abs, terms.range(node))) for node in wanted)
            if not largest < 2.0 ** (MOST_BITS - 1 - self.frac):
                self._narrow()
            return len(self.program) > _MOST_FOLLOWED
        return settled and all(nodes.sought[node] for node in graph.sent)

    def _take(self, graph: Graph, ranges: Callable[[int], tuple[float, float]], errors: Callable[[int], float]) -> None:
        """Take the bounds of the nodes where they are tighter than what is known."""
        # Errors first: ranges are narrower with them.
        sent = {output.name: errors(node) for output, node in zip(self.program.outputs, graph.sent, strict=True)}
        found = np.array([ranges(number) for number in range(len(graph.nodes))])
        low, high = found[np.array(graph.written, dtype=np.int64)].T
        self._intersect(low, high, sent)

    def _run(self) -> None:
        """Follow the program up to its end, up to a value that fits no word, or until that is too much work."""
        code, outputs = self.program.code, self.program.outputs
        registers = self._started()
        self.low, self.high = low, high = np.full(len(self.program), -np.inf), np.full(len(self.program), np.inf)
        self.errors = {output.name: float("inf") for output in outputs}
        work = 0
        recurring = recurring_states(self.program)
        done = 0
        columns = zip(code.dst.tolist(), code.src.tolist(), code.sign.tolist(), code.form.tolist(), strict=True)
        for t, (dst, src, sign, form) in enumerate(columns):
            while done < len(outputs) and outputs[done].at <= t:
                registers = self._send(registers, done)
                done += 1
            if recurring[t]:
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
                work += len(product.value.terms) + len(product.error.terms)
            else:
                self.scalars.scalar(form)
            low[t], high[t] = target.range()
            if not max(-low[t], high[t]) < _HOPELESS or work > _MOST_WORK:
                low[t:], high[t:] = -np.inf, np.inf
                break
        else:
            while done < len(outputs):
                registers = self._send(registers, done)
                done += 1
        self.spent += (work + _STEP_WORK * len(self.program)) / _RUN_SECOND

    def _narrow(self) -> None:
        """Take the bounds of the structure where they are tighter than those of this analysis, which had to forget;
        nothing when they were taken before, or would be too much work."""
        if self.crowded or self.spent + MOST_STRUCTURE_WORK / _STRUCTURE_SECOND > MOST_SECONDS:
            return
        self.crowded = True
        factors = [self.scalars.factor(number) for number in range(len(self.program.forms))]
        start = [value * self.unit for value in self.start]
        found = follow(self.program, factors, start, self.algebra)
        self.spent += found.work / _STRUCTURE_SECOND
        self._intersect(found.low, found.high, found.errors)

    def _intersect(self, low: NDArray[np.float64], high: NDArray[np.float64], errors: dict[str, float]) -> None:
        """Take these bounds where they are tighter."""
        self.low, self.high = np.maximum(self.low, low), np.minimum(self.high, high)
        self.errors = {name: min(error, errors[name]) for name, error in self.errors.items()}

    def _started(self) -> list[Register]:
        """The registers as a run begins."""
        return [Register(self.algebra, self.one, int(value)) for value in self.program.start]

    def _send(self, registers: list[Register], number: int) -> list[Register]:
        """Bound the error of output ``number`` and return the registers after it."""
        output = self.program.outputs[number]
        sent = registers[output.register]
        self.errors[output.name] = self.algebra.joint_size(sent.whole[1])
        return self._started() if output.restart else registers

    def _product(self, form: int, source: Register) -> Product:
        """The rounded product of scalar ``form`` and register ``source``."""
        scalar = self.scalars.scalar(form)
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
        return Product(
            self.numbers.setdefault((form, source.number), self.random.getrandbits(128)),
            self._enclosed(value_terms, value_slop, noise=False),
            self._enclosed(error_terms, error_slop + rounding, noise=True),
            max(0, min(MANY_ZEROS, zeros)),
        )

    def _enclosed(self, terms: dict[int, float], rest: float, noise: bool) -> Enclosure:
        """An enclosure of ``terms`` and of a new symbol for anything between ``-rest`` and ``rest``; one symbol for all
        when the terms are too many. As a symbol the rest cancels wherever the program takes the product away again,
        though not bit for bit; as an interval it would grow exponentially with the length."""
        kept = {key: c for key, c in terms.items() if abs(c) > TINY}
        if len(kept) < len(terms):
            rest += TINY * sum(1 for c in terms.values() if 0 < abs(c) <= TINY)
        if rest:
            kept[self.algebra.noise()] = rest * (1 + UNIT)
        new = self.algebra.enclosure(kept)
        return new if len(kept) <= self.limit else self.algebra.collapsed(*new.range(), noise)

    def ranges(self) -> NDArray[np.float64]:
        """The least and the greatest value of each register at any time."""
        out = np.repeat(np.array(self.start, dtype=np.float64)[:, None], 2, axis=1) * float(self.unit)
        np.minimum.at(out[:, 0], self.program.code.dst, self.low)
        np.maximum.at(out[:, 1], self.program.code.dst, self.high)
        return out

    def first_overflow(self, bits: int) -> Overflow | None:
        """The first value that is read and may not fit ``bits`` bits: at an output, or at an instruction, S before the
        register."""
        least, most = -(2.0 ** (bits - 1 - self.frac)), 2.0 ** (bits - 1 - self.frac) - float(self.unit)
        outputs = self.program.outputs
        # The comparisons are this way round so that NaN counts as bad.
        form_bad = ~((self.scalar_low >= least) & (self.scalar_high <= most))
        low, high, registers, sent = self.reads
        bad = form_bad | ~((low >= least) & (high <= most))
        first = int(np.argmax(bad)) if bad.any() else len(bad)
        for output, (lowest, highest) in zip(outputs, sent, strict=True):
            if output.at <= first and not (lowest >= least and highest <= most):
                return Overflow(None, output.register, output.name, lowest, highest)
        if first == len(bad):
            return None
        if form_bad[first]:
            return Overflow(first, None, None, float(self.scalar_low[first]), float(self.scalar_high[first]))
        return Overflow(first, int(registers[first]), None, float(low[first]), float(high[first]))

    def _reads(self) -> Reads:
        """The ranges of what is read, from those of what was written."""
        code, start = self.program.code, [value * float(self.unit) for value in self.start]
        written = [-1] * self.program.width
        writers: list[int] = []
        sent: list[tuple[float, float]] = []
        waiting = list(reversed(self.program.outputs))
        for t, (dst, src) in enumerate(zip([*code.dst.tolist(), 0], [*code.src.tolist(), 0], strict=True)):
            while waiting and waiting[-1].at <= t:
                output = waiting.pop()
                last, begun = written[output.register], start[output.register]
                sent.append((begun, begun) if last < 0 else (float(self.low[last]), float(self.high[last])))
                if output.restart:
                    written = [-1] * self.program.width
            writers.append(written[src])
            written[dst] = t
        chosen = np.array(writers[:-1], dtype=np.int64)
        registers = code.src.astype(np.int64)
        initial = np.array(start)[registers]
        if not len(chosen):
            return Reads(initial, initial, registers, sent)
        low, high = (np.where(chosen < 0, initial, ends[chosen]) for ends in (self.low, self.high))
        return Reads(low, high, registers, sent)

    def bits_needed(self) -> int:
        """The fewest bits that hold what is given and what is read; a number above 32 means that 32 are not enough."""
        given = [end for ends in (*self.box, *self.scalars.named.values()) for end in ends] + self.weights + self.start
        widest = max((max(raw, ~raw).bit_length() + 1 for raw in given), default=2)
        bits = max(2, self.frac + 1, widest)
        while bits <= MOST_BITS and self.first_overflow(bits) is not None:
            bits += 1
        return bits

"""Programs: straight-line code on ``width`` registers, ``R[dst] <- R[dst] ± scalar·R[src]``.

Instructions are numpy columns, so that programs of 10^7 instructions can be held, run and saved. A scalar
is an entry of the table ``forms``; constants stay exact rationals until a ring quantises them.

A *pure* program only adds, and its forms read no registers. An instruction may also assign, with or without relu, and a
form may read registers; :mod:`.promises` says what such a program no longer promises.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from skinny.model.errors import InputError
from skinny.model.named_weight import NamedWeight
from skinny.model.rings import Number, Ring, exact_number, parse_ring

from .columns import Columns, Mode
from .forms import Accumulator, Form, Input, Linear, Weight, attention_steps, renumbered
from .probabilities import PROBABILITIES
from .promises import Break, linear_break, reversible_break, starting_assigns
from .streams import State, check_state, check_window, window_samples

__all__ = ["CONTRACTS", "MOST_SCALE", "MOST_WIDTH", "Columns", "Mode", "Output", "Program"]

CONTRACTS = ("in-place", "clean")
#: The register a compiled program reads one from: the default start is zero everywhere else.
SOURCE = 1
#: The most registers of a program.
MOST_WIDTH = 1024
#: Scales go from ``2^-MOST_SCALE`` to ``2^MOST_SCALE``: beyond that no word of 32 bits is near a person's numbers.
MOST_SCALE = 256


class Output(NamedTuple):
    """A result: after ``at`` instructions the content of ``register`` is sent as ``name``. With ``restart`` all
    registers then get the start vector again.

    What is sent, times ``2^scale``, is the result in the user's units. ``approximation`` bounds how far the program,
    computed exactly, is from the formula as it was written, in these units; it is above zero where functions were
    replaced by polynomials. With ``sampled`` one of these is known by its values only, and ``approximation`` is the
    largest difference that was seen.
    """

    name: str
    register: int
    at: int
    restart: bool = False
    scale: int = 0
    approximation: Fraction = Fraction(0)
    sampled: bool = False


@dataclass(frozen=True)
class Program:
    """A straight-line program and everything needed to run it.

    ``start`` is the register contents it begins with. ``contract`` is ``in-place`` (from every start it adds
    ``f·R[1]`` to the output register and restores all others) or ``clean`` (only from ``start``, only the output
    counts). ``derived`` marks weights that the compiler made, for example differences of given constants: a true ring
    wraps them, while a given constant that does not fit its ring is an error. With ``self_check`` every run on a core
    undoes itself and checks that nothing was lost.

    ``input_scales`` holds an exponent ``e`` for each input: a value ``x`` in the user's units enters the program as
    ``x/2^e`` (docs/units.md). ``box`` is the least and the greatest value of each input, in the user's units, that the
    program was compiled for, or None; ``ring`` is the name of the ring that it was compiled for, or empty. ``named``
    are the weights that have a name, a range, and the words ``w[k]`` that come from them (:meth:`with_weights`).

    ``argmax``, if it is not empty, is the name of the only result: the number of the output that is the largest, the
    first of equals; a single output gives 1 if it is above zero, else 0. Rings with signs only. ``probabilities`` is
    what the host applies to the results before anybody sees them (:mod:`.probabilities`), or empty.

    A program is ``settable`` when others differ from it in the weights alone and are to take its place in a core that
    runs: a board does not hold such a program for another one because of its weights, which are sent at each use.

    ``state`` are the registers that keep their content from one sample of a stream to the next, ``window`` is the
    number of words of a sliding window, of which ``hop`` arrive each sample (:mod:`.streams`); zero means none.
    """

    width: int
    inputs: tuple[str, ...]
    weights: tuple[Fraction, ...]
    forms: tuple[Form, ...]
    code: Columns
    outputs: tuple[Output, ...]
    contract: str = "clean"
    start: tuple[int | Fraction, ...] = ()
    derived: tuple[bool, ...] = ()
    title: str = field(default="", compare=False)
    self_check: bool = False
    input_scales: tuple[int, ...] = ()
    box: tuple[tuple[Fraction, Fraction], ...] | None = None
    ring: str = ""
    named: tuple[NamedWeight, ...] = ()
    argmax: str = ""
    probabilities: str = ""
    settable: bool = False
    state: tuple[State, ...] = ()
    window: int = 0
    hop: int = 0

    def __post_init__(self) -> None:
        if not self.start:
            object.__setattr__(self, "start", tuple(int(r == SOURCE) for r in range(self.width)))
        if not self.derived:
            object.__setattr__(self, "derived", (False,) * len(self.weights))
        if not self.input_scales:
            object.__setattr__(self, "input_scales", (0,) * len(self.inputs))
        if not self.inputs:
            object.__setattr__(self, "box", None)
        self.validate()

    def validate(self) -> None:
        """Raise :exc:`InputError`, which names the first thing that is wrong."""
        if not 2 <= self.width <= MOST_WIDTH:
            raise InputError(f"the width must be 2 to {MOST_WIDTH}, not {self.width}")
        if len(self.start) != self.width:
            raise InputError(f"the start vector must have {self.width} entries, not {len(self.start)}")
        if self.contract not in CONTRACTS:
            raise InputError(f"the contract must be in-place or clean, not {self.contract!r}")
        if len(self.derived) != len(self.weights):
            raise InputError("every weight needs a 'derived' mark")
        for number, form in enumerate(self.forms):
            self._validate_form(number, form)
        code = self.code
        if len({len(column) for column in code.arrays()}) != 1:
            raise InputError("the columns of the program differ in length")
        for what, bad in (
            (f"register out of range (width {self.width})", (code.dst >= self.width) | (code.src >= self.width)),
            ("mode is neither add, assign nor relu", code.mode > max(Mode)),
            ("dst = src", (code.dst == code.src) & (code.mode == Mode.ADD)),
            ("sign is neither +1 nor -1", np.abs(code.sign) != 1),
            ("form index past the end", (code.form < 0) | (code.form >= len(self.forms))),
        ):
            if bad.any():
                raise InputError(f"instruction {int(np.argmax(bad))}: {what}")
        self._validate_destinations()
        if not self.outputs:
            raise InputError("a program needs at least one output")
        last = 0
        for output in self.outputs:
            if not 0 <= output.register < self.width:
                raise InputError(f"output {output.name}: register out of range (width {self.width})")
            if not last <= output.at <= len(code):
                raise InputError(f"output {output.name}: position {output.at} is out of order")
            last = output.at
        for names in (self.inputs, tuple(output.name for output in self.outputs)):
            if len(set(names)) != len(names):
                raise InputError(f"the name {Counter(names).most_common(1)[0][0]!r} is used twice")
        self._validate_units()
        self._validate_named()
        check_state(self.state, self.width, (*self.inputs, *(weight.name for weight in self.named)))
        check_window(self.inputs, self.window, self.hop)
        if self.streaming and self.self_check:
            raise InputError("a self-check undoes every run, but a stream program keeps what its runs leave behind")
        if self.argmax and len({output.scale for output in self.outputs}) > 1:
            raise InputError("argmax compares words: all outputs must have one scale")
        if self.probabilities not in ("", *PROBABILITIES):
            raise InputError(f"probabilities must be {' or '.join(PROBABILITIES)}, not {self.probabilities!r}")
        if self.probabilities == "softmax" and len(self.outputs) < 2:
            raise InputError("a softmax is of at least two outputs, and the program has one")
        if self.probabilities and self.argmax:
            raise InputError("with argmax no outputs are sent that the host could make probabilities of")

    def _validate_destinations(self) -> None:
        """An instruction that adds to a register which its own form reads could not be undone."""
        read = [number * MOST_WIDTH + r for number in self.summing for r in self.forms[number].registers]  # type: ignore[union-attr]
        if read:
            written = self.code.form.astype(np.int64) * MOST_WIDTH + self.code.dst
            bad = np.isin(written, read) & (self.code.mode == Mode.ADD)
            if bad.any():
                raise InputError(f"instruction {int(np.argmax(bad))}: the form reads the register that is added to")

    def _validate_units(self) -> None:
        if len(self.input_scales) != len(self.inputs):
            raise InputError(f"there must be {len(self.inputs)} input scales, not {len(self.input_scales)}")
        scales = [(f"input {name}", e) for name, e in zip(self.inputs, self.input_scales, strict=True) if e]
        scales += [(f"output {output.name}", output.scale) for output in self.outputs if output.scale]
        for what, exponent in scales:
            if not -MOST_SCALE <= exponent <= MOST_SCALE:
                raise InputError(f"{what}: the scale must be -{MOST_SCALE} to {MOST_SCALE}, not {exponent}")
        for output in self.outputs:
            if output.approximation < 0:
                raise InputError(f"output {output.name}: the approximation must be 0 or more, not negative")
        if self.box is not None:
            if len(self.box) != len(self.inputs):
                raise InputError(f"the box must have {len(self.inputs)} entries, not {len(self.box)}")
            for name, (low, high) in zip(self.inputs, self.box, strict=True):
                if low > high:
                    raise InputError(f"input {name}: the least value of the box is above the greatest")
        if self.ring:
            parse_ring(self.ring)

    def _validate_named(self) -> None:
        names = [weight.name for weight in self.named]
        if len({*names, *self.inputs}) != len(names) + len(self.inputs):
            twice = Counter((*names, *self.inputs)).most_common(1)[0][0]
            raise InputError(f"the name {twice!r} is used twice")
        taken: set[int] = set()
        for weight in self.named:
            weight.checked()
            for k, factor in weight.words:
                if not 0 <= k < len(self.weights):
                    raise InputError(f"weight {weight.name}: index {k} is past the end ({len(self.weights)})")
                if k in taken or self.weights[k] != factor * weight.value:
                    raise InputError(f"weight {weight.name}: w[{k}] is not {factor} times its value")
                taken.add(k)

    def with_weights(self, **values: Number) -> Program:
        """The same program with other values of named weights."""
        known = {weight.name: weight for weight in self.named}
        weights = list(self.weights)
        for name, value in values.items():
            if name not in known:
                others = f", only {', '.join(known)}" if known else ""
                raise InputError(f"the program has no named weight {name!r}{others}")
            try:
                changed = known[name] = known[name]._replace(value=exact_number(value)).checked()
            except InputError as error:
                raise error if str(error).startswith("weight ") else InputError(f"weight {name}: {error}") from None
            for k, factor in changed.words:
                weights[k] = factor * changed.value
        return replace(self, weights=tuple(weights), named=tuple(known.values()))

    def weight_names(self) -> list[str]:
        """What each weight is called: ``w[k]``, or a named weight with its factor, like ``-2*kp``."""
        out = [f"w[{k}]" for k in range(len(self.weights))]
        for weight in self.named:
            for k, factor in weight.words:
                out[k] = weight.name if factor == 1 else f"{factor}*{weight.name}"
        return out

    def weight_ranges(self) -> list[tuple[Fraction, Fraction]]:
        """The least and the greatest value that each weight can have: the range of a named one, else its value."""
        out = [(value, value) for value in self.weights]
        for weight in self.named:
            for k, factor in weight.words:
                ends = sorted((factor * weight.low, factor * weight.high))
                out[k] = ends[0], ends[1]
        return out

    def _validate_form(self, number: int, form: Form) -> None:
        match form:
            case Input(u):
                weights, inputs = [], [u]
            case Weight(k):
                weights, inputs = [k], []
            case Linear(terms, bias, sums):
                weights = [k for k, _ in terms] + ([] if bias is None else [bias])
                weights += [scalar.k for scalar, _ in sums if isinstance(scalar, Weight)]
                inputs = [u for _, u in terms] + [scalar.u for scalar, _ in sums if isinstance(scalar, Input)]
                for _, register in sums:
                    if not 0 <= register < self.width:
                        raise InputError(f"form {number}: register {register} is out of range (width {self.width})")
        for index, known, what in [(k, len(self.weights), "weight") for k in weights] + [
            (u, len(self.inputs), "input") for u in inputs
        ]:
            if not 0 <= index < known:
                raise InputError(f"form {number}: {what} index {index} is past the end ({known})")

    def __len__(self) -> int:
        return len(self.code)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Program):
            return NotImplemented
        plain = {field.name for field in fields(self) if field.compare} - {"code"}
        return all(getattr(self, name) == getattr(other, name) for name in plain) and all(
            np.array_equal(mine, theirs) for mine, theirs in zip(self.code.arrays(), other.code.arrays(), strict=True)
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def settable_weights(self) -> frozenset[int]:
        """The numbers of the weights that may change while a core holds the program: those that come from named ones,
        or all of a settable program."""
        if self.settable:
            return frozenset(range(len(self.weights)))
        return frozenset(k for weight in self.named for k, _ in weight.words)

    @property
    def has_restart(self) -> bool:
        last = self.outputs[-1]
        return any(output.restart and (output is not last or output.at < len(self)) for output in self.outputs)

    @property
    def streaming(self) -> bool:
        """Whether a run is a sample of a stream, because the program has state or a window."""
        return bool(self.state) or self.window > 0

    @property
    def samples(self) -> tuple[str, ...]:
        """The names of the words of an input vector, in the order in which they arrive: those of a sample of a stream
        with a window, else the inputs."""
        return window_samples(self.inputs, self.hop) if self.window else self.inputs

    @property
    def sample_inputs(self) -> tuple[int, ...]:
        """The numbers of the inputs that the words of :attr:`samples` are when they arrive."""
        return tuple(range(self.hop - 1, -1, -1)) if self.window else tuple(range(len(self.inputs)))

    def expect_stream(self, who: str) -> None:
        """Raise :exc:`InputError` unless this is a stream program; ``who`` needs one."""
        if not self.streaming:
            raise InputError(f"{who} a program that keeps something between runs, but this one keeps nothing")

    def expect_no_stream(self, who: str) -> None:
        """Raise :exc:`InputError` for a stream program; ``who`` needs one whose runs know nothing of each other."""
        if self.streaming:
            what = f"the state {self.state[0].name}" if self.state else f"a window of {self.window} words"
            raise InputError(f"{who} a program that keeps nothing between runs, but this one has {what}")

    @cached_property
    def summing(self) -> tuple[int, ...]:
        """The numbers of the forms that read registers."""
        return tuple(n for n, form in enumerate(self.forms) if isinstance(form, Linear) and form.sums)

    @cached_property
    def linear_break(self) -> Break | None:
        """The first instruction with which the map of registers is no matrix, for fixed inputs; None if it is one."""
        return linear_break(self.code, self.summing)

    @cached_property
    def reversible_break(self) -> Break | None:
        """The first instruction that no instruction undoes; None if there is none. Assigns with which the program, or
        what follows a restart, begins count as its start."""
        return reversible_break(self.code, self.restarts())

    @property
    def linear(self) -> bool:
        """Whether the registers after the program are a matrix times those before it, for fixed inputs."""
        return self.linear_break is None

    @property
    def reversible(self) -> bool:
        """Whether everything behind the assigns that the program begins with can be undone."""
        return self.reversible_break is None

    @property
    def pure(self) -> bool:
        """Whether the program only adds, and its forms read no registers."""
        return self.linear and not self.code.mode.any()

    def expect_linear(self, who: str) -> None:
        """Raise :exc:`InputError` unless the program is linear; ``who`` needs that."""
        if self.linear_break is not None:
            raise InputError(f"{who} a linear program, but {self.linear_break}")

    def expect_reversible(self, who: str) -> None:
        """Raise :exc:`InputError` unless the program is reversible; ``who`` needs that."""
        if self.reversible_break is not None:
            raise InputError(f"{who} a reversible program, but {self.reversible_break}")

    def expect_pure(self, who: str) -> None:
        """Raise :exc:`InputError` unless the program is pure; ``who`` needs that."""
        found = [broken for broken in (self.linear_break, reversible_break(self.code, None)) if broken is not None]
        if found:
            raise InputError(f"{who} a program that only adds, without sums of registers, but {min(found)}")

    def restarts(self) -> list[int]:
        """The positions at which the registers get the start vector, that of the beginning included."""
        return [0, *(output.at for output in self.outputs if output.restart)]

    @property
    def results(self) -> tuple[str, ...]:
        """The names of what a run sends, in order: the outputs, or the number of the largest alone."""
        return (self.argmax,) if self.argmax else tuple(output.name for output in self.outputs)

    @property
    def emits(self) -> int:
        """Program words that send an output, or compare it: the sign of a single one is found by comparing it with
        zero, which takes a word more."""
        return len(self.outputs) + (bool(self.argmax) and len(self.outputs) == 1)

    def attends(self) -> int:
        """The number of attention steps, after which each linear form is in the accumulator when it is used."""
        if self.summing:
            return int(self.costs()[0].sum()) - len(self)
        return attention_steps(self.forms, self.code.form)

    @property
    def words(self) -> int:
        """Program words without those that emit: ``apply`` instructions, and the steps that build linear forms."""
        return len(self) + self.attends()

    def inverse(self) -> Program:
        """The program that undoes this one, bit for bit in every ring: its instructions in reverse order, with the
        other sign. It goes back to where the assigns end that the program begins with."""
        self.expect_no_stream("an inverse needs")
        if self.has_restart:
            raise InputError("a program that restarts between outputs has no inverse; take its parts")
        self.expect_reversible("an inverse needs")
        back = self.code.part(slice(starting_assigns(self.code), None)).part(slice(None, None, -1))
        outputs = tuple(output._replace(at=len(back), restart=False) for output in self.outputs)
        return replace(self, code=replace(back, sign=-back.sign), outputs=outputs, argmax="", probabilities="")

    def transpose(self) -> Program:
        """The backward pass: the instructions in reverse order, with ``dst`` and ``src`` swapped. It carries column
        vectors: started from the unit vector of the output register, it ends with the derivative of the output by each
        start register."""
        self.expect_no_stream("a transpose needs")
        if self.has_restart:
            raise InputError("a program that restarts between outputs has no transpose; take its parts")
        self.expect_pure("a transpose needs")
        back = self.code.part(slice(None, None, -1))
        start = tuple(int(r == self.outputs[-1].register) for r in range(self.width))
        outputs = (Output(self.outputs[-1].name, SOURCE, len(self)),)
        return replace(
            self,
            code=replace(back, dst=back.src, src=back.dst),
            start=start,
            outputs=outputs,
            contract="clean",
            argmax="",
            probabilities="",
        )

    def parts(self) -> list[Program]:
        """The programs between restarts, each with its own outputs, and without argmax, which is of all of them."""
        out = []
        first = 0
        held: list[Output] = []
        for output in self.outputs:
            held.append(output._replace(at=output.at - first, restart=False))
            if output.restart or output is self.outputs[-1]:
                end = len(self) if output is self.outputs[-1] else output.at
                code = self.code.part(slice(first, end))
                out.append(replace(self, code=code, outputs=tuple(held), argmax="", probabilities=""))
                first, held = output.at, []
        return out

    def costs(self) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """For each instruction its steps, those that build its form in the accumulator included; and for each position
        whether a cut there parts neighbouring instructions that use one linear form."""
        cost = np.ones(len(self), dtype=np.int64)
        glued = np.zeros(len(self) + 1, dtype=bool)
        accumulator = Accumulator()
        restarts = set(self.restarts())
        for position, (number, dst) in enumerate(zip(self.code.form.tolist(), self.code.dst.tolist(), strict=True)):
            if position in restarts:
                accumulator.restart()
            form = self.forms[number]
            if isinstance(form, Linear):
                glued[position] = form == accumulator.held
                cost[position] += accumulator.hold(form)
            accumulator.write(dst)
        return cost, glued

    def segments(self, count: int) -> list[Program]:
        """``count`` consecutive pieces of nearly equal cycles; run in order they are this program.

        A cut never parts neighbouring instructions that use one linear form: it would have to be built twice.
        """
        self.expect_no_stream("segments need")
        self.expect_linear("segments need")
        if not count >= 1:
            raise InputError(f"the number of segments must be at least 1, not {count}")
        if self.has_restart:
            raise InputError("a program that restarts between outputs cannot be cut; take its parts")
        cost, glued = self.costs()
        reached = np.concatenate([[0], np.cumsum(cost)])
        free = np.flatnonzero(~glued)
        cuts = [0]
        for piece in range(1, count):
            wanted = reached[-1] * piece // count
            nearest = int(free[np.argmin(np.abs(reached[free] - wanted))])
            cuts.append(max(cuts[-1], nearest))
        cuts.append(len(self))
        last = self.outputs[-1]
        plain = replace(self, argmax="", probabilities="")
        return [
            replace(plain, code=self.code.part(slice(a, b)), outputs=(last._replace(at=b - a, restart=False),))
            for a, b in itertools.pairwise(cuts)
        ]

    def level_numbers(self) -> NDArray[np.int64]:
        """The level of each instruction: one more than that of the last instruction before it with which it does not
        commute. Two instructions commute unless one of them reads or assigns the register that the other one writes."""
        written = [0] * self.width
        read = [0] * self.width
        out = []
        others = [form.registers if isinstance(form, Linear) else () for form in self.forms]
        for dst, src, _, form, mode in zip(*(column.tolist() for column in self.code.arrays()), strict=True):
            level = max(written[src], read[dst]) + 1
            for register in others[form]:
                level = max(level, written[register] + 1)
            if mode:
                # An assign is behind what was added before; what is added later waits as if the assign read.
                level = max(level, written[dst] + 1)
                read[dst] = level
            for register in others[form]:
                read[register] = max(read[register], level)
            written[dst] = max(written[dst], level)
            read[src] = max(read[src], level)
            out.append(level)
        return np.array(out, dtype=np.int64)

    def levels(self) -> list[NDArray[np.int64]]:
        """The instructions of each level, by position. Those of one level may be done together."""
        numbers = self.level_numbers()
        order = np.argsort(numbers, kind="stable")
        ends = np.cumsum(np.bincount(numbers, minlength=1)[1:])
        return np.split(order, ends[:-1]) if len(numbers) else []

    @property
    def depth(self) -> int:
        """The number of dependent levels."""
        return int(self.level_numbers().max(initial=0))

    def quantise(self, ring: Ring) -> NDArray[Any]:
        """The weights as elements of ``ring``; a weight that does not fit is named, and so is a comparison that the
        ring does not have."""
        if not ring.signed and (self.argmax or (self.code.mode == Mode.RELU).any()):
            what = "an argmax" if self.argmax else f"a relu ({self.linear_break})"
            raise InputError(f"{what} needs a ring with signs (modular:BITS, fixed:BITS.FRAC), not {ring.name}")
        out = np.empty(len(self.weights), dtype=ring.element_dtype)
        names = self.weight_names()
        for k, (weight, derived) in enumerate(zip(self.weights, self.derived, strict=True)):
            try:
                out[k] = ring.embed(weight) if derived else ring.encode(weight)
            except InputError as error:
                raise InputError(f"weight {names[k]}: {error}") from None
        return out

    @classmethod
    def concatenate(cls, programs: Sequence[Program]) -> Program:
        """The ``programs`` one after the other, on one set of registers. Inputs are matched by name and must have one
        scale; the outputs are those of the last program, the start vector and the ring are those of the first. The
        contract of several programs is ``clean``: results are promised from that start vector only. The box stays when
        it is the same in all."""
        if not programs:
            raise InputError("there is nothing to concatenate")
        for program in programs:
            program.expect_no_stream("to concatenate needs")
        width = programs[0].width
        if any(program.width != width for program in programs):
            raise InputError("programs of different widths cannot be concatenated")
        names: dict[str, int] = {}
        scales: dict[str, int] = {}
        boxes: dict[str, tuple[Fraction, Fraction] | None] = {}
        weights: dict[tuple[Fraction, bool, str, Fraction], int] = {}
        named: dict[str, NamedWeight] = {}
        forms: dict[Form, int] = {}
        columns: list[Columns] = []
        for program in programs:
            u_new = [names.setdefault(name, len(names)) for name in program.inputs]
            sides = program.box or (None,) * len(program.inputs)
            for name, exponent, side in zip(program.inputs, program.input_scales, sides, strict=True):
                if scales.setdefault(name, exponent) != exponent:
                    raise InputError(f"the input {name!r} has different scales, so the programs cannot be concatenated")
                boxes[name] = side if boxes.setdefault(name, side) == side else None
            origins = {k: (weight.name, factor) for weight in program.named for k, factor in weight.words}
            for weight in program.named:
                if named.setdefault(weight.name, weight)[:4] != weight[:4]:
                    raise InputError(f"the weight {weight.name!r} differs, so the programs cannot be concatenated")
            k_new = [
                weights.setdefault((value, mark, *origins.get(k, ("", Fraction(0)))), len(weights))
                for k, (value, mark) in enumerate(zip(program.weights, program.derived, strict=True))
            ]
            f_new = [forms.setdefault(form, len(forms)) for form in renumbered(program.forms, u_new, k_new)]
            table = np.array(f_new or [0], dtype=np.int32)
            columns.append(replace(program.code, form=table[program.code.form]))
        code = Columns(*(np.concatenate(column) for column in zip(*(c.arrays() for c in columns), strict=True)))
        last = programs[-1]
        before = len(code) - len(last)
        outputs = tuple(output._replace(at=output.at + before) for output in last.outputs)
        return cls(
            width=width,
            inputs=tuple(names),
            weights=tuple(key[0] for key in weights),
            derived=tuple(key[1] for key in weights),
            named=tuple(
                weight._replace(words=tuple((k, key[3]) for key, k in weights.items() if key[2] == weight.name))
                for weight in named.values()
            ),
            forms=tuple(forms),
            code=code,
            outputs=outputs,
            contract=last.contract if len(programs) == 1 else "clean",
            start=programs[0].start,
            title=programs[0].title,
            input_scales=tuple(scales.values()),
            box=_whole(boxes.values()),
            ring=programs[0].ring,
            argmax=last.argmax,
            probabilities=last.probabilities,
        )


def _whole(box: Iterable[tuple[Fraction, Fraction] | None]) -> tuple[tuple[Fraction, Fraction], ...] | None:
    """The box, or None where a side of it is missing."""
    sides = list(box)
    known = tuple(side for side in sides if side is not None)
    return known if len(known) == len(sides) else None

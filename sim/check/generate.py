"""Random programs that use all parts of a core (every kind of scalar, several outputs, restarts), and vectors for
them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
from skinny.model.machine.image import MachineImage
from skinny.model.machine.isa import ONE, CoreConfig, Words
from skinny.model.program.forms import Form, Input, Linear, Weight
from skinny.model.program.program import Columns, Mode, Output, Program
from skinny.model.program.streams import State
from skinny.model.rings import FixedPoint

from .stimulus import random_elements

__all__ = ["golden_words", "random_program", "random_vectors"]


def random_program(
    rng: np.random.Generator,
    config: CoreConfig,
    length: int,
    *,
    outputs: int = 1,
    inputs: int = 4,
    restart: bool = True,
    reversible: bool = False,
) -> Program:
    """A program of ``length`` instructions for a core of ``config``; its weights are spread over the whole ring.
    Linear forms are used where the core has an attention unit, and likewise assigns, sums of registers, relu and
    argmax. A ``reversible`` program assigns nothing. Of registers in memory it uses a few, none before it is
    assigned, but for some that are state where the core keeps any."""
    ring, width = config.ring, min(config.width, 8) if config.deep else config.width
    length = max(length, int(config.deep))  # something has to be assigned before it can be sent
    # With assigns the empty form is one weight more, which is zero.
    # States in memory take their start from weights, too.
    inputs, states = min(inputs, config.inputs), int(rng.integers(1, 4)) if config.deep and config.state else 0
    count = min(8, config.weights - config.assign - states)
    scale = 1 << ring.frac if isinstance(ring, FixedPoint) else 1
    weights = tuple(Fraction(int(element), scale) for element in random_elements(rng, ring, (count,)))
    forms: list[Form] = [*map(Input, range(inputs)), *map(Weight, range(count))]
    for terms in (0, 1, 2, 2, 3) if config.attention else ():
        pairs = tuple((int(rng.integers(count)), int(rng.integers(inputs))) for _ in range(terms))
        forms.append(Linear(pairs, int(rng.integers(count)) if rng.random() < 0.5 else None))
    if config.sums:
        forms += [form for form in forms if isinstance(form, Linear)]
        for at in range(len(forms) - 5, len(forms)):
            forms[at] = _with_registers(rng, forms[at], width, inputs, count)
    dst = rng.integers(0, width, length)
    src = (dst + rng.integers(1, width, length)) % width
    places = sorted([*rng.integers(0, length + 1, outputs - 1).tolist(), length])
    sign, form = rng.choice([-1, 1], length), rng.integers(0, len(forms), length)
    mode = np.zeros(length, dtype=np.uint8)
    if config.assign and not reversible:
        mode = rng.choice(np.array([Mode.ADD, Mode.ASSIGN, Mode.RELU][: 2 + config.relu], dtype=np.uint8), length)
        src = np.where((mode != Mode.ADD) & (rng.random(length) < 0.2), dst, src)
    for at, (target, number) in enumerate(zip(dst.tolist(), form.tolist(), strict=True)):
        found = forms[number]
        if mode[at] == Mode.ADD and isinstance(found, Linear) and target in found.registers:
            form[at] = 0  # an add must not read what it writes
    program = Program(
        width=width,
        inputs=tuple(f"x{u}" for u in range(inputs)),
        weights=weights,
        forms=tuple(forms),
        code=Columns.of(dst, src, sign, form, mode),
        outputs=tuple(
            Output(f"y{n}", int(rng.integers(width)), at, restart and bool(rng.random() < 0.3))
            for n, at in enumerate(places)
        ),
        argmax="number" if config.argmax else "",
    )
    if not config.deep:
        return program
    begun = random_elements(rng, ring, (states,)).tolist()
    return _assigned_first(rng, program, config.width, [Fraction(int(element), scale) for element in begun])


def _assigned_first(rng: np.random.Generator, program: Program, width: int, begun: Sequence[Fraction] = ()) -> Program:
    """The program with other operands where a register is read that was not assigned, or register 1 is written, and
    without restarts; then with its registers spread over ``width``. With ``begun`` a register for each of these is
    state and begins with it."""
    dst, src, sign, form, mode = (column.copy() for column in program.code.arrays())
    states = sorted(rng.permutation([0, *range(2, program.width)])[: len(begun)].tolist())
    assigned = [ONE, *states]
    known = [len(assigned)]
    for at in range(len(dst)):
        dst[at] = 0 if dst[at] == ONE else dst[at]
        src[at] = src[at] if src[at] in assigned and src[at] != dst[at] else ONE
        found = program.forms[form[at]]
        if isinstance(found, Linear) and (found.registers - set(assigned) or int(dst[at]) in found.registers):
            form[at] = 0
        assigned += [] if dst[at] in assigned else [int(dst[at])]
        known.append(len(assigned))
    spread = np.arange(width)
    spread[2:] = 2 + rng.permutation(width - 2)
    outputs = []
    for output in program.outputs:
        position = max(1, output.at)
        register = assigned[int(rng.integers(1, known[position]))]
        outputs.append(output._replace(at=position, register=int(spread[register]), restart=False))
    forms = tuple(
        form._replace(sums=tuple((scalar, int(spread[register])) for scalar, register in form.sums))
        if isinstance(form, Linear)
        else form
        for form in program.forms
    )
    code = Columns.of(spread[dst], spread[src], sign, form, mode)
    start = dict(zip(sorted(spread[states].tolist()), begun, strict=True))
    return replace(
        program,
        width=width,
        start=tuple(start.get(register, int(register == ONE)) for register in range(width)),
        state=tuple(State(f"s{register}", register) for register in start),
        forms=forms,
        code=code,
        outputs=tuple(outputs),
    )


def _with_registers(rng: np.random.Generator, form: Form, width: int, inputs: int, weights: int) -> Linear:
    """A linear form with one to three terms with registers more."""
    assert isinstance(form, Linear)
    factors: list[Input | Weight] = [*map(Input, range(inputs)), *map(Weight, range(weights))]
    terms = [(factors[int(rng.integers(len(factors)))], int(rng.integers(width))) for _ in range(rng.integers(1, 4))]
    return form._replace(sums=tuple(terms))


def random_vectors(rng: np.random.Generator, image: MachineImage, count: int) -> Words:
    """``count`` vectors for ``image``, spread over the whole ring."""
    config = image.config
    return config.pack(random_elements(rng, config.ring, (count * config.inferences, image.vector)))


def golden_words(image: MachineImage, vectors: Words) -> Words:
    """The outputs of the golden model for ``vectors``, as hardware words of shape ``(vectors, outputs)``."""
    config = image.config
    elements = config.unpack(vectors, len(vectors) * config.inferences)
    # A program without inputs still takes a word for each vector.
    return config.pack(image.golden(elements[:, : len(image.program.inputs)]))

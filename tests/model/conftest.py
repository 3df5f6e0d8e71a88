"""Fixtures that several tests of the model share."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from skinny.model.program.forms import Form, Input, Linear, Weight
from skinny.model.program.program import Columns, Mode, Output, Program


@pytest.fixture(scope="session")
def random_program() -> Callable[..., Program]:
    """A program with all kinds of forms and a random start; ``denominators`` are those of its weights. With ``modes``
    its instructions have one of these modes each, with ``sums`` some of its forms read registers."""

    def make(
        rng: np.random.Generator,
        width: int = 3,
        length: int = 30,
        largest: int = 5,
        denominators: tuple[int, ...] = (1,),
        restarts: bool = False,
        modes: Sequence[Mode] = (),
        sums: bool = False,
    ) -> Program:
        inputs, weights = int(rng.integers(1, 4)), int(rng.integers(1, 5))

        def linear() -> Form:
            pairs = [(k, u) for k in range(weights) for u in range(inputs)]
            chosen = rng.permutation(len(pairs))[: rng.integers(0, 4)]
            bias = int(rng.integers(weights)) if rng.integers(2) else None
            return Linear(tuple(pairs[c] for c in chosen), bias)

        forms = [*map(Input, range(inputs)), *map(Weight, range(weights)), *(linear() for _ in range(4))]
        dst = rng.integers(0, width, length)
        places = sorted(int(at) for at in rng.integers(0, length + 1, 3)) if restarts else [length]
        program = Program(
            width=width,
            inputs=tuple(f"x{u}" for u in range(inputs)),
            weights=tuple(
                Fraction(int(n), int(d))
                for n, d in zip(
                    rng.integers(-largest, largest + 1, weights), rng.choice(denominators, weights), strict=True
                )
            ),
            forms=tuple(forms),
            code=Columns.of(
                dst,
                (dst + rng.integers(1, width, length)) % width,
                rng.choice([-1, 1], length),
                rng.integers(0, len(forms), length),
            ),
            outputs=tuple(
                Output(f"y{number}", int(rng.integers(width)), at, bool(restarts and rng.integers(2)))
                for number, at in enumerate(places)
            ),
            start=tuple(int(n) for n in rng.integers(-largest, largest + 1, width)),
        )
        return impure(rng, program, modes, sums) if modes or sums else program

    return make


def impure(rng: np.random.Generator, program: Program, modes: Sequence[Mode], sums: bool) -> Program:
    """``program`` with other modes of its instructions, and with registers in some of its forms."""
    code, width = program.code, program.width

    def with_registers(form: Form) -> Form:
        if not isinstance(form, Linear) or not sums or rng.integers(3) == 0:
            return form
        factors = [*map(Input, range(len(program.inputs))), *map(Weight, range(len(program.weights)))]
        read = [(factors[rng.integers(len(factors))], int(rng.integers(width))) for _ in range(rng.integers(1, 4))]
        return form._replace(sums=tuple(read))

    forms = tuple(map(with_registers, program.forms))
    mode = rng.choice(np.array(modes or [Mode.ADD]), len(code)).astype(np.uint8)
    src, form = code.src.copy(), code.form.copy()
    for at, (dst, number) in enumerate(zip(code.dst.tolist(), form.tolist(), strict=True)):
        found = forms[number]
        if not mode[at] and isinstance(found, Linear) and dst in found.registers:
            form[at] = 0
        elif mode[at] and rng.integers(3) == 0:
            src[at] = dst
    return replace(program, forms=forms, code=replace(code, src=src, form=form, mode=mode))

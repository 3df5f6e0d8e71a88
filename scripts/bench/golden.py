"""``skinny bench golden``: the golden run against a bare numpy loop doing the same multiplies and adds in place."""

from __future__ import annotations

from fractions import Fraction
from time import process_time

import numpy as np
from skinny.model.errors import CheckError
from skinny.model.program.forms import Input, Linear, Weight
from skinny.model.program.program import Columns, Output, Program
from skinny.model.rings import Array, Modular
from skinny.model.run.golden import run
from skinny.scripts.progress import counted

__all__ = ["bench_golden"]

INPUTS = WEIGHTS = 8


def bench_golden(
    instructions: int = 10_000, batch: int = 10_000, repeats: int = 3, seed: int = 1
) -> dict[str, int | float]:
    """Seconds of CPU of both in ``Modular(32)`` on a random program, the best of ``repeats`` taken in turn, and
    ``ratio`` (golden / bare). The golden time has everything in it: packing, scalars, unpacking."""
    rng = np.random.default_rng(seed)
    ring = Modular(32)
    program = _random_program(rng, instructions)
    inputs = rng.integers(-(1 << 31), 1 << 31, (batch, INPUTS))
    golden, bare = [], []
    for _ in counted("runs", range(repeats)):
        before = process_time()
        found = run(program, ring, inputs).registers
        golden.append(process_time() - before)
        seconds, expected = _bare_loop(program, inputs)
        bare.append(seconds)
        if not np.array_equal(found, expected):
            raise CheckError("the golden run and the bare loop differ")
    return {
        "instructions": instructions,
        "batch": batch,
        "golden_seconds": min(golden),
        "bare_seconds": min(bare),
        "ratio": min(golden) / min(bare),
    }


def _random_program(rng: np.random.Generator, length: int) -> Program:
    dst = rng.integers(0, 3, length)
    src = (dst + rng.integers(1, 3, length)) % 3
    forms: list[Input | Weight | Linear] = [*map(Input, range(INPUTS)), *map(Weight, range(WEIGHTS))]
    return Program(
        width=3,
        inputs=tuple(f"x{u}" for u in range(INPUTS)),
        weights=tuple(Fraction(int(w)) for w in rng.integers(-(1 << 31), 1 << 31, WEIGHTS)),
        forms=tuple(forms),
        code=Columns.of(dst, src, rng.choice([-1, 1], length), rng.integers(0, len(forms), length)),
        outputs=(Output("y", 0, length),),
    )


def _bare_loop(program: Program, inputs: Array) -> tuple[float, Array]:
    """Seconds of CPU of the loop alone, and the registers it ends with."""
    batch = len(inputs)
    scalars: list[Array] = list(inputs.T.astype(np.uint32, order="C"))
    scalars += [np.array([int(w) % (1 << 32)], dtype=np.uint32) for w in program.weights]
    registers = list(np.repeat(np.array(program.start, dtype=np.uint32)[:, None], batch, axis=1))
    scratch = np.empty(batch, dtype=np.uint32)
    steps = list(zip(*(column.tolist() for column in program.code.arrays()[:4]), strict=True))
    before = process_time()
    for dst, src, sign, form in steps:
        np.multiply(scalars[form], registers[src], out=scratch)
        if sign > 0:
            np.add(registers[dst], scratch, out=registers[dst])
        else:
            np.subtract(registers[dst], scratch, out=registers[dst])
    seconds = process_time() - before
    return seconds, np.stack(registers, axis=1).astype(np.int32).astype(np.int64)

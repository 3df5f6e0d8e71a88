"""``skinny bench loops``: how many words compiled programs take when the assembler rolls them.

The formulas are those that a user would write, and models that scikit-learn fits to its digits; nothing is written for
the loops. Words are those of the program memory, steps those that a run issues: the flat words and those that make
loops.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from skinny.extras import needs_extra
from skinny.model.compiler.goal import parse_keep
from skinny.model.compiler.pipeline import compile_formula
from skinny.model.formula.formula import Formula, constant, product, total, variables
from skinny.model.formula.parse import parse_formula
from skinny.model.machine.assemble import Image, fit_image
from skinny.model.program.program import Program
from skinny.model.rings import parse_ring
from skinny.scripts.common import add_command, print_json, print_table
from skinny.scripts.progress import counted

from .networks import layers, network

__all__ = ["ROWS", "Looping", "bench_loops", "compiled", "register", "rolled"]

DETAILS = """\
JSON keys: loops, a list with program, flat, rolled, target, steps, registers, weights. Words and steps include those
that send results; weights are words of the weight memory of the rolled program.

example:
  $ skinny bench loops
"""


class Looping(NamedTuple):
    """Outputs by name and the names of their inputs in order, the registers that the program may use, the ring of its
    core, and the words that it may take at most."""

    name: str
    make: Callable[[], tuple[dict[str, Formula], Sequence[str]]]
    width: int
    ring: str
    target: int


def _inputs(count: int) -> list[Formula]:
    return variables(" ".join(f"x{u}" for u in range(count)))


def _named(outputs: dict[str, Formula], count: int) -> tuple[dict[str, Formula], Sequence[str]]:
    return outputs, [f"x{u}" for u in range(count)]


def parity(count: int) -> tuple[dict[str, Formula], Sequence[str]]:
    """Over GF(2) a sum is an exclusive or."""
    return _named({"y": total(_inputs(count))}, count)


def filtered(taps: Sequence[float]) -> tuple[dict[str, Formula], Sequence[str]]:
    """A filter with finite response: a form of so many inputs."""
    return _named({"y": total(constant(c) * x for c, x in zip(taps, _inputs(len(taps)), strict=True))}, len(taps))


def low_pass(count: int) -> list[float]:
    """A windowed sinc."""
    at = np.arange(count) - (count - 1) / 2
    return [float(tap) for tap in 0.3 * np.sinc(0.3 * at) * np.hamming(count)]


def multiplied(count: int) -> tuple[dict[str, Formula], Sequence[str]]:
    return _named({"y": product(_inputs(count))}, count)


def convolved(kernels: Sequence[Sequence[int]], side: int) -> tuple[dict[str, Formula], Sequence[str]]:
    """3×3 kernels of nine weights and a constant, with relu, over an image of ``side`` by ``side``."""
    x = np.array(_inputs(side * side), dtype=object).reshape(side, side)
    places = [(row, column) for row in range(side - 2) for column in range(side - 2)]
    outputs = {}
    for number, (*weights, bias) in enumerate(kernels):
        for row, column in places:
            pixels = x[row : row + 3, column : column + 3].ravel()
            terms = [constant(w) * pixel for w, pixel in zip(weights, pixels, strict=True)]
            outputs[f"y{number}_{row}_{column}"] = Formula("relu", (total([*terms, constant(bias)]),))
    return _named(outputs, side * side)


def remainder(count: int) -> tuple[dict[str, Formula], Sequence[str]]:
    """CRC-16 (x^16 + x^12 + x^5 + 1, all ones at first) of so many bits, over GF(2)."""
    state: list[Formula] = [constant(1)] * 16
    for bit in _inputs(count):
        back = state[15] + bit
        state = [back, *state[:4], state[4] + back, *state[5:11], state[11] + back, *state[12:15]]
    return _named({f"c{n}": state[n] for n in range(16)}, count)


@needs_extra("sklearn")
def digits(kind: str) -> tuple[dict[str, Formula], Sequence[str]]:
    """A model that scikit-learn fits to its digits, as ``skinny.compile`` reads it."""
    from skinny.model.frontends.find import import_model
    from sklearn.datasets import load_digits
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier

    x, y = load_digits(return_X_y=True)
    with warnings.catch_warnings():
        # So few rounds do not converge, which does not matter here.
        warnings.simplefilter("ignore")
        if kind == "linear":
            model = LogisticRegression(max_iter=20)
        else:
            model = MLPClassifier(tuple(int(size) for size in kind.split("-")), max_iter=20, random_state=0)
        imported = import_model(model.fit(x / 16, y))
    assert imported is not None
    return dict(imported.outputs), imported.inputs


def connected(sizes: Sequence[int], *, last: bool = False) -> tuple[dict[str, Formula], Sequence[str]]:
    """A network of random weights with relu after all layers but the ``last`` one, or after that too."""
    outputs = parse_formula(network(layers(sizes), "relu({})"))
    if last:
        outputs = {name: Formula("relu", (formula,)) for name, formula in outputs.items()}
    return _named(outputs, sizes[0])


#: The targets are those of the design, reached there with words that were written by hand; where it has none, what was
#: reached first may not be lost.
ROWS = [
    Looping("parity of 1,000 bits", lambda: parity(1000), 3, "boolean", 5),
    Looping("FIR-64", lambda: filtered(low_pass(64)), 3, "fixed:18.16", 8),
    Looping("product of 256", lambda: multiplied(256), 3, "modular:32", 5),
    Looping("matrix 32x32", lambda: connected((32, 32)), 3, "modular:32", 8),
    Looping("dense 64-16 with relu", lambda: connected((64, 16), last=True), 3, "modular:32", 9),
    Looping("digits, linear 64-10", lambda: digits("linear"), 3, "fixed:18.12", 10),
    Looping("digits, 64-16-10", lambda: digits("16"), 64, "fixed:18.12", 18),
    Looping("digits, 64-32-16-10", lambda: digits("32-16"), 64, "fixed:18.12", 20),
    Looping("16-64-32-32-5", lambda: connected((16, 64, 32, 32, 5)), 128, "modular:32", 26),
    Looping("64-16-8-16-64", lambda: connected((64, 16, 8, 16, 64)), 128, "modular:32", 26),
    Looping("3x3 conv, 8x8 to 6x6x4", lambda: convolved(layers((9, 4))[0], 8), 3, "modular:32", 64),
    Looping("CRC-16 of 1,024 bits", lambda: remainder(1024), 32, "boolean", 55),
]


def compiled(row: Looping) -> Program:
    """The program of a row; none of its promises is kept."""
    outputs, inputs = row.make()
    return compile_formula(outputs, width=row.width, keep=parse_keep("none"), inputs=inputs).program


def rolled(row: Looping, program: Program) -> Image:
    """The rolled image of the program of a row, on the core that fits it."""
    return fit_image(program, parse_ring(row.ring), roll=True)


def bench_loops() -> list[dict[str, Any]]:
    """A row for each program: its words flat and rolled, what they may be, the steps of a run, and its size."""
    out = []
    for row in counted("programs", ROWS):
        program = compiled(row)
        image = rolled(row, program)
        out.append(
            {
                "program": row.name,
                "flat": program.words + len(program.outputs),
                "rolled": len(image),
                "target": row.target,
                "steps": image.steps,
                "registers": program.width,
                "weights": len(image.weights),
            }
        )
    return out


def register(benches: Any) -> None:
    add_command(benches, "loops", execute, "words of compiled programs, flat and rolled", DETAILS)


def execute(args: argparse.Namespace) -> None:
    rows = bench_loops()
    if args.json:
        print_json({"loops": rows})
    else:
        print_table(list(rows[0]), [[f"{v:,}" if isinstance(v, int) else v for v in row.values()] for row in rows])

"""``skinny bench precision``: the error of compiled programs against that of the text as it is written."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import partial
from math import inf
from statistics import median
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from skinny.model.bounds.analysis import Analysis
from skinny.model.compiler.goal import parse_keep
from skinny.model.compiler.pipeline import Compilation, Precision, compile_formula
from skinny.model.errors import CheckError, InputError
from skinny.model.formula.formula import Formula
from skinny.model.formula.parse import parse_formula
from skinny.model.program.program import Program
from skinny.model.rings import FixedPoint
from skinny.model.run.golden import run
from skinny.scripts.common import add_command, print_json, print_table
from skinny.scripts.progress import working
from skinny.trace import expect_png

from .precision_polynomials import POLYNOMIALS, Polynomial
from .precision_text import Ranges, Text, worst_point

__all__ = ["bench_polynomial", "chosen_polynomials", "missed", "promises", "register"]

DETAILS = f"""\
Compiles {len(POLYNOMIALS)} published polynomials for words of 16, 24 and 32 bits. 'text' is the worst error that
sampling and hill climbing find when a formula is computed as it is written, constants, products and quotients rounded,
in one format with the most fraction bits that fit. 'proven' is the bound of our program in its best proven format,
'sampled' the worst error that the same search finds in the golden model. 'ratio' is sampled over text, 'of proven' is
proven over text, 'tightness' is proven over sampled; 'shortest' are the cycles of the program without precision, and
'its ratio' is its proven error over text. 'options' are those of skinny compile: some programs need more registers, or
may multiply registers with registers, or are scaled; the text never is. The exit code is 1 when a promise is missed:

  - where the text fits, a format of our program is proven safe;
  - the ratio is at most 2, for one variable 1.3 (heart dipole on three registers: 7);
  - at most a quarter more cycles than the shortest program, for one variable at most one more;
  - no bound is exceeded, the median tightness is at most 1.2, the worst at most 3;
  - compiling for a format takes at most 3 times as long, all together.

JSON keys: rows (name, options, variables, bits, text_frac, text_error, frac, proven, sampled, ratio, proven_ratio,
tightness, cycles, shortest, shortest_frac, shortest_proven, shortest_ratio, seconds, shortest_seconds, missed),
promises (promise, asked, reached, met).

example:
  $ skinny bench precision --only sine,sqroot --bits 16
  $ skinny bench precision -o precision.png
"""
BITS = "16,24,32"
#: What is promised.
RATIO, RATIO_OF_ONE, CYCLES, MEDIAN_TIGHTNESS, TIGHTNESS, SLOWER = 2.0, 1.3, 1.25, 1.2, 3.0, 3.0

Row = dict[str, Any]


def register(benches: Any) -> None:
    parser = add_command(benches, "precision", execute, "errors in fixed point against the text as written", DETAILS)
    parser.add_argument("--only", metavar="NAME,…", help="some polynomials: those whose names begin like this")
    parser.add_argument("--bits", metavar="N,…", default=BITS, help=f"bits of words (default: {BITS})")
    parser.add_argument("-o", "--output", metavar="FILE.png", help="draw errors against cycles")


def execute(args: argparse.Namespace) -> None:
    chosen, bits = chosen_polynomials(args.only), chosen_bits(args.bits)
    if args.output is not None:
        expect_png(args.output)
    rows: list[Row] = []
    with working("polynomials", len(chosen) * len(bits)) as work:
        for polynomial in chosen:
            for row in bench_polynomial(polynomial, bits):
                rows.append(row)
                work.step()
    held = promises(rows)
    if args.output is not None:
        from .precision_picture import draw_errors

        draw_errors(rows, args.output)
    if args.json:
        print_json({"rows": rows, "promises": held, "picture": args.output})
    else:
        _show(COLUMNS, rows)
        print()
        _show(PROMISE_COLUMNS, held)
    if broken := [promise["promise"] for promise in held if not promise["met"]]:
        raise CheckError(f"{len(broken)} of {len(held)} promises missed: {'; '.join(broken)}")


def chosen_polynomials(only: str | None) -> list[Polynomial]:
    """The polynomials that ``--only`` names."""
    if only is None:
        return POLYNOMIALS
    wanted = [name.strip().lower() for name in only.split(",")]
    for name in wanted:
        if not any(polynomial.name.lower().startswith(name) for polynomial in POLYNOMIALS):
            known = "; ".join(polynomial.name for polynomial in POLYNOMIALS)
            raise InputError(f"there is no polynomial {name!r}; there are {known}")
    return [polynomial for polynomial in POLYNOMIALS if polynomial.name.lower().startswith(tuple(wanted))]


def chosen_bits(text: str) -> tuple[int, ...]:
    """The words that ``--bits`` names."""
    found = text.split(",")
    if not all(bits.isascii() and bits.isdecimal() and 2 <= int(bits) <= 32 for bits in found):
        raise InputError(f"--bits must be numbers from 2 to 32, not {text!r}")
    return tuple(map(int, found))


def compile_for(outputs: dict[str, Formula], polynomial: Polynomial, bits: int | None = None) -> Compilation:
    """Our program for words of ``bits`` bits; the shortest one without bits, or where none is proven safe."""
    compile_it = partial(compile_formula, outputs, width=polynomial.width, keep=parse_keep(polynomial.keep))
    if bits is not None:
        with suppress(CheckError):
            return compile_it(precision=Precision(bits, None, polynomial.ranges, scale=polynomial.scale))
    return compile_it()


class Formats:
    """What is proven of one program on a box, format by format."""

    def __init__(self, program: Program, ranges: Ranges) -> None:
        self.program = program
        #: What an input of one is worth in the user's units, in the order of the program.
        self.units = [Fraction(2) ** exponent for exponent in program.input_scales]
        self.box = [
            (ranges[name][0] / unit, ranges[name][1] / unit)
            for name, unit in zip(program.inputs, self.units, strict=True)
        ]
        self._known: dict[int, tuple[int, float]] = {}

    def proven(self, frac: int) -> tuple[int, float]:
        """The bits that are needed with ``frac`` fraction bits, 33 if 32 are not enough, and the bound of the error."""
        if frac not in self._known:
            try:
                analysis = Analysis(self.program, FixedPoint(32, frac), self.box)
                errors = [analysis.errors[output.name] * 2.0**output.scale for output in self.program.outputs]
                self._known[frac] = analysis.bits_needed(), max(errors)
            except InputError:
                self._known[frac] = 33, inf
        return self._known[frac]

    def best(self, bits: int, guess: int) -> tuple[int, float] | None:
        """The most fraction bits that are proven safe in words of ``bits`` bits, and the bound of the error; the search
        begins at ``guess``. More fraction bits need more bits."""
        frac = min(max(guess, 0), bits - 1)
        while frac >= 0 and self.proven(frac)[0] > bits:
            frac -= 1
        while 0 <= frac < bits - 1 and self.proven(frac + 1)[0] <= bits:
            frac += 1
        return None if frac < 0 or self.proven(frac)[1] == inf else (frac, self.proven(frac)[1])

    def sampled(self, text: Text, ring: FixedPoint) -> float:
        """The worst error that was found in the golden model."""
        order = [text.inputs.index(name) for name in self.program.inputs]
        units = np.array([float(unit) for unit in self.units]) / 2.0**ring.frac
        sent = 2.0 ** np.array([output.scale - ring.frac for output in self.program.outputs])

        def errors(points: NDArray[np.int64]) -> NDArray[np.float64]:
            outputs = run(self.program, ring, points).outputs
            given = np.empty(points.shape)
            given[:, order] = points * units
            return np.asarray(np.abs(outputs * sent - text.reference(given)).max(axis=1))

        point = worst_point(errors, [(ring.encode(low), ring.encode(high)) for low, high in self.box])
        step = Fraction(1, 1 << ring.frac)
        values = {u: int(raw) * unit * step for u, raw, unit in zip(order, point, self.units, strict=True)}
        exact = text.exact([values[u] for u in sorted(values)])
        found = run(self.program, ring, point[None]).outputs[0].tolist()
        words = zip(found, self.program.outputs, exact, strict=True)
        return max(float(abs(raw * Fraction(2) ** output.scale * step - value)) for raw, output, value in words)


def bench_polynomial(polynomial: Polynomial, bits: Sequence[int]) -> Iterator[Row]:
    """A row a width of the word."""
    outputs, ranges = parse_formula(polynomial.text), polynomial.ranges
    text = Text(outputs, ranges)
    shortest, shortest_seconds = _timed(partial(compile_for, outputs, polynomial))
    plain = Formats(shortest.program, ranges)
    for wide in bits:
        compiled, seconds = _timed(partial(compile_for, outputs, polynomial, wide))
        ours = plain if compiled.program == plain.program else Formats(compiled.program, ranges)
        text_frac = text.best_frac(wide)
        # Integers are computed without error, but they are not the inputs that were meant: half a step counts.
        text_error = None if text_frac is None else max(text.error(text_frac), 2.0 ** -(text_frac + 1))
        guess = wide // 2 if text_frac is None else text_frac
        best, best_plain = ours.best(wide, guess), plain.best(wide, guess)
        row: Row = {
            "name": polynomial.name,
            "options": polynomial.options,
            "variables": len(ranges),
            "bits": wide,
            "text_frac": text_frac,
            "text_error": text_error,
            "frac": best and best[0],
            "proven": best and best[1],
            "sampled": best and ours.sampled(text, FixedPoint(wide, best[0])),
            "cycles": compiled.program.words,
            "shortest": shortest.program.words,
            "shortest_frac": best_plain and best_plain[0],
            "shortest_proven": best_plain and best_plain[1],
            "seconds": seconds,
            "shortest_seconds": shortest_seconds,
        }
        row["ratio"] = _over(row["sampled"], text_error)
        row["proven_ratio"] = _over(row["proven"], text_error)
        row["shortest_ratio"] = _over(row["shortest_proven"], text_error)
        row["tightness"] = _over(row["proven"], row["sampled"])
        row["missed"] = list(missed(polynomial, row))
        yield row


def _timed(make: Callable[[], Compilation]) -> tuple[Compilation, float]:
    began = process_time()
    return make(), process_time() - began


def _over(value: float | None, of: float | None) -> float | None:
    """The ratio, if both are known; nothing over nothing is one."""
    if value is None or of is None or (of == 0 and value > 0):
        return None
    return 1.0 if value == of else value / of


def missed(polynomial: Polynomial, row: Row) -> Iterator[str]:
    """What a row misses."""
    one = row["variables"] == 1
    if row["proven"] is None:
        if row["text_frac"] is not None:
            yield "safe"
    else:
        if row["text_error"] is not None:
            most = polynomial.ratio or (RATIO_OF_ONE if one else RATIO)
            if row["ratio"] is None or row["ratio"] > most:
                yield "ratio"
        if row["sampled"] > row["proven"]:
            yield "exceeded"
        elif row["tightness"] is None or row["tightness"] > TIGHTNESS:
            yield "tightness"
    shortest = max(row["shortest"], polynomial.cycles or 0)
    if row["cycles"] > (shortest + 1 if one else CYCLES * shortest):
        yield "cycles"


def promises(rows: list[Row]) -> list[dict[str, Any]]:
    """What is promised, what was reached, and whether it holds."""
    said = {
        "safe": "proven safe where the text is",
        "ratio": "error over that of the text within its limit",
        "cycles": "cycles within their limit",
        "exceeded": "bounds not exceeded",
        "tightness": f"proven at most {TIGHTNESS:g} times sampled",
    }
    out: list[dict[str, Any]] = []
    for word, promise in said.items():
        wrong = sum(word in row["missed"] for row in rows)
        out.append({"promise": promise, "asked": f"{len(rows)} rows", "reached": len(rows) - wrong, "met": not wrong})
    tight = [row["tightness"] for row in rows if row["tightness"] is not None]
    middle = median(tight) if tight else 0.0
    out.append(_at_most("median of proven over sampled", MEDIAN_TIGHTNESS, middle))
    slower = sum(row["seconds"] for row in rows) / max(1e-9, sum(row["shortest_seconds"] for row in rows))
    out.append(_at_most("compile time over that without precision", SLOWER, slower))
    return out


def _at_most(promise: str, asked: float, reached: float) -> dict[str, Any]:
    return {"promise": promise, "asked": f"at most {asked:g}", "reached": reached, "met": reached <= asked}


def _number(value: float | None, form: str = ".3g") -> str:
    return "-" if value is None else format(value, form)


#: Heads of columns, and what stands in them.
COLUMNS: dict[str, Callable[[Row], object]] = {
    "polynomial": lambda row: row["name"],
    "options": lambda row: row["options"],
    "bits": lambda row: row["bits"],
    "text F": lambda row: _number(row["text_frac"], "d"),
    "text": lambda row: _number(row["text_error"]),
    "F": lambda row: _number(row["frac"], "d"),
    "proven": lambda row: _number(row["proven"]),
    "sampled": lambda row: _number(row["sampled"]),
    "ratio": lambda row: _number(row["ratio"]),
    "of proven": lambda row: _number(row["proven_ratio"]),
    "tightness": lambda row: _number(row["tightness"]),
    "cycles": lambda row: row["cycles"],
    "shortest": lambda row: row["shortest"],
    "its ratio": lambda row: _number(row["shortest_ratio"]),
    "missed": lambda row: ", ".join(row["missed"]),
}
PROMISE_COLUMNS: dict[str, Callable[[Row], object]] = {
    "promise": lambda row: row["promise"],
    "asked": lambda row: row["asked"],
    "reached": lambda row: f"{row['reached']:.3g}",
    "met": lambda row: "yes" if row["met"] else "NO",
}


def _show(columns: dict[str, Callable[[Row], object]], rows: list[Row]) -> None:
    print_table(list(columns), [[cell(row) for cell in columns.values()] for row in rows])

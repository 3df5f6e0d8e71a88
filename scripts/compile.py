"""``skinny compile``: a formula to a program."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from skinny.compiling import WIDTH, as_precision, box_names, compile_definitions, expect_own_ring, finished
from skinny.model.errors import InputError
from skinny.model.files import expect_file, read_text
from skinny.model.formula.definitions import Definitions
from skinny.model.formula.formula import CEILING
from skinny.model.formula.parse import parse_definitions
from skinny.model.frontends.find import FORMULA_FILES, MODEL_FILES, import_formulas
from skinny.model.limits import DEFAULTS, FORMULA_BYTE, MOST_DIGITS
from skinny.model.program.program import CONTRACTS, MOST_WIDTH
from skinny.model.program.storage import ending, save
from skinny.model.program.text import dumps
from skinny.model.rings import parse_ring
from skinny.model.run.precision import lost_weights
from skinny.model.tables import parse_number
from skinny.values import several

from .boxes import add_box_option, parse_box
from .common import add_command, large, note, print_json, print_table, rounded_outwards, tell
from .compile_model import compile_model_file
from .options import read_error

if TYPE_CHECKING:
    from skinny.model.compiler.pipeline import Compilation, Precision

__all__ = ["register"]

#: Endings of files that would run code when they are read.
PICKLES = (".joblib", ".pickle", ".pkl")

DETAILS = f"""\
FORMULA is text, @FILE, or - for standard input: sums, products, powers of inputs and numbers (3, 0.25, 3/4).
Several outputs: 'y0 = a*b; y1 = a + b'. A shared part: 'let s = a + b; y = s^2 - s'. # starts a comment.
A weight that can be set after compiling: 'weight kp = 0.8 in 0:2; u = kp*e' (see docs/units.md).

A step of a stream (docs/streams.md): 'state s = 0' keeps a value from one sample to the next, 'next s = …' says which,
and x[t-3] is the input x three samples back. With states, registers are as many as are needed, up to 16 or --width.

--keep says what the program promises, which is what its instructions may do (docs/compiler.md):
  linear,reversible  R[dst] ± s·R[src] only: lanes, self-check, gradients without memory (the default)
  linear             and R[dst] <- s·R[src]: a product of 64 inputs takes 65 cycles
  reversible         and forms with registers: registers are multiplied with registers
  none               both, and relu(…): networks
Except with the default on three registers, parts of the formula that are used several times are then held in registers,
as many as --width allows. --argmax NAME sends one word, NAME, in place of the outputs: the number of the largest.

Without -o the program is printed, unless --explain (the length after each pass) or --json asks for another answer.

For fixed point, --ring fixed:BITS.FRAC with --box gives the shortest program that is proven safe for all inputs in the
box, with an error of at most --error or, without it, of at most twice the least error that any candidate has. With
--width and --keep programs that hold values in registers are candidates too: long products and nested formulas become
shorter and more precise (--keep none --width 8). --ring fixed:BITS lets the compiler choose the fraction bits. --scale
auto also divides inputs and outputs by powers of two, so that the bits are used well; other commands then take and give
values in your own units. --explain shows how cycles and errors of the candidates trade. What cannot be met is refused
with the closest that can, with exit code 1. Every program runs in every ring; these options only decide which program
it is. Which weights become 0 or change by more than 1 % in the format is said on stderr; what that does to the results
is part of the proven error.

Functions of one linear form (sin cos tan exp log sqrt tanh sigmoid erf, 1/x) become polynomials of the least degree on
the box: their error, proven too, is part of --error, which they need.

A file that ends in .onnx is a trained network (docs/models.md). It keeps no promise and uses as many registers as it
needs, unless --keep and --width say otherwise. --ring fixed chooses the narrowest format that decides as floats do on
all rows of --calibration, a CSV file with a column for each input, and on nearly all rows between them, or in --box (of
numbers: with an error of at most --error); --ring fixed:BITS and fixed:BITS.FRAC leave less to choose. --probabilities
sends the scores of all classes in place of the number of the class, and other commands then show probabilities.
--weights puts in the weights of a network that was trained again and changes no instruction, so that skinny host sends
weights alone; those that were zero need --keep-zeros for that. --hop N makes a program of a network whose inputs follow
each other in time run on a stream (docs/streams.md), with N new words a sample. JSON keys of a model: model, kind,
classes, inputs, idle (inputs that cannot matter), outputs, window (words, with --hop), argmax, probabilities, length,
words, cycles, width, weights, linear, reversible, ring, tried (formats, and what they missed, also with --explain),
notes (what was dropped or replaced), file.
Estimators of scikit-learn are compiled in Python: skinny.compile(estimator).

A file that ends in .blif is a Boolean circuit, one that ends in .json a sum-product network (docs/frontends.md).
Without --ring they keep no promise and use as many registers as they need, unless --keep and --width say otherwise. A
circuit is computed in the ring boolean and compared with the tables of its file.

JSON keys: length (apply instructions), words (of the program, those that build linear forms included), width, contract,
linear and reversible (the promises), argmax, attention, inputs and outputs (names), states (registers by name), window
(words), depth, degree and leaves of the
formula, textbook_length (Ben-Or and Cleve), bound (4^depth), predicted (length before peephole), checked (how),
seconds, levels (dependent levels of the program), passes (length and words after each), self_check, file; with --ring:
ring, errors (proven, of each output, in your units), approximations (their part that comes from functions), candidates
(output, pass, words, frac, error, proven, chosen), precision (zero_weights, changed_weights). degree, leaves,
textbook_length and bound are null from 2^200 on; bound_log2 is always exact.

Limits: --limit states them. What is known to need more is refused at once, by default programs of more than
{DEFAULTS.length:,} instructions, formulas of more than {DEFAULTS.memory // FORMULA_BYTE:,} characters and products of
more than {DEFAULTS.factors:,} factors (more memory allows more); always numbers of more than {MOST_DIGITS:,} digits.

example:
  $ skinny compile 'y = a*b'
  skinny 1
  # y = a*b
  width 3
  contract clean
  start 0 1 0
  inputs a b
  R2 += b*R1
  R0 += a*R2
  emit y = R0
  end
  $ skinny compile '(a + 2*b)^3 - 3/4*c' -o cube.skn --explain
  $ skinny run cube.skn --ring exact --inputs a=1,b=2,c=4
  $ skinny compile 'let h = relu(2*a - b); y0 = h + a; y1 = 3*h' --keep none --width 4 --argmax class
  $ skinny compile 'state s = 0; let n = 0.9*s + 0.1*x; next s = n; y = n' --keep linear
  $ skinny compile 'let n = v/4096; T = 179.5*n - 20.2*n^2' --ring fixed:16 --box 0:4095 --scale auto -o sensor.skn
  $ skinny compile net.onnx --ring fixed --calibration rows.csv -o net.skn
  $ skinny run net.skn --inputs rows.csv
  $ skinny compile 'y = 3*sin(x) + exp(-x/2)' --ring fixed:24 --box x=0:6.3 --error 0.001 --explain
"""


def register(commands: Any) -> None:
    parser = add_command(
        commands, "compile", execute, "compile a formula or a trained model to a program and prove the result", DETAILS
    )
    parser.add_argument("formula", metavar="FORMULA", help="text, @FILE, -, or a file NAME.onnx, NAME.blif, NAME.json")
    parser.add_argument("-o", "--output", metavar="FILE", help="write the program: .skn text, .npz binary")
    parser.add_argument("--contract", choices=CONTRACTS, default="clean", help="what is promised (default: clean)")
    parser.add_argument(
        "--width",
        metavar="W",
        type=int,
        help="registers, 3 to 1024 (default: 3, with states up to 16, of models what they need)",
    )
    parser.add_argument(
        "--keep",
        metavar="PROMISES",
        help="linear,reversible (the default of formulas), linear, reversible or none (of models)",
    )
    parser.add_argument("--argmax", metavar="NAME", default="", help="send the number of the largest output alone")
    parser.add_argument(
        "--attention",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="linear forms as scalars (default: yes)",
    )
    parser.add_argument("--without", metavar="PASS", action="append", default=[], help="switch a pass off; repeatable")
    parser.add_argument(
        "--start",
        metavar="R0,R1,…",
        help="start vector (default: 0,1,0,…); an in-place program adds to its first register",
    )
    parser.add_argument("--ring", metavar="fixed:BITS[.FRAC]", help="the format in which the program is to be precise")
    add_box_option(parser, "none; --ring needs one")
    parser.add_argument("--calibration", metavar="FILE.csv", help="inputs of a model, by which its format is chosen")
    parser.add_argument(
        "--probabilities", action="store_true", help="a model sends scores, which the host makes probabilities of"
    )
    parser.add_argument("--weights", metavar="FILE.onnx", help="then take the weights of a model of the same shape")
    parser.add_argument("--keep-zeros", action="store_true", help="keep the zeros of a model, so that they can be set")
    parser.add_argument(
        "--hop", metavar="N", type=int, help="a model of a window in time runs on a stream, N new words a sample"
    )
    parser.add_argument("--error", metavar="E", help="the largest error that is allowed, with --ring")
    parser.add_argument(
        "--scale",
        choices=("auto", "none"),
        default="none",
        help="powers of two for inputs and outputs, with --ring (default: none)",
    )
    parser.add_argument(
        "--self-check", action="store_true", help="on a core every run undoes itself and checks (see skinny faults)"
    )
    parser.add_argument("--explain", action="store_true", help="print the length after each pass")


def execute(args: argparse.Namespace) -> None:
    if args.explain and args.json:
        raise InputError("the answer in JSON has the length after each pass: --json goes without --explain")
    if args.output is not None:
        ending(args.output)
        expect_file(args.output)
    if args.width is not None and args.width < 3:
        raise InputError(f"the width must be 3 or more, not {args.width}")
    if args.formula.endswith(MODEL_FILES):
        compile_model_file(args)
        return
    if args.formula.endswith(PICKLES):
        raise InputError(
            f"{args.formula}: a pickle runs code of whoever wrote it when it is read: load it in Python, if you trust "
            "it, and call skinny.compile(estimator)"
        )
    for option in ("calibration", "probabilities", "weights", "keep_zeros", "hop"):
        if getattr(args, option) not in (None, False):
            name = option.replace("_", "-")
            raise InputError(f"--{name} is about trained models: a formula is compiled without it")
    written = import_formulas(args.formula) if args.formula.endswith(FORMULA_FILES) else None
    if written is not None:
        expect_own_ring(written, args.ring)
        definitions, text = written.definitions, args.formula
    else:
        text = _formula_text(args.formula)
        definitions = _parsed(args.formula, text)
    free = written is not None and args.ring is None  # as many registers as it needs, and no promise
    width = args.width or (MOST_WIDTH if free else None)
    compiled, program = compile_definitions(
        definitions,
        text,
        contract=args.contract,
        width=width,
        attention=args.attention,
        without=frozenset(name for given in args.without for name in given.split(",")),
        start=_start(args.start, width or WIDTH),
        self_check=args.self_check,
        precision=_precision(args, definitions),
        keep=("none" if free else "linear,reversible") if args.keep is None else args.keep,
        argmax=args.argmax,
        inputs=() if written is None or definitions.streaming else written.inputs,
    )
    if written is not None:
        program, looked = finished(program, written)
        compiled = replace(compiled, program=program, checked="; ".join(filter(None, (compiled.checked, looked))))
    if args.output is not None:
        save(program, args.output)
    if args.json:
        print_json(_answer(args, compiled))
    elif args.explain:
        _explain(compiled)
    elif args.output is None:
        sys.stdout.write(dumps(program))
    else:
        length = f"{several(len(program), 'instruction')}, {several(program.words, 'word')}"
        note(f"{args.output}: {length} (textbook {large(compiled.facts.textbook)}), checked {compiled.checked}")
        if compiled.errors:
            note(f"{args.output}: {_proven(compiled)}")
    if compiled.errors:
        tell(lost_weights(program, parse_ring(program.ring)), strict=False)


def _parsed(given: str, text: str) -> Definitions:
    """What the text of a formula says; files that one in a file names are beside it."""
    from_file = given.startswith("@")
    try:
        return parse_definitions(text, os.path.dirname(given[1:]) if from_file else "")
    except InputError as error:
        place = given.removeprefix("@") + ": " if from_file else ""
        raise InputError(f"{place}{error}") from None


def _proven(compiled: Compilation) -> str:
    """The sentence about the format and the errors of a program for fixed point."""
    errors = ", ".join(f"{name} {rounded_outwards(error, up=True)}" for name, error in compiled.errors.items())
    return f"proven safe in {compiled.program.ring} on the box; error at most: {errors}"


def _precision(args: argparse.Namespace, definitions: Definitions) -> Precision | None:
    """What is asked of the program in fixed point."""
    if args.ring is None:
        for option, given in (("--box", args.box), ("--error", args.error), ("--scale", args.scale != "none")):
            if given:
                raise InputError(f"{option} needs --ring fixed:BITS or fixed:BITS.FRAC, the format that it is about")
        return None
    names = box_names(definitions)
    box = dict(zip(names, parse_box(args.box, names), strict=True))
    return as_precision(args.ring, box, read_error(args.error), args.scale)


def _formula_text(given: str) -> str:
    return read_text(given.removeprefix("@"), FORMULA_BYTE) if given == "-" or given.startswith("@") else given


def _start(given: str | None, width: int) -> tuple[int, ...] | None:
    if given is None:
        return None
    values = [parse_number(value) for value in given.split(",")]
    if len(values) != width:
        raise InputError(f"--start must have {width} values, not {len(values)}")
    if any(value.denominator != 1 for value in values):
        raise InputError(f"the values of --start must be integers, not {given}")
    return tuple(value.numerator for value in values)


def _answer(args: argparse.Namespace, compiled: Compilation) -> dict[str, Any]:
    program, facts = compiled.program, compiled.facts
    return {
        "length": len(program),
        "words": program.words,
        "width": program.width,
        "contract": program.contract,
        "linear": program.linear,
        "reversible": program.reversible,
        "argmax": program.argmax or None,
        "attention": args.attention,
        "inputs": program.inputs,
        "states": dict(program.state),
        "window": program.window,
        "outputs": [output.name for output in program.outputs],
        "depth": facts.depth,
        "degree": facts.degree if facts.degree < CEILING else None,
        "leaves": facts.leaves if facts.leaves < CEILING else None,
        "textbook_length": facts.textbook if facts.textbook < CEILING else None,
        "bound": facts.bound if facts.bound < CEILING else None,
        "bound_log2": 2 * facts.depth,
        "predicted": compiled.predicted,
        "levels": program.depth,
        "checked": compiled.checked,
        "seconds": compiled.seconds,
        "passes": [{"pass": name, "length": length, "words": words} for name, length, words in compiled.steps],
        "self_check": args.self_check,
        "file": args.output,
    } | (_precision_answer(compiled) if compiled.errors else {})


def _precision_answer(compiled: Compilation) -> dict[str, Any]:
    program = compiled.program
    return {
        "ring": program.ring,
        "errors": compiled.errors,
        "approximations": {output.name: float(output.approximation) for output in program.outputs},
        "candidates": [
            {
                "output": tried.output,
                "pass": tried.source,
                "words": tried.cycles,
                "frac": tried.frac,
                "error": tried.error,
                "proven": tried.proven,
                "chosen": tried.chosen,
            }
            for tried in compiled.tried
        ],
        "precision": lost_weights(program, parse_ring(program.ring)).counts,
    }


def _explain(compiled: Compilation) -> None:
    facts, program = compiled.facts, compiled.program
    print_table(("after", "length", "words"), compiled.steps)
    print()
    print(f"textbook recursion  {large(facts.textbook)} (bound 4^{facts.depth})")
    sizes = {"instruction": len(program), "word": program.words, "level": program.depth}
    print(f"result              {', '.join(several(count, noun) for noun, count in sizes.items())}")
    print(f"checked             {compiled.checked}")
    if not compiled.errors:
        return
    print(f"precision           {_proven(compiled)}")
    print()
    rows = [
        (
            tried.output,
            tried.source,
            tried.cycles,
            tried.frac,
            rounded_outwards(tried.error, up=True),
            "proven" if tried.proven else "estimated",
            "chosen" if tried.chosen else "",
        )
        for tried in compiled.tried
    ]
    if rows:  # of a stream there is one
        print_table(("output", "candidate of", "words", "fraction bits", "error", "", ""), rows)

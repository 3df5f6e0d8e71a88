"""``skinny compile`` of a file that holds a trained model."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from skinny.model import limits
from skinny.model.errors import InputError
from skinny.model.frontends.find import MODEL_FILES, import_model
from skinny.model.program.storage import save
from skinny.model.program.text import dumps
from skinny.model.rings import parse_ring
from skinny.model.run.precision import lost_weights
from skinny.values import several

from .boxes import parse_box
from .common import note, print_json, print_table, tell
from .inputs import read_columns
from .options import read_error

if TYPE_CHECKING:
    from skinny.imported import ImportedProgram
    from skinny.model.program.program import Program

__all__ = ["compile_model_file"]

#: Options that are about formulas, with the values that they have when they are not given.
FORMULAS_ONLY = {
    "contract": "clean",
    "attention": True,
    "without": [],
    "start": None,
    "self_check": False,
    "scale": "none",
    "argmax": "",
}


def compile_model_file(args: argparse.Namespace) -> None:
    """Compile the model in the file ``args.formula``, by the options of ``skinny compile``."""
    # Loaded here, because formulas need none of it.
    from skinny.imported import compile_model

    for option, default in FORMULAS_ONLY.items():
        if getattr(args, option) != default:
            name = f"--{'no-' * (option == 'attention')}{option.replace('_', '-')}"
            raise InputError(f"{name} is about formulas: a trained model is compiled without it")
    if args.ring is not None and args.calibration is None and not args.box:
        raise InputError("--ring chooses a format for known inputs: give --calibration rows.csv or --box LO:HI")
    if args.weights is not None and not args.weights.endswith(MODEL_FILES):
        raise InputError(f"{args.weights}: --weights takes a file of a model, NAME{' or NAME'.join(MODEL_FILES)}")
    imported = import_model(args.formula, keep_zeros=args.keep_zeros)
    assert imported is not None
    names = imported.inputs
    limits.tell(f"compiling {several(len(names), 'input')}, {several(len(imported.layers), 'layer')}")
    program = compile_model(
        imported,
        width=args.width,
        keep=args.keep,
        ring=args.ring,
        calibration=None if args.calibration is None else read_columns(args.calibration, names),
        box=dict(zip(names, parse_box(args.box, names), strict=True)) if args.box else None,
        error=read_error(args.error),
        probabilities=args.probabilities,
    )
    if args.weights is not None:
        program = program.set_weights(args.weights)
    model = program.model if args.hop is None else program.windowed(args.hop).model
    if args.output is not None:
        save(model, args.output)
    if args.json:
        print_json(_answer(args, program, model))
        return
    for line in program.notes:
        note(f"{args.formula}: {line}")
    if args.explain:
        print_table(("format", "missed" if imported.argmax else "error"), sorted(program.tried.items()))
    elif args.output is None:
        sys.stdout.write(dumps(model))
    if args.output is not None:
        form = f", {program.model.ring}" if program.model.ring else ""
        note(f"{args.output}: {several(program.cycles, 'cycle')} on {program.width} registers{form}")
    if program.model.ring:
        tell(lost_weights(program.model, parse_ring(program.model.ring)), strict=False)


def _answer(args: argparse.Namespace, program: ImportedProgram, model: Program) -> dict[str, Any]:
    imported = program.imported
    return {
        "model": imported.title,
        "kind": imported.kind,
        "classes": list(imported.classes),
        "inputs": list(imported.inputs),
        "idle": list(imported.idle),
        "outputs": list(imported.outputs),
        "window": model.window,
        "argmax": model.argmax or None,
        "probabilities": model.probabilities or None,
        "length": len(model),
        "words": model.words,
        "cycles": program.cycles,
        "width": model.width,
        "weights": len(model.weights),
        "linear": model.linear,
        "reversible": model.reversible,
        "ring": model.ring or None,
        "tried": program.tried,
        "notes": list(program.notes),
        "file": args.output,
    }

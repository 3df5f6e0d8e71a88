"""``skinny compile FILE.onnx``: a file of a trained model to a program."""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np
from skinny.imported import ImportedProgram, compile_model
from skinny.model.errors import InputError
from skinny.model.frontends.find import import_model
from skinny.model.frontends.imported import Imported
from skinny.model.program.storage import save
from skinny.model.program.text import dumps

from .boxes import parse_box
from .common import note, print_json, print_table
from .inputs import parse_number, read_columns

__all__ = ["execute_model"]


def execute_model(args: argparse.Namespace) -> None:
    """Compile the model of the file ``args.formula``; what was dropped or replaced is said on stderr."""
    for option, given in (
        ("--contract", args.contract != "clean"),
        ("--no-attention", not args.attention),
        ("--without", bool(args.without)),
        ("--start", args.start is not None),
        ("--scale", args.scale != "none"),
        ("--self-check", args.self_check),
        ("--argmax", bool(args.argmax)),
    ):
        if given:
            raise InputError(f"{option} is about formulas: a trained model is compiled without it")
    imported = import_model(args.formula)
    assert imported is not None, "the ending was looked at"
    program = compile_model(
        imported,
        width=args.width,
        keep=args.keep,
        ring=args.ring,
        calibration=None if args.calibration is None else _rows(args.calibration, imported),
        box=dict(zip(imported.inputs, parse_box(args.box, imported.inputs), strict=True)) if args.box else None,
        error=None if args.error is None else parse_number(args.error),
    )
    for line in program.notes:
        note(f"{args.formula}: {line}")
    if args.output is not None:
        save(program.model, args.output)
    if args.json:
        print_json(_answer(args, program))
    elif args.explain:
        print_table(("format", "missed" if imported.argmax else "error"), sorted(program.tried.items()))
        print(_summary(program))
    elif args.output is None:
        sys.stdout.write(dumps(program.model))
    else:
        note(f"{args.output}: {_summary(program)}")


def _rows(path: str, imported: Imported) -> dict[str, Any]:
    """The rows of a CSV file, whose header names the inputs of the model."""
    columns = read_columns(path, imported.inputs)
    return {
        name: np.array([float(parse_number(text)) for text in column])
        for name, column in zip(imported.inputs, columns, strict=True)
    }


def _summary(program: ImportedProgram) -> str:
    ring = f", {program.model.ring}" if program.model.ring else ""
    return f"{program.imported.title}: {program.cycles:,} cycles on {program.width} registers{ring}"


def _answer(args: argparse.Namespace, program: ImportedProgram) -> dict[str, Any]:
    imported, model = program.imported, program.model
    return {
        "model": imported.title,
        "kind": imported.kind,
        "classes": [str(label) for label in imported.classes],
        "inputs": program.inputs,
        "idle_inputs": imported.idle,
        "outputs": program.outputs,
        "argmax": model.argmax or None,
        "length": len(program),
        "words": model.words,
        "cycles": program.cycles,
        "width": program.width,
        "linear": model.linear,
        "reversible": model.reversible,
        "ring": model.ring or None,
        "tried": program.tried,
        "notes": program.notes,
        "file": args.output,
    }

"""Programs of trained models: they take rows as the model does and give its labels or numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from skinny.model.errors import InputError
from skinny.model.frontends.imported import Imported
from skinny.model.frontends.settable import Slots, compile_settable
from skinny.model.program.program import MOST_WIDTH
from skinny.model.program.program import Program as ModelProgram
from skinny.model.rings import Ring

from .program import Program

__all__ = ["ImportedProgram", "compile_model"]


def compile_model(imported: Imported, *, width: int | None, keep: str | None) -> ImportedProgram:
    """The program of a trained model."""
    from skinny.model.compiler.goal import parse_keep

    width = MOST_WIDTH if width is None else width
    promises = parse_keep("none" if keep is None else keep)
    read = [name for name in imported.inputs if name in imported.read]
    compiled, slots = compile_settable(imported.outputs, read, width, promises)
    program = replace(compiled.program, title=imported.title, argmax=imported.argmax)
    return ImportedProgram(program, imported, slots)


class ImportedProgram(Program):
    """The program of a trained model. ``imported`` is the model as formulas.

    Where values of inputs are wanted, rows may have all columns of the model, of which those that cannot matter are
    left out. The ring is by default ``real``, unless the program was compiled for another one.
    """

    __slots__ = ("imported", "slots")

    def __init__(self, model: ModelProgram, imported: Imported, slots: Slots | None) -> None:
        super().__init__(model)
        self.imported = imported
        self.slots = slots

    @property
    def notes(self) -> tuple[str, ...]:
        """What was dropped or replaced, in lines."""
        idle = self.imported.idle
        said = f"inputs that cannot matter and take no cycle: {', '.join(idle)}" if idle else ""
        return (*self.imported.notes, *([said] if said else []))

    @property
    def classes(self) -> tuple[Any, ...]:
        """The labels of a classifier, by the number that the program sends."""
        return self.imported.classes

    def predict(self, rows: Any, ring: str | Ring | None = None) -> Any:
        """What the model predicts for ``rows``, an array: labels of a classifier, numbers of a regressor, a column for
        each output if there are several."""
        found = self.run(np.atleast_2d(rows) if isinstance(rows, np.ndarray) else rows, ring)
        if isinstance(found, Mapping):
            return np.array(list(found.values()), dtype=np.float64).T
        if not self.classes:
            return np.array(found, dtype=np.float64)
        return np.array(self.classes)[np.array(found, dtype=np.int64)]

    def _ring(self, given: str | Ring | None, default: str | None = None) -> Ring:
        return super()._ring(given, "real" if default == "exact" else default)

    def _given(self, inputs: Any) -> Any:
        """``inputs`` of the program, from those of the model."""
        names = self.imported.inputs
        if isinstance(inputs, Mapping):
            unknown = next((name for name in inputs if name not in names), None)
            if unknown is not None:
                raise InputError(f"inputs: the model has no input {unknown!r}")
            return {name: value for name, value in inputs.items() if name in self.inputs}
        if hasattr(inputs, "columns"):  # a DataFrame, whose names are those of the model before they became plain
            inputs = inputs.to_numpy()
        values = np.asarray(inputs) if isinstance(inputs, list | tuple | np.ndarray) else None
        if values is None or not values.ndim or values.shape[-1] != len(names):
            return inputs
        return values[..., [names.index(name) for name in self.inputs]]

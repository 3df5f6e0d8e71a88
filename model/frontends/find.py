"""Find: the front end that something is for, without loading a library that it does not need."""

from __future__ import annotations

import os
from typing import Any

from .imported import Imported
from .written import Written

__all__ = ["MODEL_FILES", "import_formulas", "import_model"]

#: Endings of files that hold a model.
MODEL_FILES = (".onnx",)


def import_model(given: Any, *, keep_zeros: bool = False) -> Imported | None:
    """The model ``given`` as formulas; None when it is no model that a front end knows: an estimator of scikit-learn,
    a ``ModelProto`` of onnx, or the path of a file that ends in one of :data:`MODEL_FILES`. A model that cannot become
    formulas is refused with an :exc:`~skinny.model.errors.InputError`. With ``keep_zeros`` weights that are zero have
    terms too, as those of a model that was trained again may not be."""
    if isinstance(given, str | os.PathLike):
        if not os.fspath(given).endswith(MODEL_FILES):
            return None
        from .onnx.graph import import_onnx

        return import_onnx(given, keep_zeros)
    # Classes are told apart by where they come from, so that no library is loaded for that.
    homes = {base.__module__.partition(".")[0] for base in type(given).__mro__}
    if "onnx" in homes:
        from .onnx.graph import import_onnx

        return import_onnx(given, keep_zeros)
    if "sklearn" in homes:
        from .sklearn.estimators import import_estimator

        return import_estimator(given, keep_zeros)
    return None


def import_formulas(given: Any) -> Written | None:
    """What is ``given`` as formulas or as a program; None when no front end knows it: a :class:`~.machines.Machine`."""
    from .machines.machine import Machine

    if isinstance(given, Machine):
        return Written({}, repr(given).strip("<>"), program=given.resolvent())
    return None

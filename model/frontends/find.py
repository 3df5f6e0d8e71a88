"""Find: the front end that something is for, without loading a library that it does not need."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from .imported import Imported
from .written import Writable, Written

__all__ = ["FORMULA_FILES", "MODEL_FILES", "import_formulas", "import_model"]

#: Endings of files that hold a model.
MODEL_FILES = (".onnx",)
#: Endings of files that become formulas: circuits and sum-product networks.
FORMULA_FILES = (".blif", ".json")


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
    homes = _homes(given)
    if "onnx" in homes:
        from .onnx.graph import import_onnx

        return import_onnx(given, keep_zeros)
    if "sklearn" in homes:
        from .sklearn.estimators import import_estimator

        return import_estimator(given, keep_zeros)
    return None


def import_formulas(given: Any) -> Written | None:
    """What is ``given`` as formulas or as a program; None when no front end knows it: a :class:`Writable` such as a
    machine, the path of a file that ends in one of :data:`FORMULA_FILES`, or something of SymPy, alone, in a list or in
    a dict by name."""
    if isinstance(given, Writable):
        return given.written()
    if isinstance(given, str | os.PathLike):
        path = os.fspath(given)
        if path.endswith(".blif"):
            from .circuits.circuit import Circuit

            return Circuit(path).written()
        if path.endswith(".json"):
            from .sum_product import SumProductNetwork

            return SumProductNetwork(path).written()
        return None
    parts = given.values() if isinstance(given, Mapping) else given if isinstance(given, list | tuple) else (given,)
    if any("sympy" in _homes(part) for part in parts):
        from .symbolic import import_expressions

        return import_expressions(given)
    return None


def _homes(given: Any) -> set[str]:
    """The libraries that the class of ``given`` comes from; so no library is loaded to tell classes apart."""
    return {str(base.__module__).partition(".")[0] for base in type(given).__mro__}

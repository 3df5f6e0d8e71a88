"""Skinny from Python: ``import skinny``, then :func:`compile` or :func:`load` a program and ask it (docs/python.md).

This folder is the package ``skinny`` itself. The top-level folders ``model``, ``hdl``, ``sim`` and ``scripts`` are its
packages ``skinny.model`` and so on, as ``package-dir`` in pyproject.toml says.

Names are imported when they are first used, so that ``import skinny`` costs nothing, here and inside a simulator.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skinny.model.errors import CheckError as CheckError
    from skinny.model.errors import InputError as InputError
    from skinny.model.errors import PrecisionWarning as PrecisionWarning
    from skinny.model.formula.formula import Formula as Formula
    from skinny.model.formula.formula import variables as variables
    from skinny.model.formula.formula import weight as weight
    from skinny.model.formula.function import Sampled as Sampled
    from skinny.model.formula.function import cos as cos
    from skinny.model.formula.function import erf as erf
    from skinny.model.formula.function import exp as exp
    from skinny.model.formula.function import log as log
    from skinny.model.formula.function import sigmoid as sigmoid
    from skinny.model.formula.function import sin as sin
    from skinny.model.formula.function import sqrt as sqrt
    from skinny.model.formula.function import tan as tan
    from skinny.model.formula.function import tanh as tanh
    from skinny.model.frontends.dag import Dag as Dag
    from skinny.model.frontends.machines.machine import Machine as Machine
    from skinny.model.frontends.machines.recipes import convolutional_machine as convolutional_machine
    from skinny.model.frontends.machines.recipes import dense_machine as dense_machine
    from skinny.model.frontends.machines.recipes import time_machine as time_machine
    from skinny.model.frontends.products import LinearAttention as LinearAttention
    from skinny.model.frontends.products import ProductLayer as ProductLayer
    from skinny.model.frontends.sum_product import SumProductNetwork as SumProductNetwork
    from skinny.model.limits import Limits as Limits

    from .board import Board as Board
    from .estimators import SkinnyClassifier as SkinnyClassifier
    from .estimators import SkinnyRegressor as SkinnyRegressor
    from .formulas import compile as compile
    from .program import Program as Program
    from .program import load as load
    from .sweeping import sweep as sweep
    from .trace import Trace as Trace

#: The module that each public name comes from.
_HOMES = {
    "Board": "skinny.board",
    "CheckError": "skinny.model.errors",
    "Dag": "skinny.model.frontends.dag",
    "Formula": "skinny.model.formula.formula",
    "InputError": "skinny.model.errors",
    "LinearAttention": "skinny.model.frontends.products",
    "Limits": "skinny.model.limits",
    "Machine": "skinny.model.frontends.machines.machine",
    "PrecisionWarning": "skinny.model.errors",
    "ProductLayer": "skinny.model.frontends.products",
    "Program": "skinny.program",
    "Sampled": "skinny.model.formula.function",
    "SkinnyClassifier": "skinny.estimators",
    "SkinnyRegressor": "skinny.estimators",
    "SumProductNetwork": "skinny.model.frontends.sum_product",
    "Trace": "skinny.trace",
    "compile": "skinny.formulas",
    "convolutional_machine": "skinny.model.frontends.machines.recipes",
    "cos": "skinny.model.formula.function",
    "dense_machine": "skinny.model.frontends.machines.recipes",
    "erf": "skinny.model.formula.function",
    "exp": "skinny.model.formula.function",
    "load": "skinny.program",
    "log": "skinny.model.formula.function",
    "sigmoid": "skinny.model.formula.function",
    "sin": "skinny.model.formula.function",
    "sqrt": "skinny.model.formula.function",
    "sweep": "skinny.sweeping",
    "tan": "skinny.model.formula.function",
    "tanh": "skinny.model.formula.function",
    "time_machine": "skinny.model.frontends.machines.recipes",
    "variables": "skinny.model.formula.formula",
    "weight": "skinny.model.formula.formula",
}

__all__ = [
    "Board",
    "CheckError",
    "Dag",
    "Formula",
    "InputError",
    "Limits",
    "LinearAttention",
    "Machine",
    "PrecisionWarning",
    "ProductLayer",
    "Program",
    "Sampled",
    "SkinnyClassifier",
    "SkinnyRegressor",
    "SumProductNetwork",
    "Trace",
    "compile",
    "convolutional_machine",
    "cos",
    "dense_machine",
    "erf",
    "exp",
    "load",
    "log",
    "sigmoid",
    "sin",
    "sqrt",
    "sweep",
    "tan",
    "tanh",
    "time_machine",
    "variables",
    "weight",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'skinny' has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

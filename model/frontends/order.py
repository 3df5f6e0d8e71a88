"""Order: named parts that read each other, each behind those that it reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter

from skinny.model.errors import InputError

__all__ = ["ordered"]

#: Names of a circle that are printed.
SHOWN = 8


def ordered(reads: Mapping[str, Iterable[str]], what: str) -> list[str]:
    """The names in an order in which each stands behind those that it reads; names that are read only are left out. A
    circle is refused, and ``what`` says whose it is."""
    try:
        return [name for name in TopologicalSorter(reads).static_order() if name in reads]
    except CycleError as error:
        circle = error.args[1][::-1]
        shown = circle if len(circle) <= SHOWN else [*circle[: SHOWN - 1], "…"]
        said = " reads ".join(repr(name) if name != "…" else name for name in shown)
        raise InputError(f"{what} must not read each other in a circle, but {said}") from None

"""Assigns at the start of a run as adds: an assign to a register that holds zero is the same as an add, and can be
undone."""

from __future__ import annotations

from dataclasses import replace

from skinny.model.errors import InputError

from .columns import Columns, Mode
from .forms import Linear
from .program import Program
from .promises import starting_assigns

__all__ = ["starting_adds"]


def starting_adds(program: Program) -> Columns:
    """The instructions of ``program``, with adds in place of the assigns that it, or what follows a restart, begins
    with. Raises :exc:`InputError` naming the first that is no add: its register does not hold zero, or is read."""
    mode = program.code.mode.copy()
    for first in program.restarts():
        for at in range(first, first + starting_assigns(program.code, first)):
            dst, src, _, form, _ = (int(column[at]) for column in program.code.arrays())
            found = program.forms[form]
            read = {src, *found.registers} if isinstance(found, Linear) else {src}
            if dst in read or program.start[dst]:
                raise InputError(f"instruction {at} assigns R{dst}, which does not begin with zero or is read by it")
            mode[at] = Mode.ADD
    return replace(program.code, mode=mode)

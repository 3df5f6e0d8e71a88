"""The compiler as the command and Python both call it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from skinny.model.errors import InputError
from skinny.model.formula.formula import Formula
from skinny.model.program.program import Program

if TYPE_CHECKING:
    from skinny.model.compiler.pipeline import Compilation

__all__ = ["LONGEST_TITLE", "compile_outputs"]

#: Longer formulas are cut in the title of a program.
LONGEST_TITLE = 1000


def compile_outputs(
    outputs: Mapping[str, Formula],
    title: str,
    *,
    contract: str,
    width: int,
    attention: bool,
    without: Collection[str],
    start: tuple[int, ...] | None,
    self_check: bool,
) -> tuple[Compilation, Program]:
    """Compile ``outputs``. Returns what the compiler reports, and the program with its ``title``."""
    # Loaded here, because programs that are only loaded and run need no compiler.
    from skinny.model.compiler.pipeline import PASSES, compile_formula

    for name in sorted(without):
        if name not in PASSES:
            raise InputError(f"there is no pass {name!r}: --without takes {', '.join(PASSES)}")
    compiled = compile_formula(
        outputs, contract=contract, width=width, attention=attention, without=without, start=start
    )
    title = title.strip()
    title = title if len(title) <= LONGEST_TITLE else title[:LONGEST_TITLE] + " …"
    return compiled, replace(compiled.program, title=title, self_check=self_check)

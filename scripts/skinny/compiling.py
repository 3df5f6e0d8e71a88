"""The compiler as the command and Python both call it."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from skinny.model.errors import InputError
from skinny.model.formula.formula import Formula
from skinny.model.program.program import Program
from skinny.model.rings import FixedPoint

from .values import expect_choice

if TYPE_CHECKING:
    from skinny.model.compiler.pipeline import Compilation, Precision

__all__ = ["LONGEST_TITLE", "as_precision", "compile_outputs"]

#: Longer formulas are cut in the title of a program.
LONGEST_TITLE = 1000


def as_precision(
    ring: str, box: Mapping[str, tuple[Fraction, Fraction]], error: Fraction | None, scale: str
) -> Precision:
    """What is asked of a program in fixed point. ``ring`` is ``fixed:BITS`` or ``fixed:BITS.FRAC``."""
    from skinny.model.compiler.pipeline import Precision

    found = re.fullmatch(r"fixed:([0-9]{1,3})(?:\.([0-9]{1,3}))?", ring)
    if found is None:
        raise InputError(
            f"a program is compiled for fixed:BITS or fixed:BITS.FRAC, not {ring!r}: other rings leave no choice"
        )
    bits, frac = int(found[1]), None if found[2] is None else int(found[2])
    FixedPoint(bits, frac or 0)
    if error is not None and error <= 0:
        raise InputError(f"the error must be above zero, not {error}")
    expect_choice(scale, ("auto", "none"), "scale")
    return Precision(bits, frac, dict(box), error, scale == "auto")


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
    precision: Precision | None = None,
    keep: str = "linear,reversible",
    argmax: str = "",
    inputs: Sequence[str] = (),
) -> tuple[Compilation, Program]:
    """Compile ``outputs``. Returns what the compiler reports, and the program with its ``title``."""
    # Loaded here, because programs that are only loaded and run need no compiler.
    from skinny.model.compiler.goal import parse_keep
    from skinny.model.compiler.pipeline import PASSES, compile_formula

    for name in sorted(without):
        if name not in PASSES:
            raise InputError(f"there is no pass {name!r}: --without takes {', '.join(PASSES)}")
    compiled = compile_formula(
        outputs,
        contract=contract,
        width=width,
        attention=attention,
        without=without,
        start=start,
        precision=precision,
        keep=parse_keep(keep),
        inputs=inputs,
    )
    if argmax and not re.fullmatch("[A-Za-z_][A-Za-z_0-9]*", str(argmax)):
        raise InputError(f"argmax must be the name of a result, not {argmax!r}")
    title = title.strip()
    title = title if len(title) <= LONGEST_TITLE else title[:LONGEST_TITLE] + " …"
    return compiled, replace(compiled.program, title=title, self_check=self_check, argmax=argmax)

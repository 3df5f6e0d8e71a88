"""The compiler as the command and Python both call it."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from skinny.model.errors import InputError
from skinny.model.formula.definitions import Definitions
from skinny.model.formula.formula import postorder
from skinny.model.frontends.written import Written
from skinny.model.program.program import Program
from skinny.model.rings import FixedPoint

from .values import expect_choice

if TYPE_CHECKING:
    from skinny.model.compiler.pipeline import Compilation, Precision

__all__ = [
    "LONGEST_TITLE",
    "STATES_WIDTH",
    "WIDTH",
    "as_precision",
    "box_names",
    "compile_definitions",
    "expect_own_ring",
    "finished",
]

#: Longer formulas are cut in the title of a program.
LONGEST_TITLE = 1000
#: Registers of a program, and of one with states, at most, unless others are asked for.
WIDTH, STATES_WIDTH = 3, 16


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


def compile_definitions(
    definitions: Definitions,
    title: str,
    *,
    contract: str,
    width: int | None,
    attention: bool,
    without: Collection[str],
    start: tuple[int, ...] | None,
    self_check: bool,
    precision: Precision | None = None,
    keep: str = "linear,reversible",
    argmax: str = "",
    inputs: Sequence[str] = (),
) -> tuple[Compilation, Program]:
    """Compile ``definitions``. Returns what the compiler reports, and the program with its ``title``. Without a width
    it is :data:`WIDTH`, for states as many registers as they need, up to :data:`STATES_WIDTH`. The box of a
    ``precision`` has the names of :func:`box_names`."""
    # Loaded here, because programs that are only loaded and run need no compiler.
    from skinny.model.compiler.goal import parse_keep
    from skinny.model.compiler.pipeline import PASSES, compile_formula

    for name in sorted(without):
        if name not in PASSES:
            raise InputError(f"there is no pass {name!r}: --without takes {', '.join(PASSES)}")
    if inputs and definitions.streaming:
        raise InputError(
            "the words of a sample arrive in the order in which the text names them: it goes without inputs"
        )
    if definitions.states:
        from skinny.model.compiler.stream import compile_states, in_format, in_scales

        for what, given in (
            ("--contract in-place", contract != "clean"),
            ("--no-attention", not attention),
            ("--start", start is not None),
            ("--self-check", self_check),
        ):
            if given:
                raise InputError(f"formulas with states go without {what}")
        most, promises = width or STATES_WIDTH, parse_keep(keep)
        if precision is not None and precision.scale:
            compiled = in_scales(definitions, precision, width=most, keep=promises)
        else:
            compiled = compile_states(definitions, width=most, keep=promises)
            if precision is not None:
                compiled = in_format(compiled, definitions, precision)
    else:
        box = {} if precision is None else precision.box
        if precision is not None and definitions.window:
            precision = replace(precision, box={name: box[name.partition("[")[0]] for name in definitions.inputs})
        compiled = compile_formula(
            definitions.outputs,
            contract=contract,
            width=width or WIDTH,
            attention=attention,
            without=without,
            start=start,
            precision=precision,
            keep=parse_keep(keep),
            inputs=inputs,
        )
        if definitions.window:
            from skinny.model.compiler.stream import in_window

            compiled = replace(compiled, program=in_window(compiled.program, definitions, box))
    if argmax and not re.fullmatch("[A-Za-z_][A-Za-z_0-9]*", str(argmax)):
        raise InputError(f"argmax must be the name of a result, not {argmax!r}")
    title = title.strip()
    title = title if len(title) <= LONGEST_TITLE else title[:LONGEST_TITLE] + " …"
    return compiled, replace(compiled.program, title=title, self_check=self_check, argmax=argmax)


def expect_own_ring(written: Written, ring: str | None) -> None:
    """Refuse a ``ring`` where the formulas are meant for another one."""
    if ring is not None and written.ring:
        raise InputError(f"{written.title} is computed in the ring {written.ring}: it goes without another one")


def finished(program: Program, written: Written) -> tuple[Program, str]:
    """The program of what a front end gave, with its ring, and how it was checked beyond the proof."""
    program = replace(program, ring=written.ring or program.ring)
    return program, "" if written.check is None else written.check(program)


def box_names(definitions: Definitions) -> list[str]:
    """The inputs that need a range: the words of a sample, or those that the formulas read."""
    if definitions.streaming:
        return list(definitions.samples)
    nodes = postorder(*definitions.outputs.values())
    return list(dict.fromkeys(node.value for node in nodes if node.kind == "variable"))

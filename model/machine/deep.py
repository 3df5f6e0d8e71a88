"""Programs for registers in memory, which hold nothing at the start of a run, but for register 1, which is one."""

from __future__ import annotations

from dataclasses import replace

from skinny.model.errors import InputError
from skinny.model.program.columns import Columns, Mode
from skinny.model.program.forms import Linear
from skinny.model.program.program import SOURCE as ONE
from skinny.model.program.program import Program

__all__ = ["assigned_registers", "deep_code", "runs_in_memory"]


def deep_code(program: Program, code: Columns) -> Columns:
    """The instructions ``code`` of ``program`` for registers in memory: the first add to a register, which is zero at
    the start, is an assign, unless it is state. Raises :exc:`InputError` when a register is read before it is assigned,
    or when the program needs what only registers in flip-flops have; the message names the first such thing."""
    state = {register for _, register in program.state}
    if any(value != (register == ONE) for register, value in enumerate(program.start) if register not in state):
        raise InputError(f"{_REASON} cannot hold the start vector {' '.join(map(str, program.start))}")
    if program.has_restart:
        raise InputError(f"{_REASON} cannot restart, but the program does so between outputs")
    if ONE in state:
        raise InputError(f"{_REASON} have a one in R{ONE}, but it is state")
    assigned = {ONE, *state}
    outputs = list(program.outputs)
    mode = code.mode.copy()
    registers = [form.registers if isinstance(form, Linear) else () for form in program.forms]
    for at, (dst, src, _, form, kind) in enumerate(zip(*(column.tolist() for column in code.arrays()), strict=True)):
        while outputs and outputs[0].at == at:
            _expect_shown(outputs.pop(0).name, program, assigned)
        for register in (src, *registers[form]):
            if register not in assigned:
                raise InputError(
                    f"{_REASON} hold nothing at first, but instruction {at} reads R{register} before it is assigned"
                )
        if dst == ONE:
            raise InputError(f"{_REASON} have a one in R{ONE}, but instruction {at} writes it")
        if kind == Mode.ADD and dst not in assigned:
            mode[at] = Mode.ASSIGN
        assigned.add(dst)
    for output in outputs:
        _expect_shown(output.name, program, assigned)
    return replace(code, mode=mode)


def runs_in_memory(program: Program) -> bool:
    """Whether registers in memory can run ``program``."""
    try:
        deep_code(program, program.code)
    except InputError:
        return False
    return True


def assigned_registers(code: Columns) -> list[int]:
    """The registers that the instructions write, in the order in which they do so first."""
    return list(dict.fromkeys(code.dst.tolist()))


#: What every refusal begins with.
_REASON = "registers in memory"


def _expect_shown(name: str, program: Program, assigned: set[int]) -> None:
    register = next(output.register for output in program.outputs if output.name == name)
    if register == ONE or register not in assigned:
        what = "reads as one" if register == ONE else "is not assigned before"
        raise InputError(f"{_REASON} cannot send output {name}: R{register} {what}")

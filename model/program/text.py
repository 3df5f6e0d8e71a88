"""Programs as text (``.skn``).

Each line is a statement::

    skinny 1
    # y = (a + 2*b)^3
    width 3
    contract clean
    self-check
    settable
    ring fixed:16.11
    start 0 1 0
    state s = R2
    inputs a b
    scale a = 12
    box a = 0:4095
    box b = -1/2:1/2
    named kp = 4/5 in 0:2
    weight w[0] = 2
    weight w[1] = -3/4 derived
    weight w[2] = kp
    weight w[3] = -1/2*kp
    form f[0] = w[0]*a + w[1]*b + w[0]
    form f[1] = w[0]*a + w[2]*R0 + b*R1 + w[1]
    probabilities softmax
    R2 += a*R1
    R0 -= w[0]*R2
    R1 += f[0]*R0
    R2 = -f[1]*R1
    R0 = relu(f[0]*R2)
    emit y = R0
    emit y1 = R2 restart scale 3 approximation 1/1000 sampled
    end

The version line comes first and ``end`` last, so that a file that was cut off is noticed. Comment lines right after
the version line are the title; elsewhere ``#`` starts a comment and blank lines mean nothing. ``contract``,
``self-check`` and ``start`` may be left out (``clean``, none, one in ``R1``). Everything is declared before the first
instruction. ``ring`` and ``box`` are those that the program was compiled for. ``scale`` is an exponent: the input ``a``
enters the program as ``a/2^12``, and what is sent as ``y1``, times ``2^3``, is the result (docs/units.md).
``approximation`` bounds how far the program is from its formula; ``sampled`` says that it was seen, not proven.
``named`` is a weight that can be set within its range without compiling again; the weights that come from it say so.
``state`` names a register that keeps its content from one sample of a stream to the next. A line ``window 8 hop 2``
before ``inputs b a b[t-1] a[t-1] …`` says that the inputs are the newest words of a window (:mod:`.streams`).
``argmax`` is followed by the name of the only result of the program: the number of the output that is the largest;
without it, ``probabilities`` is followed by what the host applies to the results, ``sigmoid`` or ``softmax``.
``settable`` programs may get other weights while a core runs them.

``+=`` and ``-=`` add to a register, ``=`` assigns one. In a form, ``w[2]*R0`` and ``b*R1`` are terms with a register.

The scalars of a program are a table. Written text lists linear forms only; the table that is read back holds every
scalar once, in order of first use. A program whose table differs (an inverse, a segment) gets a line ``table a f[0]
w[0] …`` that restores its own order, so what is written is read back equal, with one exception: a table that lists
one input or one weight twice is read back with the two entries merged.

Text is read without ``eval``. Malformed text is refused with an :exc:`InputError` of one line that begins with the
file's name and the line number.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from fractions import Fraction

import numpy as np
from skinny.model.errors import InputError

from .forms import Input, Linear, Weight
from .program import Mode, Output, Program
from .reader import NAME, NUMBER, REGISTER, VERSION, Reader

__all__ = ["check_names", "dumps", "instruction_texts", "loads", "number_text", "scalar_texts", "weight_texts"]


def dumps(program: Program) -> str:
    """The text form of ``program``."""
    check_names(program)
    lines = [f"skinny {VERSION}"]
    if program.title:
        lines += [f"# {line}".rstrip() for line in program.title.split("\n")]
    lines.append(f"width {program.width}")
    lines.append(f"contract {program.contract}")
    lines += ["self-check"] * program.self_check
    lines += ["settable"] * program.settable
    lines += [f"ring {program.ring}"] * bool(program.ring)
    lines.append(f"start {' '.join(map(str, program.start))}")
    lines += [f"state {name} = R{register}" for name, register in program.state]
    lines += [f"window {program.window} hop {program.hop}"] * bool(program.window)
    if program.inputs:
        lines.append(f"inputs {' '.join(program.inputs)}")
    lines += _unit_lines(program)
    for weight in program.named:
        value, low, high = (number_text(number, f"the weight {weight.name}") for number in weight[1:4])
        lines.append(f"named {weight.name} = {value} in {low}:{high}")
    for k, (text, mark) in enumerate(zip(weight_texts(program), program.derived, strict=True)):
        lines.append(f"weight w[{k}] = {text}{' derived' if mark else ''}")
    scalars = scalar_texts(program)
    for form, scalar in zip(program.forms, scalars, strict=True):
        if isinstance(form, Linear):
            parts = [f"w[{k}]*{program.inputs[u]}" for k, u in form.terms]
            parts += [f"{_factor(program, factor)}*R{register}" for factor, register in form.sums]
            parts += [] if form.bias is None else [f"w[{form.bias}]"]
            lines.append(f"form {scalar} = {' + '.join(parts) or '0'}")
    lines += [f"argmax {program.argmax}"] * bool(program.argmax)
    lines += [f"probabilities {program.probabilities}"] * bool(program.probabilities)
    if not _in_order_of_use(program):
        lines.append(f"table {' '.join(dict.fromkeys(scalars))}")
    done = 0
    for output in (*program.outputs, None):
        end = len(program) if output is None else output.at
        lines += instruction_texts(program, scalars, done, end)
        if output is not None:
            lines.append(_emit_line(output))
        done = end
    lines.append("end\n")
    return "\n".join(lines)


def loads(text: str, name: str = "<text>") -> Program:
    """The program that ``text`` describes; errors begin with ``name`` and the line number."""
    return Reader(text, name).program()


def _unit_lines(program: Program) -> Iterator[str]:
    for name, exponent in zip(program.inputs, program.input_scales, strict=True):
        if exponent:
            yield f"scale {name} = {exponent}"
    for name, side in zip(program.inputs, program.box or (), strict=program.box is not None):
        low, high = (number_text(value, f"the box of {name}") for value in side)
        yield f"box {name} = {low}:{high}"


def _factor(program: Program, factor: Input | Weight) -> str:
    return program.inputs[factor.u] if isinstance(factor, Input) else f"w[{factor.k}]"


def _emit_line(output: Output) -> str:
    line = f"emit {output.name} = R{output.register}{' restart' if output.restart else ''}"
    if output.scale:
        line += f" scale {output.scale}"
    if output.approximation or output.sampled:
        line += f" approximation {number_text(output.approximation, f'the approximation of {output.name}')}"
        line += " sampled" * output.sampled
    return line


def scalar_texts(program: Program) -> list[str]:
    """Every form of the table as instructions name it: an input, ``w[k]``, or ``f[n]`` for the n-th linear form."""
    out = []
    linear = itertools.count()
    for form in program.forms:
        match form:
            case Input(u):
                out.append(program.inputs[u])
            case Weight(k):
                out.append(f"w[{k}]")
            case Linear():
                out.append(f"f[{next(linear)}]")
    return out


def instruction_texts(program: Program, scalars: list[str], first: int, end: int) -> list[str]:
    """The lines for the instructions from ``first`` up to ``end``; ``scalars`` come from :func:`scalar_texts`."""
    tails = [f"*R{r}" for r in range(program.width)]
    columns = (column[first:end].tolist() for column in program.code.arrays())
    return [
        f"R{j} {'+' if sign > 0 else '-'}= {scalars[form]}{tails[i]}"
        if mode == Mode.ADD
        else _assignment(j, f"{'' if sign > 0 else '-'}{scalars[form]}{tails[i]}", mode)
        for j, i, sign, form, mode in zip(*columns, strict=True)
    ]


def _assignment(register: int, product: str, mode: int) -> str:
    return f"R{register} = relu({product})" if mode == Mode.RELU else f"R{register} = {product}"


def check_names(program: Program) -> None:
    """Refuse a name that could not be read back."""
    named = (weight.name for weight in program.named)
    results = (*(output.name for output in program.outputs), *([program.argmax] if program.argmax else ()))
    states = (state.name for state in program.state)
    for given in (*program.samples, *states, *named, *results):
        if not NAME.fullmatch(given):
            raise InputError(f"{given!r} is not a name (letters, digits and _, not beginning with a digit)")
    for given in program.inputs if program.summing else ():
        if REGISTER.fullmatch(given):
            raise InputError(f"the input {given!r} is called like a register, which the forms of the program read")


def weight_texts(program: Program) -> Iterable[str]:
    """The weights as integers and fractions, or as a named weight with its factor, like ``-1/2*kp``."""
    named = {
        k: weight.name if factor == 1 else f"{number_text(factor, f'a factor of {weight.name}')}*{weight.name}"
        for weight in program.named
        for k, factor in weight.words
    }
    for k, value in enumerate(program.weights):
        yield named[k] if k in named else number_text(value, f"weight w[{k}]")


def number_text(value: Fraction, what: str) -> str:
    """``value`` as an integer or a fraction; ``what`` names it in a message."""
    try:
        text = str(value)
    except ValueError:  # the interpreter's guard against quadratic conversions
        text = ""
    if not NUMBER.fullmatch(text):
        raise InputError(f"{what} has too many digits to be written")
    return text


def _in_order_of_use(program: Program) -> bool:
    """Whether :func:`loads` builds this table of forms by itself."""
    used, first = np.unique(program.code.form, return_index=True)
    every = len(used) == len(program.forms) and bool((np.diff(first) > 0).all())
    return every and len({form for form in program.forms if not isinstance(form, Linear)}) == sum(
        not isinstance(form, Linear) for form in program.forms
    )

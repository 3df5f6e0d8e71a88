"""The assembler: a program as memory contents for a core, and back to text.

The attention accumulator is a cache of one form: a form that is still in it is not built again, and one that differs
in few terms is made by adding and taking away single terms. ``len(program) + program.attends()`` words are
instructions, the others emit and check.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .errors import InputError
from .isa import APPLIES, MOST_BATCHES, CoreConfig, Op, Setting, Space, Words
from .program import Input, Linear, Program, Weight
from .text import instruction_texts, scalar_texts

__all__ = ["Image", "Load", "assemble", "disassemble"]


class Load(NamedTuple):
    """One write at the load port."""

    space: Space
    address: int
    data: int


@dataclass(frozen=True, eq=False)
class Image:
    """What a core holds to run a program. ``words``, ``weights`` and ``start`` are hardware words.

    ``vector`` is the number of words of an input vector, ``outputs`` names the results of a run in order.
    ``instructions`` gives for each program word the instruction of the program it serves, -1 for ``check``, and
    ``-2 - n`` for the emit of output ``n``.
    """

    config: CoreConfig
    words: Words
    weights: Words
    start: Words
    vector: int
    outputs: tuple[str, ...]
    instructions: NDArray[np.int64]
    program: Program

    def __len__(self) -> int:
        return len(self.words)

    @property
    def batches(self) -> int:
        """Batches whose results fit the result FIFO together."""
        return min(MOST_BATCHES, self.config.fifo // (self.config.threads * len(self.outputs)))

    @property
    def settings(self) -> dict[Setting, int]:
        return {
            Setting.LAST_WORD: len(self.words) - 1,
            Setting.LAST_INPUT: self.vector - 1,
            Setting.BATCHES: self.batches,
        }

    def loads(self) -> Iterator[Load]:
        """The writes that put the image into a core over its load port."""
        for space, words in (
            (Space.PROGRAM, self.words),
            (Space.WEIGHTS, self.weights),
            (Space.START, self.start),
        ):
            for address, data in enumerate(words.tolist()):
                yield Load(space, address, data)
        for setting, value in self.settings.items():
            yield Load(Space.SETTINGS, int(setting), value)

    def describe(self, address: int) -> str:
        """Word ``address`` for a message: what it does and which statement of the program it serves."""
        text = disassemble(self.words[address : address + 1], self.config)[0]
        number = int(self.instructions[address])
        if number >= 0:
            statement = instruction_texts(self.program, scalar_texts(self.program), number, number + 1)[0]
            return f"word {address} ({text}) of instruction {number}: {statement}"
        if number <= -2:
            return f"word {address} ({text}) of output {self.outputs[-2 - number]}"
        return f"word {address} ({text})"

    def listing(self) -> str:
        """A line a word: address, word in hexadecimal, meaning, statement of the program."""
        digits = (self.config.word_bits + 3) // 4
        scalars = scalar_texts(self.program)
        lines = []
        shown = None
        texts = disassemble(self.words, self.config)
        rows = zip(self.words.tolist(), texts, self.instructions.tolist(), strict=True)
        for address, (word, text, number) in enumerate(rows):
            note = ""
            if number >= 0 and number != shown:
                note = f"{number}: " + instruction_texts(self.program, scalars, number, number + 1)[0]
            elif number <= -2:
                note = self.outputs[-2 - number]
            shown = number
            lines.append(f"{address:6}  {word:0{digits}x}  {text:<24}  {note}".rstrip())
        lines += [f"  w[{k}] = 0x{word:x}" for k, word in enumerate(self.weights.tolist())]
        lines.append("  start " + " ".join(f"0x{word:x}" for word in self.start.tolist()))
        return "\n".join(lines) + "\n"


def assemble(program: Program, config: CoreConfig, self_test: bool = False) -> Image:
    """The image of ``program``. With ``self_test`` it is followed by its inverse and ``check``, so that every run
    proves that no bit was lost. Raises :exc:`InputError` naming what does not fit."""
    _expect_room(program, config)
    if self_test and not config.check:
        raise InputError("a self-test needs a core with the check unit")
    if self_test and program.has_restart:
        raise InputError("a program that restarts between outputs cannot be self-tested; take its parts")
    writer = _Writer(program, config)
    outputs = list(enumerate(program.outputs))
    code = list(zip(*(column.tolist() for column in program.code.arrays()), strict=True))
    for number, (dst, src, sign, form) in enumerate(code):
        while outputs and outputs[0][1].at == number:
            writer.emit(outputs.pop(0)[0], self_test)
        writer.apply(number, dst, src, sign, form)
    for which, _ in outputs:
        writer.emit(which, self_test)
    if self_test:
        for number, (dst, src, sign, form) in reversed(list(enumerate(code))):
            writer.apply(number, dst, src, -sign, form)
        writer.add(-1, Op.CHECK)
    if len(writer.words) > config.depth:
        raise InputError(f"{len(writer.words)} program words do not fit a memory of {config.depth}")
    start = np.zeros(config.width, dtype=config.ring.element_dtype)
    for register, value in enumerate(program.start):
        try:
            start[register] = config.ring.encode(value)
        except InputError as error:
            raise InputError(f"start of register {register}: {error}") from None
    return Image(
        config=config,
        words=np.array(writer.words, dtype=np.uint64),
        weights=config.to_words(program.quantise(config.ring)),
        start=config.to_words(start),
        vector=max(1, len(program.inputs)),
        outputs=tuple(output.name for output in program.outputs),
        instructions=np.array(writer.numbers, dtype=np.int64),
        program=program,
    )


def _expect_room(program: Program, config: CoreConfig) -> None:
    # Before anything is built: a program of 10^7 instructions is refused at once.
    words = program.cycles + len(program.outputs)
    for count, room, what in (
        (program.width, config.width, "registers do not fit the width"),
        (len(program.inputs), config.inputs, "inputs do not fit a memory of"),
        (len(program.weights), config.weights, "weights do not fit a memory of"),
        (words, config.depth, "program words do not fit a memory of"),
        (config.threads * len(program.outputs), config.fifo, "results of a batch do not fit a FIFO of"),
    ):
        if count > room:
            raise InputError(f"{count} {what} {room}")
    if not config.attention and any(isinstance(program.forms[f], Linear) for f in np.unique(program.code.form)):
        raise InputError("the program uses linear forms, but the core has no attention unit")


class _Writer:
    """Words in the making, and the form that the accumulator holds."""

    def __init__(self, program: Program, config: CoreConfig) -> None:
        self.program = program
        self.config = config
        self.words: list[int] = []
        self.numbers: list[int] = []
        self.held: Linear | None = None

    def add(self, number: int, op: Op, **fields: Any) -> None:
        self.words.append(self.config.encode(op, **fields))
        self.numbers.append(number)

    def emit(self, which: int, self_test: bool) -> None:
        output = self.program.outputs[which]
        last = which == len(self.program.outputs) - 1
        restart = output.restart and not self_test
        self.add(-2 - which, Op.EMIT, dst=output.register, flag=restart, neg=last)

    def apply(self, number: int, dst: int, src: int, sign: int, form: int) -> None:
        registers = {"dst": dst, "src": src, "neg": sign < 0}
        match self.program.forms[form]:
            case Input(u):
                self.add(number, Op.APPLY_X, u=u, **registers)
            case Weight(k):
                self.add(number, Op.APPLY_W, k=k, **registers)
            case Linear() as linear:
                self.hold(number, linear)
                self.add(number, Op.APPLY_S, flag=not linear.terms and linear.bias is None, **registers)

    def hold(self, number: int, wanted: Linear) -> None:
        """Make the accumulator hold ``wanted`` in as few steps as :func:`~.program.attention_cost` counts."""
        new = _steps(wanted)
        anew = sum(new.values())
        held = None if self.held is None else _steps(self.held)
        if held is None or anew <= sum(((new - held) + (held - new)).values()):
            for at, (k, u) in enumerate(new.elements()):
                self.attend(number, k, u, flag=at == 0)
        else:
            for k, u in (held - new).elements():
                self.attend(number, k, u, neg=1)
            for k, u in (new - held).elements():
                self.attend(number, k, u)
        self.held = wanted

    def attend(self, number: int, k: int, u: int, **marks: int) -> None:
        if u < 0:
            self.add(number, Op.BIAS, k=k, **marks)
        else:
            self.add(number, Op.ATTEND, k=k, u=u, **marks)


def _steps(form: Linear) -> Counter[tuple[int, int]]:
    """The terms as ``(k, u)``, the bias as ``(k, -1)``; one that is listed twice counts twice."""
    return Counter([*form.terms, *([] if form.bias is None else [(form.bias, -1)])])


def disassemble(words: Any, config: CoreConfig) -> list[str]:
    """Program words as text, a line each; what means nothing is shown as a number."""
    columns = config.decode(words)
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    texts = []
    for word, bad, row in zip(np.asarray(words).tolist(), config.malformed(words).tolist(), rows, strict=True):
        texts.append(f"malformed 0x{word:x}" if bad else _text(dict(zip(columns, row, strict=True))))
    return texts


def _text(f: dict[str, int]) -> str:
    sign = "-" if f["neg"] else "+"
    op = f["op"]
    if op in APPLIES:
        scalar = {Op.APPLY_X: f"x[{f['u']}]", Op.APPLY_W: f"w[{f['k']}]", Op.APPLY_S: "0" if f["flag"] else "S"}[Op(op)]
        return f"R{f['dst']} {sign}= {scalar}*R{f['src']}"
    if op == Op.EMIT:
        return f"emit R{f['dst']}{' restart' * f['flag']}{' last' * f['neg']}"
    if op == Op.CHECK:
        return "check"
    term = f"w[{f['k']}]" + (f"*x[{f['u']}]" if op == Op.ATTEND else "")
    return f"S = {'-' * f['neg']}{term}" if f["flag"] else f"S {sign}= {term}"

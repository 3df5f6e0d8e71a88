"""The assembler: a program as memory contents for a core, and back to text.

The attention accumulator is a cache of one form: a form that is still in it is not built again, and one that differs
in few terms is made by adding and taking away single terms. ``len(program) + program.attends()`` words are
instructions, the others emit and check.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from skinny.model.errors import InputError
from skinny.model.program.forms import Accumulator, Input, Linear, Step, Weight
from skinny.model.program.program import Columns, Mode, Program
from skinny.model.program.start import starting_adds
from skinny.model.program.text import instruction_texts, scalar_texts
from skinny.model.rings import Array, Ring
from skinny.model.run.golden import run
from skinny.model.run.stream import run_stream

from . import cycles
from .deep import assigned_registers, deep_code
from .image import NO_WAITS, Waits, Write
from .isa import (
    ATTENDS,
    LEAST_REPEAT_THREADS,
    MOST_BATCHES,
    MOST_WEIGHTS,
    MOST_WORDS,
    ONE,
    CoreConfig,
    Op,
    Sending,
    Setting,
    Space,
    Words,
    all_weights,
    fifo_size,
    flat_words,
    lacks_zero,
    memory_size,
    starts,
    zero_weight,
)
from .repeat import Trace, body_ends, loop_text, loop_words, unroll
from .rolling import Layout, roll_words
from .streams import padding

__all__ = ["Image", "assemble", "disassemble", "fit_image"]


Code = list[tuple[int, int, int, int, int]]


@dataclass(frozen=True, eq=False)
class Image:
    """What a core holds to run a program: a :class:`~.image.MachineImage` of one lane. ``words``, ``weights`` and
    ``start`` are hardware words.

    ``vector`` is the number of words of an input vector, ``window`` that of the window, if the program has one, of
    which a vector is the newest part. ``outputs`` names the results of a run in order.
    ``instructions`` gives for each program word the instruction of the program it serves, -1 for ``check`` and the
    status word, and ``-2 - n`` for the emit of output ``n``. ``self_check``: every run undoes itself, checks, and sends
    a status word after its outputs (register 0 of the start vector, or zero with registers in memory; ``fault`` set
    when the check failed). ``state`` are the registers that keep their contents from one run of a thread to the next.
    ``sources`` gives for each word of ``weights`` the weight of the program that it holds: a
    rolled program may have copies. The number of the zero that a program lacks is that after its last weight.
    """

    config: CoreConfig
    words: Words
    weights: Words
    start: Words
    vector: int
    outputs: tuple[str, ...]
    instructions: NDArray[np.int64]
    program: Program
    self_check: bool = False
    state: tuple[int, ...] = ()
    window: int = 0
    sources: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.words)

    @cached_property
    def _trace(self) -> Trace:
        return unroll(self.words, self.config)

    @property
    def issued(self) -> Words:
        """The words that a run issues, as they are executed."""
        return self._trace.words

    @property
    def addresses(self) -> NDArray[np.int64]:
        """The addresses of the words that a run issues."""
        return self._trace.addresses

    @property
    def steps(self) -> int:
        """The number of words that a run issues."""
        return len(self.addresses)

    @property
    def rolled(self) -> bool:
        """Whether the words have loops."""
        return self.steps != len(self)

    @property
    def hardware(self) -> CoreConfig:
        """The size of the core that the image is made for."""
        return self.config

    @property
    def lanes(self) -> tuple[Image, ...]:
        """The images of all cores: this one."""
        return (self,)

    @property
    def batch(self) -> int:
        """Vectors of a full batch."""
        return self.config.threads

    @property
    def emits(self) -> int:
        """Result words of a run: its outputs and, with a self-check, the status."""
        return len(self.outputs) + self.self_check

    @property
    def batches(self) -> int:
        """Batches whose results fit the result FIFO together."""
        return min(MOST_BATCHES, self.config.fifo // (self.config.threads * self.emits))

    @property
    def reads(self) -> int:
        """The words that a run may read: a vector or, in a core with a window, the newest words of its thread."""
        return self.window or self.vector

    @property
    def fill(self) -> int:
        """The words that a thread must have got before its first run: a window or, without one, no more than a
        vector, as the core wants a power of two."""
        return self.window or 1 << self.vector.bit_length() - 1

    @property
    def silent_vectors(self) -> int:
        """The vectors of all threads that fill their windows and do not run."""
        return padding(self.program) * self.config.threads

    @property
    def settings(self) -> dict[Setting, int]:
        found = {
            Setting.LAST_WORD: len(self.words) - 1,
            Setting.LAST_INPUT: self.vector - 1,
            Setting.BATCHES: self.batches,
        }
        if self.config.marks_state:
            found[Setting.STATE] = sum(1 << register for register in self.state)
        if self.config.window:
            found[Setting.WINDOW] = self.fill
        return found

    @property
    def state_start(self) -> Words:
        """The words with which the states of a stream begin."""
        elements = [_started(self.program, self.config, register) for register in self.state]
        return self.config.to_words(np.array(elements, dtype=self.config.ring.element_dtype))

    @property
    def status(self) -> int:
        """The status word of a run that lost nothing."""
        return int(self.start[0]) if self.config.starts else 0

    @property
    def emit_steps(self) -> NDArray[np.int64]:
        """The steps that send a result."""
        fields = self.config.decode(self.issued)
        kept = np.isin(fields["src"] & 3, (Sending.COMPARE, Sending.ZERO)) & bool(self.config.argmax)
        return np.flatnonzero((fields["op"] == Op.EMIT) & ~kept)

    def reassemble(self, program: Program) -> Image:
        return assemble(program, self.config)

    def golden(self, elements: Array) -> Array:
        if self.program.streaming:
            return run_stream(self.program, self.config.ring, elements).outputs
        return run(self.program, self.config.ring, elements).outputs

    def timetable(self, sizes: Sequence[int], waits: Waits = NO_WAITS) -> cycles.Timetable:
        return cycles.timetable(self, sizes, waits)

    def predict(self, vectors: Words, sizes: Sequence[int], waits: Waits = NO_WAITS) -> cycles.Prediction:
        return cycles.predict(self, vectors, self.timetable(sizes, waits), sizes, waits.tunes)

    def settable_weights(self) -> Iterator[Write]:
        """The writes of the weights that may change, sorted by address: all that a program with others needs."""
        settable = self.program.settable_weights
        for address, k in enumerate(self.sources):
            if k in settable:
                yield Write(Space.WEIGHTS, address, int(self.weights[address]))

    def loads(self) -> Iterator[Write]:
        """The writes that put the image into a core over its load port."""
        for space, words in (
            (Space.PROGRAM, self.words.tolist()),
            # Words that name no weight read the first one, and the guard judges what they read.
            (Space.WEIGHTS, self.weights.tolist() or [0]),
            (Space.START, self.start.tolist()),
        ):
            for address, data in enumerate(words):
                yield Write(space, address, data)
        for setting, value in self.settings.items():
            yield Write(Space.SETTINGS, int(setting), value)

    def describe(self, address: int) -> str:
        """Word ``address`` for a message: what it does and which statement of the program it serves."""
        text = disassemble(self.words[address : address + 1], self.config)[0]
        number = int(self.instructions[address])
        if number >= 0:
            statement = instruction_texts(self.program, scalar_texts(self.program), number, number + 1)[0]
            return f"word {address} ({text}) of instruction {number}: {statement}"
        if number <= -2:
            return f"word {address} ({text}) of output {self.program.outputs[-2 - number].name}"
        return f"word {address} ({text})"

    def listing(self) -> str:
        """A line a word: address, word in hexadecimal, meaning, statement of the program. The body of a loop is moved
        to the right, and its repeat says where it ends."""
        digits = (self.config.word_bits + 3) // 4
        scalars = scalar_texts(self.program)
        lines = []
        shown = None
        # Each word as its first step executes it, so that fields are true and not what the offsets leave to store.
        first = np.unique(self.addresses, return_index=True)[1]
        texts = [
            stored if is_loop else shown
            for stored, shown, is_loop in zip(
                disassemble(self.words, self.config),
                disassemble(self.issued[first], self.config),
                loop_words(self.config, self.words).tolist(),
                strict=True,
            )
        ]
        ends = body_ends(self.config, self.words) if self.rolled else {}
        bodies: list[int] = []
        rows = zip(self.words.tolist(), texts, self.instructions.tolist(), strict=True)
        for address, (word, text, number) in enumerate(rows):
            bodies = [end for end in bodies if end >= address]
            text = "  " * len(bodies) + text
            if address in ends:
                text = f"{text.rpartition(' ')[0]} {ends[address]}"
                bodies.append(ends[address])
            note = ""
            if number >= 0 and number != shown:
                note = f"{number}: " + instruction_texts(self.program, scalars, number, number + 1)[0]
            elif number <= -2:
                note = self.program.outputs[-2 - number].name
            shown = number
            lines.append(f"{address:6}  {word:0{digits}x}  {text:<24}  {note}".rstrip())
        lines += [f"  w[{k}] = 0x{word:x}" for k, word in enumerate(self.weights.tolist())]
        if self.config.starts:
            lines.append("  start " + " ".join(f"0x{word:x}" for word in self.start.tolist()))
        return "\n".join(lines) + "\n"


def fit_image(
    program: Program, ring: Ring, *, self_check: bool = False, roll: bool | None = None, **given: Any
) -> Image:
    """The image of ``program`` for the smallest core that holds it (:meth:`CoreConfig.fit`), with what is ``given``.
    The core of a self-check has the guard, unless ``guard=False`` is given. With ``roll`` the program is rolled, and
    the core repeats as far as that needs; None rolls a program that does not fit the ``depth`` that is given, if
    the core may have loops."""
    flat_fits = program.words + program.emits <= given.get("depth", MOST_WORDS)
    if self_check and roll is None and flat_fits and "depth" in given:
        flat = assemble(program, _fit_checked(program, ring, given | {"depth": MOST_WORDS}), True, roll=False)
        flat_fits = len(flat) <= given["depth"]
    may_roll = given.get("repeat") != 0 and given.get("threads", LEAST_REPEAT_THREADS) >= LEAST_REPEAT_THREADS
    if roll or (roll is None and not flat_fits and may_roll):
        return _fit_rolled(program, ring, self_check, given)
    if not self_check:
        return assemble(program, CoreConfig.fit(program, ring, **given), roll=roll)
    config = _fit_checked(program, ring, {"depth": MOST_WORDS} | given)
    image = assemble(program, config, self_check=True, roll=roll)
    if "depth" in given:
        return image
    return replace(image, config=replace(config, depth=memory_size(len(image))))


def _fit_checked(program: Program, ring: Ring, given: dict[str, Any]) -> CoreConfig:
    """The core of a program with a self-check."""
    config = CoreConfig.fit(program, ring, **({"guard": True} | given))
    if "fifo" in given:
        return config
    return replace(config, fifo=fifo_size(config.threads * (len(program.results) + 1)))


def _fit_rolled(program: Program, ring: Ring, self_check: bool, given: dict[str, Any]) -> Image:
    """The shortest rolled image, with one level where a second one saves nothing, and with copies of weights only where
    they make it shorter."""
    images = []
    for repeat in (given["repeat"],) if "repeat" in given else (1, 2):
        sized = given | {"depth": MOST_WORDS, "repeat": repeat}
        config = _fit_checked(program, ring, sized) if self_check else CoreConfig.fit(program, ring, **sized)
        flat = assemble(program, config, self_check, roll=False)
        room = {config.weights} if "weights" in given else {config.weights, max(config.weights, _copies(flat))}
        for weights in sorted(room):
            if weights <= MOST_WEIGHTS:
                images.append(assemble(program, replace(config, weights=weights), self_check, roll=True))
    image = min(images, key=len)
    depth = given.get("depth", memory_size(len(image)))
    if len(image) > depth:
        rolled = ", rolled," if image.rolled else ""
        raise InputError(f"{len(image)} program words{rolled} do not fit a memory of {depth}")
    return replace(image, config=replace(image.config, depth=depth))


def _copies(image: Image) -> int:
    """The words of a weight memory that has a weight for each word of a flat image that takes one, and all others."""
    fields = image.config.decode(image.words)
    takes = np.isin(fields["op"], (Op.APPLY_W, *ATTENDS))
    return memory_size(int(takes.sum()) + len(set(image.sources) - set(fields["k"][takes].tolist())))


def assemble(program: Program, config: CoreConfig, self_check: bool = False, roll: bool | None = None) -> Image:
    """The image of ``program``. With ``self_check`` its inverse follows, ``check`` and the status word, so that every
    run proves that no bit was lost; a program that restarts is undone and checked before each restart. With ``roll``
    what repeats becomes loops, without it nothing does; None rolls a program that does not fit flat, where the core
    repeats. Raises :exc:`InputError` naming what does not fit."""
    if roll and not config.repeat:
        raise InputError("the program shall be rolled, but the core does not repeat")
    _expect_room(program, config, self_check, MOST_WORDS if config.repeat and roll is not False else config.depth)
    if self_check and not config.check:
        raise InputError("a self-check needs a core with the check unit")
    if program.window and not config.window:
        raise InputError(f"the program has a window of {program.window} words, but the core has none")
    if program.state and not config.state:
        raise InputError(f"the program has the state {program.state[0].name}, but the core keeps none")
    writer = _Writer(program, config)
    columns = _code(program, config, self_check)
    code = list(zip(*(column.tolist() for column in columns.arrays()), strict=True))
    if config.deep:
        writer.begin_streams()
    begin = end = 0
    for which, output in enumerate(program.outputs):
        final = which == len(program.outputs) - 1
        writer.apply_all(code, range(end, output.at))
        end = output.at
        writer.emit(which, restart=output.restart and not (self_check or config.deep), last=final and not self_check)
        if self_check and output.restart and not final:
            writer.undo(code, range(begin, end))
            begin = end
    writer.apply_all(code, range(end, len(code)))
    if self_check:
        writer.undo(code, range(begin, len(code)))
        writer.add(-1, Op.EMIT, dst=assigned_registers(columns)[0] if config.deep else 0, neg=1)
    elements = writer.weights()
    flat = Layout(np.array(writer.words, dtype=np.uint64), np.array(writer.numbers), tuple(range(len(elements))))
    rolls = config.repeat and (roll or (roll is None and len(flat.words) > config.depth))
    laid = roll_words(flat, config) if rolls else flat
    if len(laid.words) > config.depth:
        raise InputError(f"{len(laid.words)} program words do not fit a memory of {config.depth}")
    return Image(
        config=config,
        words=laid.words,
        weights=config.to_words(elements[list(laid.sources)]),
        start=config.to_words(_start(program, config)),
        vector=max(1, len(program.samples)),
        outputs=program.results,
        instructions=laid.numbers,
        program=program,
        self_check=self_check,
        state=tuple(register for _, register in program.state),
        window=program.window,
        sources=laid.sources,
    )


def _expect_room(program: Program, config: CoreConfig, self_check: bool, depth: int) -> None:
    # Before anything is built: a program of 10^7 instructions is refused at once.
    words = flat_words(program, config.deep)
    weights = all_weights(program, config.assign, config.deep)
    for count, room, what in (
        (program.width, config.width, "registers do not fit the width"),
        (max(len(program.inputs), program.window), config.inputs, "inputs do not fit a memory of"),
        (weights, config.weights, "weights do not fit a memory of"),
        (words, depth, "program words do not fit a memory of"),
        (config.threads * (len(program.results) + self_check), config.fifo, "results of a batch do not fit a FIFO of"),
        (program.emits if program.argmax else 0, config.argmax, "outputs do not fit an argmax of"),
    ):
        if count > room:
            raise InputError(f"{count} {what} {room}")
    mode, form = program.code.mode, program.code.form
    for wanted, unit, what in (
        (mode != Mode.ADD, config.assign, "assigns"),
        (mode == Mode.RELU, config.relu, "takes the relu"),
        (np.isin(form, program.summing), config.sums, "multiplies with a sum of registers"),
    ):
        if not unit and wanted.any():
            raise InputError(f"instruction {int(np.argmax(wanted))} {what}, but the core has no unit for that")
    if not config.attention and any(isinstance(program.forms[f], Linear) for f in np.unique(program.code.form)):
        raise InputError("the program uses linear forms, but the core has no attention unit")


def _code(program: Program, config: CoreConfig, self_check: bool) -> Columns:
    """The instructions of ``program``. A self-check undoes them, so that they must be reversible, and the assigns that
    a run begins with become adds; for registers in memory the first add to each register is an assign."""
    code = program.code
    if self_check:
        program.expect_reversible("a self-check needs")
        code = starting_adds(program)
    return deep_code(program, code) if config.deep else code


def _start(program: Program, config: CoreConfig) -> Array:
    """The elements of the start vector; registers in memory have none."""
    start = np.zeros(config.starts, dtype=config.ring.element_dtype)
    for register in range(len(program.start) if config.starts else 0):
        start[register] = _started(program, config, register)
    return start


def _started(program: Program, config: CoreConfig, register: int) -> Any:
    """The element with which a register begins."""
    try:
        return config.ring.encode(program.start[register])
    except InputError as error:
        raise InputError(f"start of register {register}: {error}") from None


class _Writer:
    """Words in the making, and the form that the accumulator holds."""

    def __init__(self, program: Program, config: CoreConfig) -> None:
        self.program = program
        self.config = config
        self.words: list[int] = []
        self.numbers: list[int] = []
        self.accumulator = Accumulator()

    def weights(self) -> Array:
        """The elements of the weights; behind them a zero where the program needs one, and with registers in memory
        what states begin with."""
        elements = self.program.quantise(self.config.ring)
        more = [self.config.ring.embed(0)] if self.config.assign and lacks_zero(self.program) else []
        if self.config.deep:
            first = {self.program.start[register]: register for _, register in self.program.state}
            more += [_started(self.program, self.config, first[value]) for value in starts(self.program)]
        return np.append(elements, np.array(more, dtype=elements.dtype)) if more else elements

    def begin_streams(self) -> None:
        """The words with which the states of a stream take what they begin with."""
        values = starts(self.program)
        before = len(self.program.weights) + lacks_zero(self.program)
        for _, register in self.program.state:
            k = before + values.index(self.program.start[register])
            self.add(-1, Op.BEGIN, dst=register, src=ONE, k=k, flag=True)

    def place(self, u: int) -> int:
        """The field of input ``u``. In a core with a window it is the newest word that has number zero, so the words of
        a vector are numbered from its end."""
        if self.config.window and not self.program.window:
            u = len(self.program.inputs) - 1 - u
        return self.config.input_field(u)

    def add(self, number: int, op: Op, **fields: Any) -> None:
        self.words.append(self.config.encode(op, **fields))
        self.numbers.append(number)

    def emit(self, which: int, restart: bool, last: bool) -> None:
        register = self.program.outputs[which].register
        sending = Sending.SEND
        if self.program.argmax:
            if len(self.program.outputs) == 1:
                self.add(-2 - which, Op.EMIT, dst=register, src=Sending.ZERO)
            sending = Sending.DECIDE if which == len(self.program.outputs) - 1 else Sending.COMPARE
        self.add(-2 - which, Op.EMIT, dst=register, flag=restart, neg=last, src=sending)
        if restart:
            self.accumulator.restart()

    def apply_all(self, code: Code, numbers: range) -> None:
        for number in numbers:
            self.apply(number, *code[number])

    def undo(self, code: Code, numbers: range) -> None:
        """The inverse of some instructions, then ``check``, with registers in memory for each that was written. The
        accumulator is built anew: an error in it would otherwise be undone by itself."""
        self.accumulator = Accumulator()
        for number in reversed(numbers):
            dst, src, sign, form, _ = code[number]
            self.apply(number, dst, src, -sign, form, Mode.ADD)
        for register in dict.fromkeys(code[number][0] for number in numbers) if self.config.deep else (0,):
            self.add(-1, Op.CHECK, dst=register)

    def apply(self, number: int, dst: int, src: int, sign: int, form: int, mode: int) -> None:
        fields = {"dst": dst, "src": src, "neg": sign < 0}
        if mode != Mode.ADD:
            fields["flag"] = True
        if mode == Mode.RELU:
            fields["relu"] = True
        match self.program.forms[form]:
            case Input(u):
                self.add(number, Op.APPLY_X, u=self.place(u), **fields)
            case Weight(k):
                self.add(number, Op.APPLY_W, k=k, **fields)
            case Linear() as linear:
                self.hold(number, linear)
                if linear.steps():
                    self.add(number, Op.APPLY_S, **fields)
                elif self.config.assign:
                    self.add(number, Op.APPLY_W, k=zero_weight(self.program), **fields)
                else:
                    self.add(number, Op.APPLY_S, flag=True, **fields)
        self.accumulator.write(dst)

    def hold(self, number: int, wanted: Linear) -> None:
        """Make the accumulator hold ``wanted`` in the steps that ``attention_cost`` counts: the form is built anew when
        it counts all of its steps, otherwise single terms are taken away and added."""
        new = wanted.steps()
        held = self.accumulator.held
        if self.accumulator.hold(wanted) == new.total() or held is None:
            steps = list(new.elements())
            # A loop over the terms needs another word than one of them to start afresh with.
            if self.config.repeat and wanted.bias is not None:
                steps = [steps[-1], *steps[:-1]]
            for at, step in enumerate(steps):
                self.attend(number, step, flag=at == 0)
        else:
            old = held.steps()
            for step in (old - new).elements():
                self.attend(number, step, neg=1)
            for step in (new - old).elements():
                self.attend(number, step)

    def attend(self, number: int, step: Step, **marks: int) -> None:
        accumulator, deep = self.config.accumulator, self.config.deep
        match step:
            case (Input(u), register):
                self.add(number, Op.APPLY_X, u=self.place(u), dst=accumulator, src=register, **marks)
            case (Weight(k), register):
                self.add(number, Op.APPLY_W, k=k, dst=accumulator, src=register, **marks)
            case (int(k), -1) if deep:
                self.add(number, Op.APPLY_W, k=k, dst=accumulator, src=ONE, **marks)
            case (int(k), -1):
                self.add(number, Op.BIAS, k=k, **marks)
            case (int(k), u):
                self.add(number, Op.ATTEND, k=k, u=self.place(u), **({"dst": accumulator} if deep else {}), **marks)


def disassemble(words: Any, config: CoreConfig) -> list[str]:
    """Program words as text, a line each; what means nothing is shown as a number."""
    columns = config.decode(words)
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    texts = []
    for word, bad, row in zip(np.asarray(words).tolist(), config.malformed(words).tolist(), rows, strict=True):
        fields = dict(zip(columns, row, strict=True))
        if bad:
            texts.append(f"malformed 0x{word:x}")
        else:
            texts.append(_text(fields, config) if fields["op"] else loop_text(word, fields, config))
    return texts


def _text(f: dict[str, int], config: CoreConfig) -> str:
    op, u = f["op"], config.input_field(f["u"])
    if op == Op.EMIT:
        sending = Sending(f["src"] & 3) if config.argmax else Sending.SEND
        what = "0" if sending == Sending.ZERO else f"R{f['dst']}"
        verb = {Sending.SEND: "emit", Sending.DECIDE: "decide"}.get(sending, "compare")
        return f"{verb} {what}{' restart' * f['flag']}{' last' * f['neg']}"
    if op == Op.CHECK:
        return f"check R{f['dst']} = {f['flag']}" if config.deep else "check"
    attends = op in ATTENDS and op not in config.begins
    target = "S" if attends or f["dst"] == config.accumulator else f"R{f['dst']}"
    fresh = f["flag"] and (target == "S" or config.assign)
    if not attends:
        held = "S" if config.assign or not f["flag"] else "0"
        scalar = {Op.APPLY_X: f"x[{u}]", Op.APPLY_S: held}.get(Op(op), f"w[{f['k']}]")
        product = f"{scalar}*R{f['src']}"
    else:
        product = f"w[{f['k']}]" + (f"*x[{u}]" if op == Op.ATTEND else "")
    product += " in the first run" * (op in config.begins)
    if not fresh:
        return f"{target} {'-' if f['neg'] else '+'}= {product}"
    product = f"{'-' * f['neg']}{product}"
    return f"{target} = relu({product})" if f.get("relu") and target != "S" else f"{target} = {product}"

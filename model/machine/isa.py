"""The instruction set of the core: what a configuration can hold, and the only definition of a program word.

``hdl`` builds its layouts from :attr:`CoreConfig.fields`, the assembler and the cycle model encode and decode with it.
A *hardware word* is an element as unsigned bits: two's complement for signed rings, the residue for prime fields,
and for ``Boolean`` one inference a bit (``slices`` of them).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from skinny.model.errors import InputError
from skinny.model.program.forms import Linear
from skinny.model.program.program import MOST_WIDTH, Mode, Program
from skinny.model.rings import Array, Boolean, FixedPoint, Modular, PrimeField, Ring

from .deep import runs_in_memory

__all__ = [
    "CoreConfig",
    "Op",
    "Sending",
    "Setting",
    "Space",
    "Words",
    "all_weights",
    "fifo_size",
    "flat_words",
    "index_bits",
    "lacks_zero",
    "memory_size",
    "starts",
    "zero_weight",
]

Words = NDArray[np.uint64]

#: The most batches whose results the core lets wait: the width of its counter.
MOST_BATCHES = 7
#: The most words of a program.
MOST_WORDS = 1 << 20
#: The most weights.
MOST_WEIGHTS = 1 << 16
#: The best word of a thread is read, compared and written before the thread sends its next one.
LEAST_ARGMAX_THREADS = 4
#: A loop takes effect between two words of a thread, which are read from memory meanwhile.
LEAST_REPEAT_THREADS = 4
#: What a word that repeats holds besides its operation: end of the body, rounds, level (:mod:`.repeat`).
REPEAT_BITS = 18
#: The most registers in flip-flops.
MOST_FLIPFLOPS = 16
#: The register that reads as one in a core with registers in memory. As a destination it stands for the accumulator.
ONE = 1
#: Threads of a core with registers in memory, and its pipeline, unless something else is asked for.
DEEP_THREADS, PIPELINE = 8, 7


class Op(IntEnum):
    """Operations. Zero means nothing, so that empty memory raises ``fault``; with the repeat unit ``neg`` marks a step
    and ``flag`` a repeat (:mod:`.repeat`)."""

    NONE = 0
    #: ``R[dst] <- R[dst] ± x[u]·R[src]``; with ``flag``, and the unit for it, ``R[dst] <- ± x[u]·R[src]``
    APPLY_X = 1
    #: ``R[dst] <- R[dst] ± w[k]·R[src]``; with ``flag``, and the unit for it, ``R[dst] <- ± w[k]·R[src]``
    APPLY_W = 2
    #: ``R[dst] <- R[dst] ± S·R[src]``; with ``flag`` ``R[dst] <- ± S·R[src]``, or without the unit for it the scalar is
    #: zero (the empty form)
    APPLY_S = 3
    #: ``S <- S ± w[k]·x[u]``; with ``flag`` ``S <- ± w[k]·x[u]``
    ATTEND = 4
    #: ``S <- S ± w[k]``; with ``flag`` ``S <- ± w[k]``
    BIAS = 5
    #: the same number in a core with registers in memory: if it keeps state, what ``APPLY_W`` does, but only in the
    #: first run of a stream
    BEGIN = 5
    #: send ``R[dst]``; with ``flag`` the registers then take the start vector; ``neg`` marks the program's last output
    EMIT = 6
    #: fault unless every register equals the start vector; with registers in memory, unless ``R[dst]`` is zero, or one
    #: with ``flag``
    CHECK = 7


#: Where the registers of a core can be.
REGISTERS = ("flipflops", "memory")

APPLIES = (Op.APPLY_X, Op.APPLY_W, Op.APPLY_S)
ATTENDS = (Op.ATTEND, Op.BIAS)
#: Applies whose destination may be the accumulator, where the core has sums of registers.
SUMS = (Op.APPLY_X, Op.APPLY_W)


class Sending(IntEnum):
    """What becomes of the word of an ``EMIT`` in a core with argmax: its field ``src``."""

    #: it is sent
    SEND = 0
    #: it is compared with the largest of the words that were compared before in this run
    COMPARE = 1
    #: zero is compared in its place
    ZERO = 2
    #: it is compared, and the number of the largest is sent
    DECIDE = 3


class Space(IntEnum):
    """What the load port writes to."""

    PROGRAM = 0
    WEIGHTS = 1
    START = 2
    SETTINGS = 3


class Setting(IntEnum):
    """Addresses in ``Space.SETTINGS``."""

    #: program words, less one
    LAST_WORD = 0
    #: words of an input vector, less one
    LAST_INPUT = 1
    #: batches whose results fit the result FIFO
    BATCHES = 2
    #: a bit for each register that keeps its content from one run of a thread to the next; only in a core with state
    #: and registers in flip-flops
    STATE = 3
    #: words that a thread must have got before its first run, a power of two; only in a core with a window
    WINDOW = 4


def index_bits(count: int) -> int:
    """Bits of an index below ``count``; at least one, so that every field exists."""
    return max(1, (count - 1).bit_length())


def memory_size(count: int) -> int:
    """The words of the smallest memory that holds ``count``: a power of two, and at least two words."""
    return 1 << index_bits(count)


@dataclass(frozen=True)
class CoreConfig:
    """The size of a core.

    ``width`` registers, ``threads`` inferences in flight, ``depth`` program words, ``inputs`` words a vector at most,
    ``weights`` at most, ``fifo`` result words (a power of two), ``slices`` inferences a word of the Boolean ring.
    ``attention`` and ``check`` say whether those units exist; without them their operations are unknown. ``guard``:
    upsets of memories and of control raise ``fault`` (``docs/faults.md``).

    What pure programs do not need: ``assign``, ``sums`` of registers (they are built in the accumulator of the
    attention unit), ``relu`` of what is assigned, and ``argmax``, the number of outputs of which the largest can be
    found (0: none).

    ``state``: registers may keep their contents from one run of a thread to the next, which makes a thread a stream.
    ``window``: inputs are the last words of a thread, the newest first, and a vector brings a few more of them.

    ``registers`` are ``flipflops``, or in a ``memory``, where there are up to 1,024 of them: register 1 then reads as
    one and is never written, the others hold nothing until they are assigned. Such a core always assigns and, with
    attention, has sums of registers. Its instructions retire ``pipeline`` cycles after they are issued, and it has at
    least ``pipeline - 1`` threads; with flip-flops ``pipeline`` means nothing.

    ``repeat`` are the levels of loops that the core runs: 0, none; 1, loops that move ``u`` and ``k``; 2, loops in
    loops that move ``dst`` and ``src``, too.
    """

    ring: Ring
    width: int = 3
    threads: int = 4
    depth: int = 1024
    inputs: int = 64
    weights: int = 256
    attention: bool = True
    check: bool = True
    fifo: int = 64
    slices: int = 32
    guard: bool = False
    assign: bool = False
    sums: bool = False
    relu: bool = False
    argmax: int = 0
    registers: str = "flipflops"
    pipeline: int = PIPELINE
    state: bool = False
    window: bool = False
    repeat: int = 0

    def __post_init__(self) -> None:
        ring = self.ring
        if self.registers not in REGISTERS:
            raise InputError(f"registers must be in {' or '.join(REGISTERS)}, not {self.registers!r}")
        if self.deep:
            object.__setattr__(self, "assign", True)
            object.__setattr__(self, "sums", self.attention)
        if not isinstance(ring, Modular | FixedPoint | PrimeField | Boolean):
            raise InputError(f"there is no hardware for the ring {ring!r}")
        if ring.bits > 32:
            raise InputError(f"a word of the core must be at most 32 bits, not {ring.bits}")
        for what, given, least, most in (
            ("width", self.width, 3, MOST_WIDTH if self.deep else MOST_FLIPFLOPS),
            ("pipeline", self.pipeline, 6, 11),
            ("number of threads", self.threads, self.pipeline - 1 if self.deep else 1, 16),
            ("program depth", self.depth, 2, MOST_WORDS),
            ("number of inputs", self.inputs, 1, 1 << 16),
            ("number of weights", self.weights, 1, MOST_WEIGHTS),
            ("depth of the result FIFO", self.fifo, 2, 1 << 16),
            ("number of slices", self.slices, 1, 64),
            ("number of outputs of argmax", self.argmax, 0, 1 << 16),
            ("number of levels that repeat", self.repeat, 0, 2),
        ):
            if not isinstance(given, int) or not least <= given <= most:
                raise InputError(f"the {what} must be {least} to {most}, not {given!r}")
        if self.fifo & (self.fifo - 1):
            raise InputError(f"the depth of the result FIFO must be a power of two, not {self.fifo}")
        if self.fifo < self.threads:
            raise InputError(f"a result FIFO of {self.fifo} words cannot hold one output of {self.threads} threads")
        for wanted, missing, message in (
            (self.sums, not self.attention, "sums of registers need the attention unit"),
            (self.relu, not self.assign, "relu needs the unit that assigns"),
            (self.relu or self.argmax, not ring.signed, f"relu and argmax need a ring with signs, not {ring.name}"),
            (self.argmax, self.threads < LEAST_ARGMAX_THREADS, f"argmax needs {LEAST_ARGMAX_THREADS} threads or more"),
            (self.repeat, self.threads < LEAST_REPEAT_THREADS, f"repeat needs {LEAST_REPEAT_THREADS} threads or more"),
            (self.pipeline != PIPELINE, not self.deep, f"a pipeline of {self.pipeline} needs registers in memory"),
            (
                self.window,
                self.inputs != memory_size(self.inputs),
                f"a window needs a number of inputs that is a power of two from 2 on, not {self.inputs}",
            ),
            (self.deep, not self._has_one, f"registers in memory need a ring that has one, not {ring.name}"),
            (self.argmax, index_bits(self.argmax) >= self.bits, f"{self.argmax} outputs have no number in {ring.name}"),
        ):
            if wanted and missing:
                raise InputError(message)

    @property
    def deep(self) -> bool:
        """Whether the registers are in memory."""
        return self.registers == "memory"

    @property
    def _has_one(self) -> bool:
        return not isinstance(self.ring, FixedPoint) or self.ring.frac < self.ring.bits - 1

    @property
    def accumulator(self) -> int:
        """The number that stands for the accumulator as a destination."""
        return ONE if self.deep else self.width

    @property
    def starts(self) -> int:
        """Words of the start vector that the core holds: registers in memory have none."""
        return 0 if self.deep else self.width

    @property
    def streams(self) -> bool:
        """Whether threads keep something from one run to the next, until they begin anew."""
        return self.state or self.window

    @property
    def window_bits(self) -> int:
        """Bits of a place among the words of a thread in a core with a window: twice as many as a window has, so that
        the next ones can come in while it is read."""
        return index_bits(self.inputs) + 1

    @property
    def marks_state(self) -> bool:
        """Whether a setting says which registers are state; in memory all of them keep their contents."""
        return self.state and not self.deep

    @property
    def settings(self) -> tuple[Setting, ...]:
        """The settings that the core has."""
        absent = {Setting.STATE: not self.marks_state, Setting.WINDOW: not self.window}
        return tuple(setting for setting in Setting if not absent.get(setting))

    @property
    def setting_bits(self) -> int:
        """Bits of the address of a setting."""
        return index_bits(max(self.settings) + 1)

    @property
    def core(self) -> CoreConfig:
        """The size of each core of the hardware: there is one, this."""
        return self

    @property
    def cores(self) -> int:
        """Cores of the hardware."""
        return 1

    @property
    def bits(self) -> int:
        """Bits of a hardware word."""
        return self.slices if isinstance(self.ring, Boolean) else self.ring.bits

    @property
    def inferences(self) -> int:
        """Inferences of a vector of hardware words."""
        return self.slices if isinstance(self.ring, Boolean) else 1

    @property
    def fields(self) -> dict[str, int]:
        """The program word: bits of each field, least significant first."""
        indices = {
            "dst": index_bits(self.width + (self.sums and not self.deep)),
            "src": index_bits(self.width),
            "u": index_bits(self.inputs),
            "k": index_bits(self.weights),
        }
        rest = REPEAT_BITS - sum(indices.values()) if self.repeat else 0
        return {
            "op": 3,
            "neg": 1,
            "flag": 1,
            **({"relu": 1} if self.relu else {}),
            **indices,
            **({"rest": rest} if rest > 0 else {}),
        }

    def input_field(self, number: int) -> int:
        """What the field ``u`` holds for input ``number``, and the other way round. In a core with a window it is the
        complement, so that adding it to the place of the newest word goes back."""
        return self.inputs - 1 - number if self.window else number

    @property
    def moving(self) -> tuple[str, ...]:
        """The fields of a program word that loops move."""
        return ((), ("u", "k"), ("dst", "src", "u", "k"))[self.repeat]

    @property
    def word_bits(self) -> int:
        return sum(self.fields.values())

    @property
    def address_bits(self) -> int:
        """Bits of an address at the load port."""
        return max(self.setting_bits, index_bits(max(self.depth, self.weights, self.starts)))

    @property
    def load_bits(self) -> int:
        """Bits of a word at the load port: the widest thing it carries."""
        kept = max(self.width if self.marks_state else 0, self.window_bits if self.window else 0)
        return max(self.word_bits, self.bits, index_bits(self.depth), index_bits(self.inputs), 3, kept)

    @property
    def one(self) -> int:
        """The ring's one as a hardware word. The fixed-point formats without it have minus one in its place."""
        if isinstance(self.ring, FixedPoint):
            return 1 << self.ring.frac
        return int(self.to_words(np.array([self.ring.encode(1)], dtype=self.ring.element_dtype))[0])

    def encode(self, op: int, **fields: int) -> int:
        """A program word; fields that are not given are zero."""
        word, at = 0, 0
        values = {"op": op, **fields}
        for name, bits in self.fields.items():
            value = int(values.pop(name, 0))
            if not 0 <= value < 1 << bits:
                raise InputError(f"field {name} of a program word must be 0 to {(1 << bits) - 1}, not {value}")
            word |= value << at
            at += bits
        if values:
            raise InputError(f"a program word has no field {next(iter(values))!r}")
        return word

    def decode(self, words: Any) -> dict[str, NDArray[np.int64]]:
        """The fields of program words, as columns."""
        rest = np.asarray(words, dtype=np.uint64)
        out = {}
        for name, bits in self.fields.items():
            out[name] = (rest & np.uint64((1 << bits) - 1)).astype(np.int64)
            rest = rest >> np.uint64(bits)
        return out

    def malformed(self, words: Any) -> NDArray[np.bool_]:
        """Which program words mean nothing. The core raises ``fault`` for them and changes no register."""
        f = self.decode(words)
        op = f["op"]
        apply, attend = np.isin(op, self.applies), np.isin(op, ATTENDS) & ~np.isin(op, self.applies)
        loop = (f["neg"] ^ f["flag"] if self.repeat == 1 else f["neg"] | f["flag"]) & bool(self.repeat)
        known = (op != Op.NONE) | (loop == 1)
        known &= (op != Op.CHECK) | self.check
        known &= (~attend & (op != Op.APPLY_S)) | self.attention
        onto_sum = np.isin(op, (*SUMS, *self.begins)) & (f["dst"] == self.accumulator) & self.sums
        shown = (op == Op.EMIT) | ((op == Op.CHECK) & self.deep)
        bad = (apply | shown) & (f["dst"] >= self.width) & ~onto_sum
        bad |= apply & (f["src"] >= self.width)
        bad |= apply & (f["src"] == f["dst"]) & ~((f["flag"] == 1) & self.assign) & ~(onto_sum & self.deep)
        if self.deep:
            # The accumulator is never shown, never its own scalar, and all that ATTEND writes; nothing restarts.
            bad |= (apply | shown) & (f["dst"] == ONE) & ~onto_sum
            bad |= (op == Op.ATTEND) & (f["dst"] != ONE)
            bad |= ((op == Op.BIAS) & ~apply) | ((op == Op.EMIT) & (f["flag"] == 1))
        bad |= np.isin(op, (Op.APPLY_X, Op.ATTEND)) & (f["u"] >= self.inputs)
        bad |= np.isin(op, (Op.APPLY_W, *ATTENDS)) & (f["k"] >= self.weights)
        return np.asarray(bad | ~known, dtype=np.bool_)

    @property
    def begins(self) -> tuple[Op, ...]:
        """The operation that takes effect in the first run of a stream only, if the core has it."""
        return (Op.BEGIN,) if self.deep and self.state else ()

    @property
    def applies(self) -> tuple[Op, ...]:
        """The operations that multiply a register."""
        return (*APPLIES, *self.begins)

    # Elements and hardware words

    def to_words(self, elements: Array) -> Words:
        """Constants as hardware words, of the same shape: a Boolean element fills every slice."""
        mask = np.uint64((1 << self.bits) - 1)
        if isinstance(self.ring, Boolean):
            return np.where(np.asarray(elements, dtype=bool), mask, np.uint64(0))
        return np.asarray(elements).astype(np.int64).astype(np.uint64) & mask

    def pack(self, elements: Array) -> Words:
        """Inferences ``(batch, n)`` as vectors of hardware words ``(vectors, n)``: a vector each, or for ``Boolean``
        ``slices`` inferences a vector, the first in bit 0 (a last vector that is not full is filled with zeros)."""
        if not isinstance(self.ring, Boolean):
            return self.to_words(elements)
        batch, count = elements.shape
        padded = np.zeros((-batch % self.slices + batch, count), dtype=np.uint64)
        padded[:batch] = elements
        shifts = np.arange(self.slices, dtype=np.uint64)[None, :, None]
        packed: Words = np.bitwise_or.reduce(padded.reshape(-1, self.slices, count) << shifts, axis=1)
        return packed

    def unpack(self, words: Words, batch: int) -> Array:
        """Elements ``(batch, n)`` of vectors ``(vectors, n)``: the inverse of :meth:`pack`."""
        words = np.asarray(words, dtype=np.uint64)
        if isinstance(self.ring, Boolean):
            shifts = np.arange(self.slices, dtype=np.uint64)[None, :, None]
            spread = (words[:, None, :] >> shifts) & np.uint64(1)
            return spread.reshape(-1, words.shape[1])[:batch].astype(self.ring.element_dtype)
        if isinstance(self.ring, PrimeField):
            return words[:batch].astype(np.int64)
        shift = np.uint64(64 - self.bits)
        return (words[:batch] << shift).view(np.int64) >> np.int64(shift)

    @classmethod
    def fit(cls, program: Program, ring: Ring, **given: Any) -> CoreConfig:
        """The smallest core of power-of-two memories that holds ``program``; ``given`` are parameters that are set. The
        registers are in memory where there are too many of them for flip-flops, and for programs that are not pure
        wherever they can be: that is smaller."""
        deep = given.get("registers", "memory" if _better_in_memory(program, ring, given) else "flipflops") == "memory"
        threads = given.get("threads", DEEP_THREADS if deep else cls.threads)
        used = np.isin(program.code.form, program.summing).any() if program.summing else False
        assign = deep or bool(program.code.mode.any())
        parameters: dict[str, Any] = {
            "width": max(3, program.width),
            "depth": memory_size(flat_words(program, deep)),
            "inputs": memory_size(max(len(program.inputs), program.window)),
            "weights": memory_size(all_weights(program, assign, deep)),
            "fifo": fifo_size(threads * len(program.results)),
            "assign": assign,
            "sums": bool(used),
            "relu": bool((program.code.mode == Mode.RELU).any()),
            "argmax": memory_size(program.emits) if program.argmax else 0,
            "registers": "memory" if deep else "flipflops",
            "threads": threads,
            "state": bool(program.state),
            "window": bool(program.window),
        }
        return cls(ring=ring, **(parameters | given))


def _better_in_memory(program: Program, ring: Ring, given: dict[str, Any]) -> bool:
    """Whether the registers of ``program`` go into memory if nobody says where. State goes there only if it must: it
    takes a cycle for each state to begin there."""
    if program.width > MOST_FLIPFLOPS:
        return True
    if program.state:
        return False
    enough = given.get("threads", DEEP_THREADS) >= given.get("pipeline", PIPELINE) - 1
    has_one = not isinstance(ring, FixedPoint) or ring.frac < ring.bits - 1
    return enough and has_one and not program.pure and runs_in_memory(program)


def flat_words(program: Program, deep: bool) -> int:
    """The words of ``program`` without loops; registers in memory take one more for each state that begins."""
    return program.words + program.emits + deep * len(program.state)


def all_weights(program: Program, assign: bool, deep: bool) -> int:
    """The weights of ``program`` in a core: with assigns perhaps a zero more, and with registers in memory what states
    begin with."""
    return len(program.weights) + (assign and lacks_zero(program)) + deep * len(starts(program))


def starts(program: Program) -> list[int | Fraction]:
    """The values with which the states of ``program`` begin, each once."""
    return list(dict.fromkeys(program.start[register] for _, register in program.state))


def lacks_zero(program: Program) -> bool:
    """Whether a core that assigns needs one more weight for ``program``: it uses the empty form, and no weight of its
    own is zero, whatever values settable weights take."""
    empty = [number for number, form in enumerate(program.forms) if form == Linear(())]
    return bool(np.isin(program.code.form, empty).any()) and zero_weight(program) == len(program.weights)


def zero_weight(program: Program) -> int:
    """The number of a weight that is always zero, or that of the next one after the weights of ``program``."""
    fixed = set(range(len(program.weights))) - program.settable_weights
    return next((k for k in sorted(fixed) if not program.weights[k]), len(program.weights))


def fifo_size(results: int) -> int:
    """The words of a result FIFO that holds two batches of ``results`` words each, and not less than the default."""
    return max(CoreConfig.fifo, memory_size(2 * results))

"""Loops in program words: how they are written, and which words a run issues.

Two words make a loop, both of operation zero. A *step* (``neg`` set, ``flag`` is the level) holds in each index field
what every further round adds to it. A *repeat* (``flag`` alone set) opens the loop whose body follows: the low bits of
the address of the body's last word, the rounds as the state of a shift register, and the level. Level 0 is the inner
one. The core keeps one offset for each field, zero at the start of a run, which is added to the field of every word;
each time a body is begun again its level's step is added to the offsets. A step or a repeat after which a body is begun
again does nothing. With registers in memory a stored ``dst`` that
stands for the accumulator stays as it is. While a loop has rounds left, no ``EMIT`` is
the last one, and one that decides compares.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from skinny.model.errors import InputError

from .isa import ONE, CoreConfig, Op, Sending, Words

__all__ = ["END_BITS", "MOST_BODY", "MOST_ROUNDS", "Trace", "next_state", "repeat_word", "round_states", "step_word"]
__all__ += ["LAST_STATE", "STATE_BITS", "body_ends", "loop_text", "loop_words", "payload_at", "unroll"]

#: Bits of the address of a body's last word: bodies are shorter than what these count.
END_BITS = 6
MOST_BODY = (1 << END_BITS) - 1
#: Bits of the shift register that counts the rounds.
STATE_BITS = 11
MOST_ROUNDS = 1 << STATE_BITS
#: The state with which a body is begun again for the last time; so is zero, which no number of rounds has.
LAST_STATE = 1
#: A run that issues more words than this is taken for one that does not end.
MOST_STEPS = 1 << 24


def next_state(state: int) -> int:
    """The state of the shift register when a body was begun once more."""
    return (state << 1 | (state >> 10 ^ state >> 8) & 1) & MOST_ROUNDS - 1


@cache
def round_states() -> tuple[int, ...]:
    """The states of all numbers of rounds; the first two, of none and one, mean nothing."""
    states = [LAST_STATE]
    while (state := next_state(states[-1])) != LAST_STATE:
        states.append(state)
    return (0, 0, LAST_STATE, *states[:0:-1])


@cache
def _rounds() -> dict[int, int]:
    """The number of rounds of each state."""
    return {state: rounds for rounds, state in enumerate(round_states()) if rounds > 1}


def payload_at(config: CoreConfig) -> int:
    """The lowest bit of a program word that is part of an index."""
    return sum(bits for name, bits in config.fields.items() if name in ("op", "neg", "flag", "relu"))


def step_word(config: CoreConfig, level: int, steps: Mapping[str, int]) -> int:
    """The word that sets what a round of ``level`` adds to the fields."""
    moved = {name: steps.get(name, 0) % (1 << config.fields[name]) for name in config.moving}
    return config.encode(Op.NONE, neg=1, flag=level, **moved)


def repeat_word(config: CoreConfig, level: int, end: int, rounds: int) -> int:
    """The word that opens a loop of ``rounds`` whose body ends with the word at address ``end``."""
    payload = end % (1 << END_BITS) | round_states()[rounds] << END_BITS | level << END_BITS + STATE_BITS
    return config.encode(Op.NONE, flag=1) | payload << payload_at(config)


def loop_words(config: CoreConfig, words: Words) -> NDArray[np.bool_]:
    """Which words are a step or a repeat."""
    fields = config.decode(words)
    return np.asarray((fields["op"] == Op.NONE) & ~config.malformed(words), dtype=np.bool_)


def loop_text(word: int, fields: Mapping[str, int], config: CoreConfig) -> str:
    """A step or a repeat as text."""
    if fields["neg"]:
        moved = []
        for name in config.moving:
            half = 1 << config.fields[name] - 1
            if fields[name]:
                moved.append(f"{name} {(fields[name] + half) % (2 * half) - half:+d}")
        return f"step {fields['flag']}: {', '.join(moved) or 'nothing'}"
    payload = word >> payload_at(config)
    state = payload >> END_BITS & MOST_ROUNDS - 1
    rounds = _rounds().get(state, 0)
    level = payload >> END_BITS + STATE_BITS & 1 if config.repeat == 2 else 0
    return f"repeat {level}: {rounds} rounds to ..{payload % (1 << END_BITS)}"


def body_ends(config: CoreConfig, words: Words) -> dict[int, int]:
    """For the address of each repeat that of the last word of its body."""
    found = {}
    for address in np.flatnonzero(loop_words(config, words)).tolist():
        word = int(words[address])
        if not config.decode(word)["neg"]:
            end = (word >> payload_at(config)) % (1 << END_BITS)
            found[address] = address + 1 + (end - address - 1) % (1 << END_BITS)
    return found


class Trace(NamedTuple):
    """What a run issues, a step each: the address of the word, and the word as it is executed."""

    addresses: NDArray[np.int64]
    words: Words


class _Loop:
    """A level of the repeat unit."""

    def __init__(self) -> None:
        self.open = False
        self.begin = self.end = self.state = 0
        self.step: dict[str, int] = {}

    def load(self, begin: int, payload: int) -> None:
        self.open = True
        self.begin = begin
        self.end = payload % (1 << END_BITS)
        self.state = payload >> END_BITS & MOST_ROUNDS - 1

    def again(self) -> int:
        """Begin the body once more; returns its address."""
        self.open = self.state > LAST_STATE
        self.state = next_state(self.state)
        return self.begin

    def spend(self) -> int:
        """Begin the body for the last time at once; returns the rounds before that. A state that never ends spends
        none."""
        if not self.state:
            return 0
        self.open = False
        return _rounds()[self.state] - 1

    def ends_after(self, pc: int) -> int:
        """The first address from ``pc`` on that ends the body."""
        return pc + (self.end - pc) % (1 << END_BITS)


def unroll(words: Words, config: CoreConfig) -> Trace:
    """The words that a run issues. Cost: linear in the rounds of all loops and in the words issued."""
    words = np.asarray(words, dtype=np.uint64)
    controls = np.flatnonzero(loop_words(config, words)).tolist() if config.repeat else []
    if not controls:
        return Trace(np.arange(len(words)), words)
    fields = {name: column.tolist() for name, column in config.decode(words[controls]).items()}
    payloads = (words[controls] >> np.uint64(payload_at(config))).tolist()
    stretches: list[_Stretch] = []
    loops = [_Loop() for _ in range(config.repeat)]
    offset = (0,) * len(config.moving)
    number = {address: at for at, address in enumerate(controls)}
    after = np.searchsorted(controls, np.arange(len(words))).tolist()
    pc = steps = 0
    while pc < len(words):
        held = [loop for loop in loops if loop.open]
        stop = min([len(words) - 1, *controls[after[pc] : after[pc] + 1], *(loop.ends_after(pc) for loop in held)])
        stretches.append(_Stretch(pc, stop + 1 - pc, offset, bool(held)))
        steps += stop + 1 - pc
        back = next((loop for loop in held if stop % (1 << END_BITS) == loop.end), None)
        pc = stop + 1 if back is None else back.again()
        if back is not None:
            offset = tuple(old + back.step.get(name, 0) for old, name in zip(offset, config.moving, strict=True))
        elif stop in number:
            at = number[stop]
            if fields["neg"][at]:
                loops[fields["flag"][at]].step = {name: fields[name][at] for name in config.moving}
            else:
                level = payloads[at] >> END_BITS + STATE_BITS & 1 if config.repeat == 2 else 0
                loops[level].load(pc, payloads[at])
                end = _plain_end(loops, level, pc, controls, after)
                if end is not None:
                    rounds = loops[level].spend()
                    move = tuple(loops[level].step.get(name, 0) for name in config.moving)
                    stretches.append(_Stretch(pc, end + 1 - pc, offset, True, rounds, move))
                    steps += (end + 1 - pc) * rounds
                    offset = tuple(old + step * rounds for old, step in zip(offset, move, strict=True))
        if steps > MOST_STEPS:
            raise InputError(f"a run of the program words does not end within {MOST_STEPS} steps")
    return _issue(words, config, stretches)


def _plain_end(loops: list[_Loop], level: int, pc: int, controls: list[int], after: list[int]) -> int | None:
    """The last address of the body of the loop that was opened before ``pc``, when all rounds but the last are alike:
    no loop begins within the body, and no other ends before it. Where both end together, the inner one goes first."""
    end = loops[level].ends_after(pc)
    others = (loop.ends_after(pc) + (level == 0) for loop in loops if loop.open and loop is not loops[level])
    if end >= len(after) or any(address <= end for address in (*controls[after[pc] : after[pc] + 1], *others)):
        return None
    return end


class _Stretch(NamedTuple):
    """Words of a run without a jump between them: their first address, their number, the offsets, and whether a loop
    has rounds left. They come ``rounds`` times, each time with offsets that are ``move`` more."""

    first: int
    length: int
    offset: tuple[int, ...]
    looping: bool
    rounds: int = 1
    move: tuple[int, ...] = ()


def _issue(words: Words, config: CoreConfig, stretches: list[_Stretch]) -> Trace:
    rounds = np.array([stretch.rounds for stretch in stretches])
    stretch = np.repeat(np.arange(len(stretches)), rounds)
    turn = np.arange(len(stretch)) - (np.cumsum(rounds) - rounds)[stretch]
    still = (0,) * len(config.moving)
    moves = np.array([stretch.move or still for stretch in stretches])
    offsets = np.array([stretch.offset for stretch in stretches])[stretch] + moves[stretch] * turn[:, None]
    first = np.array([stretch.first for stretch in stretches])[stretch]
    length = np.array([stretch.length for stretch in stretches])[stretch]
    looping = np.array([stretch.looping for stretch in stretches])[stretch]
    which = np.repeat(np.arange(len(first)), length)
    addresses = np.arange(len(which)) - (np.cumsum(length) - length)[which] + first[which]
    fields = config.decode(words[addresses])
    onto_sum = (fields["dst"] == ONE) & config.deep
    for at, name in enumerate(config.moving):
        moved = fields[name] + offsets[which, at] & (1 << config.fields[name]) - 1
        fields[name] = np.where(onto_sum, fields[name], moved) if name == "dst" else moved
    within = (fields["op"] == Op.EMIT) & looping[which]
    fields["neg"] &= ~within
    if config.argmax:
        fields["src"] &= ~(2 * (within & (fields["src"] & 3 == Sending.DECIDE)))
    issued, at = np.zeros(len(addresses), dtype=np.uint64), 0
    for name, bits in config.fields.items():
        issued |= fields[name].astype(np.uint64) << np.uint64(at)
        at += bits
    return Trace(addresses, issued)

"""Rolling: flat program words become at most two nested loops, proven by unrolling.

Precondition: words without loops for a core that repeats. Postcondition: the rolled words issue the flat ones, but for
the words that make the loops and for fields that mean nothing. Cost: linear in the length of the program.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from skinny.model.errors import CheckError

from .isa import APPLIES, ATTENDS, ONE, CoreConfig, Op, Sending, Words
from .periods import Row, Stretch, choose_stretches, find_stretches
from .repeat import MOST_BODY, loop_words, repeat_word, step_word, unroll

__all__ = ["Rolled", "roll"]

#: The index fields.
FIELDS = ("dst", "src", "u", "k")
#: The longest bodies of inner loops that are tried: short ones leave room for an outer loop.
LONGEST = (63, 32, 16, 8, 4, 2, 1)


@dataclass(frozen=True, eq=False)
class Rolled:
    """Stored words, and for each of them the number of the flat word that it is in its last round, or -1 for a word
    that makes a loop."""

    words: Words
    flat: NDArray[np.int64]


def roll(words: Words, config: CoreConfig) -> Rolled:
    """The shortest of the rolled words that are found; the flat ones if nothing repeats."""
    row = _row(words, config)
    fixed = tuple(name not in config.moving for name in FIELDS)
    inner = [stretch for period in range(1, MOST_BODY + 1) for stretch in find_stretches(row, period, fixed)]
    found: list[Items] = [list(range(len(words)))]
    tried: set[tuple[Stretch, ...]] = set()
    for longest in LONGEST if inner else ():
        chosen = tuple(choose_stretches([stretch for stretch in inner if stretch.period <= longest]))
        if chosen in tried:
            continue
        tried.add(chosen)
        items = _items(len(words), chosen)
        if config.repeat == 2:
            items = _nest(row, items)
        found.append(items)
    for items in sorted(found, key=_size):
        rolled = _write(words, config, row, items)
        if _proven(words, rolled, config):
            return rolled
    raise CheckError("no words that were found issue those of the program")


@dataclass(frozen=True)
class _Loop:
    """A loop over ``items`` (numbers of flat words in the first round, and inner loops)."""

    items: list[int | _Loop]
    rounds: int
    steps: tuple[int, ...]
    length: int  # flat words of a round

    @property
    def first(self) -> int:
        item = self.items[0]
        return item if isinstance(item, int) else item.first


Items = list[int | _Loop]


def _size(items: Items) -> int:
    """Stored words, if every loop has a step of its own."""
    return sum(1 if isinstance(item, int) else _size(item.items) + 2 for item in items)


def _row(words: Words, config: CoreConfig) -> Row:
    """The columns of flat words. What an ``EMIT`` does at the end of a run only is not part of its shape."""
    fields = config.decode(words)
    used = _used(fields, config)
    emit = fields["op"] == Op.EMIT
    neg = np.where(emit, 0, fields["neg"])
    moves = used["dst"] & ~(config.deep & (fields["dst"] == ONE))
    shape = fields["op"] | moves << 6 | neg << 3 | fields["flag"] << 4 | fields.get("relu", np.zeros_like(neg)) << 5
    src = fields["src"]
    if config.argmax:
        src = np.where(emit & (src & 3 == Sending.DECIDE), Sending.COMPARE, src)
    columns = {**fields, "src": src}
    return Row(
        shape,
        tuple(columns[name] for name in FIELDS),
        (moves, *(used[name] for name in FIELDS[1:])),
        tuple((1 << config.fields[name]) - 1 for name in FIELDS),
    )


def _used(fields: dict[str, NDArray[np.int64]], config: CoreConfig) -> dict[str, NDArray[np.bool_]]:
    op = fields["op"]
    apply, emit, attend = np.isin(op, APPLIES), op == Op.EMIT, np.isin(op, ATTENDS)
    return {
        "dst": apply | emit | (config.deep & (attend | (op == Op.CHECK))),
        "src": apply | (emit & bool(config.argmax)),
        "u": np.isin(op, (Op.APPLY_X, Op.ATTEND)),
        "k": np.isin(op, (Op.APPLY_W, *ATTENDS)),
    }


def _items(count: int, chosen: tuple[Stretch, ...]) -> Items:
    """Words and loops in order."""
    items: Items = []
    at = 0
    for stretch in chosen:
        items += range(at, stretch.start)
        body: Items = list(range(stretch.start, stretch.start + stretch.period))
        items.append(_Loop(body, stretch.rounds, stretch.steps, stretch.period))
        at = stretch.end
    items += range(at, count)
    return items


def _nest(row: Row, items: Items) -> Items:
    """Put loops round words and loops that repeat."""
    kinds: dict[tuple[int, ...], int] = {}
    numbers, shapes, owner = [], [], []
    for at, item in enumerate(items):
        body = [item] if isinstance(item, int) else item.items
        for place, number in enumerate(body):
            assert isinstance(number, int)
            key = (-1,) if isinstance(item, int) else (place, item.length, item.rounds, *item.steps)
            numbers.append(number)
            shapes.append(kinds.setdefault(key, len(kinds)))
            owner.append(at)
    index = np.array(numbers, dtype=np.int64)
    # The shapes of words need seven bits.
    short = Row(
        row.shape[index] | np.array(shapes, dtype=np.int64) << 7,
        tuple(column[index] for column in row.fields),
        tuple(column[index] for column in row.used),
        row.masks,
    )
    begins = np.append(True, np.diff(owner) != 0)
    found = []
    for period in range(1, MOST_BODY + 1):
        for stretch in find_stretches(short, period, (False,) * len(FIELDS)):
            shift = int(np.argmax(begins[stretch.start : stretch.start + period]))
            rounds = stretch.rounds - (shift > 0)
            moved = stretch._replace(start=stretch.start + shift, rounds=rounds)
            if rounds >= 2 and moved.gain > 0 and _fits(items, owner, moved):
                found.append(moved)
    out: Items = []
    at = 0
    for stretch in choose_stretches(found):
        first, last = owner[stretch.start], owner[stretch.start + stretch.period - 1]
        end = owner[stretch.end - 1] + 1
        body = items[first : last + 1]
        length = sum(1 if isinstance(item, int) else item.length * item.rounds for item in body)
        out += items[at:first]
        out.append(_Loop(body, stretch.rounds, stretch.steps, length))
        at = end
    return out + items[at:]


def _fits(items: Items, owner: list[int], stretch: Stretch) -> bool:
    """Whether a loop holds loops of one level at most that fit its body with the words that make them."""
    first, last = owner[stretch.start], owner[stretch.start + stretch.period - 1]
    loops = sum(not isinstance(item, int) for item in items[first : last + 1])
    return stretch.period + 2 * loops <= MOST_BODY


def _proven(words: Words, rolled: Rolled, config: CoreConfig) -> bool:
    """Whether the rolled words issue the flat ones. They do not if a register happens to be stored as the number that
    stands for the accumulator."""
    issued = unroll(rolled.words, config).words
    issued = issued[~loop_words(config, issued)]
    if len(issued) == len(words):
        flat, found = config.decode(words), config.decode(issued)
        used = _used(flat, config)
        alike = [(flat[name] == found[name]) | ~used.get(name, np.True_) for name in flat if name != "rest"]
        return all(bool(column.all()) for column in alike)
    return False


@dataclass
class _Writer:
    """Stored words in the making. ``offset`` is what the core adds to each field of the next word, ``held`` what its
    steps are."""

    config: CoreConfig
    row: Row
    columns: dict[str, list[int]]
    used: list[list[bool]]
    out: list[int] = field(default_factory=list)
    flat: list[int] = field(default_factory=list)
    offset: list[int] = field(default_factory=lambda: [0] * len(FIELDS))
    held: dict[int, tuple[int, ...] | None] = field(default_factory=dict)

    def add(self, word: int, flat: int) -> None:
        self.out.append(word)
        self.flat.append(flat)

    def step(self, level: int, steps: tuple[int, ...]) -> None:
        if self.held.get(level) != steps:
            self.add(step_word(self.config, level, dict(zip(FIELDS, steps, strict=True))), -1)
            self.held[level] = steps

    def word(self, number: int, last: int) -> None:
        """Flat word ``number``, which is word ``last`` in the last round of all loops that it is in."""
        fields = {name: column[number] for name, column in self.columns.items()}
        op = fields.pop("op")
        if op == Op.EMIT:
            fields["neg"] = self.columns["neg"][last]
            if self.config.argmax and self.columns["src"][last] & 3 == Sending.DECIDE:
                fields["src"] |= 2
        for at, (name, used) in enumerate(zip(FIELDS, self.used, strict=True)):
            if used[number]:
                fields[name] = (fields[name] - self.offset[at]) & self.row.masks[at]
        self.add(self.config.encode(op, **fields), last)

    def loop(self, loop: _Loop, level: int, shift: int) -> None:
        """A loop whose words are ``shift`` flat words later in the last round of the loop around it."""
        loops = [item for item in loop.items if isinstance(item, _Loop)]
        inner = {item.steps for item in loops}
        if len(inner) == 1:
            self.step(0, loops[0].steps)
        elif inner:
            self.held[0] = None
        drift = [sum(item.steps[at] * (item.rounds - 1) for item in loops) for at in range(len(FIELDS))]
        own = zip(loop.steps, drift, self.row.masks, strict=True)
        self.step(level, tuple((step - less) & mask for step, less, mask in own))
        begin = len(self.out)
        self.add(0, -1)
        self.items(loop.items, shift + (loop.rounds - 1) * loop.length)
        self.out[begin] = repeat_word(self.config, level, len(self.out) - 1, loop.rounds)
        self.offset = [old + (loop.rounds - 1) * step for old, step in zip(self.offset, loop.steps, strict=True)]

    def items(self, items: Items, shift: int) -> None:
        for item in items:
            if isinstance(item, int):
                self.word(item, item + shift)
            else:
                self.loop(item, int(any(isinstance(part, _Loop) for part in item.items)), shift)


def _write(words: Words, config: CoreConfig, row: Row, items: Items) -> Rolled:
    columns = {name: column.tolist() for name, column in config.decode(words).items()}
    writer = _Writer(config, row, columns, [used.tolist() for used in row.used])
    writer.items(items, 0)
    return Rolled(np.array(writer.out, dtype=np.uint64), np.array(writer.flat, dtype=np.int64))

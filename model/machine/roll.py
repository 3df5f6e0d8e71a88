"""Rolling: flat program words become at most two nested loops, proven by unrolling.

Precondition: words without loops for a core that repeats. Postcondition: the rolled words issue the flat ones, but for
the words that make the loops and for fields that mean nothing. Cost: linear in the length of the program.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from .isa import ATTENDS, ONE, CoreConfig, Op, Sending, Words
from .periods import LOOP_WORDS, Row, Stretch, choose_stretches, find_stretches
from .repeat import MOST_BODY, loop_words, repeat_word, step_word, unroll

__all__ = ["Rolled", "roll"]

#: The index fields.
FIELDS = ("dst", "src", "u", "k")
#: Loops whose last round is written flat, at most, because of a register that cannot be stored.
MOST_PEELED = 256
#: Loops that are looked at to find out which steps are still needed.
AHEAD = 4
#: Bits for the number of weights.
COPY_BITS = 24
#: The longest bodies of inner loops that are tried: short ones leave room for an outer loop.
LONGEST = (63, 32, 16, 8, 4, 2, 1)


@dataclass(frozen=True, eq=False)
class Rolled:
    """Stored words, for each of them the number of the flat word that it is in its last round, or -1 for a word
    that makes a loop, and for each address of the weights the one that flat words have for it."""

    words: Words
    flat: NDArray[np.int64]
    sources: NDArray[np.int64]


def roll(words: Words, config: CoreConfig, weights: int) -> Rolled:
    """The shortest of the rolled words that are found; the flat ones if nothing repeats. The words use ``weights``
    weights. Where that makes loops, and the memory has room, words get weights of their own."""
    fields = config.decode(words)
    row = _row(fields, config)
    found = _loops(row, config)
    k, takes = fields["k"], row.used[FIELDS.index("k")]
    distinct = np.where(takes, np.cumsum(takes), 0)
    if not np.array_equal(np.diff(distinct[takes]), np.diff(k[takes])):
        columns = tuple(distinct if name == "k" else column for name, column in zip(FIELDS, row.fields, strict=True))
        rooms: tuple[bool, ...] = (True, False)
        found += [replace(loop, copied=True) for loop in _loops(row._replace(fields=columns), config)]
    else:
        rooms = (False,)
    for copied in rooms:
        loops = [loop for loop in found if copied or not loop.copied]
        counts = np.append(0, np.cumsum(takes))
        chosen = choose_stretches(
            [
                (
                    loop.first,
                    loop.end,
                    (loop.gain << COPY_BITS) - loop.copied * int(counts[loop.end] - counts[loop.first]),
                )
                for loop in loops
            ]
        )
        if not chosen:
            break
        items = _items(len(words), [loops[number] for number in chosen])
        for dense in (True, False):
            laid = _laid_weights(k, takes, items, weights, config.weights, dense=dense)
            if laid is None:
                continue
            wanted, sources = {**fields, "k": laid[0]}, laid[1]
            out = _write(wanted, config, row, items)
            if out is not None and _proven(wanted, out, config, row):
                return Rolled(*out, sources)
    return Rolled(words, np.arange(len(words)), np.arange(weights))


def _laid_weights(
    k: NDArray[np.int64], takes: NDArray[np.bool_], items: Items, weights: int, room: int, *, dense: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """The weight of each word, and what the words of the weight memory hold; None when they are more than ``room``.
    ``dense``: weights that only copies take have no other place."""
    own = np.zeros(len(k), dtype=bool)
    for item in items:
        if isinstance(item, _Loop) and item.copied:
            own[item.first : item.end] = True
    own &= takes
    if not dense and not own.any():
        return None
    kept = np.ones(weights, dtype=bool)
    if dense:
        kept[k[own]] = False
        kept[k[takes & ~own]] = True
    sources = np.concatenate([np.flatnonzero(kept), k[own]])
    if len(sources) > room:
        return None
    moved = np.cumsum(kept) - 1
    laid = k.copy()
    laid[takes] = moved[k[takes]]
    laid[own] = np.arange(len(sources) - int(own.sum()), len(sources))
    return laid, sources


@dataclass(frozen=True)
class _Loop:
    """A loop over ``items`` (numbers of flat words in the first round, and inner loops). ``copied``: each word that
    takes a weight has one of its own."""

    items: list[int | _Loop]
    rounds: int
    steps: tuple[int, ...]
    length: int  # flat words of a round
    copied: bool = False

    @property
    def first(self) -> int:
        item = self.items[0]
        return item if isinstance(item, int) else item.first

    @property
    def end(self) -> int:
        return self.first + self.length * self.rounds

    @property
    def gain(self) -> int:
        """The words that are saved."""
        return self.length * self.rounds - _size([self])

    def moved(self, words: int) -> _Loop:
        """The same loop, ``words`` flat words later."""
        return replace(self, items=_moved(self.items, words))


Items = list[int | _Loop]


def _moved(items: Items, words: int) -> Items:
    return [item + words if isinstance(item, int) else item.moved(words) for item in items]


def _size(items: Items) -> int:
    """Stored words, if every loop has a step of its own."""
    return sum(1 if isinstance(item, int) else _size(item.items) + LOOP_WORDS for item in items)


def _loops(row: Row, config: CoreConfig) -> list[_Loop]:
    """Loops, and loops of loops, that save words."""
    inner = list(find_stretches(row, tuple(name not in config.moving for name in FIELDS)))
    found: dict[tuple[object, ...], _Loop] = {}
    tried: set[tuple[int, ...]] = set()
    for longest in LONGEST if inner else ():
        few = [stretch for stretch in inner if stretch.period <= longest]
        chosen = tuple(choose_stretches([(stretch.start, stretch.end, stretch.gain) for stretch in few]))
        picked = [few[number] for number in chosen]
        key = tuple(hash(stretch) for stretch in picked)
        if key in tried:
            continue
        tried.add(key)
        loops = [
            _Loop(
                list(range(stretch.start, stretch.start + stretch.period)),
                stretch.rounds,
                stretch.steps,
                stretch.period,
            )
            for stretch in picked
        ]
        if config.repeat == 2:
            items = _items(len(row.shape), loops)
            loops += [item for item in _nest(row, items) if isinstance(item, _Loop)]
        for loop in loops:
            if loop.gain > 0:
                found.setdefault((loop.first, loop.length, loop.rounds, _size([loop]), loop.steps), loop)
    return list(found.values())


def _row(fields: dict[str, NDArray[np.int64]], config: CoreConfig) -> Row:
    """The columns of flat words. What an ``EMIT`` does at the end of a run only is not part of its shape."""
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
    apply, emit, attend = np.isin(op, config.applies), op == Op.EMIT, np.isin(op, ATTENDS)
    return {
        "dst": apply | emit | (config.deep & (attend | (op == Op.CHECK))),
        "src": apply | (emit & bool(config.argmax)),
        "u": np.isin(op, (Op.APPLY_X, Op.ATTEND)),
        "k": np.isin(op, (Op.APPLY_W, *ATTENDS)),
    }


def _items(count: int, loops: Sequence[_Loop]) -> Items:
    """Words and loops in order."""
    items: Items = []
    at = 0
    for loop in loops:
        items += range(at, loop.first)
        items.append(loop)
        at = loop.end
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
    for stretch in find_stretches(short, (False,) * len(FIELDS)):
        shift = int(np.argmax(begins[stretch.start : stretch.start + stretch.period]))
        rounds = stretch.rounds - (shift > 0)
        moved = stretch._replace(start=stretch.start + shift, rounds=rounds)
        if rounds >= 2 and moved.gain > 0 and _fits(items, owner, moved):
            found.append(moved)
    out: Items = []
    at = 0
    for number in choose_stretches([(stretch.start, stretch.end, stretch.gain) for stretch in found]):
        stretch = found[number]
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


def _proven(
    flat: dict[str, NDArray[np.int64]], out: tuple[Words, NDArray[np.int64]], config: CoreConfig, row: Row
) -> bool:
    """Whether the rolled words issue the flat ones."""
    issued = unroll(out[0], config).words
    issued = issued[~loop_words(config, issued)]
    if len(issued) == len(row.shape):
        found = config.decode(issued)
        used = dict(zip(FIELDS, row.used, strict=True))
        alike = [(flat[name] == found[name]) | ~used.get(name, np.True_) for name in flat if name != "rest"]
        return all(bool(column.all()) for column in alike)
    return False


@dataclass
class _Writer:
    """Stored words in the making. ``offset`` is what the core adds to each field of the next word, ``held`` what its
    steps are."""

    config: CoreConfig
    masks: tuple[int, ...]
    #: A stored word each: the word that makes a loop, the flat word or -1, that in the last round, and the offset.
    control: list[int] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    flat: list[int] = field(default_factory=list)
    offsets: list[tuple[int, ...]] = field(default_factory=list)
    offset: tuple[int, ...] = (0,) * len(FIELDS)
    held: dict[int, tuple[int, ...] | None] = field(default_factory=dict)

    def add(self, word: int, number: int, last: int) -> None:
        self.control.append(word)
        self.numbers.append(number)
        self.flat.append(last)
        self.offsets.append(self.offset)

    def step(self, level: int, steps: tuple[int, ...]) -> None:
        if self.held.get(level) != steps:
            self.add(step_word(self.config, level, dict(zip(FIELDS, steps, strict=True))), -1, -1)
            self.held[level] = steps

    def loop(self, loop: _Loop, level: int, shift: int) -> None:
        """A loop whose words are ``shift`` flat words later in the last round of the loop around it."""
        loops = [item for item in loop.items if isinstance(item, _Loop)]
        inner = {item.steps for item in loops}
        if len(inner) == 1:
            self.step(0, loops[0].steps)
        elif inner:
            self.held[0] = None
        drift = [sum(item.steps[at] * (item.rounds - 1) for item in loops) for at in range(len(FIELDS))]
        own = zip(loop.steps, drift, self.masks, strict=True)
        self.step(level, tuple((step - less) & mask for step, less, mask in own))
        begin = len(self.control)
        self.add(0, -1, -1)
        self.items(loop.items, shift + (loop.rounds - 1) * loop.length)
        if len(self.control) - begin - 1 > MOST_BODY:
            raise _LongBodyError(loop.first)
        self.control[begin] = repeat_word(self.config, level, len(self.control) - 1, loop.rounds)
        self.offset = tuple(old + (loop.rounds - 1) * step for old, step in zip(self.offset, loop.steps, strict=True))

    def items(self, items: Items, shift: int) -> None:
        loops = [item for item in items if isinstance(item, _Loop)]
        written = 0
        for item in items:
            if isinstance(item, int):
                self.add(0, item, item + shift)
                continue
            written += 1
            if any(isinstance(part, _Loop) for part in item.items):
                self.loop(item, 1, shift)
            else:
                self.loop(item, self.level(item, loops[written : written + AHEAD]) if shift == 0 else 0, shift)

    def level(self, loop: _Loop, following: Sequence[_Loop]) -> int:
        """The level of a loop without others in it or round it: one that has its steps already, else one whose steps no
        loop that follows takes."""
        if self.config.repeat == 1 or self.held.get(0) == loop.steps:
            return 0
        return int(self.held.get(1) == loop.steps or self.held.get(0) in [other.steps for other in following])

    def words(self, fields: dict[str, NDArray[np.int64]], row: Row) -> Words:
        """The stored words. A flat word is ``flat`` in the last round of all loops that it is in."""
        numbers, last = np.array(self.numbers), np.array(self.flat)
        offsets = np.array(self.offsets)
        emit = fields["op"][numbers] == Op.EMIT
        out = np.zeros(len(numbers), dtype=np.uint64)
        at = 0
        for name, bits in self.config.fields.items():
            column = fields[name][numbers]
            if name == "neg":
                column = np.where(emit, fields["neg"][last], column)
            if name == "src" and self.config.argmax:
                decides = emit & (fields["src"][last] & 3 == Sending.DECIDE)
                column = np.where(decides, column | Sending.DECIDE, column)
            if name in FIELDS:
                place = FIELDS.index(name)
                used = row.used[place][numbers]
                column = np.where(used, (column - offsets[:, place]) & row.masks[place], column)
                taken = used & (column == ONE) & (numbers >= 0)
                if name == "dst" and self.config.deep and taken.any():
                    raise _CollisionError(int(numbers[np.argmax(taken)]))
            out |= column.astype(np.uint64) << np.uint64(at)
            at += bits
        return np.where(numbers >= 0, out, np.array(self.control, dtype=np.uint64))


class _CollisionError(Exception):
    """A register would be stored as the number that stands for the accumulator. ``args`` is the flat word."""


class _LongBodyError(Exception):
    """The body of a loop does not fit. ``args`` is its first flat word."""


def _write(
    fields: dict[str, NDArray[np.int64]], config: CoreConfig, row: Row, items: Items
) -> tuple[Words, NDArray[np.int64]] | None:
    """The words of items, and the flat words that they are."""
    for _ in range(MOST_PEELED):
        writer = _Writer(config, row.masks)
        try:
            writer.items(items, 0)
            return writer.words(fields, row), np.array(writer.flat, dtype=np.int64)
        except _CollisionError as error:
            items = _peeled(items, _path(items, *error.args))
        except _LongBodyError as error:
            items = _unrolled(items, _path(items, *error.args))
    return None


def _path(items: Items, number: int) -> list[int]:
    """The places of a flat word, the outermost first."""
    path = []
    level = items
    while True:
        at = bisect_right(level, number, key=lambda item: item if isinstance(item, int) else item.first) - 1
        path.append(at)
        inner = level[at]
        if isinstance(inner, int):
            return path
        level = inner.items


def _peeled(items: Items, path: list[int]) -> Items:
    """The items with the last round of a loop before the word at ``path`` written flat, so that another offset is left
    for it: the shortest such loop, the nearest among equals."""
    best: tuple[int, list[int], int] | None = None
    level = items
    for depth, at in enumerate(path):
        for place in range(at - 1, -1, -1):
            item = level[place]
            if isinstance(item, _Loop) and _drift(item) != item.steps[0]:
                size = _size(item.items)
                if best is None or size <= best[0]:
                    best = size, path[:depth], place
                break
        inner = level[at]
        level = [] if isinstance(inner, int) else inner.items
    return _unrolled(items, path) if best is None else _without_last(items, *best[1:])


def _drift(loop: _Loop) -> int:
    """What the inner loops add to the offset of ``dst`` in a round."""
    return sum(item.steps[0] * (item.rounds - 1) for item in loop.items if isinstance(item, _Loop))


def _without_last(items: Items, path: list[int], place: int) -> Items:
    if path:
        first, *rest = path
        outer = items[first]
        assert isinstance(outer, _Loop)
        return [*items[:first], replace(outer, items=_without_last(outer.items, rest, place)), *items[first + 1 :]]
    loop = items[place]
    assert isinstance(loop, _Loop)
    before: Items = [replace(loop, rounds=loop.rounds - 1)] if loop.rounds > 2 else loop.items
    return [*items[:place], *before, *_moved(loop.items, (loop.rounds - 1) * loop.length), *items[place + 1 :]]


def _unrolled(items: Items, path: list[int]) -> Items:
    """The items with the outermost loop at ``path`` written flat."""
    first = path[0]
    loop = items[first]
    if isinstance(loop, int):
        return items
    return [*items[:first], *range(loop.first, loop.end), *items[first + 1 :]]

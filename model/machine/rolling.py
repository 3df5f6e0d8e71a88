"""How rolled words and their weights lie in memory."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .isa import CoreConfig, Op, Words
from .roll import roll

__all__ = ["Layout", "roll_words"]


@dataclass(frozen=True, eq=False)
class Layout:
    """Program words, the instruction that each serves, and the weight that each word of the weight memory holds."""

    words: Words
    numbers: NDArray[np.int64]
    sources: tuple[int, ...]


def roll_words(flat: Layout, config: CoreConfig) -> Layout:
    """The layout with loops. Where that makes them, words get a weight of their own, as far as the memory has room;
    weights that no word takes keep a place, because named weights are written wherever they are."""
    flat = _with_restart(flat, config)
    found = roll(flat.words, config, len(flat.sources))
    numbers = np.where(found.flat < 0, -1, flat.numbers[found.flat])
    return Layout(found.words, numbers, tuple(flat.sources[k] for k in found.sources.tolist()))


def _with_restart(flat: Layout, config: CoreConfig) -> Layout:
    """With a restart after the last output where there is one after the others: nothing reads what it leaves."""
    fields = config.decode(flat.words)
    emits = fields["op"] == Op.EMIT
    if config.deep or not emits[-1] or not (emits & (fields["flag"] == 1)).any():
        return flat
    words = flat.words.copy()
    words[-1] |= np.uint64(config.encode(Op.NONE, flag=1))
    return replace(flat, words=words)

"""How rolled words and their weights lie in memory: copies of weights, where loops need them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .isa import ATTENDS, CoreConfig, Op, Words
from .roll import roll

__all__ = ["Layout", "roll_words"]


@dataclass(frozen=True, eq=False)
class Layout:
    """Program words, the instruction that each serves, and the weight that each word of the weight memory holds."""

    words: Words
    numbers: NDArray[np.int64]
    sources: tuple[int, ...]


def roll_words(flat: Layout, config: CoreConfig) -> Layout:
    """The shortest of two layouts: weights as they are, and, where the memory has room, a weight for each word that
    takes one, in the order of the words. Equal weights that share an address would break a loop."""
    flat = _with_restart(flat, config)
    best = _rolled(flat, config)
    copied = _copied(flat, config)
    if copied is not None:
        other = _rolled(copied, config)
        if len(other.words) < len(best.words):
            best = other
    return best


def _rolled(flat: Layout, config: CoreConfig) -> Layout:
    found = roll(flat.words, config)
    numbers = np.where(found.flat < 0, -1, flat.numbers[found.flat])
    return Layout(found.words, numbers, flat.sources)


def _takes_weight(flat: Layout, config: CoreConfig) -> NDArray[np.bool_]:
    return np.isin(config.decode(flat.words)["op"], (Op.APPLY_W, *ATTENDS))


def _copied(flat: Layout, config: CoreConfig) -> Layout | None:
    takes = _takes_weight(flat, config)
    k = config.decode(flat.words)["k"][takes]
    # Weights that no word takes keep a place, because named weights are written wherever they are.
    unused = sorted(set(flat.sources) - set(k.tolist()))
    if len(k) + len(unused) > config.weights:
        return None
    at = np.uint64(config.word_bits - config.fields["k"] - config.fields.get("rest", 0))
    words = flat.words.copy()
    words[takes] += (np.arange(len(k)) - k).astype(np.uint64) << at
    return replace(flat, words=words, sources=(*k.tolist(), *unused))


def _with_restart(flat: Layout, config: CoreConfig) -> Layout:
    """With a restart after the last output where there is one after the others: nothing reads what it leaves."""
    fields = config.decode(flat.words)
    emits = fields["op"] == Op.EMIT
    if config.deep or not emits[-1] or not (emits & (fields["flag"] == 1)).any():
        return flat
    words = flat.words.copy()
    words[-1] |= np.uint64(config.encode(Op.NONE, flag=1))
    return replace(flat, words=words)

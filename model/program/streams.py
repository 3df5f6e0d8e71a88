"""What a program keeps from one sample of a stream to the next: registers that hold state, and a window of inputs.

A run of such a program is one *sample* of a *stream*. A register of state begins a stream with its entry of the start
vector and then keeps what the sample before left in it. A window holds the last words that arrived, ``hop`` of them a
sample: ``inputs[0]`` is the newest word, ``inputs[i]`` the one that arrived ``i`` words before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from skinny.model.errors import InputError

__all__ = ["MOST_WINDOW", "State", "check_state", "check_window", "lagged", "window_inputs", "window_samples"]

#: The most words of a window: an input memory of a core holds no more.
MOST_WINDOW = 1 << 15


class State(NamedTuple):
    """The register ``register`` keeps the state ``name``."""

    name: str
    register: int


def lagged(name: str, lag: int) -> str:
    """The name of the input ``name``, ``lag`` samples ago: ``x``, ``x[t-1]``, …"""
    return f"{name}[t-{lag}]" if lag else name


def window_inputs(samples: Sequence[str], count: int) -> tuple[str, ...]:
    """The names of the newest ``count`` words of a window, the newest first; ``samples`` are the names of the words of
    a sample, in the order in which they arrive."""
    hop = len(samples)
    return tuple(lagged(samples[hop - 1 - i % hop], i // hop) for i in range(count))


def window_samples(inputs: Sequence[str], hop: int) -> tuple[str, ...]:
    """The names of the words of a sample, in the order in which they arrive: the inverse of :func:`window_inputs`."""
    return tuple(reversed(inputs[:hop]))


def check_state(state: Sequence[State], width: int, taken: Sequence[str]) -> None:
    """Raise :exc:`InputError` unless every state has a name that is not ``taken`` and a register of its own, in
    ascending order."""
    last = -1
    names = set(taken)
    for name, register in state:
        if not 0 <= register < width:
            raise InputError(f"state {name}: register {register} is out of range (width {width})")
        if register <= last:
            raise InputError(f"state {name}: the registers of states must ascend")
        if name in names:
            raise InputError(f"the name {name!r} is used twice")
        names.add(name)
        last = register


def check_window(inputs: Sequence[str], window: int, hop: int) -> None:
    """Raise :exc:`InputError` unless ``inputs`` are words of a window of ``window`` words of which ``hop`` arrive each
    sample; without a window both are zero."""
    if not window:
        if hop:
            raise InputError(f"a hop of {hop} needs a window")
        return
    if window & (window - 1) or not 1 <= window <= MOST_WINDOW:
        raise InputError(f"the window must be a power of two up to {MOST_WINDOW}, not {window}")
    if not 1 <= hop <= window:
        raise InputError(f"the hop must be 1 to the {window} words of the window, not {hop}")
    if not hop <= len(inputs) <= window:
        raise InputError(f"a window of {window} words has {hop} to {window} inputs, not {len(inputs)}")
    expected = window_inputs(window_samples(inputs, hop), len(inputs))
    for given, name in zip(inputs, expected, strict=True):
        if given != name:
            raise InputError(f"the window has the input {given!r} where {name!r} must be")

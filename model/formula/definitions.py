"""Definitions: what a text of formulas says, its states and its samples included.

A formula with states or with inputs of earlier samples, like ``x[t-3]``, is a *stream* formula: its program runs once a
sample. States and earlier inputs are variables of the formulas; an earlier input has its lag in its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import NamedTuple

from skinny.model.errors import InputError

from .formula import Formula, postorder

__all__ = ["LARGEST_LAG", "Definitions", "StateFormula", "lagged"]

#: An input can be read this many samples back at most.
LARGEST_LAG = 4095
#: The name of an input of an earlier sample.
EARLIER = re.compile(r"([A-Za-z_][A-Za-z_0-9]*)\[t-([1-9][0-9]{0,8})\]")


class StateFormula(NamedTuple):
    """A state: its value before the first sample, and the formula of its value for the next one, from old values."""

    name: str
    start: Fraction
    next: Formula


class Definitions(NamedTuple):
    """The formulas of the ``outputs`` by name, the ``states``, and the names of the words of a sample, ``samples``, in
    order of arrival. ``lag`` is how many samples back the formulas read, at most."""

    outputs: dict[str, Formula]
    states: tuple[StateFormula, ...]
    samples: tuple[str, ...]
    lag: int

    @classmethod
    def of(cls, outputs: Mapping[str, Formula], states: Iterable[StateFormula] = ()) -> Definitions:
        """What formulas say that are no text: inputs are the variables that are no states, and those of earlier samples
        have names like ``x[t-3]``."""
        steps = tuple(states)
        known = {name for name, _, _ in steps}
        samples: dict[str, None] = {}
        lag = 0
        for node in postorder(*outputs.values(), *(step.next for step in steps)):
            if node.kind == "variable" and node.value not in known:
                found = EARLIER.fullmatch(node.value)
                samples[found[1] if found else node.value] = None
                lag = max(lag, int(found[2]) if found else 0)
        if lag > LARGEST_LAG:
            raise InputError(f"a sample can be at most {LARGEST_LAG:,} back, not {lag:,}")
        return cls(dict(outputs), steps, tuple(samples), lag)

    @property
    def streaming(self) -> bool:
        """Whether the formulas are those of a stream: what they read was there before the sample."""
        return bool(self.states) or self.lag > 0

    @property
    def window(self) -> int:
        """The words of the sliding window, a power of two; 0 when no earlier sample is read."""
        return 1 << (len(self.inputs) - 1).bit_length() if self.lag else 0

    @property
    def hop(self) -> int:
        """The words of the window that arrive each sample; 0 without a window."""
        return len(self.samples) if self.lag else 0

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the inputs of the program: with a window those of its words, the newest first, up to the last
        sample that is read."""
        if not self.lag:
            return self.samples
        return tuple(lagged(name, lag) for lag in range(self.lag + 1) for name in reversed(self.samples))

    def expect_single_run(self, who: str) -> None:
        """Raise :exc:`InputError` for a stream formula; ``who`` takes formulas of one run alone."""
        if self.streaming:
            what = f"the state {self.states[0].name!r}" if self.states else "inputs of earlier samples"
            raise InputError(f"{who} formulas without a stream, but this one has {what}")


def lagged(name: str, lag: int) -> str:
    """The name of the input ``name``, ``lag`` samples back."""
    return f"{name}[t-{lag}]" if lag else name

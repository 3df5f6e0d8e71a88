"""Training: gradient descent (Adam) of many models in one batch of numpy, with fresh noise on the inputs.

A *task* says what the outputs are compared with: ``classes`` by cross-entropy with a target distribution, ``sign`` by
the logistic loss of one output with a probability, ``numbers`` by squared errors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

import numpy as np

from .network import Array, Gradient, Models

__all__ = ["Adam", "Batches", "errors_of", "losses_of", "outputs_of", "train", "with_one"]

#: Rows of a batch.
BATCH = 256
#: Rows that are evaluated at once.
BLOCK = 4096
#: Places at which the noise of a batch may begin.
NOISES = 1 << 20


def with_one(rows: Array) -> Array:
    """A group of ``rows`` with a one at the end of each."""
    return np.concatenate([rows, np.ones((len(rows), 1), rows.dtype)], axis=1)[None]


@cache
def _noises(size: int) -> Array:
    """Normal numbers, of which ``size`` in a row are the noise of a batch. To draw them anew for each batch would take
    more time than all else."""
    return np.random.default_rng(0).standard_normal(NOISES + size, dtype=np.float32)


class Batches(NamedTuple):
    """Rows without their one, targets of shape ``(rows, outputs)``, and the noise on each input of a batch. With
    ``sizes`` the rows are groups one after the other, of so many rows each, a batch has rows of each of them, and
    ``noise`` may have the axes group, one, input."""

    rows: Array
    targets: Array
    noise: Array
    sizes: tuple[int, ...] = ()

    def draw(self, rng: np.random.Generator) -> tuple[Array, Array]:
        """A batch with a one at the end of each row, and its targets."""
        sizes = np.array(self.sizes or (len(self.rows),))
        count = min(BATCH, max(32, int(sizes.max())))
        inside = (rng.random((len(sizes), count)) * sizes[:, None]).astype(np.int64)
        chosen = inside + (np.cumsum(sizes) - sizes)[:, None]
        rows = np.empty((*chosen.shape, self.rows.shape[1] + 1), self.rows.dtype)
        rows[..., -1] = 1
        size = chosen.size * self.rows.shape[1]
        first = rng.integers(0, NOISES)
        noise = _noises(size)[first : first + size].reshape(*chosen.shape, -1)
        np.multiply(noise, self.noise, out=rows[..., :-1])
        rows[..., :-1] += self.rows.take(chosen, axis=0)
        return rows, self.targets.take(chosen, axis=0)


def _by_group(outputs: Array, targets: Array) -> tuple[Array, Array]:
    """Outputs with the axes model, output, row, and targets with the axes group, row, output, as arrays with the axes
    group, model, output, row."""
    return outputs.reshape(len(targets), -1, *outputs.shape[1:]), targets.swapaxes(1, 2)[:, None]


def losses_of(task: str, outputs: Array, targets: Array) -> Array:
    """The loss of each model on each row; ``targets`` has the axes group, row, output, ``outputs`` the axes model,
    output, row, with as many models for each group."""
    found, wanted = _by_group(outputs, targets)
    if task == "numbers":
        losses = ((found - wanted) ** 2).sum(axis=2) / 2
    elif task == "sign":
        losses = (np.logaddexp(0, found) - wanted * found)[:, :, 0]
    else:
        shifted = found - found.max(axis=2, keepdims=True)
        losses = np.log(np.exp(shifted).sum(axis=2)) - (wanted * shifted).sum(axis=2)
    return np.asarray(losses.reshape(len(outputs), -1))


def errors_of(task: str, outputs: Array, targets: Array) -> Array:
    """The derivative of the loss of each row by its outputs, with the axes of ``outputs``."""
    found, wanted = _by_group(outputs, targets)
    if task == "numbers":
        errors = found - wanted
    elif task == "sign":
        errors = 1 / (1 + np.exp(-np.clip(found, -60, 60))) - wanted
    else:
        errors = np.exp(found - found.max(axis=2, keepdims=True))
        errors /= errors.sum(axis=2, keepdims=True)
        errors -= wanted
    return np.asarray(errors.reshape(outputs.shape))


@dataclass
class Adam:
    """The moments of the gradient of some models, with the rates 0.9 and 0.99."""

    models: Models
    steps: int = 0
    moments: list[Array] = field(default_factory=list)

    def step(self, gradient: Gradient, rate: float) -> None:
        """One step down the ``gradient``."""
        models = self.models
        if not self.moments:
            self.moments = [np.zeros_like(a) for a in (models.forms, models.forms, models.reads, models.reads)]
        self.steps += 1
        scale = float(rate * np.sqrt(1 - 0.99**self.steps) / (1 - 0.9**self.steps))
        pairs = [(models.forms, gradient.forms, *self.moments[:2])]
        if models.shape.shared:
            pairs.append((models.reads, gradient.reads, *self.moments[2:]))
        for weights, slope, first, second in pairs:
            first *= 0.9
            first += 0.1 * slope
            second *= 0.99
            second += 0.01 * slope * slope
            size = np.sqrt(second)
            size += 1e-8
            np.divide(first, size, out=size)
            size *= scale
            weights -= size

    def forget(self) -> None:
        """Masks have changed: what is left out no longer moves."""
        for moment, mask in zip(self.moments, (self.models.kept,) * 2 + (self.models.read,) * 2, strict=False):
            moment *= mask


def train(
    models: Models,
    task: str,
    batches: Batches,
    rng: np.random.Generator,
    steps: int,
    rates: tuple[float, float],
    *,
    adam: Adam | None = None,
    watch: Callable[[], None] = lambda: None,
) -> Adam:
    """``steps`` steps on fresh batches, with rates that fall from the first to the last as a cosine does."""
    adam = adam or Adam(models)
    first, last = rates
    for step in range(steps):
        rate = last + (first - last) * (1 + np.cos(np.pi * step / steps)) / 2
        rows, targets = batches.draw(rng)
        factors, units, outputs = models.values(rows)
        adam.step(models.backwards(rows, factors, units, errors_of(task, outputs, targets)), rate)
        if step % 64 == 0:
            watch()
    models.mask()
    return adam


def outputs_of(models: Models, rows: Array) -> Array:
    """The outputs for rows without their one, with the axes model, output, row."""
    blocks = [models.values(with_one(rows[at : at + BLOCK]))[2] for at in range(0, len(rows), BLOCK)]
    return np.concatenate(blocks, axis=2)

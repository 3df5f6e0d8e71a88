"""Training: gradient descent (Adam) of many models in one batch of numpy, with fresh noise on the inputs.

A *task* says what the outputs are compared with: ``classes`` by cross-entropy with a target distribution, ``sign`` by
the logistic loss of one output with a probability, ``numbers`` by squared errors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from .network import Array, Gradient, Models

__all__ = ["Adam", "Batches", "loss_and_errors", "outputs_of", "train", "with_one"]

#: Rows of a batch.
BATCH = 256
#: Rows that are evaluated at once.
BLOCK = 4096


def with_one(rows: Array) -> Array:
    """A group of ``rows`` with a one at the end of each."""
    return np.concatenate([rows, np.ones((len(rows), 1), rows.dtype)], axis=1)[None]


class Batches(NamedTuple):
    """Rows without their one, targets of shape ``(rows, outputs)``, and the noise on each input of a batch.

    With ``parts``, the numbers of rows, each part is the group of ``models`` models of its own; without, all models see
    all rows.
    """

    rows: Array
    targets: Array
    noise: Array
    parts: tuple[Array, ...] = ()
    models: int = 1

    def draw(self, rng: np.random.Generator) -> tuple[Array, Array]:
        """A batch with a one at the end of each row, and its targets."""
        parts = self.parts or (np.arange(len(self.rows)),)
        count = min(BATCH, max(32, max(map(len, parts))))
        chosen = np.stack([part[rng.integers(0, len(part), count)] for part in parts])
        inputs = self.rows.shape[1]
        rows = np.empty((*chosen.shape, inputs + 1), self.rows.dtype)
        rows[..., -1] = 1
        rows[..., :-1] = self.rows[chosen]
        rows[..., :-1] += rng.standard_normal((*chosen.shape, inputs), dtype=np.float32) * self.noise
        targets = self.targets[chosen]
        if self.models > 1:
            rows, targets = np.repeat(rows, self.models, axis=0), np.repeat(targets, self.models, axis=0)
        return rows, targets


def loss_and_errors(task: str, outputs: Array, targets: Array) -> tuple[Array, Array]:
    """The mean loss of each model, and the derivative of the loss of a row by its outputs; ``targets`` has the axes
    group, row, output, ``outputs`` the axes model, output, row."""
    wanted = targets.swapaxes(1, 2)
    if task == "numbers":
        errors = outputs - wanted
        return (errors * errors).mean(axis=2).sum(axis=1) / 2, errors
    if task == "sign":
        softened = np.logaddexp(0, outputs)
        losses = (softened - wanted * outputs)[:, 0].mean(axis=1)
        return losses, 1 / (1 + np.exp(-np.clip(outputs, -60, 60))) - wanted
    shifted = outputs - outputs.max(axis=1, keepdims=True)
    powers = np.exp(shifted)
    total = powers.sum(axis=1, keepdims=True)
    losses = (np.log(total[:, 0]) - (wanted * shifted).sum(axis=1)).mean(axis=1)
    return losses, powers / total - wanted


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
        scale = rate * np.sqrt(1 - 0.99**self.steps) / (1 - 0.9**self.steps)
        pairs = [(models.forms, gradient.forms, *self.moments[:2])]
        if models.shape.shared:
            pairs.append((models.reads, gradient.reads, *self.moments[2:]))
        for weights, slope, first, second in pairs:
            first *= 0.9
            first += 0.1 * slope
            second *= 0.99
            second += 0.01 * slope * slope
            weights -= scale * first / (np.sqrt(second) + 1e-8)

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
        _, errors = loss_and_errors(task, outputs, targets)
        adam.step(models.backwards(rows, factors, units, errors), rate)
        if step % 64 == 0:
            watch()
    models.mask()
    return adam


def outputs_of(models: Models, rows: Array) -> Array:
    """The outputs for rows without their one, with the axes model, output, row."""
    blocks = [models.values(with_one(rows[at : at + BLOCK]))[2] for at in range(0, len(rows), BLOCK)]
    return np.concatenate(blocks, axis=2)

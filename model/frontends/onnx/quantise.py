"""Quantise: QuantizeLinear and DequantizeLinear, exactly on constants; on what depends on the inputs they are dropped,
except for a zero point that cuts off what is below zero."""

from __future__ import annotations

import numpy as np

from .step import Array, Quantised, Step, Value

__all__ = ["dequantised", "quantised"]


def _parameters(step: Step, shape: tuple[int, ...]) -> tuple[Array, Array]:
    """Scale and zero point, in shapes that fit a tensor of ``shape``."""
    scale = step.constant(1, "scale")
    zero = step.constant(2, "zero point") if step.has(2) else np.zeros(scale.shape, _default_type(step))
    if scale.shape != zero.shape or not (scale.astype(np.float64) > 0).all():
        step.malformed("its scale must be above zero and have the shape of its zero point")
    if not np.issubdtype(zero.dtype, np.integer):
        step.refuse(f"it quantises to {zero.dtype}", "take whole numbers of 8, 16 or 32 bits")
    if step.whole("block_size", 0):
        step.refuse("it quantises in blocks", "take a scale for the tensor or for each channel")
    if scale.size == 1:
        return scale.reshape(()), zero.reshape(())
    axis = step.axis(step.whole("axis", 1), len(shape))
    if scale.shape != (shape[axis],):
        step.malformed(f"its scale has the shape {scale.shape}, but axis {axis} has {shape[axis]}")
    each = [1] * len(shape)
    each[axis] = shape[axis]
    return scale.reshape(each), zero.reshape(each)


def _default_type(step: Step) -> np.dtype[np.generic]:
    given = step.given[0]
    return given.dtype if step.operator == "DequantizeLinear" and isinstance(given, np.ndarray) else np.dtype(np.uint8)


def quantised(step: Step) -> Value:
    """QuantizeLinear."""
    given = step.value()
    scale, zero = _parameters(step, tuple(given.shape))
    if isinstance(given, np.ndarray):
        kind = np.iinfo(zero.dtype)
        whole = np.rint(given.astype(np.float64) / scale.astype(np.float64)) + zero
        kept: Array = np.clip(whole, kind.min, kind.max).astype(zero.dtype)
        return kept
    # Exporters leave out a rectifier whose work the lower end of the whole numbers does.
    if zero.size == 1 and zero == np.iinfo(zero.dtype).min:
        given = step.held.relu(given, step.name)
    return Quantised(given, scale, zero)


def dequantised(step: Step) -> Value:
    """DequantizeLinear."""
    given = step.given[0] if step.given else None
    if isinstance(given, Quantised):
        scale, zero = _parameters(step, given.forms.shape)
        if not (np.array_equal(scale, given.scale) and np.array_equal(zero, given.zero)):
            step.refuse("it has another scale or zero point than the QuantizeLinear before it", "take the same")
        return given.forms
    whole = step.constant(0, "input")
    scale, zero = _parameters(step, whole.shape)
    found: Array = (whole.astype(np.float64) - zero) * scale.astype(np.float64)
    return found

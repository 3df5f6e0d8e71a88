"""Affine: operators that add elements times constants: layers, means, and arithmetic of which one side is constant."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .forms import NOTHING, Forms, Numbers, claim
from .step import Array, Step, Value
from .windows import Windows, windows

__all__ = ["AFFINE", "alike", "windows_of_pool"]

Floats = NDArray[np.float64]


def _both(step: Step) -> tuple[Array, Array] | None:
    """The two inputs when both are constants, which are computed with in their own type if it is a whole one."""
    first, second = step.value(0), step.value(1)
    if isinstance(first, Forms) or isinstance(second, Forms):
        return None
    if np.issubdtype(first.dtype, np.integer) and np.issubdtype(second.dtype, np.integer):
        return first, second
    return first.astype(np.float64), second.astype(np.float64)


def alike(step: Step, first: Forms, second: Forms) -> tuple[Forms, Forms]:
    """Two tensors, broadcast to one shape."""
    shape = _common(step, first.shape, second.shape)
    return _broadcast(first, shape), _broadcast(second, shape)


def _common(step: Step, *shapes: tuple[int, ...]) -> tuple[int, ...]:
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError:
        step.malformed(f"the shapes {' and '.join(map(str, shapes))} do not fit together")
    claim(int(np.prod(shape, dtype=object)))
    return shape


def _broadcast(forms: Forms, shape: tuple[int, ...]) -> Forms:
    if forms.shape == shape:
        return forms
    return forms.taken(np.broadcast_to(forms.places, shape))


def _add(step: Step) -> Value:
    if both := _both(step):
        return np.add(*both)
    first, second = alike(step, step.forms(0), step.forms(1))
    return first.plus(second)


def _sub(step: Step) -> Value:
    if both := _both(step):
        return np.subtract(*both)
    first, second = alike(step, step.forms(0), step.forms(1))
    return first.plus(second.scaled(-1.0))


def _mul(step: Step) -> Value:
    if both := _both(step):
        return np.multiply(*both)
    for index, other in ((0, 1), (1, 0)):
        if not step.depends(index):
            return _scaled(step, step.forms(other), step.weights(index, "factor"))
    first, second = alike(step, step.forms(0), step.forms(1))
    return step.held.multiplied(first, second, step.name)


def _scaled(step: Step, forms: Forms, factors: Numbers) -> Forms:
    """``forms`` times ``factors``, broadcast to one shape."""
    return _broadcast(forms, _common(step, forms.shape, factors.values.shape)).scaled(factors)


def _div(step: Step) -> Value:
    both = _both(step)
    divisor = step.constant(1, "divisor")
    if not np.all(divisor):
        step.refuse("it divides by zero", "export the network with another divisor")
    if both is None:
        return _scaled(step, step.forms(0), step.held.weights(1 / divisor.astype(np.float64)))
    if np.issubdtype(both[0].dtype, np.integer):  # towards zero
        return np.asarray(np.sign(both[0]) * np.sign(both[1]) * (np.abs(both[0]) // np.abs(both[1])))
    return np.divide(*both)


def _neg(step: Step) -> Value:
    given = step.value()
    return -given if isinstance(given, np.ndarray) else given.scaled(-1.0)


def _matmul(step: Step) -> Value:
    first, second = step.value(0), step.value(1)
    if len(first.shape) == 0 or len(second.shape) == 0:
        step.malformed("it multiplies a single number")
    left = first.reshape((1, *first.shape)) if len(first.shape) == 1 else first
    right = second.reshape((*second.shape, 1)) if len(second.shape) == 1 else second
    out = _product(step, left, right)
    shape = list(out.shape)
    if len(second.shape) == 1:
        shape.pop()
    if len(first.shape) == 1:
        shape.pop(-2 if len(second.shape) > 1 else -1)
    return out.reshape(shape)


def _gemm(step: Step) -> Value:
    sides: list[Array | Forms] = []
    for index, attribute in ((0, "transA"), (1, "transB")):
        given = step.value(index)
        if len(given.shape) != 2:
            step.malformed(f"its input {index + 1} must be a matrix, not of the shape {tuple(given.shape)}")
        turn = step.whole(attribute, 0)
        sides.append(given if not turn else given.T if isinstance(given, np.ndarray) else given.taken(given.places.T))
    out = _product(step, *sides).scaled(step.number("alpha", 1.0))
    if not step.has(2):
        return out
    offset = step.forms(2).scaled(step.number("beta", 1.0))
    _common(step, out.shape, offset.shape)
    return out.plus(_broadcast(offset, out.shape))


def _product(step: Step, first: Array | Forms, second: Array | Forms) -> Forms:
    """The product of matrices, of which one side at least is constant."""
    if first.shape[-1] != second.shape[-2]:
        step.malformed(f"the shapes {tuple(first.shape)} and {tuple(second.shape)} do not fit together")
    _common(step, first.shape[:-2], second.shape[:-2])
    if isinstance(first, np.ndarray):
        forms = second if isinstance(second, Forms) else Forms.of_numbers(Numbers.plain(second))
        columns = np.swapaxes(forms.places, -1, -2)[..., None, :, :]
        factors = step.held.weights(first[..., :, None, :])
    elif isinstance(second, np.ndarray):
        forms = first
        columns = forms.places[..., :, None, :]
        factors = step.held.weights(np.swapaxes(second, -1, -2)[..., None, :, :])
    else:
        step.refuse("both of its factors depend on the inputs", "make one a constant, or take a Mul and a ReduceSum")
    return step.held.combined(forms, columns, factors, step.name)


def _conv(step: Step) -> Value:
    forms = step.forms()
    weights = step.constant(1, "weights")
    if len(forms.shape) < 3 or weights.ndim != len(forms.shape):
        step.malformed(
            f"its shapes {forms.shape} and {weights.shape} are not those of a batch, channels and at least an axis"
        )
    groups = step.whole("group", 1)
    batch, channels, *size = forms.shape
    if groups < 1 or channels != weights.shape[1] * groups or weights.shape[0] % groups:
        step.malformed(f"{channels} channels in {groups} groups do not fit weights of the shape {weights.shape}")
    kernel = step.list_of("kernel_shape", weights.shape[2:], len(size))
    if kernel != weights.shape[2:]:
        step.malformed(f"its kernel_shape {list(kernel)} is not that of its weights, {list(weights.shape[2:])}")
    found = windows(step, size, kernel)
    each = weights.shape[0] // groups
    claim(batch * weights.size * len(found.places))
    # Axes: batch, group, channel of the group, place; then the channels that it reads, and the kernel.
    planes = np.arange(batch * channels).reshape(batch, groups, 1, 1, weights.shape[1], 1) * int(np.prod(size))
    places = found.places[None, None, None, :, None, :]
    columns = np.where(places == NOTHING, NOTHING, planes + places)
    columns = columns.reshape(batch, groups, 1, len(found.places), -1)
    factors = step.held.weights(weights.reshape(1, groups, each, 1, -1))
    out = step.held.combined(forms, columns, factors, step.name)
    if step.has(2):
        offsets = step.weights(2, "bias")
        if offsets.values.shape != (weights.shape[0],):
            step.malformed(f"its bias has the shape {offsets.values.shape} for {weights.shape[0]} channels")
        out = out.scaled(1.0, offsets.reshape(1, groups, each, 1))
    return out.reshape((batch, weights.shape[0], *found.shape))


def _normalisation(step: Step) -> Value:
    if step.whole("training_mode", 0) or step.outputs > 1 or not step.whole("spatial", 1):
        step.refuse("it is in training mode", "export the network for inference")
    forms = step.forms()
    shape = [1] * len(forms.shape)
    if len(shape) < 2:
        step.malformed(f"its input has the shape {forms.shape}, without channels")
    shape[1] = forms.shape[1]
    names = ("scale", "bias", "mean", "variance")
    parts = [step.constant(index + 1, name).astype(np.float64) for index, name in enumerate(names)]
    if any(part.shape != (shape[1],) for part in parts):
        step.malformed(f"its scale, bias, mean and variance must have {shape[1]} values each, as there are channels")
    scale, bias, mean, variance = parts
    spread = variance + step.number("epsilon", 1e-5)
    if not (spread > 0).all():
        step.malformed("a variance is not above zero")
    factor = scale / np.sqrt(spread)
    both = (step.held.weights(numbers.reshape(shape)) for numbers in (factor, bias - mean * factor))
    return forms.scaled(*both)


def _pool(step: Step, places: NDArray[np.int64], counts: NDArray[np.int64]) -> Forms:
    """The means over ``places``, a row for each element of a result, in each channel of the input."""
    forms = step.forms()
    if (counts == 0).any():
        step.refuse("a window lies outside of the tensor and has no mean", "take smaller pads")
    batch, channels, *size = forms.shape
    claim(batch * channels * places.size)
    planes = np.arange(batch * channels).reshape(batch, channels, 1, 1) * int(np.prod(size))
    columns = np.where(places == NOTHING, NOTHING, planes + places)
    return step.held.combined(forms, columns, Numbers.plain(1 / counts[:, None]), step.name)


def _average_pool(step: Step) -> Value:
    forms = step.forms()
    found = windows_of_pool(step, forms)
    counts = (found.padded if step.whole("count_include_pad", 0) else found.places != NOTHING).sum(axis=1)
    return _pool(step, found.places, counts).reshape((*forms.shape[:2], *found.shape))


def windows_of_pool(step: Step, forms: Forms) -> Windows:
    """The windows of a pool over ``forms``."""
    if len(forms.shape) < 3:
        step.malformed(f"its shape {forms.shape} is not that of a batch, channels and at least an axis")
    size = forms.shape[2:]
    return windows(step, size, step.list_of("kernel_shape", (), len(size)))


def _global_average_pool(step: Step) -> Value:
    forms = step.forms()
    if len(forms.shape) < 3:
        step.malformed(f"its shape {forms.shape} is not that of a batch, channels and at least an axis")
    places = np.arange(int(np.prod(forms.shape[2:])))[None, :]
    out = _pool(step, places, np.array([places.size]))
    return out.reshape((*forms.shape[:2], *[1] * (len(forms.shape) - 2)))


def _reduced(step: Step) -> Value:
    forms = step.forms()
    rank = len(forms.shape)
    given = step.wholes(1, "axes")
    if not given and step.whole("noop_with_empty_axes", 0):
        return step.value()
    axes = sorted({step.axis(axis, rank) for axis in given} if given else range(rank))
    kept = [axis for axis in range(rank) if axis not in axes]
    columns = forms.places.transpose([*kept, *axes]).reshape(*[forms.shape[axis] for axis in kept], -1)
    count = columns.shape[-1]
    if count == 0:
        step.malformed("it has no elements to add")
    factor = Numbers.plain(np.array([1.0 if step.operator == "ReduceSum" else 1 / count]))
    out = step.held.combined(forms, columns, factor, step.name)
    shape = [1 if axis in axes else forms.shape[axis] for axis in range(rank)]
    return out.reshape(shape) if step.whole("keepdims", 1) else out


AFFINE: dict[str, Callable[[Step], Value]] = {
    "Add": _add,
    "AveragePool": _average_pool,
    "BatchNormalization": _normalisation,
    "Conv": _conv,
    "Div": _div,
    "Gemm": _gemm,
    "GlobalAveragePool": _global_average_pool,
    "MatMul": _matmul,
    "Mul": _mul,
    "Neg": _neg,
    "ReduceMean": _reduced,
    "ReduceSum": _reduced,
    "Sub": _sub,
}

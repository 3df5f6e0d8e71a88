"""Moves: operators that put elements elsewhere, of constants and of forms alike, and those that make constants."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .forms import NOTHING, Forms, Numbers, claim, joined
from .step import Array, Step, Value

__all__ = ["MOVES"]

#: An index so large that it means "to the end"; ONNX writes the largest number of 64 bits.
END = 1 << 31


def _moved(step: Step, move: Callable[[Array], Array], index: int = 0) -> Value:
    """Input ``index`` with its elements where ``move`` puts those of an array."""
    given = step.value(index)
    if isinstance(given, np.ndarray):
        return move(given)
    return given.taken(move(given.places))


def _identity(step: Step) -> Value:
    return step.value()


def _dropout(step: Step) -> Value:
    if step.has(2) and bool(step.constant(2, "training_mode").any()):
        step.refuse("it is in training mode", "export the network for inference")
    if step.outputs > 1:
        step.refuse("its mask is read, which is for training", "export the network for inference")
    return step.value()


def _cast(step: Step) -> Value:
    from onnx import TensorProto, helper

    target = step.whole("to", 0)
    kinds = (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16)
    if isinstance(given := step.value(), np.ndarray):
        return given.astype(helper.tensor_dtype_to_np_dtype(target))
    if target not in kinds:
        known = TensorProto.DataType.Name(target) if target in TensorProto.DataType.values() else str(target)
        step.refuse(f"it rounds values that depend on the inputs, to {known}", "leave such a Cast out of the network")
    return given


def _reshape(step: Step) -> Value:
    shape = list(step.wholes(1, "shape") or ())
    old = step.value().shape
    if not step.whole("allowzero", 0):
        for axis, size in enumerate(shape):
            if size == 0:
                if axis >= len(old):
                    step.malformed(f"the shape {shape} takes axis {axis} of a tensor of {len(old)} axes")
                shape[axis] = old[axis]
    return _moved(step, lambda array: array.reshape(shape))


def _flatten(step: Step) -> Value:
    shape = step.value().shape
    axis = step.axis(step.whole("axis", 1), len(shape), extra=1)
    return _moved(step, lambda array: array.reshape(int(np.prod(shape[:axis])), -1))


def _transpose(step: Step) -> Value:
    rank = len(step.value().shape)
    order = step.list_of("perm", range(rank - 1, -1, -1), rank)
    return _moved(step, lambda array: array.transpose(order))


def _squeeze(step: Step) -> Value:
    shape = step.value().shape
    given = step.wholes(1, "axes")
    axes = None if given is None else tuple(step.axis(axis, len(shape)) for axis in given)
    return _moved(step, lambda array: array.squeeze(axes))


def _unsqueeze(step: Step) -> Value:
    axes = step.wholes(1, "axes")
    if axes is None:
        step.malformed("its axes are missing")
    return _moved(step, lambda array: np.expand_dims(array, axes))


def _concat(step: Step) -> Value:
    given = [step.value(index) for index in range(len(step.given))]
    axis = step.axis(step.whole("axis", 0), len(given[0].shape))
    constants = [one for one in given if isinstance(one, np.ndarray)]
    if len(constants) == len(given):
        return np.concatenate(constants, axis)
    tensors = [step.forms(index) for index in range(len(step.given))]
    begins = np.cumsum([0, *(forms.size for forms in tensors)])
    places = [begin + forms.places for begin, forms in zip(begins, tensors, strict=False)]
    return joined(tensors).taken(np.concatenate(places, axis))


def _split(step: Step) -> list[Value]:
    shape = step.value().shape
    axis = step.axis(step.whole("axis", 0), len(shape))
    sizes = step.wholes(1, "split")
    if sizes is None:
        parts = step.whole("num_outputs", step.outputs)
        each = -(-shape[axis] // max(parts, 1))
        sizes = tuple(max(0, min(each, shape[axis] - part * each)) for part in range(parts))
    if sum(sizes) != shape[axis] or min(sizes, default=0) < 0:
        step.malformed(f"its parts {list(sizes)} do not make up the {shape[axis]} of axis {axis}")
    ends = np.cumsum(sizes)
    return [
        _moved(step, lambda array, span=slice(end - size, end): array[(slice(None),) * axis + (span,)])  # type: ignore[misc]
        for end, size in zip(ends, sizes, strict=True)
    ]


def _slice(step: Step) -> Value:
    shape = step.value().shape
    starts, ends = step.wholes(1, "starts"), step.wholes(2, "ends")
    if starts is None or ends is None:
        step.malformed("its starts or ends are missing")
    axes = step.wholes(3, "axes") or tuple(range(len(starts)))
    steps = step.wholes(4, "steps") or (1,) * len(starts)
    if not len(starts) == len(ends) == len(axes) == len(steps) or 0 in steps:
        step.malformed("its starts, ends, axes and steps do not fit together")
    spans = [slice(None)] * len(shape)
    for start, end, given, stride in zip(starts, ends, axes, steps, strict=True):
        axis = step.axis(given, len(shape))
        spans[axis] = slice(max(-END, min(start, END)), max(-END, min(end, END)), stride)
    return _moved(step, lambda array: array[tuple(spans)])


def _pad(step: Step) -> Value:
    shape = step.value().shape
    pads = step.wholes(1, "pads")
    axes = step.wholes(3, "axes")
    axes = tuple(range(len(shape))) if axes is None else tuple(step.axis(axis, len(shape)) for axis in axes)
    if pads is None or len(pads) != 2 * len(axes):
        step.malformed(f"its pads must be {2 * len(axes)} numbers")
    mode = step.text("mode", "constant")
    if mode not in ("constant", "reflect", "edge", "wrap"):
        step.refuse(f"it pads in the mode {mode!r}", "take constant, reflect, edge or wrap")
    before, after = np.zeros(len(shape), np.int64), np.zeros(len(shape), np.int64)
    for place, axis in enumerate(axes):
        before[axis], after[axis] = pads[place], pads[place + len(axes)]
    size = np.prod([max(0, n + int(b) + int(a)) for n, b, a in zip(shape, before, after, strict=True)], dtype=object)
    claim(int(size))
    elements = np.arange(int(np.prod(shape))).reshape(shape)
    cut = tuple(slice(max(0, -int(b)), n - max(0, -int(a))) for n, b, a in zip(shape, before, after, strict=True))
    widths = [(max(0, int(b)), max(0, int(a))) for b, a in zip(before, after, strict=True)]
    options = {"constant_values": NOTHING} if mode == "constant" else {}
    elements = np.pad(elements[cut], widths, mode=mode, **options)  # type: ignore[call-overload]
    fill = step.number("value", 0.0)
    if step.has(2):
        fill = float(step.constant(2, "value").item())
    forms = step.forms()
    elements = np.where(elements == NOTHING, forms.size, elements)
    return joined([forms, Forms.of_numbers(Numbers.plain(np.array([fill])))]).taken(elements)


def _constant(step: Step) -> Value:
    if len(step.attributes) != 1:
        step.malformed("it must have one value")
    ((name, value),) = step.attributes.items()
    if name == "value" and isinstance(value, np.ndarray):
        return value
    if name in ("value_int", "value_ints"):
        return np.array(value, np.int64)
    if name in ("value_float", "value_floats"):
        return np.array(value, np.float64)
    step.refuse(f"its {name} is not supported", "take a value of numbers")


def _shape(step: Step) -> Value:
    shape = step.value().shape
    return np.array(shape[step.whole("start", 0) : step.whole("end", len(shape))], np.int64)


def _gather(step: Step) -> Value:
    indices = step.constant(1, "indices")
    axis = step.axis(step.whole("axis", 0), len(step.value().shape))
    claim(indices.size * int(np.prod(step.value().shape)) // max(1, step.value().shape[axis]))
    return _moved(step, lambda array: np.take(array, indices, axis))


MOVES: dict[str, Callable[[Step], Value | list[Value]]] = {
    "Cast": _cast,
    "Concat": _concat,
    "Constant": _constant,
    "Dropout": _dropout,
    "Flatten": _flatten,
    "Gather": _gather,
    "Identity": _identity,
    "Pad": _pad,
    "Reshape": _reshape,
    "Shape": _shape,
    "Slice": _slice,
    "Split": _split,
    "Squeeze": _squeeze,
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
}

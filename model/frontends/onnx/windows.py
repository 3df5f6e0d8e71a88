"""Windows: the places that a kernel of a convolution or of a pool reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .forms import NOTHING, claim
from .step import Step

__all__ = ["Windows", "windows"]


class Windows(NamedTuple):
    """``shape`` is that of the result without channels. ``places`` has a row for each element of it, with the place in
    the tensor that each element of the kernel reads, :data:`NOTHING` for padding. ``padded`` tells padding from what a
    window that was rounded up reads past it."""

    shape: tuple[int, ...]
    places: NDArray[np.int64]
    padded: NDArray[np.bool_]


def windows(step: Step, size: Sequence[int], kernel: Sequence[int]) -> Windows:
    """The windows of a ``kernel`` over a tensor of ``size``, both without channels, by the attributes of ``step``."""
    rank = len(size)
    if len(kernel) != rank or min(kernel, default=0) < 1:
        step.malformed(f"its kernel {list(kernel)} does not fit a tensor of {rank} axes and channels")
    strides = step.list_of("strides", [1] * rank, rank)
    dilations = step.list_of("dilations", [1] * rank, rank)
    pads = step.list_of("pads", [0] * 2 * rank, 2 * rank)
    if min(*strides, *dilations) < 1 or min(pads) < 0:
        step.malformed("its strides and dilations must be above zero, its pads not below it")
    automatic = step.text("auto_pad", "NOTSET")
    if automatic not in ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"):
        step.malformed(f"its auto_pad {automatic!r} is not known")
    shape: list[int] = []
    reads: list[NDArray[np.int64]] = []
    ends: list[int] = []
    for axis in range(rank):
        reach = (kernel[axis] - 1) * dilations[axis] + 1
        before, after = pads[axis], pads[rank + axis]
        if automatic == "VALID":
            before = after = 0
        elif automatic != "NOTSET":
            short = max(0, (-(-size[axis] // strides[axis]) - 1) * strides[axis] + reach - size[axis])
            before = short // 2 if automatic == "SAME_UPPER" else -(-short // 2)
            after = short - before
        room = size[axis] + before + after - reach
        if room < 0:
            step.malformed(
                f"its kernel is larger than its input: {reach} on {size[axis]} with pads {before} and {after}"
            )
        count = room // strides[axis] + 1
        # The last window is rounded up only where it begins in the tensor or in the padding before it.
        if step.whole("ceil_mode", 0) and room % strides[axis] and count * strides[axis] < size[axis] + before:
            count += 1
        claim(count * kernel[axis])
        shape.append(count)
        ends.append(size[axis] + after)
        reads.append(
            np.arange(count)[:, None] * strides[axis] - before + np.arange(kernel[axis])[None, :] * dilations[axis]
        )
    total = int(np.prod(shape, dtype=object)) * int(np.prod(kernel, dtype=object))
    claim(total)
    places = np.zeros((1, 1), np.int64)
    there = padded = np.ones((1, 1), bool)
    for axis in range(rank):
        read = reads[axis]
        places = _outer(places * size[axis], read, np.add)
        there = _outer(there, (read >= 0) & (read < size[axis]), np.logical_and)
        padded = _outer(padded, read < ends[axis], np.logical_and)
    return Windows(tuple(shape), np.where(there, places, NOTHING), padded)


def _outer(so_far: NDArray[Any], axis: NDArray[Any], join: np.ufunc) -> NDArray[Any]:
    """``join`` of every window and element so far with every one of a further axis."""
    both = join(so_far[:, None, :, None], axis[None, :, None, :])
    return np.asarray(both).reshape(so_far.shape[0] * axis.shape[0], so_far.shape[1] * axis.shape[1])

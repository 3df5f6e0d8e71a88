"""Pictures of learned programs: accuracy against cycles, what forms attend to, confusion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from skinny.model.files import write_file
from skinny.model.program.forms import Linear
from skinny.model.program.program import Program
from skinny.trace import save_picture

__all__ = ["attention", "draw_attention", "draw_confusion", "draw_curve", "draw_explanation"]


def _figure(width: float, height: float, rows: int = 1, columns: int = 1) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)


def draw_curve(
    curve: Sequence[dict[str, Any]],
    networks: Sequence[dict[str, Any]],
    rivals: Sequence[tuple[str, int | None, float]],
    classes: bool,
    path: str,
) -> None:
    """Accuracy or R² on test rows against cycles, also of networks with relu. ``rivals`` are names, cycles (None: not a
    program) and scores."""
    figure, ((axes,),) = _figure(7, 4.5)
    points = sorted((entry["cycles"], entry["test"]) for entry in curve)
    axes.plot(*zip(*points, strict=True), "o-", color="black", label="learned skinny programs")
    if networks:
        others = sorted((entry["cycles"], entry["score"]) for entry in networks)
        axes.plot(*zip(*others, strict=True), "^--", color="gray", label="networks with relu")
    for number, (name, cycles, score) in enumerate(rivals):
        if cycles is None:
            axes.axhline(score, color=f"C{number}", linestyle=":", label=name)
        else:
            axes.plot([cycles], [score], "s", color=f"C{number}", label=name)
    axes.set_xscale("log")
    axes.set_xticks([cycles for cycles, _ in points], [f"{cycles:,}" for cycles, _ in points])
    axes.minorticks_off()
    axes.set_xlabel("cycles of an inference")
    axes.set_ylabel("accuracy on test rows" if classes else "R² on test rows")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    write_file(path, lambda file: save_picture(figure, file))


def attention(program: Program, columns: NDArray[np.int64], size: int) -> list[tuple[str, NDArray[np.float64]]]:
    """The weights of inputs, of shape ``(size,)``, of each form that reads inputs, in the order of use; ``columns``
    are the places of the inputs."""
    out, seen = [], set()
    for number in program.code.form.tolist():
        form = program.forms[number]
        if number in seen or not isinstance(form, Linear) or not form.terms:
            continue
        seen.add(number)
        weights = np.zeros(size)
        for k, u in form.terms:
            weights[columns[u]] += float(program.weights[k])
        out.append((f"f[{number}]", weights))
    return out


def draw_attention(program: Program, columns: NDArray[np.int64], image: tuple[int, int], path: str) -> None:
    """The weights of each form over the image: first those of the units, then those of the outputs."""
    forms = attention(program, columns, image[0] * image[1])
    across = min(8, len(forms))
    down = -(-len(forms) // across)
    figure, axes = _figure(1.4 * across, 1.6 * down, down, across)
    outputs = [output.name for output in program.outputs]
    names = [f"form {n + 1}" for n in range(len(forms) - len(outputs))] + outputs
    for place, each in enumerate(axes.flat):
        each.axis("off")
        if place < len(forms):
            weights = forms[place][1].reshape(image)
            most = np.abs(weights).max()
            each.imshow(weights, cmap="RdBu", vmin=-most, vmax=most)
            each.set_title(names[place] if len(names) == len(forms) else forms[place][0], fontsize=8)
    figure.suptitle("weights of each form: blue above zero, red below", fontsize=9)
    write_file(path, lambda file: save_picture(figure, file))


def draw_confusion(classes: NDArray[Any], truth: NDArray[Any], found: NDArray[Any], path: str) -> None:
    """How many rows of each class were given each class."""
    counts = np.array([[int(((truth == a) & (found == b)).sum()) for b in classes] for a in classes])
    figure, ((axes,),) = _figure(5.5, 5)
    axes.imshow(counts, cmap="Blues")
    for row, column in np.ndindex(counts.shape):
        if counts[row, column]:
            dark = counts[row, column] > counts.max() / 2
            axes.text(column, row, counts[row, column], ha="center", va="center", color="white" if dark else "black")
    axes.set_xticks(range(len(classes)), classes)
    axes.set_yticks(range(len(classes)), classes)
    axes.set_xlabel("decided")
    axes.set_ylabel("true")
    write_file(path, lambda file: save_picture(figure, file))


def draw_explanation(
    rows: tuple[NDArray[Any], NDArray[Any]],
    labels: Sequence[str],
    output: str,
    shares: NDArray[np.float64],
    image: tuple[int, int],
    path: str,
) -> None:
    """Two images, and by how much each pixel changes ``output`` from the first to the second."""
    figure, (axes,) = _figure(7, 2.8, 1, 3)
    for each, row, label in zip(axes, rows, labels, strict=False):
        each.imshow(row.reshape(image), cmap="Greys")
        each.set_title(label, fontsize=9)
    most = float(np.abs(shares).max()) or 1.0
    drawn = axes[2].imshow(shares.reshape(image), cmap="RdBu", vmin=-most, vmax=most)
    axes[2].set_title(f"change of {output}: {shares.sum():+.3g}", fontsize=9)
    figure.colorbar(drawn, ax=axes[2])
    for each in axes:
        each.axis("off")
    write_file(path, lambda file: save_picture(figure, file))

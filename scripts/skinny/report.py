"""Reports on imported models: accuracy in floats, in fixed point and in RTL, ranges and errors of layers."""

from __future__ import annotations

import html
import json
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from skinny.model.errors import InputError
from skinny.model.files import write_file
from skinny.model.frontends.measure import LayerMeasure

from .values import as_path

__all__ = ["Report", "Stage", "stage"]

#: The endings of the files that a report is written to.
ENDINGS = (".html", ".json")
#: The size of a row of the plot, in pixels: its height, the width of the name, of a scale, of the text behind it.
ROW, NAME, SCALE, TEXT = 26, 190, 230, 90
#: What a page begins with; in a notebook the notebook's own style counts.
HEAD = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1100px; margin: 24px auto; padding: 0 14px; color: #191c21; }
h2 { font-size: 22px; margin: 0; } h3 { font-size: 17px; margin: 28px 0 8px; }
div { overflow-x: auto; }
table { border-collapse: collapse; margin: 8px 0; }
th, td { padding: 4px 12px 4px 4px; border-bottom: 1px solid #dde1e6; text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
svg { max-width: 100%; height: auto; }
</style>
"""


class Stage(NamedTuple):
    """What one way to compute gives. Of a classifier ``accuracy`` is the part of rows with the right label, of a
    regressor the coefficient of determination, None without labels. ``agree`` is the part of rows that are as in floats
    (of a regressor the largest difference from floats)."""

    name: str
    accuracy: float | None
    agree: float


def stage(name: str, found: Any, wanted: Any, labels: Any, classifier: bool) -> Stage:
    """The figures of the predictions ``found``, beside those in floats and the ``labels``, if there are any."""
    if classifier:
        accuracy = None if labels is None else float(np.mean(found == labels))
        return Stage(name, accuracy, float(np.mean(found == wanted)))
    accuracy = None
    if labels is not None:
        spread = float(((labels - labels.mean(axis=0)) ** 2).sum())
        accuracy = 1 - float(((found - labels) ** 2).sum()) / spread if spread else None
    return Stage(name, accuracy, float(np.abs(found - wanted).max()))


class Report:
    """The figures of a program on rows. A notebook shows it as tables and a plot; ``save`` writes HTML or JSON."""

    def __init__(self, facts: dict[str, Any], stages: Sequence[Stage], layers: Sequence[LayerMeasure]) -> None:
        self.facts = facts
        self.stages = list(stages)
        self.layers = list(layers)

    @property
    def classifier(self) -> bool:
        return str(self.facts["kind"]) == "classifier"

    def as_dict(self) -> dict[str, Any]:
        """All figures, as JSON has them."""
        return {
            **self.facts,
            "stages": [stage._asdict() for stage in self.stages],
            "layers": [layer._asdict() for layer in self.layers],
        }

    def save(self, path: Any) -> None:
        """Write the report to a file that ends in ``.html`` or ``.json``."""
        name = as_path(path)
        if not name.endswith(ENDINGS):
            raise InputError(f"{name}: a report is written to a file that ends in {' or '.join(ENDINGS)}")
        if name.endswith(".json"):
            text = json.dumps(self.as_dict(), indent=1) + "\n"
        else:
            title = html.escape(self.facts["model"])
            text = f"{HEAD}<title>{title}</title>\n{self._repr_html_()}\n"
        content = text.encode()
        write_file(name, lambda file: file.write(content))

    def __repr__(self) -> str:
        return "\n".join([self._headline(), *("  ".join(row) for row in self._stage_rows())])

    def _repr_html_(self) -> str:
        heads = ("computed in", "accuracy" if self.classifier else "R²", self._agreement)
        notes = "".join(f"<li>{html.escape(note)}</li>" for note in self.facts["notes"])
        return (
            f"<h2>{html.escape(self.facts['model'])}</h2>\n<p>{html.escape(self._headline())}</p>\n"
            f"{_table(heads, self._stage_rows())}\n<h3>Layers</h3>\n{_plot(self.layers)}\n"
            f"{_table(LAYER_HEADS, map(_layer_row, self.layers))}\n" + (f"<ul>{notes}</ul>" if notes else "")
        )

    @property
    def _agreement(self) -> str:
        return "as in floats" if self.classifier else "largest difference from floats"

    def _headline(self) -> str:
        facts = self.facts
        ring = f", {facts['ring']}" if facts["ring"] else ""
        return f"{facts['rows']:,} rows, {facts['cycles']:,} cycles a row, {facts['registers']} registers{ring}"

    def _stage_rows(self) -> list[tuple[str, str, str]]:
        return [
            (
                name,
                "" if accuracy is None else f"{accuracy:.2%}" if self.classifier else f"{accuracy:.6f}",
                f"{agree:.2%}" if self.classifier else f"{agree:.3g}",
            )
            for name, accuracy, agree in self.stages
        ]


LAYER_HEADS = ("layer", "values", "least", "greatest", "divided by", "largest error", "error (RMS)")


def _layer_row(layer: LayerMeasure) -> tuple[str, ...]:
    power = "" if layer.exponent is None else f"2^{layer.exponent}"
    errors = ("" if error is None else f"{error:.3g}" for error in (layer.largest_error, layer.mean_error))
    return layer.name, f"{layer.values:,}", f"{layer.low:.4g}", f"{layer.high:.4g}", power, *errors


def _table(heads: Sequence[str], rows: Any) -> str:
    lines = ["".join(f"<th>{html.escape(head)}</th>" for head in heads)]
    lines += ["".join(f"<td>{html.escape(cell)}</td>" for cell in row) for row in rows]
    return "<div><table>" + "".join(f"<tr>{line}</tr>" for line in lines) + "</table></div>"


def _plot(layers: Sequence[LayerMeasure]) -> str:
    """Two charts, a row for each layer: the part of the word's range that its values use, and its largest error over
    its largest value, both logarithmic."""
    shown = [layer for layer in layers if layer.used is not None]
    if not shown:
        return ""
    names = [layer.name for layer in shown]
    used = [layer.used or 0.0 for layer in shown]
    sizes = [max(abs(layer.low), abs(layer.high)) for layer in shown]
    errors = [(layer.largest_error or 0.0) / size if size else 0.0 for layer, size in zip(shown, sizes, strict=True)]
    return "\n".join(
        [
            _chart("part of the word in use, logarithmic from 0.1%", names, used, 3, "#4477aa", ".1%"),
            _chart("largest error over largest value, logarithmic from 1e-6", names, errors, 6, "#cc6677", ".2g"),
        ]
    )


def _chart(title: str, names: Sequence[str], values: Sequence[float], decades: int, colour: str, written: str) -> str:
    """Bars for values up to one, of which the last so many ``decades`` are drawn."""
    width, height = NAME + SCALE + TEXT, ROW * (len(names) + 1)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="12">',
        f'<text x="{NAME}" y="16">{title}</text>',
    ]
    for number, (name, value) in enumerate(zip(names, values, strict=True), 1):
        top = number * ROW
        part = 0.0 if not value else min(1.0, max(0.0, 1 + math.log10(value) / decades))
        out += [
            f'<text x="{NAME - 8}" y="{top + 16}" text-anchor="end">{html.escape(name)}</text>',
            f'<rect x="{NAME}" y="{top + 4}" width="{SCALE}" height="{ROW - 10}" fill="#eee"/>',
            f'<rect x="{NAME}" y="{top + 4}" width="{SCALE * part:.1f}" height="{ROW - 10}" fill="{colour}"/>',
            f'<text x="{NAME + SCALE + 6}" y="{top + 16}">{value:{written}}</text>',
        ]
    return "\n".join([*out, "</svg>"])

"""What the studies share: a study measures, prints its tables, draws its picture and renews the figures of its page.

A study is a module with a :class:`Study`, whose ``measure(quick)`` returns what was found, as plain numbers. The page
of ``parity.py`` is ``parity.md``, its picture ``parity.png``. A quick run measures less and writes nothing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from matplotlib.figure import Figure
from threadpoolctl import threadpool_limits

__all__ = ["BLUE", "GREY", "INK", "ORANGE", "Study", "Table", "axes", "say"]

#: Colours that differ in lightness as well, so that they print.
BLUE, ORANGE, GREY, INK = "#0b6e99", "#d9730d", "#9a9a9a", "#111111"


class Table(NamedTuple):
    """Rows below a title and the names of the columns."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[object]]

    def __str__(self) -> str:
        cells = [[*map(str, self.head)], *([shown(value) for value in row] for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        text = [[left_to_right[0].ljust(widths[0])] for left_to_right in cells]
        for line, row in zip(text, cells, strict=True):
            line += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines = ["   ".join(line).rstrip() for line in text]
        return "\n".join([self.title, lines[0], "─" * (sum(widths) + 3 * len(widths) - 3), *lines[1:]])


def shown(value: object) -> str:
    """A cell: whole numbers with commas, others with three digits that count."""
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "–"}[value]
    if isinstance(value, int):
        return f"{value:,}" if abs(value) < 10**12 else f"{value:.1e}"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def say(text: str) -> None:
    """A line of progress, on stderr."""
    print(f"  {text}", file=sys.stderr, flush=True)


def axes(columns: int, rows: int = 1, height: float = 3.6) -> tuple[Figure, Any]:
    """A figure of the width that pages have, and its panels in the order of reading."""
    figure = Figure(figsize=(10, height * rows), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for panel in panels:
        panel.grid(alpha=0.3)
        panel.spines[["top", "right"]].set_visible(False)
    return figure, panels


class Study(NamedTuple):
    """The file of the study, what it measures, and the tables and the picture of what was found."""

    file: str
    measure: Callable[[bool], dict[str, Any]]
    tables: Callable[[dict[str, Any]], list[Table]]
    draw: Callable[[dict[str, Any]], Figure]

    def run(self, quick: bool = False) -> dict[str, Any]:
        """Measure and print; unless it is ``quick``, write picture and page as well."""
        path = Path(self.file)
        began = perf_counter()
        print(f"{path.stem}{' (quick)' if quick else ''}", file=sys.stderr, flush=True)
        with threadpool_limits(1):  # small matrices, which several threads only wait for
            found = self.measure(quick)
        text = "\n\n".join(map(str, self.tables(found)))
        print(text)
        if not quick:
            self.draw(found).savefig(path.with_suffix(".png"), dpi=100)
            renew(path, text)
        say(f"{perf_counter() - began:.0f} s")
        return found

    def main(self) -> None:
        """What the script does when it is run."""
        parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__)
        parser.add_argument("--quick", action="store_true", help="measure less, and write neither picture nor page")
        self.run(parser.parse_args().quick)


def renew(path: Path, text: str) -> None:
    """Put what the study of ``path`` printed into its page, below its command."""
    page = path.with_suffix(".md")
    begin = f"```console\n$ python examples/studies/{path.name}\n"
    before, found, after = page.read_text(encoding="utf-8").partition(begin)
    if not found:
        raise SystemExit(f"{page.name} has no block for the figures: put one there that begins with\n{begin}```")
    page.write_text(f"{before}{begin}{text}\n```{after.partition('```')[2]}", encoding="utf-8")

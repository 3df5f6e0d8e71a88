"""The option ``-o``: all results as a table in a CSV file."""

from __future__ import annotations

import argparse
import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from skinny.model.errors import InputError
from skinny.model.files import expect_file, is_stream, write_file
from skinny.values import listed, several

from .common import note
from .progress import working

__all__ = ["add_output_option", "expect_table", "write_results", "write_samples", "write_table"]


def add_output_option(parser: argparse.ArgumentParser, what: str = "all results") -> None:
    """``-o``; :func:`expect_table` looks at it before the work, :func:`write_results` and :func:`write_samples` write
    it."""
    parser.add_argument("-o", "--output", metavar="FILE.csv", help=f"write {what} as CSV, in place of the table")


def expect_table(path: str | None) -> None:
    """Refuse a name that is none of a CSV file, or cannot be written, before any work."""
    if path is not None and not is_stream(path) and not path.endswith(".csv"):
        raise InputError(f"{path}: the name of a table must end in .csv")
    expect_file(path)


def write_results(path: str, results: Mapping[str, Sequence[Any]]) -> None:
    """A row for each inference, with the columns ``results``."""
    write_table(path, list(results), zip(*results.values(), strict=True))
    count = len(next(iter(results.values()), ()))
    note(f"{path}: {several(count, 'row')} of {listed(list(results))}")


def write_samples(path: str, results: Mapping[str, Sequence[Sequence[Any]]], first: int) -> None:
    """A row for each sample of each stream, with their numbers; ``first`` is that of the first sample. ``results`` has
    a list for each stream."""
    streams = [zip(*columns, strict=True) for columns in zip(*results.values(), strict=True)]
    rows = [
        (stream, sample, *row) for stream, samples in enumerate(streams, 1) for sample, row in enumerate(samples, first)
    ]
    write_table(path, ["stream", "sample", *results], rows)
    note(f"{path}: {several(len(rows), 'sample')} of {listed(list(results))}")


def write_table(path: str, heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """A CSV file with a line of names."""
    with working(f"{path}: writing"):
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(heads)
        writer.writerows(rows)
        write_file(path, lambda file: file.write(text.getvalue().encode()))

"""Names: how the elements of a vector are called, and which column of a table an input means.

The element ``i`` of the vector ``x`` is the input, the output or the state ``x<i>``: ``x[3]`` and ``x3`` are one thing,
in formulas, programs, tables, waveforms and on boards. A vector whose name ends in a digit or ``_`` gets another ``_``,
``h1[3]`` is ``h1_3``, so that no two elements share a name.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

__all__ = ["column_names", "element", "elements", "plain", "vector_of"]

#: ``x[3]`` or ``x[0:16]``.
INDEXED = re.compile(r"([A-Za-z_][A-Za-z_0-9]*)\s*\[\s*([0-9]{1,9})\s*(?::\s*([0-9]{1,9})\s*)?\]")
#: The name of an element: that of the vector, and the number.
ELEMENT = re.compile(r"([A-Za-z_][A-Za-z_0-9]*?)(0|[1-9][0-9]{0,8})")
#: What stands behind a column's name for its unit: ``temp (C)``, ``speed [m/s]``.
UNIT = re.compile(r"\s*(\([^()]*\)|\[[^\[\]0-9][^\[\]]*\])\s*$")


def element(vector: str, index: int) -> str:
    """The name of the element ``index`` of ``vector``."""
    return f"{vector}_{index}" if vector[-1] in "0123456789_" else f"{vector}{index}"


def vector_of(name: str) -> tuple[str, int] | None:
    """The vector and the index of the element that ``name`` would be, the inverse of :func:`element`."""
    found = ELEMENT.fullmatch(name)
    if found is None:
        return None
    vector = found[1].removesuffix("_")
    return (vector, int(found[2])) if vector and element(vector, int(found[2])) == name else None


def elements(text: str, names: Collection[str]) -> list[str]:
    """The names that ``text`` means among ``names``: one of them, an element ``x[3]``, the elements ``x[0:16]`` as far
    as they are there, or a vector ``x`` with all its elements, in order. Nothing if there is none."""
    text = text.strip()
    if text in names:
        return [text]
    found = INDEXED.fullmatch(text)
    if found:
        first, end = int(found[2]), int(found[3] or int(found[2]) + 1)
        vector = found[1]
    else:
        first, end, vector = 0, 1 << 30, text
    indices = (part[1] for name in names if (part := vector_of(name)) and part[0] == vector)
    return [element(vector, index) for index in sorted(indices) if first <= index < end]


def plain(text: str) -> str:
    """``text`` as a name: other characters than letters and digits become ``_``."""
    return re.sub("[^A-Za-z_0-9]+", "_", text).strip("_")


def column_names(heads: Sequence[str]) -> dict[str, list[int]]:
    """The columns that a name can mean: the one with this very head, else those that are called so when what cannot be
    in a name becomes ``_`` (``room temp (C)`` is ``room_temp_C``), else those without their unit (``room_temp``)."""
    out: dict[str, list[int]] = {}
    for change in (str, _indexed, plain, _bare, lambda head: plain(_bare(head))):
        found: dict[str, list[int]] = {}
        for place, head in enumerate(heads):
            found.setdefault(change(head), []).append(place)
        for name, places in found.items():
            out.setdefault(name, places)
    return out


def _bare(head: str) -> str:
    """``head`` without its unit."""
    return _indexed(UNIT.sub("", head))


def _indexed(head: str) -> str:
    """The name of the element that a head like ``x[3]`` means."""
    found = INDEXED.fullmatch(head)
    return element(found[1], int(found[2])) if found and found[3] is None else head

"""Shortest: the shortest program that a graph of values gives.

Precondition: the operations of formulas. Postcondition: the program, or None when no order fits the registers. Graphs
are written in several styles, each is put in two orders, and the fewest cycles win; among equals the fewest registers.
Cost: linear, a dozen times; large formulas stop at the first that fits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from fractions import Fraction

from skinny.model.formula.formula import Formula, Operations
from skinny.model.program.program import Program

from .build import NotLinearError, Style, TooLargeError, build
from .generate import Listing, arrival, gather, joined, packed, scatter
from .lower import lower_listing
from .registers import Registers, TooLongError, TooNarrowError
from .states import StateRegisters
from .values import Graph

__all__ = ["programs", "shortest"]

#: After graphs with this many terms together the best program so far is taken.
EFFORT = 20_000
#: Registers are too few when computing values again takes this many times the cycles of computing them once, about.
LONGEST = 20
#: The same for what is larger than :data:`EFFORT`.
LARGEST = 2
#: Cores with more registers have them in memory, where so many take no more room than fewer.
MOST_FLIPFLOPS = 16
LEAST_MEMORY = 64


def shortest(
    outputs: Mapping[str, Formula],
    operations: Operations,
    keep: Set[str],
    width: int,
    given: frozenset[Fraction],
    most: int,
    states: Mapping[str, Formula] | None = None,
    inputs: Sequence[str] = (),
) -> Program | None:
    """The shortest program of at most ``most`` cycles and ``width`` registers that keeps the promises ``keep``. With
    ``states`` it is one step of them: it begins with their old values in their :func:`~.states.homes` and ends with the
    next ones there. ``inputs`` are numbered first. Raises :exc:`NotLinearError` when only that is in the way."""
    best: tuple[Listing, Graph] | None = None
    graphs: list[Graph] = []
    spent = 0
    for graph in _graphs(outputs, operations, keep, states, inputs):
        graphs.append(graph)
        spent += graph.size
        listing = _listing(graph, keep, width, most)
        if listing is not None and (best is None or _better(listing, best[0])):
            best, most = (listing, graph), listing.cycles
        if best is not None and spent > EFFORT and best[0].cycles <= best[1].cycles:
            break
    if best is None and not states:
        best = min(_one_by_one(graphs, keep, width, most), key=lambda pair: _rank(pair[0]), default=None)
    return None if best is None else _lowered(*best, keep, given, bool(states))


def programs(
    outputs: Mapping[str, Formula],
    operations: Operations,
    keep: Set[str],
    width: int,
    given: frozenset[Fraction],
    most: int,
    inputs: Sequence[str] = (),
) -> list[Program]:
    """The shortest program of each graph; those of large formulas are few."""
    found: list[tuple[Listing, Graph]] = []
    graphs: list[Graph] = []
    spent = 0
    for graph in _graphs(outputs, operations, keep, None, inputs):
        graphs.append(graph)
        spent += graph.size
        listing = _listing(graph, keep, width, most)
        if listing is not None:
            found.append((listing, graph))
        if found and spent > EFFORT:
            break
    found = found or list(_one_by_one(graphs, keep, width, most))
    out: list[Program] = []
    for listing, graph in found:
        program = _lowered(listing, graph, keep, given, False)
        if program not in out:
            out.append(program)
    return out


def _graphs(
    outputs: Mapping[str, Formula],
    operations: Operations,
    keep: Set[str],
    states: Mapping[str, Formula] | None,
    inputs: Sequence[str],
) -> Iterator[Graph]:
    """The graphs of all styles."""
    for style in _styles(keep, any(node.kind == "relu" for node, _ in operations)):
        # Forms that are used several times are what these styles differ in.
        for forms in (replace(style, hold_forms=True), style, replace(style, whole_forms=True)):
            try:
                graph = build(outputs, operations, forms, states, inputs)
            except TooLargeError:
                continue
            except NotLinearError:
                if "linear" in keep:
                    raise
                break
            yield graph
            if not graph.shares:
                break


def _one_by_one(graphs: Sequence[Graph], keep: Set[str], width: int, most: int) -> Iterator[tuple[Listing, Graph]]:
    """Listings of outputs one by one: a restart clears all registers, so that they need fewer. Where a program may
    assign, it needs none."""
    for graph in graphs if "reversible" in keep else ():
        pieces = [_listing(graph.of(name), keep, width, most) for name in graph.outputs]
        if len(pieces) > 1 and None not in pieces:
            yield joined([piece for piece in pieces if piece is not None]), graph


def _lowered(listing: Listing, graph: Graph, keep: Set[str], given: frozenset[Fraction], streams: bool) -> Program:
    return lower_listing(listing if "reversible" in keep or streams else packed(listing), graph, given)


def _listing(graph: Graph, keep: Set[str], width: int, most: int) -> Listing | None:
    """The best order of a graph."""
    best: Listing | None = None
    assign = "reversible" not in keep
    large = graph.size > EFFORT
    most = min(most, LONGEST * min(graph.size, EFFORT) + LARGEST * graph.size + LONGEST)
    kind = StateRegisters if graph.states else Registers
    orders = (gather, scatter, arrival) if assign and graph.shares and not graph.states else (gather, scatter)
    for order in orders:
        for tidy in (False, True) if not assign or graph.states else (False,):
            if best is not None and large and best.cycles <= graph.cycles:
                break
            try:
                registers = kind(graph, width, assign=assign, tidy=tidy, most=most)
                listing = order(graph, registers)
            except (TooNarrowError, TooLongError):
                continue
            if best is None or _better(listing, best):
                best, most = listing, listing.cycles
    return best


def _better(one: Listing, other: Listing) -> bool:
    return _rank(one) < _rank(other)


def _rank(listing: Listing) -> tuple[int, int]:
    return listing.cycles, _room(listing.width)


def _room(width: int) -> int:
    """The registers that a core has for a program of ``width``: a power of two of them where they are in memory, and
    few are no cheaper than :data:`LEAST_MEMORY`."""
    return width if width <= MOST_FLIPFLOPS else max(LEAST_MEMORY, 1 << (width - 1).bit_length())


def _styles(keep: Set[str], relu: bool) -> Iterator[Style]:
    """The ways to write a graph that keeps the promises."""
    if "linear" not in keep:
        for gathered in (True, False):
            yield Style(sums=True, gather=gathered)
    if not relu:
        yield Style(sums=False)

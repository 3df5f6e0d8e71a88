"""Generate: both orders compute the outputs and send them in order, on any number of registers that fits."""

import random

import pytest
from skinny.model.compiler.graph.build import Style
from skinny.model.compiler.graph.generate import gather, joined, packed, scatter
from skinny.model.compiler.graph.registers import Registers, TooNarrowError

TEXTS = [
    "let h = (2*a + b - 1)^2; let g = (a - 3*c)^2; y = 2*h - g + 1; z = h + 4*g; w = g*h",
    "let p = a*b; let q = p*c + d; let r = q*p - a; y = r*q; z = p + q + r; w = r*r*p",
    "let u = relu(a - b); let v = relu(c - 2*u + 1); y = 3*u - v; z = u + v + a; w = relu(v - d)",
]


@pytest.mark.parametrize("order", [gather, scatter])
@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("gathered", [True, False])
def test_every_width_that_fits_gives_the_outputs_in_order(
    text, order, gathered, graph_of, evaluate_graph, evaluate_listing
):
    graph = graph_of(text, Style(sums=True, gather=gathered))
    chance = random.Random(1)
    point = [chance.randrange(-9, 10) for _ in graph.inputs]
    wanted = evaluate_graph(graph, point)
    fitting, lengths = [], []
    for width in range(3, 13):
        for assign in (True, False) if "relu" not in text else (True,):
            registers = Registers(graph, width, assign=assign, tidy=width % 2 == 1, most=10_000)
            try:
                listing = order(graph, registers)
            except TooNarrowError:
                continue
            assert evaluate_listing(listing, graph, point) == wanted
            assert listing.width <= width
            if assign:
                fitting.append(width)
                lengths.append(listing.cycles)
    assert fitting[-1] == 12
    assert fitting[0] <= 6
    assert lengths[-1] == min(lengths)


def test_scatter_needs_one_hidden_value_at_a_time(graph_of):
    hidden = [f"let h{n} = (a + {n + 2}*b)^2" for n in range(9)]
    outputs = [f"y{m} = " + " + ".join(f"{n + m + 2}*h{n}" for n in range(9)) for m in range(2)]
    graph = graph_of("\n".join(hidden + outputs), Style(sums=False))
    widths = {}
    for order in (gather, scatter):
        listing = order(graph, Registers(graph, 16, assign=True, tidy=False, most=10_000))
        widths[order.__name__] = packed(listing).width
    assert widths["scatter"] == 4
    assert widths["gather"] > 8


def test_joined_listings_restart_between_outputs(graph_of, evaluate_listing):
    graph = graph_of("y = a*b; z = a + b", Style(sums=False))
    pieces = [gather(graph.of(n), Registers(graph.of(n), 4, assign=False, tidy=False, most=99)) for n in "yz"]
    listing = joined(pieces)
    assert [restart for *_, restart in listing.outputs] == [True, False]
    assert listing.cycles == sum(piece.cycles for piece in pieces)
    assert evaluate_listing(listing, graph, [3, 5]) == {"y": 15, "z": 8}

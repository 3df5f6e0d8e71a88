"""The pins of a core as a simulation shows them, and the picture of them."""

import numpy as np
import pytest
from skinny.model.errors import InputError
from skinny.model.machine.cycles import latency
from skinny.model.parallel.image import ImageOptions, build_image
from skinny.model.program.text import loads
from skinny.model.rings import Modular
from skinny.scripts.pin_picture import draw_pins, seen_pins

TEXT = "skinny 1\nwidth 3\ninputs a b\nR2 += b*R1\nR0 += a*R2\nemit y = R0\nend\n"
VECTORS = [[3, 5], [7, 2], [4, 6]]


@pytest.fixture(scope="module")
def image():
    return build_image(loads(TEXT), Modular(16), ImageOptions(threads=2))


@pytest.fixture(scope="module")
def pins(image):
    return seen_pins(image, np.array(VECTORS, dtype=np.uint64))


def moved(pins, stream, *names):
    return [
        [at, *(cycle[f"{stream}_{name}"] for name in names)]
        for at, cycle in enumerate(pins)
        if cycle[f"{stream}_valid"] and cycle[f"{stream}_ready"]
    ]


def test_the_pins_are_those_of_a_load_and_a_run(image, pins):
    writes = [row[1:] for row in moved(pins, "load", "space", "address", "data")]
    assert writes == [[item.space, item.address, item.data] for item in image.loads()]
    words = moved(pins, "i", "data")
    assert [word for _, word in words] == [3, 5, 7, 2, 4, 6]
    results = moved(pins, "o", "data", "last", "fault")
    assert [row[1:] for row in results] == [[15, 0, 0], [14, 1, 0], [24, 1, 0]]
    shown = [at for at, cycle in enumerate(pins) if cycle["o_valid"] and cycle["o_data"] == 14]
    assert shown[0] == words[3][0] + latency(image)
    assert len(shown) == 3  # it waits for two cycles


def test_every_pin_has_a_line_with_its_words(pins):
    figure = draw_pins(pins, 2)
    (axis,) = figure.axes
    names = [label.get_text() for label in axis.get_yticklabels()]
    assert {"i_valid", "i_ready", "i_data", "i_last", "load_space", "retire_pc", "o_data", "busy", "fault"} <= set(
        names
    )
    place = names.index("i_data")
    assert [text.get_text() for text in axis.texts if text.get_position()[1] == place] == ["3", "5", "7", "2", "4", "6"]
    dots = [line for line in axis.lines if line.get_ydata()[0] == names.index("o_valid")]
    assert [float(x) for line in dots for x in line.get_xdata()] == [row[0] + 0.5 for row in moved(pins, "o")]


def test_a_long_run_is_refused(image):
    with pytest.raises(InputError, match=r"room for 100 cycles, not \d+: take a shorter program"):
        seen_pins(image, np.array(VECTORS * 20, dtype=np.uint64))

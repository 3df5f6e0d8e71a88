"""The picture of a campaign says so where no flip ended in a wrong answer."""

import numpy as np
from skinny.model.parallel.image import ImageOptions, build_image
from skinny.model.program.text import loads
from skinny.model.rings import FixedPoint
from skinny.scripts.fault_map import draw
from skinny.sim.upsets.campaign import OUTCOMES, Campaign

TEXT = "skinny 1\nwidth 3\ninputs a b\nR2 += b*R1\nR0 += a*R2\nemit y = R0\nend\n"


def test_an_empty_map_says_none():
    image = build_image(loads(TEXT), FixedPoint(16, 8), ImageOptions())

    def campaign(*outcomes):
        numbers = np.array([OUTCOMES.index(outcome) for outcome in outcomes], dtype=np.uint8)
        place, none = np.full(len(numbers), "registers R"), np.zeros(len(numbers), dtype=bool)
        return Campaign(image, numbers, none, place, np.arange(len(numbers)))

    figure = draw({"plain": campaign("masked", "wrong"), "self-check": campaign("masked", "detected")})
    plain, _, checked, *_ = figure.axes
    assert "none" not in [text.get_text() for text in plain.texts]
    assert "none" in [text.get_text() for text in checked.texts]

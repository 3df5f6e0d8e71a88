"""What images of a core and of an engine have in common, seen from outside."""

import inspect

import numpy as np
import pytest
from skinny.model.machine.assemble import fit_image
from skinny.model.machine.image import NO_WAITS, Hardware, MachineImage, Waits, Write
from skinny.model.machine.isa import Setting, Space
from skinny.model.parallel.image import ImageOptions, build_image
from skinny.model.program.text import loads
from skinny.model.rings import Modular

#: ``y = a·b``, ``z = a·b + a``.
PROGRAM = loads(
    "skinny 1\nwidth 3\ninputs a b\nR2 += b*R1\nR0 += a*R2\nemit y = R0\nR0 += a*R1\nemit z = R0\nend\n",
)
IMAGES = [build_image(PROGRAM, Modular(16), ImageOptions(threads=6, lanes=lanes)) for lanes in (1, 2, 3)]


def public(protocol):
    """The members that a protocol adds to those of every class, with ``__len__``."""
    return {name for name in vars(protocol) if not name.startswith("_")} | ({"__len__"} & vars(protocol).keys())


@pytest.mark.parametrize("image", IMAGES, ids=lambda image: f"{len(image.lanes)} lanes")
def test_images_have_all_members_with_the_same_parameters(image):
    assert all(hasattr(image.hardware, name) for name in public(Hardware))
    assert {"loads", "predict", "timetable", "golden"} <= public(MachineImage)
    for name in public(MachineImage):
        wanted, found = vars(MachineImage)[name], vars(type(image)).get(name)
        if inspect.isfunction(wanted):
            assert list(inspect.signature(found).parameters) == list(inspect.signature(wanted).parameters), name
        else:
            assert hasattr(image, name), name


@pytest.mark.parametrize("image", IMAGES, ids=lambda image: f"{len(image.lanes)} lanes")
def test_images_say_the_same_of_one_program(image):
    elements = np.array([[2, 3], [-4, 5], [7, -1]])
    wanted = [[6, 8], [-20, -24], [-7, 0]]
    assert image.golden(elements).tolist() == wanted
    assert (image.outputs, image.emits, image.vector) == (("y", "z"), 2, 2)
    assert len(image) == max(map(len, image.lanes))
    sizes = [image.batch] * (3 // image.batch) + [3 % image.batch] * (3 % image.batch > 0)
    found = image.predict(image.config.pack(elements), sizes)
    results, begin = [], 0
    for size in sizes:
        rows = found.data[2 * begin : 2 * (begin + size)].reshape(2, size).T
        results += (rows.astype(np.uint16).astype(np.int16)).tolist()
        begin += size
    assert results == wanted
    assert all((a == b).all() for a, b in zip(image.timetable(sizes), image.timetable(sizes, NO_WAITS), strict=True))


@pytest.mark.parametrize("image", IMAGES, ids=lambda image: f"{len(image.lanes)} lanes")
def test_a_sink_that_waits_is_late_by_what_it_waits(image):
    plan = image.timetable([1], Waits(stalls=[40, 9]))
    free = image.timetable([1])
    assert plan.valid[0] == free.valid[0]
    assert plan.taken.tolist() == [free.valid[0] + 40, free.valid[0] + 40 + 1 + 9]


def test_loads_of_a_core():
    image = fit_image(PROGRAM, Modular(16), threads=6)
    writes = list(image.loads())
    assert [write.data for write in writes if write.space == Space.PROGRAM] == image.words.tolist()
    # Without weights the first one is written all the same; 64 // (6·2) batches fit the result FIFO.
    assert writes[len(image) :] == [
        Write(Space.WEIGHTS, 0, 0),
        *(Write(Space.START, register, int(register == 1)) for register in range(3)),
        Write(Space.SETTINGS, Setting.LAST_WORD, len(image) - 1),
        Write(Space.SETTINGS, Setting.LAST_INPUT, 1),
        Write(Space.SETTINGS, Setting.BATCHES, 5),
    ]

"""What threads find in their windows: counted by hand, and against a plain list of the words of each stream."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from skinny.model.machine.assemble import fit_image
from skinny.model.machine.cycles import execute_streams
from skinny.model.machine.image import Waits
from skinny.model.machine.isa import CoreConfig, Setting
from skinny.model.machine.windows import Filling, window_rows
from skinny.model.program.text import loads
from skinny.model.rings import Modular
from skinny.model.run.stream import run_stream

RING = Modular(16)


def averaging(window, hop):
    """A program that adds up all words of its window, each with a weight of its own."""
    names = [chr(ord("a") + n) for n in range(hop)]
    inputs = [names[hop - 1 - i % hop] + (f"[t-{i // hop}]" if i >= hop else "") for i in range(window)]
    terms = "\n".join(f"R0 += {name}*R1\nR1 += w[0]*R2" for name in inputs)
    return loads(
        f"skinny 1\nwidth 3\ncontract in-place\nstart 0 1 1\nwindow {window} hop {hop}\n"
        f"inputs {' '.join(inputs)}\nweight w[0] = 2\n{terms}\nemit y = R0\nend\n"
    )


@given(st.data())
def test_the_words_of_a_run_are_the_newest_of_its_stream(data):
    window = 1 << data.draw(st.integers(0, 3))
    hop = data.draw(st.integers(1, window))
    image = fit_image(averaging(window, hop), RING, threads=3)
    sizes = data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=12))
    vectors = np.arange(sum(sizes) * hop, dtype=np.uint64).reshape(-1, hop)
    filling = Filling(image)
    runs, wanted, streams = [], [], [[], [], []]
    rows = iter(vectors.tolist())
    for size in sizes:
        full = 0
        for thread in range(size):
            streams[thread] += next(rows)
            if len(streams[thread]) >= window:
                full += 1
                wanted.append(streams[thread][: -window - 1 : -1])
        runs.append(full)
        assert filling.arrive(size) == full
    assert window_rows(image, vectors, sizes, runs).tolist() == wanted


def test_streams_of_the_machine_are_those_of_the_golden_run():
    program = averaging(4, 3)
    image = fit_image(program, RING, threads=2)
    samples = np.random.default_rng(0).integers(-100, 100, (2, 6, 3))
    vectors = image.config.pack(samples.swapaxes(0, 1).reshape(-1, 3))
    runs = image.timetable([2] * 6).runs
    assert runs.tolist() == [0, 2, 2, 2, 2, 2]
    rows = window_rows(image, vectors, [2] * 6, runs)
    found = execute_streams(image, rows, [2] * 5, [True] + [False] * 4).values[image.emit_steps[0]]
    golden = run_stream(program, RING, samples).outputs[:, :, 0]
    assert (image.config.to_words(golden) == found.reshape(5, 2).T).all()


def test_a_program_without_a_window_reads_its_vector_from_the_end():
    program = loads(
        "skinny 1\nwidth 3\ncontract in-place\nstart 0 1 0\ninputs a b c d e\nR0 += b*R1\nemit y = R0\nend\n"
    )
    image = fit_image(program, RING, window=True, inputs=8)
    assert "R0 += x[3]*R1" in image.listing()
    assert image.config.decode(image.words)["u"][0] == 7 - 3
    assert (image.vector, image.window, image.settings[Setting.WINDOW]) == (5, 0, 4)
    assert image.timetable([4, 1]).runs.tolist() == [4, 1]


def test_the_settings_of_a_window():
    image = fit_image(averaging(8, 3), RING)
    assert image.config.window
    assert image.config.inputs == 8
    assert (image.settings[Setting.LAST_INPUT], image.settings[Setting.WINDOW]) == (2, 8)
    bits = [CoreConfig(RING, **unit).setting_bits for unit in ({}, {"state": True}, {"window": True})]
    assert bits == [2, 2, 3]


def test_streams_that_begin_anew_wait_for_a_full_window_again():
    """Windows of two words and batches of one vector; a write in cycle 60, after three of them, makes streams begin
    anew: the batches after it find windows of one word, then of two."""
    image = fit_image(averaging(2, 1), RING, threads=1)
    gaps = [0, 0, 0, 100, 0, 0]
    begun = image.timetable([1] * 6, Waits(gaps=gaps, pauses=[60], renews=[True]))
    assert begun.runs.tolist() == [0, 1, 1, 0, 1, 1]
    kept = image.timetable([1] * 6, Waits(gaps=gaps, pauses=[60], renews=[False]))
    assert kept.runs.tolist() == [0, 1, 1, 1, 1, 1]


def test_threads_without_a_vector_pass_by_a_cycle_each():
    image = fit_image(averaging(1, 1), RING, threads=5)
    assert image.timetable([5, 2]).accepted.tolist() == [0, 1, 2, 3, 4, 6, 7]
    assert image.timetable([2, 5]).accepted.tolist() == [0, 1, 5, 6, 7, 8, 9]

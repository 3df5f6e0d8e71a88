"""Samples of streams as vectors for a core, and back."""

import numpy as np
import pytest
from skinny.model.errors import InputError
from skinny.model.machine.isa import CoreConfig
from skinny.model.machine.streams import expect_room, interleaved, padding, separated, threads_used
from skinny.model.program.text import loads
from skinny.model.rings import Boolean, Modular

WINDOW = """\
skinny 1
width 3
window {window} hop {hop}
inputs {inputs}
R0 += {first}*R1
emit y = R0
end
"""


def core(ring, **given):
    return CoreConfig(ring, width=3, depth=16, inputs=4, weights=4, fifo=16, **given)


def test_a_sample_is_a_vector_for_each_stream():
    samples = np.arange(2 * 3 * 2).reshape(2, 3, 2)
    vectors = interleaved(core(Modular(8)), samples)
    assert vectors.tolist() == [samples[stream, t].tolist() for t in range(3) for stream in range(2)]


@pytest.mark.parametrize("streams", [1, 3, 4, 5, 8])
def test_slices_of_a_word_are_streams_of_their_own(streams):
    """Four slices a word: stream 5 is bit 1 of the vector of thread 1."""
    config = core(Boolean(), slices=4)
    samples = np.random.default_rng(streams).integers(0, 2, (streams, 6, 2)).astype(np.uint8)
    vectors = interleaved(config, samples)
    used = threads_used(config, streams)
    assert (used, len(vectors)) == (-(-streams // 4), 6 * used)
    for stream in range(streams):
        for t in range(6):
            word = vectors[t * used + stream // 4]
            assert [int(x) >> stream % 4 & 1 for x in word] == samples[stream, t].tolist()
    assert separated(config, vectors, streams).tolist() == samples.tolist()


@pytest.mark.parametrize("streams", [1, 4])
def test_separated_is_the_inverse(streams):
    config = core(Modular(8))
    samples = np.random.default_rng(1).integers(-128, 128, (streams, 5, 3))
    assert separated(config, interleaved(config, samples), streams).tolist() == samples.tolist()


def test_a_program_without_inputs_gets_words_that_nobody_reads():
    assert interleaved(core(Modular(8)), np.empty((2, 3, 0), dtype=np.int64)).shape == (6, 1)


def test_a_core_has_a_stream_a_thread():
    expect_room(core(Modular(8), threads=2), 2)
    with pytest.raises(InputError, match="3 streams are too many: the core has room for 2"):
        expect_room(core(Modular(8), threads=2), 3)
    expect_room(core(Boolean(), threads=2, slices=4), 8)


@pytest.mark.parametrize(("window", "hop"), [(1, 1), (2, 1), (4, 1), (4, 2), (4, 3), (8, 3), (8, 5), (8, 8)])
def test_padding_is_what_keeps_the_window_from_being_full(window, hop):
    names = ["a", "b", "c", "d", "e", "f", "g", "h"][:hop]
    text = WINDOW.format(window=window, hop=hop, inputs=" ".join(names[::-1]), first=names[0])
    count = padding(loads(text))
    assert count * hop < window <= (count + 1) * hop


def test_what_has_no_window_needs_no_padding():
    assert padding(loads("skinny 1\nwidth 3\ninputs x\nR0 += x*R1\nemit y = R0\nend\n")) == 0
